// I4: what every blocking call of module sync does when the task that makes it is cancelled: before
// the call, while parked in it, and after its result has arrived. As core/cancel_calls_test.cpp for
// the core.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace sync_cancel_test {

using namespace test;

// Everything is taken, empty or closed, until arrive() is called.
class Stage {
 public:
  Stage() : taken_(mutex.try_lock()), written_(shared.try_lock()), used_(semaphore.try_acquire()) {
    full.sender.try_send(0);
  }
  void arrive() {
    arrived_ = true;
    static_cast<void>(full.receiver.try_recv());
    empty.sender.try_send(1);
    met_ = meet.receiver.try_recv();
    left_alone_ = meet.sender.try_send(1) == Posted::full;
    taken_.reset();
    written_.reset();
    used_.reset();
    event.set();
    latch.count_down();
    barrier.drop();
    condition.notify_one();
    watch.set(1);
    broadcast.send(1);
  }
  // Nobody got any of it, now or when it came.
  void expect_no_waits() {
    if (!arrived_) arrive();
    EXPECT_EQ(full.sender.size(), 0u) << "somebody waited to send";
    EXPECT_EQ(empty.receiver.size(), 1u) << "somebody waited to receive";
    EXPECT_EQ(met_, std::nullopt) << "somebody waited to send";
    EXPECT_TRUE(left_alone_) << "somebody waited to receive";
    EXPECT_FALSE(mutex.locked());
    EXPECT_FALSE(shared.locked());
    EXPECT_EQ(shared.readers(), 0u);
    EXPECT_EQ(semaphore.available(), 1u);
    EXPECT_EQ(barrier.rounds(), 0u);
    EXPECT_EQ(barrier.waiting(), 0u);
    EXPECT_FALSE(door.locked());
    EXPECT_TRUE(reader.has_changed()) << "somebody has seen the value";
    EXPECT_EQ(listener.size(), 1u) << "somebody has received the value";
  }

  Channel<int> full = channel<int>(1);
  Channel<int> empty = channel<int>(1);
  Channel<int> meet = channel<int>(0);
  Mutex mutex;
  SharedMutex shared;
  Semaphore semaphore{1};
  ManualResetEvent event;
  Latch latch{1};
  Barrier barrier{2};
  Mutex door;
  Condition condition;
  Watch<int> watch;
  Watch<int>::Reader reader = watch.reader();
  Broadcast<int> broadcast{1};
  Broadcast<int>::Receiver listener = broadcast.subscribe();

 private:
  std::optional<Mutex::Guard> taken_;
  std::optional<SharedMutex::Guard> written_;
  std::optional<Semaphore::Permit> used_;
  std::optional<int> met_;
  bool left_alone_ = false;
  bool arrived_ = false;
};

using Block = Task<void> (*)(Stage&);

Task<void> in_send(Stage& stage) { co_await stage.full.sender.send(1); }
Task<void> in_send_from(Stage& stage) {
  int value = 1;
  co_await stage.full.sender.send_from(value);
}
Task<void> in_send_to_meet(Stage& stage) { co_await stage.meet.sender.send(1); }
Task<void> in_recv(Stage& stage) { static_cast<void>(co_await stage.empty.receiver.recv()); }
Task<void> in_recv_to_meet(Stage& stage) { static_cast<void>(co_await stage.meet.receiver.recv()); }
Task<void> in_recv_many(Stage& stage) {
  static_cast<void>(co_await stage.empty.receiver.recv_many(4));
}
Task<void> in_lock(Stage& stage) { static_cast<void>(co_await stage.mutex.lock()); }
Task<void> in_lock_exclusive(Stage& stage) { static_cast<void>(co_await stage.shared.lock()); }
Task<void> in_lock_shared(Stage& stage) { static_cast<void>(co_await stage.shared.lock_shared()); }
Task<void> in_acquire(Stage& stage) { static_cast<void>(co_await stage.semaphore.acquire()); }
Task<void> in_event(Stage& stage) { co_await stage.event.wait(); }
Task<void> in_latch(Stage& stage) { co_await stage.latch.wait(); }
Task<void> in_barrier(Stage& stage) { static_cast<void>(co_await stage.barrier.arrive()); }
Task<void> in_condition(Stage& stage) {
  auto guard = co_await stage.door.lock();
  co_await stage.condition.wait(guard);
}
Task<void> in_changed(Stage& stage) { static_cast<void>(co_await stage.reader.changed()); }
Task<void> in_recv_broadcast(Stage& stage) { static_cast<void>(co_await stage.listener.recv()); }
Task<void> in_race(Stage& stage) {
  co_await race(stage.empty.receiver.recv(), stage.mutex.lock(), stage.full.sender.send(1));
}
Task<void> in_race_of_many(Stage& stage) {
  std::vector<Recv<int>> calls;
  calls.push_back(stage.meet.receiver.recv());
  calls.push_back(stage.empty.receiver.recv());
  co_await race(std::move(calls));
}
Task<void> in_within_recv(Stage& stage) { co_await within(1h, stage.empty.receiver.recv()); }
Task<void> in_within_lock(Stage& stage) { co_await within(1h, stage.mutex.lock()); }
Task<void> in_race_of_tasks(Stage& stage) { co_await race(in_event(stage), in_latch(stage)); }

struct BlockingCall {
  const char* name;
  Block block;
};
void PrintTo(const BlockingCall& call, std::ostream* out) { *out << call.name; }

const BlockingCall kAnsweredAtOnce[] = {
    {"Send", in_send},
    {"SendFrom", in_send_from},
    {"Recv", in_recv},
    {"RecvMany", in_recv_many},
    {"Lock", in_lock},
    {"LockExclusive", in_lock_exclusive},
    {"LockShared", in_lock_shared},
    {"Acquire", in_acquire},
    {"Event", in_event},
    {"Latch", in_latch},
    {"Barrier", in_barrier},
    {"Changed", in_changed},
    {"RecvBroadcast", in_recv_broadcast},
    {"Race", in_race},
    {"RaceOfMany", in_race_of_many},
    {"WithinRecv", in_within_recv},
    {"WithinLock", in_within_lock},
};
// Those that suspend even when everything is there.
const BlockingCall kAlwaysSuspend[] = {
    {"SendToMeet", in_send_to_meet},
    {"RecvToMeet", in_recv_to_meet},
    {"Condition", in_condition},
    {"RaceOfTasks", in_race_of_tasks},
};

std::vector<BlockingCall> all_calls() {
  std::vector<BlockingCall> calls(std::begin(kAnsweredAtOnce), std::end(kAnsweredAtOnce));
  calls.insert(calls.end(), std::begin(kAlwaysSuspend), std::end(kAlwaysSuspend));
  return calls;
}

class CancelOfSync : public ::testing::TestWithParam<BlockingCall> {
 protected:
  Task<void> victim(Stage& stage, bool cancel_first) {
    const AtExit exit(trace, "unwound");
    if (cancel_first) this_task::cancel("before the call");
    co_await GetParam().block(stage);
    trace.push_back("passed");
    co_await yield();
    trace.push_back("beyond");
  }
  Trace trace;
};
class CancelOfAnsweredSync : public CancelOfSync {};

TEST_P(CancelOfSync, I4_BeforeTheCallItThrowsAndLeavesNoRegistration) {
  run_program([&]() -> Task<void> {
    Stage stage;
    const auto body = [&]() -> Task<void> { co_await victim(stage, true); };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"unwound"}));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    stage.expect_no_waits();
  });
}

TEST_P(CancelOfSync, I4_WhileParkedTheWaitIsWithdrawnAtOnceAndTheCodeBehindItNeverRuns) {
  run_program([&]() -> Task<void> {
    Stage stage;
    const auto body = [&]() -> Task<void> { co_await victim(stage, false); };
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    EXPECT_EQ(handle.state(), TaskState::blocked);
    EXPECT_EQ(trace, Trace());
    handle.cancel("while parked");
    if (std::string(GetParam().name) != "RaceOfTasks") stage.arrive();  // at once: nobody gets it
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"unwound"}));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    EXPECT_EQ(now(), Time(1ms));
    stage.expect_no_waits();
  });
}

TEST_P(CancelOfSync, I4_AfterTheResultArrivedTheResultWinsAndTheNextSuspensionThrows) {
  run_program([&]() -> Task<void> {
    Stage stage;
    const auto body = [&]() -> Task<void> { co_await victim(stage, false); };
    // Less urgent than everything else, so that it does not see its result before it is cancelled.
    auto handle = spawn.with_priority(20)(std::ref(body));
    co_await sleep(1ms);
    EXPECT_EQ(handle.state(), TaskState::blocked);
    stage.arrive();
    for (int i = 0; i < 10 && handle.state() == TaskState::blocked; ++i) co_await yield();
    EXPECT_EQ(handle.state(), TaskState::ready);
    EXPECT_EQ(trace, Trace());
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"passed", "unwound"}));
  });
}

TEST_P(CancelOfAnsweredSync, I4_ACancelledTaskIsStillAnsweredWithoutASuspension) {
  run_program([&]() -> Task<void> {
    Stage stage;
    stage.arrive();
    const auto body = [&]() -> Task<void> { co_await victim(stage, true); };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"passed", "unwound"}));
  });
}

// Every call is a switch then, so that the answer waits in the call while others run.
TEST_P(CancelOfAnsweredSync, I4_AnAnswerThatSpentTheQuantumIsNotLostToACancel) {
  run_program(
      [&]() -> Task<void> {
        Stage stage;
        stage.arrive();
        const auto body = [&]() -> Task<void> { co_await victim(stage, false); };
        auto handle = spawn(std::ref(body));
        while (handle.state() == TaskState::pending) co_await yield();
        EXPECT_EQ(handle.state(), TaskState::preempted);
        handle.cancel();
        const auto outcome = co_await handle.outcome();
        EXPECT_TRUE(outcome.cancelled());
        EXPECT_EQ(trace, Trace({"passed", "unwound"}));
      },
      Options().virtual_time().quantum(1));
}

const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Calls, CancelOfSync, ::testing::ValuesIn(all_calls()), kName);
INSTANTIATE_TEST_SUITE_P(Calls, CancelOfAnsweredSync, ::testing::ValuesIn(kAnsweredAtOnce), kName);

// ---- What a cancelled waiter leaves to the others

TEST(CancelOfWaiter, I4_TheNextInLineGetsWhatTheCancelledOneNeverHad) {
  run_program([]() -> Task<void> {
    Stage stage;
    Trace trace;
    const auto wait = [&](Block block, std::string name) -> Task<void> {
      co_await block(stage);
      trace.push_back(name);
    };
    std::vector<Handle<void>> cancelled;
    for (const Block block : {in_recv, in_lock, in_lock_exclusive, in_acquire, in_send}) {
      cancelled.push_back(spawn(std::ref(wait), block, "first"));
      spawn(std::ref(wait), block, "second");
    }
    co_await yield();
    for (const auto& handle : cancelled) handle.cancel();
    stage.arrive();
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace({"second", "second", "second", "second", "second"}));
  });
}

TEST(CancelOfWaiter, I4_AScopeThatIsCancelledWithdrawsAllOfItsWaits) {
  run_program([]() -> Task<void> {
    Stage stage;
    const auto late = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        for (const BlockingCall& call : all_calls()) s.spawn(call.block, std::ref(stage));
        co_await sleep(1h);
      });
    };
    const auto outcome = co_await within(1ms, late());
    EXPECT_TRUE(outcome.timed_out());
    EXPECT_EQ(now(), Time(1ms));
    stage.expect_no_waits();
  });
}

TEST(CancelOfWaiter, I4_AShieldedWaitIsNotWithdrawn) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    std::optional<int> received;
    const auto wait = [&]() -> Task<void> {
      received = co_await shield(numbers.receiver.recv());
      co_await checkpoint();
      ADD_FAILURE() << "the cancellation goes on after the shield";
    };
    auto handle = spawn(std::ref(wait));
    co_await yield();
    handle.cancel();
    co_await numbers.sender.send(3);
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(received, 3);
  });
}

}  // namespace sync_cancel_test
}  // namespace tiffany
