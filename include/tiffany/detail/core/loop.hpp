// The loop of a scheduler: what it keeps, which task has the next slice, and what a switch does.
// The scheduler (core/scheduler.hpp) is the door to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/counters.hpp"
#include "tiffany/core/engine_state.hpp"
#include "tiffany/core/inbox.hpp"
#include "tiffany/core/live_schedulers.hpp"
#include "tiffany/core/options.hpp"
#include "tiffany/core/ready_queue.hpp"
#include "tiffany/core/task_table.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/detail/core/circles.hpp"
#include "tiffany/detail/core/exception_flight.hpp"
#include "tiffany/detail/core/external_entry.hpp"
#include "tiffany/detail/core/fat_frames.hpp"
#include "tiffany/detail/core/limits.hpp"
#include "tiffany/detail/core/observer.hpp"
#include "tiffany/detail/core/pulse.hpp"
#include "tiffany/detail/core/quiet.hpp"
#include "tiffany/detail/core/reports.hpp"
#include "tiffany/detail/core/watch.hpp"

namespace tiffany {

class CloseFirst;
struct DebugLayout;
class InlineOrder;

namespace detail {

class Loop {
 public:
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // How often a task was given the processor.
  std::uint64_t slices() const noexcept { return slice_base_ + ring_->head; }
  // Brings recorded_steps() of every task up to date.
  void count_steps() const noexcept;

 protected:
  Loop(Scheduler& scheduler, Options& options);
  ~Loop();

  // ---- Transitions of a task ----

  // Into the queue, in this state.
  void make_ready(TaskRecord& task, TaskState state) noexcept {
    task.state_ = state;
    ready_.push(task);
  }
  // False when there is nothing more to do: the task has ended, and only its place in the queue was
  // left, or it has had its slice already.
  bool begin_slice(TaskRecord& task);

  // ---- What the running task does ----

  void count_yield(TaskRecord& task) noexcept;
  // Counts a call against the quantum.
  bool still_has_quantum(const TaskRecord& task) noexcept;
  bool throttle(TaskRecord& task) noexcept;
  // A cancel is due where the task would suspend. True: it is thrown at once.
  bool delivers_now(TaskRecord& task) noexcept;
  // To the back of the queue, or on at once (true).
  bool stays_on(TaskRecord& task, TaskState state) noexcept;
  void raise_alarm_for_running() const noexcept {
    if (!alarm_for_running_) ++alarms_;
    alarm_for_running_ = true;
  }

  // ---- The turn ----

  // Runs tasks until none is ready, or so many slices have begun; says how many have.
  std::size_t run_turn(std::size_t limit);

 private:
  void check_counts() const noexcept;
  void run_rings();
  template <bool kPrefetch>
  void run_batch(ReadyQueue::Ring& ring);
  void run_with_care(TaskRecord& task, ReadyQueue::Ring& ring);
  bool begin_special_slice(TaskRecord& task);
  bool begin_cancelled_slice(TaskRecord& task) noexcept;
  void count_slices_by(ReadyQueue::Ring& ring, std::uint64_t until) noexcept;
  void run_ring(ReadyQueue::Ring& ring, std::uint64_t until);
  bool run_observed(ReadyQueue::Ring& ring, std::uint64_t until);
  void watch_slice(TaskRecord& task, void (*slice)(Loop&, TaskRecord&));
  void drop_dead_heads();
  void run_policy();
  void run_slice(TaskRecord& task);
  void run_begun_slice(TaskRecord& task);
  static void resume(void* frame);
  void slice_goes_on(TaskRecord& task, void* frame);
  void end_unbegun(TaskRecord& task) noexcept;
  [[noreturn, gnu::cold]] static void end_miscompiled(TaskRecord& task, void* caller) noexcept;
  Scheduler& self() noexcept;

 protected:
  friend struct tiffany::DebugLayout;

  static inline constinit thread_local Scheduler* current_ = nullptr;
  // The running task must throw where its code goes on.
  static inline constinit thread_local bool deliver_cancel_ = false;

  // What a switch between tasks touches comes first and lies together.
  TaskRecord* running_ = nullptr;
  std::int64_t budget_ = 0;
  std::uint64_t trace_ = 0;
  std::uint64_t yields_ = 0;
  // Slices begun so far: the head of the ring that is being emptied, plus a base. One number less
  // for the hot loop to keep up to date.
  ReadyQueue::Ring* ring_ = &policy_ring_;
  std::uint64_t slice_base_ = 0;
  std::size_t last_head_ = 0;    // where the head is when the loop must look at more than the ring
  std::uint64_t turn_end_ = 0;   // the slice after which the turn is over
  std::uint64_t budget_of_ = 0;  // the slice that the budget is for
  // Not zero while the records of tasks that only yield must be looked at all the same: how many
  // wait in the queue with a cancel to be thrown, or ended where they are in it, and one when
  // something has come to the running task.
  mutable std::uint32_t alarms_ = 0;
  mutable bool alarm_for_running_ = false;
  bool clock_runs_;  // by itself, also within a turn
  std::uint32_t turn_;
  Time now_;
  // An exception on its way from a callee to its caller, or out of a task.
  std::exception_ptr flying_;

  std::vector<TaskId> picks_;
  ReadyQueue ready_;
  std::shared_ptr<Inbox> inbox_;
  Counters counters_;             // but for what counters() adds up
  ReadyQueue::Ring policy_ring_;  // has a head to count slices with, and no places
  std::uint64_t throws_of_ = 0;   // the slice that the next is for
  std::uint32_t throws_ = 0;
  std::uint32_t ageing_;
  std::uint8_t aged_priority_ = 0;  // whose turn it was last
  std::uint32_t quantum_[256];
  std::uint64_t throttled_[256] = {};
  InlineOrder* inline_order_;  // null unless tasks wait inline
  Observer* observer_ = nullptr;
  Pulse* pulse_ = nullptr;
  bool park_aside_ = false;  // one of the two is there
  std::size_t dead_in_queue_ = 0;
  std::size_t live_tasks_ = 0;
  std::size_t held_ = 0;                 // of the live ones, those that Dependencies keep
  std::uint64_t ended_[3] = {};          // how many tasks have completed, failed, been cancelled
  std::size_t daemons_ = 0;              // of the live ones
  std::uint64_t daemons_cancelled_ = 0;  // how many tasks had been spawned when they last were
  std::size_t pending_externals_ = 0;
  IntrusiveList<ExternalEntry> externals_;
  IntrusiveList<CloseFirst> close_first_;
  mutable TaskId waits_for_outside_;  // a task that did when they were last looked for
  std::vector<TaskId> unraised_;      // spawned since Dependencies::raise_chains was last called
  std::vector<EngineState::Kept> engine_states_;
  struct Retire {
    void operator()(Arena* arena) const noexcept { arena->retire(); }
  };
  std::unique_ptr<Arena, Retire> arena_;
  Arena* here_ = arena_.get();  // that of the running task
  TaskTable tasks_;
  std::unique_ptr<Reactor> reactor_;
  TimerWheel timers_;
  Random random_;
  SystemFailure system_failure_;
  std::exception_ptr system_failed_;  // to be thrown when the run ends
  bool tearing_down_ = false;
  bool leaving_ = false;  // run() is to return

  Reports reports_;
  Limits limits_;
  Watch watch_;
  Circles circles_;
  Quiet quiet_;
  ExceptionFlight flight_;
  FatFrames fat_frames_;
  LiveScheduler live_;
  std::uint64_t calls_[kCallNumbers] = {};  // how often each was made, but for yields
};

}  // namespace detail
}  // namespace tiffany
