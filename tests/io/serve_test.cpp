#include "tiffany/io/serve.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace serve_test {

using namespace std::chrono_literals;
using test::code_of;
using test::Trace;

class ServeTest : public OnEveryReactor {
 protected:
  Options logging() {
    return options().log_to([this](const LogLine& line) { log.emplace_back(line.message); });
  }
  std::size_t logged(const std::string& part) const {
    std::size_t count = 0;
    for (const std::string& line : log) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  std::vector<std::string> log;
};
TIFFANY_ON_EVERY_REACTOR(ServeTest);

Task<void> echo(Socket client) {
  std::array<char, 256> room;
  for (;;) {
    const std::size_t n = co_await client.read(room);
    if (n == 0) co_return;
    co_await client.write(room.data(), n);
  }
}

Task<std::string> ask(Address to, std::string text) {
  Socket server = co_await connect(to);
  co_await server.write(text + "\n");
  BufferedReader reader(server);
  const auto line = co_await reader.line();
  co_return line.value_or("the end");
}

// Closes with a reset, in the middle of what the server does.
Task<void> reset(Address to) {
  Socket socket = co_await connect(to);
  co_await socket.write("x");
  const linger now{1, 0};
  setsockopt(socket.descriptor().fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

template <class F>
Task<void> then_close(Listener* listener, F visit) {
  co_await visit(listener->local());
  listener->close();
}

// ---- One connection does not end the others ----

Task<void> resets_then_asks(Address to) {
  for (int i = 0; i < 50; ++i) co_await reset(to);
  const std::string answer = co_await ask(to, "still there?");
  EXPECT_EQ(answer, "still there?");
}

TEST_P(ServeTest, AServerSurvivesConnectionsThatAreReset) {
  Scheduler scheduler(logging());
  Listener listener = Listener::bind(Address::loopback(0));
  auto server =
      scheduler.spawn([](Listener* l) -> Task<void> { co_await serve(*l, echo); }, &listener);
  auto visitor = scheduler.spawn(then_close<Task<void> (*)(Address)>, &listener, &resets_then_asks);
  scheduler.run();
  EXPECT_TRUE(outcome_of(server, false).ok());
  EXPECT_TRUE(outcome_of(visitor, false).ok());
}

// What is allocated when only these two tasks are left, after so many resets.
Task<std::size_t> bytes_after(Address to, int resets) {
  for (int i = 0; i < resets; ++i) co_await reset(to);
  const Scheduler& scheduler = *Scheduler::current();
  for (int i = 0; i < 5000 && scheduler.live_tasks() > 2; ++i) co_await sleep(1ms);
  EXPECT_EQ(scheduler.live_tasks(), 2u);
  co_return mallinfo2().uordblks;
}

Task<void> resets_and_measures(Address to) {
  const std::size_t before = co_await bytes_after(to, 50);
  const std::size_t after = co_await bytes_after(to, 500);
  EXPECT_LE(after, before + 16'384);
}

TEST_P(ServeTest, ResetConnectionsLeaveNothingInMemory) {
  std::size_t lines = 0;  // counted and not kept
  Scheduler scheduler(options().log_to([&](const LogLine&) { ++lines; }));
  Listener listener = Listener::bind(Address::loopback(0));
  scheduler.spawn([](Listener* l) -> Task<void> { co_await serve(*l, echo); }, &listener);
  scheduler.spawn(then_close<Task<void> (*)(Address)>, &listener, &resets_and_measures);
  scheduler.run();
  EXPECT_GT(lines, 0u);
}

Task<void> breaks(Socket client, Trace* trace) {
  std::array<char, 16> room;
  const std::size_t n = co_await client.read(room);
  trace->emplace_back(room.data(), n);
  throw std::runtime_error("cannot serve " + trace->back());
}

Task<void> asks_three_times(Address to) {
  for (const char* name : {"a", "b", "c"}) {
    const std::string answer = co_await ask(to, name);
    EXPECT_EQ(answer, "the end");
  }
}

TEST_P(ServeTest, AHandlerThatThrowsIsReportedAndTheArgumentsReachEveryCall) {
  Scheduler scheduler(logging());
  Listener listener = Listener::bind(Address::loopback(0));
  Trace trace;
  auto server =
      scheduler.spawn([](Listener* l, Trace* t) -> Task<void> { co_await serve(*l, breaks, t); },
                      &listener, &trace);
  scheduler.spawn(then_close<Task<void> (*)(Address)>, &listener, &asks_three_times);
  scheduler.run();
  EXPECT_TRUE(outcome_of(server, false).ok());
  EXPECT_EQ(trace, (Trace{"a\n", "b\n", "c\n"}));
  EXPECT_EQ(logged("cannot serve a"), 1u);
  EXPECT_EQ(logged("cannot serve c"), 1u);
}

// ---- Out of descriptors ----

class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    now.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// The server starts when a client waits already, and no descriptor is left for the connection.
Task<void> starts_without_descriptors(Listener* listener, const std::vector<std::string>* log) {
  Socket client = co_await connect(listener->local());
  co_await scope([&](Scope& s) -> Task<void> {
    {
      const Descriptor next(::dup(client.descriptor().fd()));
      const FewDescriptors few(static_cast<rlim_t>(next.fd()));
      s.spawn([](Listener* l) -> Task<void> { co_await serve(*l, echo); }, listener);
      for (int i = 0; i < 5000 && log->empty(); ++i) co_await sleep(1ms);
      EXPECT_FALSE(log->empty()) << "the server has not said that it pauses";
    }
    co_await client.write("now?\n");
    BufferedReader reader(client);
    const auto line = co_await reader.line();
    EXPECT_EQ(line.value_or("the end"), "now?");
    client.close();
    listener->close();
  });
}

TEST_P(ServeTest, AServerWithoutDescriptorsPausesSaysSoOnceAndGoesOn) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "UBSan makes a pipe when it looks at a type, and takes the lack of one for an error";
#endif
  Scheduler scheduler(logging());
  Listener listener = Listener::bind(Address::loopback(0));
  auto all = scheduler.spawn(starts_without_descriptors, &listener, &log);
  scheduler.run();
  EXPECT_TRUE(outcome_of(all, false).ok());
  EXPECT_EQ(logged("takes no connection for now"), 1u);
  EXPECT_EQ(logged("takes connections again"), 1u);
}

// ---- Ends ----

Task<std::string> closes_with_clients_there(Listener* listener) {
  Socket client = co_await connect(listener->local());
  co_await client.write("one");
  std::array<char, 16> room;
  static_cast<void>(co_await client.read(room));
  listener->close();
  co_await client.write("two");
  const std::size_t n = co_await client.read(room);
  co_return std::string(room.data(), n);
}

TEST_P(ServeTest, AServerWhoseListenerIsClosedWaitsForItsClients) {
  Scheduler scheduler(logging());
  Listener listener = Listener::bind(Address::loopback(0));
  auto server =
      scheduler.spawn([](Listener* l) -> Task<void> { co_await serve(*l, echo); }, &listener);
  auto visitor = scheduler.spawn(closes_with_clients_there, &listener);
  scheduler.run();
  EXPECT_TRUE(outcome_of(server, false).ok());
  EXPECT_EQ(outcome_of(visitor, false).value(), "two");
  EXPECT_TRUE(log.empty());
}

Task<std::string> is_cut_off(Address to, Handle<void> server) {
  Socket client = co_await connect(to);
  co_await client.write("one");
  std::array<char, 16> room;
  static_cast<void>(co_await client.read(room));
  server.cancel("enough");
  const std::size_t n = co_await client.read(room);
  co_return n == 0 ? "the end" : "more";
}

TEST_P(ServeTest, ACancelledServerEndsItsClients) {
  Scheduler scheduler(logging());
  Listener listener = Listener::bind(Address::loopback(0));
  auto server =
      scheduler.spawn([](Listener* l) -> Task<void> { co_await serve(*l, echo); }, &listener);
  auto visitor = scheduler.spawn(is_cut_off, listener.local(), server);
  scheduler.run();
  EXPECT_EQ(outcome_of(visitor, false).value(), "the end");
  EXPECT_TRUE(outcome_of(server, false).cancelled());
}

struct Counts {
  std::size_t now = 0;
  std::size_t most = 0;
};
Task<void> counts_clients(Socket client, Counts* counts) {
  counts->most = std::max(counts->most, ++counts->now);
  co_await echo(std::move(client));
  --counts->now;
}

Task<void> ask_all_at_once(Address to) {
  co_await scope([&](Scope& s) -> Task<void> {
    for (int i = 0; i < 20; ++i) s.spawn(ask, to, std::string("hello"));
    co_return;
  });
}

TEST_P(ServeTest, AServerTakesAtMostAsManyConnectionsAsItMay) {
  Scheduler scheduler(logging());
  Listener listener = Listener::bind(Address::loopback(0));
  Counts counts;
  scheduler.spawn(
      [](Listener* l, Counts* c) -> Task<void> {
        co_await serve(*l, ServeOptions().most(3), counts_clients, c);
      },
      &listener, &counts);
  auto visitor = scheduler.spawn(then_close<Task<void> (*)(Address)>, &listener, &ask_all_at_once);
  scheduler.run();
  EXPECT_TRUE(outcome_of(visitor, false).ok());
  EXPECT_EQ(counts.most, 3u);
  EXPECT_EQ(counts.now, 0u);
}

TEST_P(ServeTest, AListenerThatWasNeverBoundServesNobody) {
  EXPECT_TRUE(run([]() -> Task<bool> {
                Listener none;
                co_await serve(none, echo);
                co_return true;
              }).value());
}

}  // namespace serve_test
}  // namespace tiffany
