// A chat server with rooms. A line from a client goes to everybody else in its room; "/join name"
// goes to another room. Each client has a channel for what it is to be told. No line is lost: when
// the channel of a client is full, whoever has something to say to the room waits, and a client
// that takes no line for five seconds is disconnected.
//
//   chat 127.0.0.1:7001     serves until Ctrl-C; try it with nc
//   chat                    two clients of its own talk to each other, and it ends
#include <csignal>
#include <cstdio>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/io/buffered.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/tiffany.hpp"

using namespace std::chrono_literals;
using namespace tiffany;

using Outbox = Sender<std::string>;

class ChatRoom {
 public:
  using Member = std::list<Outbox>::iterator;

  Member join(const Outbox& outbox) { return members_.insert(members_.end(), outbox); }
  void leave(Member member) { members_.erase(member); }
  // A copy: while a line is being delivered, members come and go.
  std::vector<Outbox> others(Member self) {
    std::vector<Outbox> all;
    for (Member other = members_.begin(); other != members_.end(); ++other) {
      if (other != self) all.push_back(*other);
    }
    return all;
  }

 private:
  std::list<Outbox> members_;
};

using Rooms = std::map<std::string, ChatRoom>;

// Leaves its room whatever happens.
class Seat {
 public:
  Seat(ChatRoom& room, const Outbox& outbox) : room_(&room), member_(room.join(outbox)) {}
  ~Seat() { room_->leave(member_); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  std::vector<Outbox> others() { return room_->others(member_); }

 private:
  ChatRoom* room_;
  ChatRoom::Member member_;
};

Task<void> put(Outbox outbox, std::string line) { co_await outbox.send_from(line); }

// Waits for a full channel, but not for ever: whoever takes nothing is not there any more.
Task<void> deliver(Outbox to, const std::string& line) {
  const Posted posted = to.try_send(line);
  if (posted != Posted::full) co_return;  // accepted, or its client has gone
  try {
    const auto sent = co_await within(5s, put(to, line));
    if (sent.timed_out()) to.close();  // tell_client() ends, and with it the client
  } catch (const Error& error) {
    if (error.code() != Errc::channel_closed) throw;  // its client went meanwhile
  }
}

Task<void> tell_client(Socket* client, Receiver<std::string> outbox) {
  for (;;) {
    const std::optional<std::string> line = co_await outbox.recv();
    if (!line) break;
    co_await client->write(*line + "\n");
  }
  client->close();  // ends hear_client(), if it was not the one that ended first
}

Task<void> hear_client(Socket* client, Rooms* rooms, Outbox outbox) {
  BufferedReader reader(*client);
  std::optional<Seat> seat;
  seat.emplace((*rooms)["lobby"], outbox);
  for (;;) {
    const std::optional<std::string> line = co_await reader.line();
    if (!line) co_return;
    if (line->starts_with("/join ")) {
      const std::string name = line->substr(6);
      seat.emplace((*rooms)[name], outbox);
      co_await deliver(outbox, "you are in " + name);
    } else {
      for (const Outbox& other : seat->others()) co_await deliver(other, *line);
    }
  }
}

// The two end together. When hear_client() ends, the last sender goes, and tell_client() ends when
// everything is told; when tell_client() fails or ends first, hear_client() is cancelled or finds
// its socket closed.
Task<void> chat(Socket client, Rooms* rooms) {
  auto outbox = channel<std::string>(64);
  co_await scope([&](Scope& both) -> Task<void> {
    both.spawn(hear_client, &client, rooms, std::move(outbox.sender));
    both.spawn(tell_client, &client, std::move(outbox.receiver));
    co_return;
  });
}

Task<void> until_ctrl_c(Signals* stop) { co_await stop->next(); }

// ---- Two who talk ----

Task<void> expect(BufferedReader<Socket>& reader, const char* who) {
  const auto line = co_await reader.line();
  std::printf("%s reads: %s\n", who, line->c_str());
}

Task<void> demo(Address server) {
  Socket anna = co_await connect(server);
  Socket bert = co_await connect(server);
  BufferedReader for_anna(anna);
  BufferedReader for_bert(bert);
  co_await anna.write("/join tea\n");
  co_await expect(for_anna, "Anna");
  co_await bert.write("/join tea\n");
  co_await expect(for_bert, "Bert");
  co_await anna.write("is anybody here?\n");
  co_await expect(for_bert, "Bert");
  co_await bert.write("yes, me\n");
  co_await expect(for_anna, "Anna");
}

Task<void> program(std::string address) {
  Signals stop({SIGINT, SIGTERM});
  Rooms rooms;
  const bool alone = address.empty();
  Listener listener = Listener::bind(alone ? Address::loopback(0) : Address::parse(address));
  if (alone) {
    co_await race(serve(listener, chat, &rooms), until_ctrl_c(&stop), demo(listener.local()));
  } else {
    std::printf("listening at %s\n", listener.local().text().c_str());
    std::fflush(stdout);
    co_await race(serve(listener, chat, &rooms), until_ctrl_c(&stop));
  }
}

int main(int count, char** arguments) { return run(program(count > 1 ? arguments[1] : "")); }
