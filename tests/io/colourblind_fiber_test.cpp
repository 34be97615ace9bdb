// The programs of colourblind_test.cpp as plain functions in fibers: the same words without
// co_await, and the same results, under a scheduler and under BlockingIo.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "tiffany/io/blocking_io.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace colourblind_fiber_test {

using namespace std::chrono_literals;

int late(int value) {
  await(sleep(std::chrono::milliseconds(value)));
  return value;
}

int fails_late() {
  await(sleep(1ms));
  throw std::runtime_error("on purpose");
}

std::string gathers() {
  std::vector<Handle<int>> all;
  for (int i = 3; i > 0; --i) all.push_back(spawn_fiber(late, i));
  std::string out;
  for (const int value : await(gather(all))) out += std::to_string(value);
  return out;
}

std::string cancels() {
  auto never = spawn_fiber(late, 1000);
  never.cancel("not needed");
  return await(never.outcome()).cancelled() ? "cancelled" : "ran";
}

std::string races() {
  std::vector<Handle<int>> both = {spawn_fiber(late, 1), spawn_fiber(late, 50)};
  const auto first = await(race(both));
  for (const auto& other : first.rest) other.cancel();
  return std::to_string(first.index);
}

std::string times_out() {
  const auto slow = fiber::within(2ms, [] { return late(10'000); });
  const auto quick = fiber::within(10s, [] { return late(1); });
  return std::string(slow.timed_out() ? "timed out" : "came") + ", " +
         std::to_string(quick.value());
}

std::string shields() {
  auto task = spawn_fiber([] {
    this_task::cancel("soon");
    return std::to_string(fiber::shield([] { return late(1); }));
  });
  const auto outcome = await(task.outcome());
  return outcome.ok() ? outcome.value() : "cancelled";
}

std::string fails_fast() {
  std::string out;
  try {
    fiber::scope([&](Scope& s) {
      auto failing = s.spawn_fiber(fails_late);
      await(failing.outcome());
      await(checkpoint());
      out += "not reached ";
    });
  } catch (const std::exception& error) {
    out += error.what();
  }
  return out;
}

void echo_once(Listener* listener) {
  Socket client = await(listener->accept());
  BufferedReader reader(client);
  for (;;) {
    const auto line = await(reader.line());
    if (!line) return;
    await(client.write(*line + "!\n"));
  }
}

std::string echoes() {
  Listener listener = Listener::bind(Address::loopback(0));
  return fiber::scope([&](Scope& s) {
    s.spawn_fiber(echo_once, &listener);
    Socket server = await(connect(listener.local()));
    BufferedReader reader(server);
    std::string out;
    for (const char* word : {"one", "two"}) {
      await(server.write(std::string(word) + "\n"));
      out += await(reader.line()).value();
    }
    return out;
  });
}

std::string pipes() {
  Pipe pipe = make_pipe();
  return fiber::scope([&](Scope& s) {
    s.spawn_fiber([&] {
      await(pipe.write_end.write(std::string(500'000, 'x')));
      pipe.write_end.close();
    });
    std::array<char, 4096> room;
    std::size_t all = 0;
    for (;;) {
      const std::size_t n = await(pipe.read_end.read(room));
      if (n == 0) return std::to_string(all);
      all += n;
    }
  });
}

std::string uses_files() {
  const TemporaryDirectory directory;
  {
    const File file = await(open_file(directory / "a", FileMode::create));
    await(file.write_at(0, "written"));
    await(file.sync_data());
  }
  return await(read_file(directory / "a"));
}

std::string doubled(const std::string& text) { return text + text; }

std::string offloads() { return await(offload(doubled, std::string("ab"))); }

struct Program {
  const char* name;
  std::string (*code)();
  const char* result;
};

constexpr Program kPrograms[] = {
    {"gathers", gathers, "321"},
    {"cancels", cancels, "cancelled"},
    {"races", races, "0"},
    {"times_out", times_out, "timed out, 1"},
    {"shields", shields, "1"},
    {"fails_fast", fails_fast, "on purpose"},
    {"echoes", echoes, "one!two!"},
    {"pipes", pipes, "500000"},
    {"uses_files", uses_files, "written"},
    {"offloads", offloads, "abab"},
};

void expect_all_results(const std::function<std::unique_ptr<Scheduler>()>& make) {
  for (const Program& program : kPrograms) {
    SCOPED_TRACE(program.name);
    const std::unique_ptr<Scheduler> io = make();
    const auto handle = io->spawn_fiber(program.code);
    io->run();
    EXPECT_EQ(outcome_of(handle, false).value(), program.result);
    EXPECT_EQ(io->live_tasks(), 0u);
    EXPECT_EQ(io->armed_timers(), 0u);
    EXPECT_EQ(io->reactor().in_flight(), 0u);
  }
}

class ColourblindFibers : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(ColourblindFibers);

TEST_P(ColourblindFibers, I3_ProgramsInFibersGiveTheSameResultsUnderAScheduler) {
  expect_all_results([this] { return std::make_unique<Scheduler>(options()); });
}

TEST(BlockingIoFibers, I3_ProgramsInFibersGiveTheSameResultsUnderBlockingIo) {
  expect_all_results([] { return std::make_unique<BlockingIo>(); });
}

}  // namespace colourblind_fiber_test
}  // namespace tiffany
