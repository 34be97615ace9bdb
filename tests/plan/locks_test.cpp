#include "tiffany/plan/locks.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "plan/plan_world.hpp"
#include "tiffany/io/system_reactor.hpp"

namespace tiffany {
namespace plan_locks_test {

using namespace std::chrono_literals;
using plan::LockHolder;
using plan::Locks;
using plan::PlanEnd;
using plan::PlanView;
using Words = std::vector<std::string>;

const Uuid kOther = Uuid::derived(Uuid(), "another plan");

const Words kDisk{"disk"};

class PlanLocks : public PlanTest {
 protected:
  void read_both(const std::string& first, const std::string& second) {
    read(second);
    other = plan;
    read(first);
  }
  Task<void> start_both(Host& host) {
    co_await start(host);
    co_await host.start_as(kOther, plan::kPlanType, other, plan::Values{});
  }
  static Task<std::string> view_of(Host& host, Uuid id) {
    const PlanView view = co_await host.ask(id, plan::kPlanView);
    std::string all;
    for (const plan::UnitView& each : view.units) {
      all += each.name + " " + each.state + (each.text.empty() ? "" : ": " + each.text) + "; ";
    }
    co_return all;
  }
  plan::Plan other;
};

constexpr const char* kFirst = "steps: [{name: a, locks: [disk], run: [do, a]}]";
constexpr const char* kSecond = "steps: [{name: b, locks: [disk], run: [do, b]}]";

TEST_F(PlanLocks, StepsOfTwoPlansWithOneLockRunOneAfterTheOtherAndTheViewSaysWhoHasIt) {
  read_both(kFirst, kSecond);
  commands.script["a"] = {{.takes = 1h}};
  std::string seen;
  world.live([&](Host& host) -> Task<void> {
    co_await start_both(host);
    co_await sleep(1min);
    seen = co_await view_of(host, kOther);
    const std::vector<plan::LockWait> waits = services_.locks.waits_of(kOther);
    EXPECT_EQ(waits.size(), 1u);
    for (const plan::LockWait& each : waits) {
      EXPECT_EQ(each.lock + " " + each.unit + " " + each.holder->unit, "disk b a");
    }
    EXPECT_TRUE(services_.locks.waits_of(kPlanTask).empty());
    co_await host.result<PlanEnd>(kPlanTask);
    co_await host.result<PlanEnd>(kOther);
  });
  EXPECT_EQ(seen,
            "b waiting for a lock: waits for the lock \"disk\", which the step \"a\" of the "
            "task " +
                kPlanTask.text() + " has; ");
  EXPECT_EQ(commands.begun, (Words{"a", "b"}));
  EXPECT_EQ(commands.most_running, 1);
  EXPECT_FALSE(services_.locks.holder_of("disk").has_value());
}

TEST_F(PlanLocks, TwoPlansThatNameTwoLocksInOppositeOrderBothEnd) {
  read_both("steps: [{name: a, locks: [x, y], run: [do, a]}]",
            "steps: [{name: b, locks: [y, x], run: [do, b]}]");
  world.live([&](Host& host) -> Task<void> {
    co_await start_both(host);
    co_await host.result<PlanEnd>(kPlanTask);
    co_await host.result<PlanEnd>(kOther);
  });
  EXPECT_EQ(commands.most_running, 1);
}

TEST_F(PlanLocks, APlanThatWaitsForALockAndIsCancelledEndsAndTheHolderKeepsIt) {
  read_both(kFirst, kSecond);
  commands.script["a"] = {{.takes = 1h}};
  world.live([&](Host& host) -> Task<void> {
    co_await start_both(host);
    co_await sleep(1min);
    co_await host.cancel(kOther, "enough");
    try {
      static_cast<void>(co_await within(1min, host.result_json(kOther)));
    } catch (const Error&) {  // cancelled
    }
    EXPECT_EQ(host.info(kOther)->status, DurableStatus::cancelled);
    EXPECT_EQ(services_.locks.holder_of("disk")->task, kPlanTask);
    co_await host.result<PlanEnd>(kPlanTask);
  });
  EXPECT_EQ(commands.begun[0], "a");
  EXPECT_FALSE(services_.locks.holder_of("disk").has_value());
}

TEST_F(PlanLocks, ACommandThatFailsGivesItsLockBackBeforeTheNextAttempt) {
  read_both("steps: [{name: a, locks: [disk], retry: {attempts: 2, pause: 1h}, run: [do, a]}]",
            kSecond);
  commands.script["a"] = {{.code = 1}, {}};
  world.live([&](Host& host) -> Task<void> {
    co_await start_both(host);
    co_await host.result<PlanEnd>(kPlanTask);
    co_await host.result<PlanEnd>(kOther);
  });
  EXPECT_EQ(commands.begun, (Words{"a", "b", "a"}));
}

TEST_F(PlanLocks, TheLockOfAPlanThatWasKilledGoesToTheNext) {
  read_both(kFirst, kSecond);
  commands.script["a"] = {{.takes = 24h}};
  world.live([&](Host& host) -> Task<void> {
    services_.locks.live = [&](const Uuid& task) {
      const auto info = host.info(task);
      return info && info->status < DurableStatus::completed;
    };
    co_await start_both(host);
    co_await sleep(1min);
    co_await host.kill(kPlanTask, "enough");
    co_await host.result<PlanEnd>(kOther);
  });
  services_.locks.live = nullptr;
  EXPECT_EQ(commands.begun, (Words{"a", "b"}));
}

TEST_F(PlanLocks, WhereverTheProcessDiesEachCommandBeginsOnceAndNoLockIsLeft) {
  read_both("steps: [{name: a, locks: [x, y], run: [do, a]}, {name: c, locks: [x], run: [do, c]}]",
            "steps: [{name: b, locks: [y], run: [do, b]}]");
  const std::size_t crashes = world.crash_everywhere(
      [&] { commands.clear(); },
      [&](Host& host) -> Task<void> {
        co_await start_both(host);
        co_await host.result<PlanEnd>(kPlanTask);
        co_await host.result<PlanEnd>(kOther);
      },
      [&] {
        Words all = commands.begun;
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, (Words{"a", "b", "c"})) << "crash after slice " << world.crashed_after;
        for (const char* const name : {"x", "y"}) {
          EXPECT_FALSE(services_.locks.holder_of(name).has_value())
              << name << ", crash after slice " << world.crashed_after;
        }
      });
  EXPECT_GT(crashes, 20u);
}

// ---- In files ----

class LockFiles : public testing::Test {
 protected:
  LockFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-XXXXXX").string();
    directory = mkdtemp(name.data());
  }
  ~LockFiles() override { std::filesystem::remove_all(directory); }
  static LockHolder holder(const std::string& name) {
    LockHolder made;
    made.task = Uuid::derived(Uuid(), "task of " + name);
    made.unit = name;
    made.command = Uuid::derived(Uuid(), name);
    return made;
  }
  template <class F>
  static void program(F f) {
    Scheduler scheduler(Options().clock(system_reactor()));
    auto handle = scheduler.spawn(std::ref(f));
    scheduler.run();
    outcome_of(handle, false).value();
  }
  std::string directory;
};

TEST_F(LockFiles, TheNextProgramKnowsWhoHasALock) {
  program([&]() -> Task<void> {
    Locks locks(directory + "/locks");
    EXPECT_TRUE(co_await locks.acquire(kDisk, holder("a")));
  });
  program([&]() -> Task<void> {
    Locks locks(directory + "/locks");
    EXPECT_EQ(locks.holder_of("disk")->unit, "a");
    EXPECT_TRUE(co_await locks.acquire(kDisk, holder("a")));  // its own
    auto other = spawn([&]() -> Task<bool> { return locks.acquire(kDisk, holder("b")); });
    while (locks.wait_of(holder("b").command).empty()) co_await yield();
    co_await locks.release(kDisk, holder("c").command);  // not the holder: nothing
    EXPECT_EQ(locks.holder_of("disk")->unit, "a");
    co_await locks.release(kDisk, holder("a").command);
    EXPECT_TRUE(co_await other);
    EXPECT_EQ(locks.holder_of("disk")->unit, "b");
    co_await locks.release(kDisk, holder("b").command);
  });
  EXPECT_FALSE(std::filesystem::exists(directory + "/locks/disk"));
}

TEST_F(LockFiles, ADamagedFileIsSaidAndTheLockIsNotTaken) {
  std::filesystem::create_directory(directory + "/locks");
  std::ofstream(directory + "/locks/disk") << "{";
  std::string said;
  program([&]() -> Task<void> {
    Locks locks(directory + "/locks");
    try {
      co_await locks.acquire(kDisk, holder("a"));
    } catch (const Error& error) {
      said = error.what();
    }
  });
  EXPECT_NE(said.find("/locks/disk of a lock is damaged"), std::string::npos) << said;
}

TEST_F(LockFiles, ThoseWhoWaitGetItInTheOrderInWhichTheyAsked) {
  Words order;
  program([&]() -> Task<void> {
    Locks locks(directory + "/locks");
    const auto one = [&](std::string name) -> Task<void> {
      EXPECT_TRUE(co_await locks.acquire(kDisk, holder(name)));
      order.push_back(name);
      co_await locks.release(kDisk, holder(name).command);
    };
    auto a = spawn(one, std::string("a"));
    auto b = spawn(one, std::string("b"));
    auto c = spawn(one, std::string("c"));
    auto d = spawn(one, std::string("d"));
    while (locks.wait_of(holder("d").command).empty()) co_await yield();
    b.cancel("does not want it");
    co_await a;
    co_await c;
    co_await d;
    co_await b.outcome();
  });
  EXPECT_EQ(order, (Words{"a", "c", "d"}));
}

}  // namespace plan_locks_test
}  // namespace tiffany
