// One suite of programs that must give the same results wherever they run: under a scheduler on
// io_uring or epoll, and under BlockingIo, where tasks do not take turns.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/blocking_io.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace colourblind_test {

using namespace std::chrono_literals;
using test::what_of;

Task<int> late(int value) {
  co_await sleep(std::chrono::milliseconds(value));
  co_return value;
}

Task<int> fails_late() {
  co_await sleep(1ms);
  throw std::runtime_error("on purpose");
}

Task<std::string> gathers() {
  std::vector<Handle<int>> all;
  for (int i = 3; i > 0; --i) all.push_back(spawn(late, i));
  std::string out;
  for (const int value : co_await gather(all)) out += std::to_string(value);
  co_return out;
}

Task<std::string> cancels() {
  auto never = spawn(late, 1000);
  never.cancel("not needed");
  const auto outcome = co_await never.outcome();
  co_return outcome.cancelled() ? "cancelled" : "ran";
}

Task<std::string> races() {
  const auto first = co_await race(late(1), late(50));
  co_return std::to_string(first.index);
}

Task<std::string> takes_any() {
  const auto first = co_await any(fails_late(), late(2));
  co_return std::to_string(first.index);
}

Task<std::string> times_out() {
  const auto slow = co_await within(2ms, late(10'000));
  const auto quick = co_await within(10s, late(1));
  co_return std::string(slow.timed_out() ? "timed out" : "came") + ", " +
      std::to_string(quick.value());
}

Task<std::string> shields() {
  auto task = spawn([]() -> Task<std::string> {
    this_task::cancel("soon");
    const int value = co_await shield(late(1));
    co_return std::to_string(value);
  });
  const auto outcome = co_await task.outcome();
  co_return outcome.ok() ? outcome.value() : "cancelled";
}

Task<std::string> fails_fast() {
  std::string out;
  try {
    co_await scope([&](Scope& s) -> Task<void> {
      auto failing = s.spawn(fails_late);
      co_await failing.outcome();
      co_await checkpoint();
      out += "not reached ";
    });
  } catch (const std::exception& error) {
    out += error.what();
  }
  co_return out;
}

Task<void> completes(Promise<int> promise) {
  co_await sleep(1ms);
  promise.complete(7);
}

Task<std::string> waits_for_a_promise() {
  Promise<int> promise;
  const Future<int> future = promise.future();
  spawn(completes, std::move(promise));
  co_return std::to_string(co_await future);
}

Task<void> echo_once(Listener* listener) {
  Socket client = co_await listener->accept();
  BufferedReader reader(client);
  for (;;) {
    const auto line = co_await reader.line();
    if (!line) co_return;
    co_await client.write(*line + "!\n");
  }
}

Task<std::string> echoes() {
  Listener listener = Listener::bind(Address::loopback(0));
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(echo_once, &listener);
    Socket server = co_await connect(listener.local());
    BufferedReader reader(server);
    std::string out;
    for (const char* word : {"one", "two"}) {
      co_await server.write(std::string(word) + "\n");
      out += (co_await reader.line()).value();
    }
    co_return out;
  });
}

Task<void> writes(ByteStream to, std::string text) { co_await to.write(text); }

// More than a pipe holds, so that both sides must wait for the other.
Task<std::string> pipes() {
  Pipe pipe = make_pipe();
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(writes, std::move(pipe.write_end), std::string(500'000, 'x'));
    std::array<char, 4096> room;
    std::size_t all = 0;
    for (;;) {
      const std::size_t n = co_await pipe.read_end.read(room);
      if (n == 0) co_return std::to_string(all);
      all += n;
    }
  });
}

Task<std::string> uses_files() {
  const TemporaryDirectory directory;
  const std::string path = directory / "a";
  {
    const File file = co_await open_file(path, FileMode::create);
    co_await file.write_at(0, "written");
    co_await file.sync_data();
  }
  co_return co_await read_file(path);
}

std::string doubled(const std::string& text) { return text + text; }

Task<std::string> offloads() { co_return co_await offload(doubled, std::string("ab")); }

Task<std::string> reads_with_a_timeout() {
  Pipe pipe = make_pipe();
  std::array<char, 4> room;
  const auto nothing = co_await within(2ms, [](Pipe& p, std::array<char, 4>& r) -> Task<int> {
    co_return static_cast<int>(co_await p.read_end.read(r));
  }(pipe, room));
  co_await pipe.write_end.write("late");
  const std::size_t n = co_await pipe.read_end.read(room);
  co_return (nothing.timed_out() ? "timed out, " : "came, ") + std::string(room.data(), n);
}

struct Program {
  const char* name;
  Task<std::string> (*code)();
  const char* result;
};

constexpr Program kPrograms[] = {
    {"gathers", gathers, "321"},
    {"cancels", cancels, "cancelled"},
    {"races", races, "0"},
    {"takes_any", takes_any, "1"},
    {"times_out", times_out, "timed out, 1"},
    {"shields", shields, "1"},
    {"fails_fast", fails_fast, "on purpose"},
    {"waits_for_a_promise", waits_for_a_promise, "7"},
    {"echoes", echoes, "one!two!"},
    {"pipes", pipes, "500000"},
    {"uses_files", uses_files, "written"},
    {"offloads", offloads, "abab"},
    {"reads_with_a_timeout", reads_with_a_timeout, "timed out, late"},
};

void expect_all_results(const std::function<std::unique_ptr<Scheduler>()>& make) {
  for (const Program& program : kPrograms) {
    SCOPED_TRACE(program.name);
    const std::unique_ptr<Scheduler> io = make();
    EXPECT_EQ(run_on(*io, program.code()), program.result);
    EXPECT_EQ(io->live_tasks(), 0u);
    EXPECT_EQ(io->armed_timers(), 0u);
    EXPECT_EQ(io->reactor().in_flight(), 0u);
  }
}

class Colourblind : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(Colourblind);

TEST_P(Colourblind, I1_ProgramsGiveTheirResultsUnderAScheduler) {
  expect_all_results([this] { return std::make_unique<Scheduler>(options()); });
}

TEST(BlockingIoTest, I1_ProgramsGiveTheSameResultsUnderBlockingIo) {
  expect_all_results([] { return std::make_unique<BlockingIo>(); });
}

// ---- What differs ----

Task<void> says(std::string* out, char name) {
  for (int i = 0; i < 3; ++i) {
    *out += name;
    co_await sleep(1ms);
  }
}

Task<void> two_say(std::string* out) {
  auto a = spawn(says, out, 'a');
  auto b = spawn(says, out, 'b');
  co_await gather(a, b);
}

TEST(BlockingIoTest, I1_TasksTakeTurnsUnderASchedulerAndNotUnderBlockingIo) {
  std::string turns;
  Scheduler scheduler(Options().virtual_time());
  run_on(scheduler, two_say(&turns));
  EXPECT_EQ(turns, "ababab");

  std::string inline_;
  BlockingIo io(Options().virtual_time());
  run_on(io, two_say(&inline_));
  EXPECT_EQ(inline_, "aaabbb");
}

TEST(BlockingIoTest, I1_ASleepUnderATimeoutIsCutShortByIt) {
  BlockingIo io(Options().virtual_time());
  EXPECT_EQ(run_on(io, times_out()), "timed out, 1");
  EXPECT_EQ(io.now().time_since_epoch(), 3ms);
}

TEST(BlockingIoTest, I1_ATaskThatWaitsForNothingThatCanComeIsADeadlockHereToo) {
  BlockingIo io(Options().virtual_time());
  auto waiting = io.spawn([]() -> Task<void> {
    const Promise<int> promise;
    co_await promise.future();
  });
  EXPECT_THROW(io.run(), Deadlock);
  waiting.cancel();
  io.run();
}

}  // namespace colourblind_test
}  // namespace tiffany
