// The loop behind supervise(): which children there are, how far each has come, what it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/structure/supervise.hpp"

namespace tiffany {

// The supervisor at work. It is driven by the task that awaits supervise(); the children only leave
// a note when they end.
class SupervisorLoop {
 public:
  SupervisorLoop(const Supervision& how, Supervisor& children, std::source_location site);

  Task<void> run(Scope& scope);
  Task<void> stop_all();
  // It has to give up. Says so when all children have ended.
  bool gave_up() const noexcept { return !why_.empty(); }
  std::exception_ptr error() const;
  // The supervisor ends with an error of its own: says which one of a child is not thrown for that.
  void report_last_failure() const noexcept;

 private:
  enum class Phase : std::uint8_t {
    running,
    ended,    // and not looked at yet
    waiting,  // for its time to be started again
    gone,     // for good
  };
  struct Child {
    Child(std::size_t number, Supervisor::Spec spec)
        : index(number),
          restart(spec.restart),
          name(std::move(spec.name)),
          code(std::move(spec.code)) {}
    std::size_t index;
    Restart restart;
    NameAt name;
    std::unique_ptr<detail::ChildCode> code;
    Phase phase = Phase::gone;
    Handle<void> handle;           // of the last start
    std::exception_ptr not_begun;  // why the last start did not even give a task
    Time started{};
    Time ended{};
    Time due{};                // while waiting
    std::uint32_t streak = 0;  // restarts since it last stayed up for long enough
    std::uint64_t failures = 0;
  };

  // Lives in the task of a child, and tells when that ends: also when it never began.
  class EndNote {
   public:
    EndNote(SupervisorLoop& loop, Child& child) noexcept : loop_(&loop), child_(&child) {}
    EndNote(EndNote&& other) noexcept
        : loop_(std::exchange(other.loop_, nullptr)), child_(other.child_) {}
    EndNote& operator=(EndNote&&) = delete;
    ~EndNote() {
      if (loop_ != nullptr) loop_->note_end(*child_);
    }

   private:
    SupervisorLoop* loop_;
    Child* child_;
  };

  // Until a child has ended, or the time of the next start has come.
  class Wait final : public SystemCall, private Timer {
   public:
    static constexpr CallName call_name{"supervise"};
    explicit Wait(SupervisorLoop& loop) noexcept : Timer(&Wait::on_time), loop_(loop) {}
    Answer start(Scheduler& scheduler, TaskRecord& task) {
      if (!loop_.ended_.empty()) return Answer::now;
      task_ = &task;
      loop_.wait_ = this;
      if (loop_.next_due_ != kEndOfTime) scheduler.arm(*this, loop_.next_due_);
      return Answer::parked;
    }
    void withdraw(TaskRecord&) noexcept override { stop_waiting(); }
    void go_on() noexcept {
      stop_waiting();
      wake(loop_.scheduler_, *task_);
    }
    void finish() noexcept {}
    std::string describe() const override;
    static constexpr WaitKind wait_kind() noexcept { return WaitKind::join; }
    void visit_waits(WaitVisitor& visitor) const override;

   private:
    static void on_time(Scheduler&, Timer& timer) noexcept { static_cast<Wait&>(timer).go_on(); }
    void stop_waiting() noexcept {
      loop_.wait_ = nullptr;
      loop_.scheduler_.disarm(*this);
    }

    SupervisorLoop& loop_;
    TaskRecord* task_ = nullptr;
  };

  void become(Child& child, Phase phase) noexcept {
    if (child.phase != Phase::gone) --left_;
    if (phase != Phase::gone) ++left_;
    child.phase = phase;
  }
  static Task<void> run_child(Child& child, EndNote note);
  void note_end(Child& child) noexcept;
  void start(Scope& scope, Child& child);
  void start_due(Scope& scope);
  bool comes_back(Child& child);
  void write_down(Child& child, std::exception_ptr error);
  bool may_restart(const Child& child);
  Task<void> restart(Child& child);
  Task<bool> stop(Child& child, std::string why);
  Duration wait_before(Child& child) const;
  void wait_until(Child& child, Time due);
  Time earliest_due() const;

  Scheduler& scheduler_;
  Supervision how_;
  std::source_location site_;
  Time began_;
  std::vector<std::unique_ptr<Child>> children_;
  std::size_t left_ = 0;       // children that are not gone
  std::vector<Child*> ended_;  // in the order they ended; has room for all
  std::deque<ChildFailure> history_;
  std::deque<Time> restarts_;  // those that still count
  Wait* wait_ = nullptr;       // what the supervisor is parked on
  Time next_due_ = kEndOfTime;
  std::string why_;
};

}  // namespace tiffany
