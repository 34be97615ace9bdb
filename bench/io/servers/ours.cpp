// Ours in the server rows: a task per connection, straight-line code.
#include <array>

#include "server.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/wait.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;
using server::Mode;

template <std::size_t kRoom>
Task<void> echo(Socket client) {
  client.set_no_delay();
  std::array<char, kRoom> room;
  for (;;) {
    const std::size_t n = co_await client.read(room);
    if (n == 0) co_return;
    co_await client.write(room.data(), n);
  }
}

Task<void> hello(Socket client) {
  client.set_no_delay();
  std::array<char, 2048> room;
  for (;;) {
    const std::size_t n = co_await client.read(room);
    if (n == 0) co_return;
    for (std::size_t left = server::requests_in({room.data(), n}); left > 0; --left) {
      co_await client.write(server::kHello);
    }
  }
}

Task<void> serve(Listener* listener, Mode mode) {
  for (;;) {
    Socket client = co_await listener->accept();
    if (mode == Mode::http) {
      spawn(hello, std::move(client));
    } else if (mode == Mode::tcp_large) {
      spawn(echo<16384>, std::move(client));
    } else {
      spawn(echo<128>, std::move(client));
    }
  }
}

Task<void> until_input_ends() { co_await readable(0); }

Address address_for(Mode mode) {
  if (mode == Mode::unix_socket) return Address::unix_path("@" + server::unix_name("ours"));
  return Address::loopback(0);
}

}  // namespace

int main(int count, char** arguments) {
  server::allow_many_files();
  const Mode mode = server::mode_of(count, arguments);
  // A connection that the load closes is not news.
  Scheduler scheduler(Options().log_to([](const LogLine&) {}));
  Listener listener = Listener::bind(address_for(mode), ListenOptions().backlog(4096));
  server::say(mode == Mode::unix_socket ? listener.local().text().substr(5)
                                        : std::to_string(listener.local().port()));
  scheduler.spawn(serve, &listener, mode);
  auto end = scheduler.spawn(until_input_ends);
  while (!end.done()) scheduler.poll(scheduler.now() + std::chrono::seconds(1));
  scheduler.shutdown();
}
