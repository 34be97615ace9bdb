// Three programs with a bug each that first-in-first-out order does not show, and their repairs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tiffany/test/explore.hpp"
#include "tiffany/tiffany.hpp"

namespace broken {

using namespace tiffany;
using namespace std::chrono_literals;

inline Task<void> other_work(int steps) {
  for (int i = 0; i < steps; ++i) co_await yield();
}

// ---- A lost update: read, await, write

inline Task<void> deposit(int& balance, int amount, int before) {
  co_await other_work(before);
  const int seen = balance;
  co_await other_work(1);  // somebody else may deposit here
  balance = seen + amount;
}

inline Task<void> lost_update() {
  int balance = 0;
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(deposit, std::ref(balance), 10, 0);
    s.spawn(deposit, std::ref(balance), 20, 2);
    s.spawn(deposit, std::ref(balance), 30, 5);
    co_return;
  });
  test::check(balance == 60, "a deposit was lost");
}

// ---- An order violation: used before it is made, because it always took longer before

inline Task<void> load(std::string& config) {
  co_await other_work(2);
  config = "loaded";
}

inline Task<void> serve(const std::string& config) {
  co_await other_work(4);
  test::check(!config.empty(), "served before the configuration was loaded");
}

inline Task<void> order_violation() {
  std::string config;
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(load, std::ref(config)).named("loader");
    s.spawn(serve, std::ref(config)).named("server");
    co_return;
  });
}

// ---- A deadlock of three: each has one lock and wants the next

class Lock {
 public:
  class Acquire final : public SystemCall {
   public:
    static constexpr CallName call_name{"acquire"};
    explicit Acquire(Lock& lock) noexcept : lock_(lock) {}
    Answer start(Scheduler&, TaskRecord& task) {
      if (lock_.holder_ == nullptr) {
        lock_.holder_ = &task;
        return Answer::now;
      }
      task_ = &task;
      lock_.waiting_.push_back(this);
      return Answer::parked;
    }
    void withdraw(TaskRecord&) noexcept override { std::erase(lock_.waiting_, this); }
    void finish() noexcept {}
    std::string describe() const override {
      return "a lock that " + lock_.holder_->describe() + " holds";
    }
    void visit_waits(WaitVisitor& visitor) const override { visitor.on_waitable(*lock_.holder_); }

   private:
    friend class Lock;
    Lock& lock_;
    TaskRecord* task_ = nullptr;
  };
  Acquire acquire() noexcept { return Acquire(*this); }
  void release() {
    holder_ = nullptr;
    if (waiting_.empty()) return;
    const Acquire* const next = waiting_.front();
    waiting_.erase(waiting_.begin());
    holder_ = next->task_;
    next->wake(*holder_);
  }

 private:
  TaskRecord* holder_ = nullptr;
  std::vector<Acquire*> waiting_;
};

inline Task<void> use_both(Lock& first, Lock& second, int before) {
  co_await other_work(before);
  co_await first.acquire();
  co_await other_work(1);
  co_await second.acquire();
  co_await other_work(1);
  second.release();
  first.release();
}

inline Task<void> deadlock_of_three() {
  Lock a, b, c;
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(use_both, std::ref(a), std::ref(b), 0).named("one");
    s.spawn(use_both, std::ref(b), std::ref(c), 4).named("two");
    s.spawn(use_both, std::ref(c), std::ref(a), 8).named("three");
    co_return;
  });
}

inline Task<void> repaired_deadlock_of_three() {
  Lock a, b, c;
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(use_both, std::ref(a), std::ref(b), 0).named("one");
    s.spawn(use_both, std::ref(b), std::ref(c), 4).named("two");
    s.spawn(use_both, std::ref(a), std::ref(c), 8).named("three");  // always in one order
    co_return;
  });
}

}  // namespace broken
