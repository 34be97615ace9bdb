// T3: system calls that the scheduler has never heard of. docs/07-system-calls.md has another.
#include "tiffany/core/system_call.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "support/harness.hpp"

namespace tiffany {
namespace system_call_test {

using namespace test;

// [event]
// A manual-reset event: everybody who waits goes on once it is set.
class Event {
 public:
  class Wait final : public SystemCall {
   public:
    static constexpr CallName call_name{"event_wait"};
    explicit Wait(Event& event) noexcept : event_(event) {}

    Answer start(Scheduler&, TaskRecord& task) {
      if (event_.set_) return Answer::now;
      task_ = &task;
      event_.waiting_.push_back(this);
      return Answer::parked;
    }
    void withdraw(TaskRecord&) noexcept override { std::erase(event_.waiting_, this); }
    void finish() noexcept {}
    std::string describe() const override { return "an event"; }

   private:
    friend class Event;
    Event& event_;
    TaskRecord* task_ = nullptr;
  };

  Wait wait() noexcept { return Wait(*this); }
  void set(Scheduler& scheduler) {
    set_ = true;
    for (const Wait* wait : std::exchange(waiting_, {})) wait->wake(scheduler, *wait->task_);
  }
  void reset() noexcept { set_ = false; }
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  std::deque<Wait*> waiting_;
  bool set_ = false;
};
// [event]

// A mailbox for one letter. Taking a letter is the result of the call, so a letter that was handed
// to a task must not be lost when that task is cancelled.
class Mailbox {
 public:
  class Take final : public SystemCall {
   public:
    static constexpr CallName call_name{"mailbox_take"};
    explicit Take(Mailbox& box) noexcept : box_(box) {}

    Answer start(Scheduler&, TaskRecord& task) {
      if (box_.letter_) {
        letter_ = std::exchange(box_.letter_, std::nullopt);
        return Answer::now;
      }
      task_ = &task;
      box_.takers_.push_back(this);
      return Answer::parked;
    }
    void withdraw(TaskRecord&) noexcept override { std::erase(box_.takers_, this); }
    std::string finish() { return std::move(*letter_); }
    std::string describe() const override { return "a letter"; }

   private:
    friend class Mailbox;
    Mailbox& box_;
    std::optional<std::string> letter_;
    TaskRecord* task_ = nullptr;
  };

  Take take() noexcept { return Take(*this); }
  // Into the hands of the first who waits, or into the slot.
  void put(Scheduler& scheduler, std::string letter) {
    if (takers_.empty()) {
      letter_ = std::move(letter);
      return;
    }
    Take* const taker = takers_.front();
    takers_.pop_front();
    taker->letter_ = std::move(letter);
    taker->wake(scheduler, *taker->task_);
  }
  std::size_t takers() const noexcept { return takers_.size(); }
  bool full() const noexcept { return letter_.has_value(); }

 private:
  std::optional<std::string> letter_;
  std::deque<Take*> takers_;
};

Task<void> wait_for(Event& event, Trace& trace, std::string name) {
  co_await event.wait();
  trace.push_back(std::move(name));
}
Task<std::string> take_from(Mailbox& box) { co_return co_await box.take(); }

TEST(UserSystemCall, T3_ParksAndIsWokenInTheOrderThatItDecides) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Event event;
    spawn(wait_for, std::ref(event), std::ref(trace), "a");
    spawn(wait_for, std::ref(event), std::ref(trace), "b");
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace()) << "code after a blocking call has not run";
    EXPECT_EQ(event.waiting(), 2u);
    event.set(*Scheduler::current());
    trace.push_back("set");
    co_await sleep(1ms);
    spawn(wait_for, std::ref(event), std::ref(trace), "late");
    co_await sleep(1ms);
    event.reset();
    auto parked = spawn(wait_for, std::ref(event), std::ref(trace), "never");
    co_await sleep(1ms);
    EXPECT_EQ(parked.state(), TaskState::blocked);
    co_await cancel_and_join(parked);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"set", "a", "b", "late"}));
}

TEST(UserSystemCall, T3_GivesItsResultAtOnceOrAfterAWait) {
  const auto program = []() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    Mailbox box;
    box.put(scheduler, "first");
    const std::string first = co_await box.take();
    EXPECT_EQ(first, "first");
    auto taker = spawn(take_from, std::ref(box));
    co_await sleep(1ms);
    box.put(scheduler, "second");
    const std::string second = co_await taker;
    EXPECT_EQ(second, "second");
  };
  run_program(program);
}

// ---- The three cancel tests ----

TEST(UserSystemCall, T3_I4_CancelledBeforeItStartsItIsNotLeftRegistered) {
  const auto program = []() -> Task<void> {
    Mailbox box;
    bool went_on = false;
    const auto body = [&]() -> Task<void> {
      this_task::cancel();
      static_cast<void>(co_await box.take());
      went_on = true;
    };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_FALSE(went_on);
    EXPECT_EQ(box.takers(), 0u);
  };
  run_program(program);
}

TEST(UserSystemCall, T3_I4_CancelledWhileParkedItIsWithdrawn) {
  const auto program = []() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    Mailbox box;
    auto first = spawn(take_from, std::ref(box));
    auto second = spawn(take_from, std::ref(box));
    co_await sleep(1ms);
    EXPECT_EQ(box.takers(), 2u);
    first.cancel();
    EXPECT_EQ(box.takers(), 1u) << "withdrawn at once, not when the task runs";
    box.put(scheduler, "letter");
    const auto outcome = co_await first.outcome();
    EXPECT_TRUE(outcome.cancelled());
    const std::string letter = co_await second;
    EXPECT_EQ(letter, "letter");
  };
  run_program(program);
}

TEST(UserSystemCall, T3_I4_CancelledAfterTheResultArrivedTheResultWins) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    Mailbox box;
    const auto body = [&]() -> Task<void> {
      trace.push_back(co_await box.take());
      co_await yield();
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    box.put(scheduler, "letter");
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_FALSE(box.full());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"letter"}));
}

// ---- What else the scheduler does for it ----

TEST(UserSystemCall, T3_MayBeWokenFromOutsideOfTheLoop) {
  Scheduler scheduler(Options().virtual_time());
  Event event;
  Trace trace;
  scheduler.spawn(wait_for, std::ref(event), std::ref(trace), "woken");
  scheduler.step_until_idle();
  event.set(scheduler);
  EXPECT_EQ(scheduler.ready_len(), 1u);
  scheduler.run();
  EXPECT_EQ(trace, Trace({"woken"}));
  expect_nothing_left(scheduler);
}

template <class S>
concept WakesWhomItLikes = requires(S& scheduler, TaskRecord& task) { scheduler.wake(task); };

// A sleeper that was woken from elsewhere left its timer in a frame that was gone.
TEST(UserSystemCall, NobodyButTheCallThatATaskIsParkedOnCanWakeTheTask) {
  EXPECT_FALSE(WakesWhomItLikes<Scheduler>);
}

// A call that wakes whenever it is told to.
class Eager final : public SystemCall {
 public:
  Eager() noexcept = default;
  Answer start(Scheduler&, TaskRecord&) noexcept { return Answer::parked; }
  void withdraw(TaskRecord&) noexcept override {}
  void finish() noexcept {}
  std::string describe() const override { return "nothing"; }
  void poke(TaskRecord& task) noexcept { wake(task); }
};

// B88: a spurious or double wake of a task that is not parked is a no-op; so is that of a task that
// is parked on another call.
TEST(UserSystemCall, T3_WakingATaskThatIsNotParkedOnTheCallIsHarmless) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    Eager stray;
    Event event;
    auto handle = spawn(wait_for, std::ref(event), std::ref(trace), "once");
    TaskRecord& record = *scheduler.find(handle.id());
    stray.poke(record);  // not started
    stray.poke(*scheduler.running());
    co_await yield();
    stray.poke(record);  // parked on the event
    EXPECT_EQ(scheduler.ready_len(), 0u);
    event.set(scheduler);
    stray.poke(record);  // ready already
    EXPECT_EQ(scheduler.ready_len(), 1u);
    co_await handle;
    stray.poke(record);  // ended
    EXPECT_EQ(scheduler.ready_len(), 0u);
    auto sleeper = spawn([]() -> Task<void> { co_await sleep(5ms); });
    co_await yield();
    stray.poke(*scheduler.find(sleeper.id()));
    EXPECT_EQ(sleeper.state(), TaskState::blocked);
    co_await sleeper;
    EXPECT_EQ(now(), Time(5ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"once"}));
}

TEST(UserSystemCall, W8_ShowsInTheDeadlockReportInItsOwnWords) {
  Scheduler scheduler(Options().virtual_time());
  Event event;
  Trace trace;
  scheduler.spawn(wait_for, std::ref(event), std::ref(trace), "x").named("listener");
  const auto error = thrown_by([&] { scheduler.run(); });
  EXPECT_EQ(code_of(error), Errc::deadlock);
  EXPECT_NE(what_of(error).find("task #1 \"listener\" waits for an event"), std::string::npos)
      << what_of(error);
  scheduler.shutdown();
}

// Registers with what it waits for, and does not say what is to happen then.
class Deaf final : public SystemCall {
 public:
  static constexpr CallName call_name{"deaf"};
  explicit Deaf(Waitable& target) noexcept : target_(target) {}
  Answer start(Scheduler&, TaskRecord& task) {
    target_.add_waiter(waiter_, task);
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override { target_.remove_waiter(waiter_); }
  void finish() noexcept {}
  std::string describe() const override { return "what it does not hear"; }

 private:
  Waitable& target_;
  Waiter waiter_;
};

TEST(UserSystemCall, W8_OneThatDoesNotListenToItsWaiterShowsAsADeadlock) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    auto ends = spawn([]() -> Task<void> { co_return; });
    co_await Deaf(ends.waitable());
  };
  scheduler.spawn(program);
  const auto error = thrown_by([&] { scheduler.run(); });
  EXPECT_EQ(code_of(error), Errc::deadlock);
  EXPECT_NE(what_of(error).find("waits for what it does not hear"), std::string::npos)
      << what_of(error);
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(UserSystemCall, T3_CountsInTheTraceByItsName) {
  const auto hash_of = [](auto call) {
    Scheduler scheduler(Options().virtual_time());
    const auto program = [&]() -> Task<void> { co_await call(); };
    run_on_scheduler(scheduler, program);
    return scheduler.trace_hash();
  };
  Event event;
  Mailbox box;
  const auto use_event = [&]() -> Task<void> {
    event.set(*Scheduler::current());
    co_await event.wait();
  };
  const auto use_box = [&]() -> Task<void> {
    box.put(*Scheduler::current(), "x");
    static_cast<void>(co_await box.take());
  };
  EXPECT_EQ(hash_of(use_event), hash_of(use_event));
  EXPECT_NE(hash_of(use_event), hash_of(use_box));
}

TEST(UserSystemCall, W6_AnAnswerAtOnceCountsAgainstTheQuantum) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Event event;
    event.set(*Scheduler::current());
    const auto body = [&](std::string name) -> Task<void> {
      for (int i = 0; i < 2; ++i) {
        co_await event.wait();
        trace.push_back(name);
      }
    };
    auto a = spawn(std::ref(body), "a");
    auto b = spawn(std::ref(body), "b");
    co_await gather(a, b);
  };
  run_program(program, Options().virtual_time().quantum(1));
  EXPECT_EQ(trace, Trace({"a", "b", "a", "b"}));
}

class Refuses final : public SystemCall {
 public:
  static constexpr CallName call_name{"refuses"};
  Refuses() noexcept = default;
  Answer start(Scheduler&, TaskRecord&) { throw std::runtime_error("not today"); }
  void withdraw(TaskRecord&) noexcept override {}
  void finish() noexcept {}
  std::string describe() const override { return "nothing"; }
};

TEST(UserSystemCall, T3_WhatStartThrowsIsThrownAtTheAwait) {
  const auto program = []() -> Task<void> {
    std::string what;
    try {
      co_await Refuses();
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    EXPECT_EQ(what, "not today");
    co_await yield();
  };
  run_program(program);
}

// A call that only another thread can end, through the scheduler's inbox.
class Foreign final : public SystemCall {
 public:
  static constexpr CallName call_name{"foreign"};
  Foreign() noexcept = default;

  Answer start(Scheduler& scheduler, TaskRecord& task) {
    class Arrived final : public Message {
     public:
      Arrived(Foreign& call, TaskRecord& task) noexcept : call_(call), task_(task) {}
      void deliver(Scheduler& s) noexcept override { call_.wake(s, task_); }

     private:
      Foreign& call_;
      TaskRecord& task_;
    };
    thread_ = std::thread([inbox = scheduler.inbox(), this, &task] {
      inbox->post(std::make_unique<Arrived>(*this, task));
    });
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override { thread_.join(); }
  void finish() { thread_.join(); }
  std::string describe() const override { return "another thread"; }
  bool waits_for_outside() const noexcept override { return true; }

 private:
  std::thread thread_;
};

TEST(UserSystemCallThread, W8_AWaitForTheOutsideIsNotADeadlock) {
  bool arrived = false;
  const auto program = [&]() -> Task<void> {
    co_await Foreign();
    arrived = true;
  };
  run_program(program);
  EXPECT_TRUE(arrived);
}

}  // namespace system_call_test
}  // namespace tiffany
