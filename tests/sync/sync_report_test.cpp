// W8: tasks that wait at a primitive say so, and who has what they wait for.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/core/deadlock.hpp"

namespace tiffany {
namespace sync_report_test {

using namespace test;

// The report of a scheduler that must be stuck. Ends what is left, so that nothing remains.
std::string report_of(Scheduler& scheduler) {
  std::string report;
  try {
    scheduler.run();
    ADD_FAILURE() << "no deadlock";
  } catch (const Deadlock& deadlock) {
    report = deadlock.what();
  }
  const std::string dump = scheduler.dump_text();
  EXPECT_NE(dump.find("blocked in "), std::string::npos);
  scheduler.shutdown();
  expect_nothing_left(scheduler);
  return report;
}

void expect_in(const std::string& report, const std::string& text) {
  EXPECT_NE(report.find(text), std::string::npos) << "missing: " << text << "\nin: " << report;
}

std::string here(unsigned line) { return "sync_report_test.cpp:" + std::to_string(line); }

TEST(SyncReport, W8_ACircleOverTwoMutexesIsFoundWithWhereEachWasLocked) {
  Scheduler scheduler(Options().virtual_time());
  Mutex left;
  Mutex right;
  unsigned line = 0;
  const auto eat = [&](Mutex& first, Mutex& second) -> Task<void> {
    line = __LINE__ + 1;
    const auto one = co_await first.lock();
    co_await yield();
    const auto two = co_await second.lock();
  };
  scheduler.spawn(std::ref(eat), std::ref(left), std::ref(right)).named("plato");
  scheduler.spawn(std::ref(eat), std::ref(right), std::ref(left)).named("kant");
  const std::string report = report_of(scheduler);
  expect_in(report,
            "task #1 \"plato\" waits for a mutex held by task #2 \"kant\" (" + here(line) + ")");
  expect_in(report,
            "task #2 \"kant\" waits for a mutex held by task #1 \"plato\" (" + here(line) + ")");
  expect_in(report,
            "They wait in a circle: task #1 \"plato\" -> task #2 \"kant\" -> task #1 \"plato\"");
}

TEST(SyncReport, W8_ACircleThroughASharedMutexASemaphoreAndARace) {
  Scheduler scheduler(Options().virtual_time());
  SharedMutex mutex;
  Semaphore seats(2);
  ManualResetEvent event;
  const auto reader = [&]() -> Task<void> {
    const auto guard = co_await mutex.lock_shared();
    co_await yield();
    const auto won = co_await race(event.wait(), seats.acquire(2));
  };
  const auto sitter = [&]() -> Task<void> {
    const auto permit = co_await seats.acquire();
    co_await yield();
    const auto guard = co_await mutex.lock();
  };
  scheduler.spawn(std::ref(reader)).named("reader");
  scheduler.spawn(std::ref(sitter)).named("sitter");
  const std::string report = report_of(scheduler);
  expect_in(report,
            "waits for an event to be set or 2 permits of a semaphore (1 of 2 free) held by task "
            "#2 \"sitter\" (");
  expect_in(report, "waits for a shared mutex, to write, held by task #1 \"reader\" (");
  expect_in(report, "circle: task #1 \"reader\" -> task #2 \"sitter\" -> task #1 \"reader\"");
}

TEST(SyncReport, W8_EveryPrimitiveSaysWhatIsWaitedFor) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    auto full = channel<int>(1);
    co_await full.sender.send(0);
    auto empty = channel<int>(3);
    auto meet = channel<int>(0);
    ManualResetEvent event;
    Latch latch(2);
    Barrier barrier(3);
    Condition condition;
    Mutex door;
    SharedMutex shared;
    auto written = co_await shared.lock();
    Semaphore seats(1);
    auto permit = co_await seats.acquire();
    Promise<int> never;
    co_await scope([&](Scope& s) -> Task<void> {
      const auto wait = [&](int what) -> Task<void> {
        if (what == 0) co_await full.sender.send(1);
        if (what == 1) static_cast<void>(co_await empty.receiver.recv());
        if (what == 2) co_await meet.sender.send(1);
        if (what == 3) static_cast<void>(co_await empty.receiver.recv_many(2));
        if (what == 4) co_await event.wait();
        if (what == 5) co_await latch.wait();
        if (what == 6) static_cast<void>(co_await barrier.arrive());
        if (what == 7) {
          auto guard = co_await door.lock();
          co_await condition.wait(guard);
        }
        if (what == 8) static_cast<void>(co_await shared.lock_shared());
        if (what == 9) static_cast<void>(co_await seats.acquire());
        if (what == 10) co_await race(event.wait(), never.future());
        if (what == 11) {
          std::vector<ManualResetEvent::Wait> many;
          for (int i = 0; i < 10; ++i) many.push_back(event.wait());
          co_await race(std::move(many));
        }
      };
      for (int what = 0; what < 12; ++what) s.spawn(std::ref(wait), what);
      co_await sleep(1ms);
      const std::string dump = Scheduler::current()->dump_text();
      expect_in(dump,
                "blocked in acquire: 1, arrive: 1, lock_shared: 1, race: 2, recv: 1, recv_many: 1, "
                "send: 2, wait_condition: 1, wait_event: 1, wait_latch: 1");
      co_await never.future();
    });
  };
  scheduler.spawn(std::ref(program)).named("main");
  std::string report;
  try {
    scheduler.run();
  } catch (const Deadlock& deadlock) {
    report = deadlock.what();
  }
  expect_in(report, "waits for room in a channel of 1 value (1 receiver)\n");
  expect_in(report, "waits for a value in a channel (1 sender)\n");
  expect_in(report, "waits for a receiver to take its value from a channel (1 receiver)\n");
  expect_in(report, "waits for an event to be set\n");
  expect_in(report, "waits for a latch to open (2 left)\n");
  expect_in(report, "waits for a barrier (1 of 3 have come)\n");
  expect_in(report, "waits for a condition to be notified\n");
  expect_in(report, "waits for a shared mutex, to read, held by task #1 \"main\" (");
  expect_in(report, "waits for 1 permit of a semaphore (0 of 1 free) held by task #1 \"main\" (");
  expect_in(report, "waits for an event to be set or a promise\n");
  expect_in(report, "an event to be set or an event to be set or 2 more\n");
  EXPECT_EQ(report.find("circle"), std::string::npos) << report;
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(SyncReport, W8_ManyHoldersAreCutShortAndOnesThatHaveEndedAreToldApart) {
  Scheduler scheduler(Options().virtual_time());
  Semaphore seats(10);
  std::vector<Semaphore::Permit> left_behind;
  const auto sit_and_go = [&]() -> Task<void> { left_behind.push_back(co_await seats.acquire()); };
  const auto wait = [&]() -> Task<void> { const auto permit = co_await seats.acquire(10); };
  const auto kept = scheduler.spawn(std::ref(sit_and_go)).named("first");
  for (int i = 1; i < 10; ++i) scheduler.spawn(std::ref(sit_and_go));
  scheduler.spawn(std::ref(wait)).named("wait");
  scheduler.step_until_idle();
  const std::string report = scheduler.wait_report();
  expect_in(
      report,
      "10 permits of a semaphore (0 of 10 free) held by task #1 \"first\", which has ended (");
  expect_in(report, " and task #2, which has ended (");
  expect_in(report, " and 2 more");
  EXPECT_EQ(seats.available(), 0u);
  scheduler.shutdown();
  left_behind.clear();
  EXPECT_EQ(seats.available(), 10u);
}

}  // namespace sync_report_test
}  // namespace tiffany
