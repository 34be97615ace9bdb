// Ours in the echo rows: a task per connection, straight-line code.
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "tiffany/io/socket.hpp"
#include "tiffany/io/wait.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;

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

Task<void> serve(Listener* listener, bool large) {
  for (;;) {
    Socket client = co_await listener->accept();
    if (large) {
      spawn(echo<16384>, std::move(client));
    } else {
      spawn(echo<512>, std::move(client));
    }
  }
}

Task<void> until_input_ends() { co_await readable(0); }

}  // namespace

int main(int count, char**) {
  const rlimit files{20000, 20000};
  setrlimit(RLIMIT_NOFILE, &files);
  Scheduler scheduler;
  Listener listener = Listener::bind(Address::loopback(0), ListenOptions().backlog(4096));
  std::printf("%d\n", listener.local().port());
  std::fflush(stdout);
  scheduler.spawn(serve, &listener, count > 1);
  auto end = scheduler.spawn(until_input_ends);
  while (!end.done()) scheduler.poll(scheduler.now() + std::chrono::seconds(1));
  scheduler.shutdown();
}
