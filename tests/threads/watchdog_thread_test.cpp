#include "tiffany/observe/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tiffany/detail/world/thread_probe.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::watchdog_thread_test {

using namespace std::chrono_literals;
using observe::Watchdog;
using observe::WatchdogOptions;

// What a sink was given, from any thread.
class Kept {
 public:
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      texts_.push_back(text);
      came_.notify_all();
    };
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(came_.wait_for(lock, 30s, [&] { return texts_.size() >= count; }))
        << "of " << count << " texts, " << texts_.size() << " came";
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return texts_.size();
  }
  std::string last() {
    const std::lock_guard lock(mutex_);
    return texts_.empty() ? std::string() : texts_.back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> texts_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What the tests are about: a thread that does not come back to its loop until somebody says so. A
// test that goes wrong ends too.
[[gnu::noinline]] bool hangs_until(const std::atomic<bool>& over) {
  for (int i = 0; i < 100'000; ++i) {
    if (over.load()) return true;
    std::this_thread::sleep_for(200us);
  }
  return false;
}

std::mutex stuck_mutex;
std::condition_variable stuck_came;
bool stuck = false;
std::atomic<bool> over{false};
int line_before = 0;
void say_stuck() {
  const std::lock_guard lock(stuck_mutex);
  stuck = true;
  stuck_came.notify_all();
}

Task<void> innermost_hang() {
  line_before = __LINE__ + 1;
  co_await yield();
  say_stuck();
  EXPECT_TRUE(hangs_until(over));
}
int line_of_call = 0;
Task<void> hang() {
  line_of_call = __LINE__ + 1;
  co_await innermost_hang();
}
Task<void> sleeps() { co_await sleep(1h); }

Options quiet() {
  return Options().log_to([](const LogLine&) {});
}

class WatchdogThread : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::lock_guard lock(stuck_mutex);
    stuck = false;
    over = false;
  }
  static void wait_until_stuck() {
    std::unique_lock lock(stuck_mutex);
    EXPECT_TRUE(stuck_came.wait_for(lock, 30s, [] { return stuck; })) << "nothing is stuck";
  }
  Kept reports;
  Kept dumps;
  WatchdogOptions by_hand() {
    return WatchdogOptions().limit(40ms).by_hand().report_to(reports.sink()).dump_to(dumps.sink());
  }
};

TEST_F(WatchdogThread, ATaskThatDoesNotGiveWayIsReportedWhileItRunsWithItsLines) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand());
  scheduler.spawn(hang).named("hanging");
  std::thread other([&] {
    wait_until_stuck();
    watchdog.look(0ms);
    watchdog.look(10ms);
    watchdog.look(49ms);
    EXPECT_EQ(reports.count(), 0u);
    watchdog.look(50ms);
    EXPECT_EQ(reports.count(), 1u);
    over = true;
  });
  scheduler.run();
  other.join();
  const std::string text = reports.last();
  EXPECT_TRUE(has(text, "\"hanging\", spawned at watchdog_thread_test.cpp:")) << text;
  EXPECT_TRUE(has(text, "for more than 40 ms")) << text;
  EXPECT_TRUE(has(text, "watchdog_thread_test.cpp:" + std::to_string(line_before))) << text;
  EXPECT_TRUE(has(text, "watchdog_thread_test.cpp:" + std::to_string(line_of_call))) << text;
  // The native stack has names where the program has a table of symbols that can be read.
  void* const known[] = {reinterpret_cast<void*>(&hangs_until)};
  if (has(tiffany::detail::native_stack_text(known), "hangs_until")) {
    EXPECT_TRUE(has(text, "hangs_until")) << text;
    EXPECT_FALSE(has(text, "Loop::run_turn")) << text;
  }
}

TEST_F(WatchdogThread, ATaskThatIsStuckForEverIsReportedAgainAndAgainEachTimeLater) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand());
  scheduler.spawn(hang);
  std::thread other([&] {
    wait_until_stuck();
    for (Duration now{}; now < 10min; now += 1s) watchdog.look(now);
    over = true;
  });
  scheduler.run();
  other.join();
  // After 2, 3, 4, 5, 6, 8, 11, 17, 28, 49 and 90 seconds, and from then on each minute.
  EXPECT_EQ(reports.count(), 19u);
  EXPECT_EQ(watchdog.reports(), 19u);
}

TEST_F(WatchdogThread, ManySlicesInOneTurnAreNotOneLongSlice) {
  Scheduler scheduler(quiet().turn(1'000'000'000));
  Watchdog watchdog(scheduler, by_hand());
  static std::atomic<std::uint64_t> slices{0};
  slices = 0;
  for (int i = 0; i < 2; ++i) {
    scheduler.spawn([]() -> Task<void> {
      while (!over.load()) {
        ++slices;
        slices.notify_all();
        co_await yield();
      }
    });
  }
  std::thread other([&] {
    Duration now{};
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t before = slices.load();
      for (std::uint64_t now_at = before; now_at < before + 3; now_at = slices.load()) {
        slices.wait(now_at);
      }
      watchdog.look(now += 1s);
    }
    over = true;
  });
  scheduler.run();
  other.join();
  EXPECT_EQ(reports.count(), 0u) << reports.last();
}

TEST_F(WatchdogThread, BetweenTurnsALoopIsNotStuck) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand());
  scheduler.spawn([]() -> Task<void> { co_await yield(); });
  for (int i = 0; i < 10; ++i) watchdog.look(1s * i);
  scheduler.step();
  for (int i = 10; i < 20; ++i) watchdog.look(1s * i);
  EXPECT_EQ(reports.count(), 0u);
  scheduler.run();
}

TEST_F(WatchdogThread, AFiberIsReportedToo) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand());
  scheduler
      .spawn_fiber([] {
        say_stuck();
        EXPECT_TRUE(hangs_until(over));
      })
      .named("fiber");
  std::thread other([&] {
    wait_until_stuck();
    for (Duration now{}; now <= 60ms; now += 10ms) watchdog.look(now);
    over = true;
  });
  scheduler.run();
  other.join();
  EXPECT_EQ(reports.count(), 1u);
  EXPECT_TRUE(has(reports.last(), "\"fiber\"")) << reports.last();
}

TEST_F(WatchdogThread, AThreadThatBlocksSignalsIsReportedWithoutItsStack) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand());
  scheduler.spawn([]() -> Task<void> {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    say_stuck();
    EXPECT_TRUE(hangs_until(over));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    co_return;
  });
  std::thread other([&] {
    wait_until_stuck();
    for (Duration now{}; now <= 60ms; now += 10ms) watchdog.look(now);
    over = true;
  });
  scheduler.run();
  other.join();
  EXPECT_EQ(reports.count(), 1u);
  EXPECT_TRUE(has(reports.last(), "does not answer a signal")) << reports.last();
}

TEST_F(WatchdogThread, TheDumpOfAStuckLoopHasItsTasksAndWhatTheyWaitFor) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand());
  auto sleeper = scheduler.spawn(sleeps).named("sleeper");
  scheduler.spawn(hang).named("hanging");
  std::thread other([&] {
    wait_until_stuck();
    watchdog.dump();
    over = true;
  });
  scheduler.run_until(scheduler.now() + 1ms);
  while (!over.load()) scheduler.run_until(scheduler.now() + 1ms);
  other.join();
  EXPECT_EQ(watchdog.dumps(), 1u);
  const std::string text = dumps.last();
  EXPECT_TRUE(has(text, "in the middle of a slice: 2 tasks")) << text;
  EXPECT_TRUE(has(text, "\"sleeper\"")) << text;
  EXPECT_TRUE(has(text, "blocked in sleep")) << text;
  EXPECT_TRUE(has(text, "waiting now: join 0, sleep 1")) << text;
  EXPECT_TRUE(has(text, "\"hanging\"")) << text;
  EXPECT_TRUE(has(text, "Its thread is")) << text;
  sleeper.cancel();
  scheduler.run();
}

TEST_F(WatchdogThread, ATaskThatMakesTasksWithoutEndCanBeLookedAtInTheMiddle) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand().limit(4ms));
  scheduler
      .spawn([]() -> Task<void> {
        say_stuck();
        for (int i = 0; i < 100'000 && !over.load(); ++i) {
          static_cast<void>(spawn([]() -> Task<void> { co_return; }));
        }
        EXPECT_TRUE(hangs_until(over));
        co_return;
      })
      .named("spawning");
  int seen = 0;
  std::thread other([&] {
    wait_until_stuck();
    // Where the machine is busy, the thread may not answer in time.
    for (int tries = 0; tries < 200 && seen < 5; ++tries) {
      watchdog.dump();
      seen += has(dumps.last(), "\"spawning\"") ? 1 : 0;
    }
    over = true;
  });
  scheduler.run();
  other.join();
  EXPECT_EQ(seen, 5) << dumps.last();
}

TEST_F(WatchdogThread, ALoopThatIsNotStuckMakesTheDumpItself) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand().limit(10s));
  auto sleeper = scheduler.spawn(sleeps).named("sleeper");
  scheduler.step_until_idle();
  std::thread other([&] {
    watchdog.dump();
    over = true;
  });
  while (!over.load()) scheduler.run_until(scheduler.now() + 1ms);
  other.join();
  EXPECT_TRUE(has(dumps.last(), "waits for")) << dumps.last();
  EXPECT_TRUE(has(dumps.last(), "1 spawned")) << dumps.last();
  sleeper.cancel();
  scheduler.run();
}

TEST_F(WatchdogThread, OfASchedulerThatNobodyDrivesTheDumpSaysSo) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, by_hand().limit(5ms));
  scheduler.spawn([]() -> Task<void> { co_return; });
  watchdog.dump();
  EXPECT_TRUE(has(dumps.last(), "no thread drives it")) << dumps.last();
  scheduler.run();
}

TEST_F(WatchdogThread, ASignalToTheProcessMakesADumpThoughTheLoopIsStuck) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, WatchdogOptions()
                                   .limit(20ms)
                                   .dump_on(SIGUSR1)
                                   .dump_to(dumps.sink())
                                   .report_to(reports.sink()));
  scheduler.spawn(hang).named("hanging");
  std::thread other([&] {
    wait_until_stuck();
    kill(getpid(), SIGUSR1);
    dumps.wait_for(1);
    reports.wait_for(1);
    over = true;
  });
  scheduler.run();
  other.join();
  EXPECT_TRUE(has(dumps.last(), "\"hanging\"")) << dumps.last();
  EXPECT_TRUE(has(reports.last(), "\"hanging\"")) << reports.last();
}

TEST_F(WatchdogThread, TwoSchedulersInTwoThreadsAreReportedEachByItsOwn) {
  const auto one = [](const char* name) {
    Kept kept;
    Scheduler scheduler(quiet());
    Watchdog watchdog(scheduler, WatchdogOptions().limit(10ms).report_to(kept.sink()));
    scheduler
        .spawn(
            [](Kept* told) -> Task<void> {
              co_await yield();
              told->wait_for(1);
            },
            &kept)
        .named(name);
    scheduler.run();
    EXPECT_TRUE(has(kept.last(), "\"" + std::string(name) + "\"")) << kept.last();
  };
  std::thread left(one, "left");
  std::thread right(one, "right");
  left.join();
  right.join();
}

TEST_F(WatchdogThread, ItIsRefusedWhereItCouldNotWork) {
  Scheduler scheduler(quiet());
  EXPECT_THROW(Watchdog(scheduler, WatchdogOptions().limit(1ms)), Error);
  for (const int none : {-1, 65, 1000}) {
    try {
      const Watchdog watchdog(scheduler, by_hand().dump_on(none));
      ADD_FAILURE() << none;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::bad_argument) << error.what();
    }
  }
  const auto before = std::signal(SIGUSR2, [](int) {});
  EXPECT_THROW(Watchdog(scheduler, WatchdogOptions().dump_on(SIGUSR2)), Error);
  std::signal(SIGUSR2, before);
  const Watchdog first(scheduler, by_hand());
  EXPECT_THROW(Watchdog(scheduler, by_hand()), Error);
}

TEST_F(WatchdogThread, ItMayBeMadeAndDestroyedInATaskAndOutliveItsScheduler) {
  auto scheduler = std::make_unique<Scheduler>(quiet());
  scheduler->spawn(
      [](Scheduler* of, Kept* kept) -> Task<void> {
        for (int i = 0; i < 3; ++i) {
          const std::size_t before = kept->count();
          Watchdog watchdog(*of, WatchdogOptions().limit(4ms).report_to(kept->sink()));
          kept->wait_for(before + 1);
        }
        co_return;
      },
      scheduler.get(), &reports);
  scheduler->run();
  EXPECT_GE(reports.count(), 3u);
  Watchdog watchdog(*scheduler, WatchdogOptions().limit(4ms).report_to(reports.sink()));
  scheduler.reset();
}

TEST_F(WatchdogThread, ASinkThatThrowsIsCounted) {
  Scheduler scheduler(quiet());
  Watchdog watchdog(scheduler, WatchdogOptions().limit(5ms).by_hand().dump_to(
                                   [](const std::string&) { throw std::runtime_error("full"); }));
  watchdog.dump();
  EXPECT_EQ(watchdog.dumps(), 1u);
  EXPECT_EQ(watchdog.failed_sinks(), 1u);
}

TEST_F(WatchdogThread, AProgramIsTheSameWithIt) {
  const auto run = [](bool watched) {
    Scheduler scheduler(quiet().virtual_time());
    std::unique_ptr<Watchdog> watchdog;
    if (watched) watchdog = std::make_unique<Watchdog>(scheduler, WatchdogOptions().limit(4ms));
    for (int i = 0; i < 50; ++i) {
      scheduler.spawn(
          [](int n) -> Task<void> {
            for (int k = 0; k < n; ++k) co_await yield();
            co_await sleep(1ms * n);
          },
          i);
    }
    scheduler.run();
    return scheduler.trace_hash();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_F(WatchdogThread, TheChildOfAForkHasNoneAndCanEnd) {
  Scheduler scheduler(quiet());
  auto watchdog = std::make_unique<Watchdog>(scheduler, WatchdogOptions().limit(4ms));
  const pid_t child = fork();
  if (child == 0) {
    scheduler.spawn([]() -> Task<void> { co_await yield(); });
    scheduler.run();
    watchdog.reset();
    _exit(7);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

}  // namespace tiffany::watchdog_thread_test
