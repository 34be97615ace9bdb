#include "tiffany/io/socket.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/reactors.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace {

class SocketTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(SocketTest);

Task<void> echo(Socket client) {
  std::array<char, 256> room;
  for (;;) {
    const std::size_t n = co_await client.read(room);
    if (n == 0) co_return;
    co_await client.write(room.data(), n);
  }
}

Task<void> echo_once(Listener* listener) {
  Socket client = co_await listener->accept();
  co_await echo(std::move(client));
}

Task<std::string> ask(Address to, std::string text) {
  Socket server = co_await connect(to);
  co_await server.write(text);
  server.shutdown_write();
  std::string answer;
  std::array<char, 7> room;
  for (;;) {
    const std::size_t n = co_await server.read(room);
    if (n == 0) co_return answer;
    answer.append(room.data(), n);
  }
}

TEST_P(SocketTest, T8_AnEchoServerAnswersOverTcp) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  scheduler.spawn(echo_once, &listener);
  auto answer = scheduler.spawn(ask, listener.local(), std::string("hello over there"));
  scheduler.run();
  EXPECT_EQ(answer.value(false), "hello over there");
  EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
}

TEST_P(SocketTest, T8_AnEchoServerAnswersOverAnAbstractUnixAddress) {
  Scheduler scheduler(options());
  Listener listener =
      Listener::bind(Address::parse("unix:@tiffany-socket-test-" + std::to_string(getpid())));
  scheduler.spawn(echo_once, &listener);
  auto answer = scheduler.spawn(ask, listener.local(), std::string("hello"));
  scheduler.run();
  EXPECT_EQ(answer.value(false), "hello");
}

TEST_P(SocketTest, T8_AReadThatIsCancelledWhileParkedLeavesTheStreamIntact) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  std::string got;
  const auto server = [](Listener* at, std::string* out) -> Task<void> {
    Socket client = co_await at->accept();
    std::array<char, 64> room;
    auto first = co_await within(std::chrono::milliseconds(1),
                                 [](Socket& s, std::array<char, 64>& r) -> Task<std::size_t> {
                                   co_return co_await s.read(r);
                                 }(client, room));
    EXPECT_TRUE(first.timed_out());
    co_await client.write("go");
    const std::size_t n = co_await client.read(room);
    out->assign(room.data(), n);
  };
  const auto asker = [](Address to) -> Task<void> {
    Socket s = co_await connect(to);
    std::array<char, 64> room;
    const std::size_t n = co_await s.read(room);
    EXPECT_EQ(std::string(room.data(), n), "go");
    co_await s.write("after");
  };
  scheduler.spawn(server, &listener, &got);
  scheduler.spawn(asker, listener.local());
  scheduler.run();
  EXPECT_EQ(got, "after");
}

}  // namespace
}  // namespace tiffany
