// A process with a thousand tasks of many kinds, durable ones among them, is ended with real
// signals: its report adds up, nothing that it acknowledged is lost, and the deadline holds.
// TIFFANY_SHUTDOWN_SIGNALS=100 (./dev soak shutdown) does so a hundred times, and wants the
// deadline within 100 ms.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/random.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/observe/shutdown.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::shutdown_signals_test {

using namespace std::chrono_literals;

constexpr Duration kDrain = 150ms;
constexpr Duration kUnwind = 150ms;
constexpr int kSteps = 1'000'000;  // more than there is time for

// A line for the test, which no crash takes back.
int out = -1;
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(3);
}

// Steps that ran in this process.
std::map<Uuid, std::set<int>>& ran() {
  static std::map<Uuid, std::set<int>> all;
  return all;
}

Durable<int> worker(Flow& flow) {
  const Uuid id = flow.id();
  for (int i = 0; i < kSteps; ++i) {
    co_await flow.step("work", [id, i] { ran()[id].insert(i); });
    if (out >= 0) say("step " + id.text() + " " + std::to_string(i));
    co_await flow.step("pause", []() -> Task<void> { co_await sleep(2ms); });
  }
  co_return 0;
}

Registry types() {
  Registry all;
  all.add("worker", 1, worker);
  return all;
}

// ---- The process

Task<void> sleeps(Duration time) { co_await sleep(time); }

Task<void> reads_a_pipe() {
  const Pipe both = make_pipe();
  char room[16];
  co_await both.read_end.read(room);
}

Task<void> ignores_cancels() {
  for (;;) {
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
    }
    co_await shield(sleeps(5ms));
  }
}

void spawn_many(Random& random, int count) {
  for (int i = 0; i < count; ++i) {
    switch (random.below(8)) {
      case 0:
        spawn(sleeps, std::chrono::milliseconds(random.below(300)));
        break;
      case 1:
        spawn(reads_a_pipe);
        break;
      case 2:
        spawn([](Duration t) -> Task<void> { co_await shield(sleeps(t)); },
              std::chrono::milliseconds(random.below(400)));
        break;
      case 3:
        spawn([]() -> Task<void> {
          const ExternalPromise<int> promise;
          co_await promise.future();
        });
        break;
      case 4:
        spawn([]() -> Task<void> {
          co_await scope([](Scope& own) -> Task<void> {
            own.spawn(sleeps, Duration(1h));
            co_await sleep(10ms);
            own.spawn(sleeps, Duration(1h));
          });
        });
        break;
      case 5:
        if (random.below(20) == 0) {
          spawn(ignores_cancels);
          break;
        }
        [[fallthrough]];
      default:
        spawn(sleeps, Duration(1h));
    }
  }
}

Task<void> starts_workers(Host* host) {
  for (int i = 0; i < 20; ++i) {
    const Uuid id = co_await host->start("worker");
    say("started " + id.text());
    co_await sleep(3ms);
  }
}

Task<observe::ShutdownReport> program(std::string directory, std::uint64_t seed) {
  const Registry registry = types();
  Host host(registry, wal::LogOptions(directory));
  co_await host.open();
  Random random(seed, "kinds");
  spawn_many(random, 1000);
  spawn(starts_workers, &host);
  observe::ShutdownOptions options;
  options.drain = kDrain;
  options.unwind = kUnwind;
  // The host first: its log needs tasks to write, which a shutdown refuses.
  const Signals signals({SIGTERM, SIGINT});
  say("ready");
  static_cast<void>(co_await signals.next());
  co_await host.close();
  const observe::ShutdownReport report = co_await observe::shut_down(options);
  co_return report;
}

[[noreturn]] void be_the_process(const std::string& directory, std::uint64_t seed) {
  Scheduler scheduler(Options().log_to([](const LogLine&) {}));
  auto last = scheduler.spawn(program, directory, seed);
  scheduler.run();
  const observe::ShutdownReport report = last.value(false);
  say("report " + std::to_string(report.there) + " " + std::to_string(report.spawned) + " " +
      std::to_string(report.finished) + " " + std::to_string(report.cancelled) + " " +
      std::to_string(report.abandoned) + " " + std::to_string(report.took / 1us));
  ::_exit(0);
}

// ---- The test

struct Heard {
  std::vector<Uuid> started{};
  std::map<Uuid, std::set<int>> steps{};
  std::uint64_t there = 0, spawned = 0, finished = 0, cancelled = 0, abandoned = 0;
  std::int64_t took_us = -1;
  bool ready = false;

  void take(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    std::string id;
    in >> what;
    if (what == "ready") {
      ready = true;
    } else if (what == "started") {
      in >> id;
      started.push_back(*Uuid::parse(id));
    } else if (what == "step") {
      int number = 0;
      in >> id >> number;
      steps[*Uuid::parse(id)].insert(number);
    } else if (what == "report") {
      in >> there >> spawned >> finished >> cancelled >> abandoned >> took_us;
    }
  }
};

// Starts the process, ends it by signals, and gives what it said.
Heard one_life(const std::string& directory, std::uint64_t seed) {
  Random random(seed, "signals");
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    out = ends[1];
    be_the_process(directory, seed);
  }
  ::close(ends[1]);
  Heard heard;
  std::string rest;
  const std::size_t when = random.below(60);  // after so many lines
  const bool twice = random.below(3) == 0;
  std::size_t lines = 0;
  bool told = false;
  char room[4096];
  for (ssize_t count; (count = ::read(ends[0], room, sizeof room)) > 0;) {
    rest.append(room, static_cast<std::size_t>(count));
    for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
      heard.take(rest.substr(0, end));
      ++lines;
    }
    if (!told && heard.ready && lines > when) {
      told = true;
      ::kill(child, random.below(2) == 0 ? SIGTERM : SIGINT);
      if (twice) ::kill(child, SIGTERM);
    }
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "seed " << seed;
  return heard;
}

// The next life: everything that was acknowledged is in the log, and no step of it runs again.
void check_log(const std::string& directory, const Heard& heard, std::uint64_t seed) {
  ran().clear();
  Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
  const Registry registry = types();
  Host host(registry, wal::LogOptions(directory));
  auto opened = scheduler.spawn([&]() -> Task<void> {
    co_await host.open();
    for (const Uuid& id : heard.started) {
      const std::optional<DurableInfo> info = host.info(id);
      EXPECT_TRUE(info.has_value()) << "seed " << seed;
      if (!info) continue;
      EXPECT_EQ(info->status, DurableStatus::running)
          << "seed " << seed << ": " << name_of(info->status);
    }
    for (const auto& [id, steps] : heard.steps) {
      for (const int again : ran()[id]) {
        EXPECT_FALSE(steps.contains(again)) << "seed " << seed << ": step " << again << " twice";
      }
    }
  });
  while (!opened.done()) {
    if (!scheduler.step() && !scheduler.poll(scheduler.now())) {
      scheduler.run_until(scheduler.now() + 1ms);
    }
  }
  EXPECT_EQ(opened.state(), TaskState::completed) << "seed " << seed;
}

TEST(ShutdownSignals, TheReportAddsUpAndNothingAcknowledgedIsLost) {
  const char* const asked = std::getenv("TIFFANY_SHUTDOWN_SIGNALS");
  const std::uint64_t lives = asked != nullptr ? std::stoull(asked) : 3;
  const Duration late = asked != nullptr ? Duration(100ms) : Duration(30s);
  std::uint64_t acknowledged = 0;
  std::int64_t longest_us = 0;
  for (std::uint64_t seed = 0; seed < lives; ++seed) {
    std::string directory =
        (std::filesystem::temp_directory_path() / "tiffany-shutdown-XXXXXX").string();
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    const Heard heard = one_life(directory + "/wal", seed);
    ASSERT_GE(heard.took_us, 0) << "seed " << seed << ": there is no report";
    EXPECT_GE(heard.there, 700u) << "seed " << seed;
    EXPECT_EQ(heard.there + heard.spawned, heard.finished + heard.cancelled + heard.abandoned)
        << "seed " << seed;
    EXPECT_LE(std::chrono::microseconds(heard.took_us), kDrain + kUnwind + late) << "seed " << seed;
    longest_us = std::max(longest_us, heard.took_us);
    for (const auto& [id, steps] : heard.steps) acknowledged += steps.size();
    check_log(directory + "/wal", heard, seed);
    std::filesystem::remove_all(directory);
  }
  if (asked == nullptr) return;
  std::printf("%ju lives, %ju acknowledged steps, the longest shutdown took %.1f ms of %.1f\n",
              std::uintmax_t{lives}, std::uintmax_t{acknowledged},
              static_cast<double>(longest_us) / 1000,
              static_cast<double>((kDrain + kUnwind) / 1us) / 1000);
}

}  // namespace tiffany::shutdown_signals_test
