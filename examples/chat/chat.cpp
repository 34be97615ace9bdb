// A chat server with rooms. A line from a client goes to everybody else in its room; "/join name" goes to
// another room. Each client has a channel for what it is to be told, so that a slow one holds up nobody:
// when its channel is full, it misses lines.
//
//   chat 127.0.0.1:7001     serves until Ctrl-C; try it with nc
//   chat                    two clients of its own talk to each other, and it ends
#include <csignal>
#include <cstdio>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "tiffany/io/buffered.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;

class ChatRoom {
 public:
  using Member = std::list<Sender<std::string>>::iterator;

  Member join(Sender<std::string> outbox) { return members_.insert(members_.end(), outbox); }
  void leave(Member member) { members_.erase(member); }
  void tell_others(Member self, const std::string& line) {
    for (Member other = members_.begin(); other != members_.end(); ++other) {
      if (other != self) static_cast<void>(other->try_send(line));
    }
  }

 private:
  std::list<Sender<std::string>> members_;
};

using Rooms = std::map<std::string, ChatRoom>;

Task<void> tell(Socket* client, Receiver<std::string> outbox) {
  for (;;) {
    const std::optional<std::string> line = co_await outbox.recv();
    if (!line) co_return;
    co_await client->write(*line + "\n");
  }
}

// Leaves its room whatever happens.
class Seat {
 public:
  Seat(ChatRoom& room, Sender<std::string> outbox) : room_(&room), member_(room.join(outbox)) {}
  ~Seat() { room_->leave(member_); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  void say(const std::string& line) { room_->tell_others(member_, line); }

 private:
  ChatRoom* room_;
  ChatRoom::Member member_;
};

Task<void> listen(Socket* client, Rooms* rooms, Sender<std::string> outbox) {
  BufferedReader reader(*client);
  std::optional<Seat> seat;
  seat.emplace((*rooms)["lobby"], outbox);
  for (;;) {
    const std::optional<std::string> line = co_await reader.line();
    if (!line) co_return;
    if (line->starts_with("/join ")) {
      const std::string name = line->substr(6);
      seat.emplace((*rooms)[name], outbox);
      static_cast<void>(outbox.try_send("you are in " + name));
    } else {
      seat->say(*line);
    }
  }
}

Task<void> serve(Socket client, Rooms* rooms) {
  auto outbox = channel<std::string>(64);
  co_await race(listen(&client, rooms, std::move(outbox.sender)),
                tell(&client, std::move(outbox.receiver)));
}

Task<void> accept_all(Listener* listener) {
  Rooms rooms;
  co_await scope(collect_all, [&](Scope& clients) -> Task<void> {
    for (;;) {
      Socket client = co_await listener->accept();
      clients.spawn(serve, std::move(client), &rooms);
    }
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
  const bool alone = address.empty();
  Listener listener = Listener::bind(alone ? Address::loopback(0) : Address::parse(address));
  if (alone) {
    co_await race(accept_all(&listener), until_ctrl_c(&stop), demo(listener.local()));
  } else {
    std::printf("listening at %s\n", listener.local().text().c_str());
    std::fflush(stdout);
    co_await race(accept_all(&listener), until_ctrl_c(&stop));
  }
}

int main(int count, char** arguments) { return run(program(count > 1 ? arguments[1] : "")); }
