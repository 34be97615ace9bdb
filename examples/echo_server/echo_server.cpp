// An echo server: a task per connection, and Ctrl-C ends it gracefully.
//
//   echo_server 127.0.0.1:7000      serves until Ctrl-C
//   echo_server                     serves a client of its own, and ends
#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include "tiffany/io/buffered.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;

Task<void> echo(Socket client) {
  std::array<char, 4096> room;
  for (;;) {
    const std::size_t n = co_await client.read(room);
    if (n == 0) co_return;
    co_await client.write(room.data(), n);
  }
}

Task<void> until_ctrl_c(Signals* stop) {
  const int number = co_await stop->next();
  std::printf("signal %d: closing all connections\n", number);
}

Task<void> talk(Address to) {
  Socket server = co_await connect(to);
  BufferedReader reader(server);
  for (const char* word : {"hello", "and", "goodbye"}) {
    co_await server.write(std::string(word) + "\n");
    const auto line = co_await reader.line();
    std::printf("the server says: %s\n", line->c_str());
  }
  std::raise(SIGINT);  // as if somebody had pressed Ctrl-C
  co_await sleep(std::chrono::hours(1));
}

Task<void> program(std::string address) {
  Signals stop({SIGINT, SIGTERM});
  const bool alone = address.empty();
  Listener listener = Listener::bind(alone ? Address::loopback(0) : Address::parse(address));
  if (alone) {
    co_await race(serve(listener, echo), until_ctrl_c(&stop), talk(listener.local()));
  } else {
    std::printf("listening at %s\n", listener.local().text().c_str());
    std::fflush(stdout);
    co_await race(serve(listener, echo), until_ctrl_c(&stop));
  }
  std::printf("bye\n");
}

int main(int count, char** arguments) { return run(program(count > 1 ? arguments[1] : "")); }
