// The scheduler: single-threaded, deterministic, owner of its tasks.
//
// Each turn of its loop: (1) deliver what came from the reactor and from other threads, at most so
// many; (2) fire the timers that are due; (3) run ready tasks, each until a system call that cannot be answered at once
// or until its quantum is spent; (4) when nothing is ready, jump to the next deadline (virtual
// clock) or sleep until then (real clock). now() is constant within a turn. When nothing is ready,
// no timer is armed, nothing from outside can come, and tasks are left, that is a deadlock.
//
// Thread safety: a scheduler is driven by one thread at a time. Other threads reach it through
// ExternalPromise, Gateway (core/external.hpp) and MailSender (core/mailbox.hpp) only.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/base/stack_pool.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/async_trace.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/dependency.hpp"
#include "tiffany/core/dump.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/guard.hpp"
#include "tiffany/core/inbox.hpp"
#include "tiffany/core/live_schedulers.hpp"
#include "tiffany/core/options.hpp"
#include "tiffany/core/ready_queue.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/task_record.hpp"
#include "tiffany/core/task_table.hpp"
#include "tiffany/core/timer.hpp"

namespace tiffany {

// An external promise, as its scheduler knows it: something that may still hold a reference when the
// scheduler ends.
class ExternalEntry {
 public:
  virtual void scheduler_gone() noexcept = 0;

 protected:
  ~ExternalEntry() = default;

 private:
  friend class Scheduler;
  ExternalEntry* next_ = nullptr;
  ExternalEntry* prev_ = nullptr;
};

class InlineOrder;

class Scheduler {
 private:
  static inline constinit thread_local Scheduler* current_ = nullptr;
  // The running task must throw where its code goes on.
  static inline constinit thread_local bool deliver_cancel_ = false;

  // What a switch between tasks touches comes first and lies together.
  TaskRecord* running_ = nullptr;
  std::int64_t budget_ = 0;
  std::uint64_t trace_ = 0;
  // Slices begun so far: the head of the ring that is being emptied, plus a base. One number less for
  // the hot loop to keep up to date.
  ReadyQueue::Ring* ring_ = &policy_ring_;
  std::uint64_t slice_base_ = 0;
  std::size_t last_head_ = 0;    // where the head is when the loop must look at more than the ring
  std::uint64_t turn_end_ = 0;   // the slice after which the turn is over
  std::uint64_t budget_of_ = 0;  // the slice that the budget is for
  // Not zero while the records of tasks that only yield must be looked at all the same: how many wait
  // in the queue with a cancel to be thrown, or ended where they are in it, and one when something
  // has come to the running task.
  mutable std::uint32_t alarms_ = 0;
  mutable bool alarm_for_running_ = false;
  bool clock_runs_;  // by itself, also within a turn
  std::uint32_t turn_;
  Time now_;

 public:
  // Where coroutine frames tell the run loop of their thread what comes next, by its address: a store
  // whose address had first to be loaded from the frame would hold up the loads that follow it.
  struct Trampoline {
    // The frame to resume next: a callee that begins, or a caller whose callee has ended. Null when
    // the task made a system call that suspends it. Or one of the two marks below.
    static inline constinit thread_local void* next = nullptr;

    // The outermost frame has ended.
    static void* ended() noexcept { return reinterpret_cast<void*>(std::uintptr_t{1}); }
    // The frame yielded. The one call that the loop handles itself, because it is the most frequent.
    static void* yielded() noexcept { return reinterpret_cast<void*>(std::uintptr_t{2}); }
  };
  // An exception on its way from a callee to its caller, or out of a task.
  std::exception_ptr flying;

 private:
  std::vector<TaskId> picks_;
  ReadyQueue ready_;
  std::shared_ptr<Inbox> inbox_;
  Scope root_;

 public:
  explicit Scheduler(Options options = Options());
  // Cancels what is left, joins it, and drops by force what does not end.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Spawns into the root scope, from outside of any task or from within.
  const Spawner spawn;
  const FiberSpawner spawn_fiber;
  const AgentSpawner spawn_agent;

  // ---- Driving it ----

  // Runs until no task is left; when only daemons are (Handle::daemon), they are cancelled. Throws Deadlock when that cannot come to be, and SystemTaskFailed when
  // a system task has failed and Options::system_failure says that this ends the run.
  void run();
  // One turn that runs at most one task. False when nothing was ready. Time does not move.
  bool step();
  // Runs until nothing is ready at the present time, and returns how many slices that took.
  std::size_t step_until_idle();
  // Runs until the clock has reached `time` (a virtual one is moved there) or no task is left.
  void run_until(Time time);
  // Runs what is ready; when nothing is, waits until something is or `deadline` has come, never shorter.
  // True when anything ran. For embedding in another loop.
  bool poll(Time deadline);
  // Cancels every task, with that cause, and runs until all have ended.
  void shutdown(std::string_view why = {},
                std::source_location site = std::source_location::current());

  // ---- Looking at it ----

  Time now() const noexcept { return now_; }
  // The point in time that lies `delay` after this call: for every deadline that is given as a
  // duration. now() stands still within a turn, so a deadline counted from now() would come early by
  // as long as the turn has run. Reads the clock if it is a real one; a virtual clock costs nothing.
  Time deadline_in(Duration delay) const {
    return detail::saturating_add(clock_runs_ ? clock_now() : now_, delay);
  }
  std::size_t ready_len() const noexcept { return ready_.size() - dead_in_queue_; }
  std::size_t live_tasks() const noexcept { return live_tasks_; }
  std::size_t armed_timers() const noexcept { return timers_.size(); }
  std::size_t pending_externals() const noexcept { return pending_externals_; }
  // A rolling hash over every system call and end of a task: equal runs have equal hashes.
  std::uint64_t trace_hash() const noexcept { return trace_; }
  // The tasks in the order they were picked, when Options::record_picks is on.
  const std::vector<TaskId>& picks() const noexcept { return picks_; }
  // How often a task spent its quantum and had to let others go first, in all or at one priority.
  std::uint64_t throttled() const noexcept;
  std::uint64_t throttled(std::uint8_t priority) const noexcept { return throttled_[priority]; }
  // How often a spawn was denied, and a slice took longer than Options::watch says.
  std::uint64_t denied() const noexcept { return denied_; }
  std::uint64_t hogs() const noexcept { return hogs_; }
  // How often a task made more calls without a wait than Options::watch_steps says.
  std::uint64_t spinners() const noexcept { return spinners_; }
  // How many failures were reported because nobody had looked at them.
  std::uint64_t unseen_failures() const noexcept { return unseen_failures_; }
  // How many closed circles of waits were found (Options::circles).
  std::uint64_t circles() const noexcept { return circles_found_; }
  // How often everything waited for outside longer than Options::quiet_limit says.
  std::uint64_t quiet_spells() const noexcept { return quiet_.spells; }
  // How many lines were lost because the sink of the log (Options::log_to) threw.
  std::uint64_t lost_log_lines() const noexcept { return lost_log_lines_; }
  // How often a task was given the processor.
  std::uint64_t slices() const noexcept { return slice_base_ + ring_->head; }
  const Arena& arena() const noexcept { return *here_; }
  // Brings recorded_steps() of every task up to date.
  void count_steps() const noexcept;
  // Null when no task with this id is known any more.
  TaskRecord* find(TaskId id) const noexcept { return tasks_.find(id); }
  // A task had this id once, and nothing of it is left.
  bool has_forgotten(TaskId id) const noexcept { return tasks_.was_given_back(id); }
  template <class Visit>
  void for_each_task(Visit visit) const {
    tasks_.for_each([&](TaskRecord& task) {
      if (!task.settled()) visit(task);
    });
  }
  // Who waits for what, where, and the cycle if there is one. In the order of the task slots. Says
  // "Deadlock" only when nothing can wake any of them.
  std::string wait_report() const;
  // Everything that is known of the tasks that have not ended; see core/dump.hpp.
  void dump(DumpVisitor& visitor) const;
  std::string dump_text() const;
  std::string dump_json() const;
  // See core/async_trace.hpp.
  AsyncTracePtr trace_of(const std::exception_ptr& error) const noexcept;

  // ---- For tasks, through the functions in this_task.hpp and others ----

  // The scheduler that is running a task on this thread right now, or null.
  static Scheduler* current() noexcept { return current_; }
  // As above, or an error (Errc::no_task) that names the call.
  static Scheduler& require(std::string_view what) {
    if (current_ != nullptr && current_->running_ != nullptr) [[likely]]
      return *current_;
    throw_no_task(what);
  }
  // The scheduler that a task belongs to; null when it is gone.
  static Scheduler* owner(const TaskRecord& task) noexcept;
  TaskRecord* running() const noexcept { return running_; }
  // It is running, and its record does not say so.
  bool runs_as_suspended(const TaskRecord& task) const noexcept {
    return running_ == &task && ready_.policy() == nullptr;
  }
  Scope& root() noexcept { return root_; }
  // Where a plain spawn of this task goes.
  Scope& scope_of(TaskRecord& task) noexcept {
    return task.region_ == nullptr ? *task.scope_ : innermost_scope_of(task);
  }
  Random& random() noexcept { return random_; }
  void log(std::string_view message);

  // Asks a task to stop. The first reason stands; an ended task keeps its value.
  void cancel(TaskRecord& task, CancelReasonPtr reason) noexcept;
  // By id. False when no such task is alive.
  bool cancel(TaskId id, std::string_view why = {},
              std::source_location site = std::source_location::current());
  // Without memory to record it, the reason has its cause only. As text() the message may be made
  // where that is cared for, too.
  CancelReasonPtr reason(CancelCause cause, std::string_view why,
                         std::source_location site) const noexcept;
  template <std::invocable Text>
  CancelReasonPtr reason(CancelCause cause, const Text& text,
                         std::source_location site) const noexcept {
    try {
      return reason(cause, std::string_view(text()), site);
    } catch (const std::bad_alloc&) {
      return unrecorded_reason(cause);
    }
  }

  // True when the next suspension of the running task will throw.
  bool cancel_pending() const noexcept { return running_->has(TaskRecord::kCancelPending); }
  // Throws what that suspension would. For calls that were taken back late; see SystemCall::take_back.
  [[noreturn]] void throw_cancelled();

  // See Handle::daemon. An ended task stays what it was.
  void make_daemon(TaskRecord& task) noexcept;

  // ---- For system calls ----

  void arm(Timer& timer, Time deadline) noexcept { timers_.arm(timer, deadline); }
  void disarm(Timer& timer) noexcept { timers_.cancel(timer); }
  // For what the running task takes: that of the scheduler, or of its scope (Scope::limit_memory).
  Arena& arena() noexcept { return *here_; }
  Reactor& reactor() noexcept { return *reactor_; }
  const std::shared_ptr<Inbox>& inbox() const noexcept { return inbox_; }
  void add_external(ExternalEntry& entry) noexcept;
  void external_settled() noexcept { --pending_externals_; }
  void remove_external(ExternalEntry& entry) noexcept;

  // ---- For engines ----

  // The running task makes a system call. True: answered, go on with `resumed`, then
  // `call.finish()`. False: the engine must suspend the task's code; the same follows then.
  template <Call C>
  bool enter(C& call) {
    TaskRecord& task = *running_;
    ++task.steps_;
    trace_ = mix(trace_, task.id_.value() ^ C::call_name.hash);
    if constexpr (AnswersInline<C>) {
      const bool goes_on = still_has_quantum(task);
      if (goes_on && call.answer_inline()) [[likely]]
        return true;
      return start_apart(call, goes_on);
    } else {
      if (call.start(*this, task) == Answer::now) return still_has_quantum(task) || throttle(task);
      return park(call, task);
    }
  }
  // The running task makes a call that is a plain function and so never suspends (get, put, tell). It
  // counts like any other: when it spends the quantum, the next call that can suspend does.
  TaskRecord& enter_plain(const CallName& call, std::uint64_t about = 0) noexcept {
    TaskRecord& task = *running_;
    ++task.steps_;
    trace_ = mix(trace_, task.id_.value() ^ call.hash ^ about);
    still_has_quantum(task);
    return task;
  }
  // The running task gives way. As `enter`, for engines other than coroutines.
  bool enter_yield() noexcept {
    TaskRecord& task = *running_;
    count_yield(task);
    if (task.has(TaskRecord::kCancelPending)) [[unlikely]]
      return delivers_now(task);
    return stays_on(task, TaskState::suspended);
  }
  // To be called first when a task's code goes on after a system call; throws Cancelled if it must.
  static void resumed() {
    if (deliver_cancel_) [[unlikely]]
      current_->throw_cancelled();
  }

  // What `resumed` will do, for an engine whose code asks before it goes on.
  static bool must_throw() noexcept { return deliver_cancel_; }
  StackPool& stacks() noexcept { return stacks_; }
  // Throws SpawnDenied when there are as many fibers as there may be.
  void allow_fiber() {
    if (stacks_.promised() >= most_fibers_) [[unlikely]]
      deny_fiber();
  }

  // Runs code of a task that is dropped by force, as that task.
  template <class F>
  void run_as(TaskRecord& task, F code) noexcept {
    TaskRecord* const before = std::exchange(running_, &task);
    code();
    running_ = before;
  }

  // Makes a record of an engine's type, in the given scope, and queues it. The caller owns one
  // reference to it. The record is made with the scheduler, the arena for what the task takes, and the
  // arguments.
  template <class Record, class... Args>
  Record& make_task(Scope& scope, std::uint8_t priority, const std::source_location& site,
                    Args&&... args) {
    allow_task(scope);
    Record& record = make_record<Record>(scope, priority, std::forward<Args>(args)...);
    admit(record, scope, priority, site);
    return record;
  }
  // As above, and queues it when what it comes after has ended.
  template <class Record, class... Args>
  Record& make_task_after(const DependencyList& after, Scope& scope, std::uint8_t priority,
                          const std::source_location& site, Args&&... args) {
    allow_task(scope);
    Dependencies::Owner waits = make_waits(after, scope);
    Record& record = make_record<Record>(scope, priority, std::forward<Args>(args)...);
    admit_after(std::move(waits), record, scope, priority, site);
    return record;
  }
  // An exception leaves a frame of the running task. Where to note the places of its frames,
  // innermost first; null when they were noted, because it has left a deeper frame before.
  AwaitStack* exception_leaves(const std::exception_ptr& error) noexcept;
  // An exception is about to be thrown into the running task that has a trace from elsewhere.
  void exception_comes(const std::exception_ptr& error, AsyncTracePtr origin) noexcept;
  // An error of the code of a task, of which nobody else will ever hear. `what`: how it came to be.
  void report_lost(const TaskRecord& task, std::string_view what,
                   const std::exception_ptr& error) noexcept;
  // The same of an error that is not of the code of one task. `what`: a sentence without its end.
  void report_lost(std::string_view what, const std::exception_ptr& error) noexcept;
  // The code of a task has ended and its result is stored. Wakes who waits for it.
  void finish(TaskRecord& task, TaskState state) noexcept;

 private:
  friend class CancelRegion;
  friend class Dependencies;
  friend struct DebugLayout;
  friend class Scope;
  friend class SystemCall;
  friend class TaskRecord;

  // See SystemCall::wake.
  void wake(TaskRecord& task, const SystemCall& call) noexcept;
  // Never before now().
  Time clock_now() const;

  // Gives the room for a task back when its record cannot be made.
  class Reservation {
   public:
    Reservation(Scheduler& scheduler, std::uint8_t priority) noexcept
        : scheduler_(&scheduler), priority_(priority) {}
    ~Reservation() {
      if (scheduler_ == nullptr) [[likely]]
        return;
      if (slot_.memory != nullptr) scheduler_->tasks_.give_back(slot_.memory, slot_.id);
      scheduler_->ready_.unreserve(priority_);
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    const TaskTable::Slot& take_slot() { return slot_ = scheduler_->tasks_.take(); }
    void keep() noexcept { scheduler_ = nullptr; }

   private:
    Scheduler* scheduler_;
    TaskTable::Slot slot_{nullptr, TaskId()};
    std::uint8_t priority_;
  };

  [[noreturn, gnu::cold]] static void end_miscompiled(TaskRecord& task, void* caller) noexcept;
  void finish_with_heritage(TaskRecord& task, TaskState state) noexcept;
  void end(TaskRecord& task, TaskState state) noexcept;
  template <class Record, class... Args>
  Record& make_record(const Scope& scope, std::uint8_t priority, Args&&... args) {
    static_assert(sizeof(Record) == sizeof(TaskRecord), "an engine keeps its state elsewhere");
    ready_.reserve(priority);
    Reservation reservation(*this, priority);
    const TaskTable::Slot slot = reservation.take_slot();
    Record* record;
    try {
      record = new (slot.memory) Record(*this, *scope.arena_, std::forward<Args>(args)...);
    } catch (const std::bad_alloc&) {
      deny_memory(scope);
    }
    reservation.keep();
    record->id_ = slot.id;
    return *record;
  }
  void enlist(TaskRecord& record, Scope& scope, std::uint8_t priority,
              const std::source_location& site) noexcept;
  void admit(TaskRecord& record, Scope& scope, std::uint8_t priority,
             const std::source_location& site) noexcept;
  void admit_after(Dependencies::Owner waits, TaskRecord& record, Scope& scope,
                   std::uint8_t priority, const std::source_location& site) noexcept;
  // The rest of `enter`, out of the way of what is answered inline.
  template <Call C>
  [[gnu::noinline]] bool start_apart(C& call, bool goes_on) {
    TaskRecord& task = *running_;
    if (call.start(*this, task) == Answer::now) return goes_on || throttle(task);
    return park(call, task);
  }
  template <Call C>
  bool park(C& call, TaskRecord& task) {
    if (task.has(TaskRecord::kCancelPending)) [[unlikely]] {
      call.withdraw(task);
      return delivers_now(task);
    }
    static_cast<void>(&call_kind<C>);  // has it entered
    SystemCall& parked = call;
    parked.since_ = now_.time_since_epoch().count();
    task.waiting_on_ = &parked;
    task.state_ = TaskState::blocked;
    if (call.C::needs_all()) suspects_[new_suspects_++ % kSuspects] = task.id_;
    return inline_order_ != nullptr && wait_inline(task);
  }
  void count_yield(TaskRecord& task) noexcept {
    ++task.steps_;
    trace_ = mix(trace_, task.id_.slot() - 1);
  }
  // Counts a call against the quantum. The budget is renewed here and not where a slice begins,
  // because most slices never ask.
  bool still_has_quantum(const TaskRecord& task) noexcept {
    if (budget_of_ != slices()) {
      budget_of_ = slices();
      budget_ = quantum_[task.priority_];
    }
    return --budget_ > 0;
  }
  bool throttle(TaskRecord& task) noexcept {
    ++throttled_[task.priority_];
    return stays_on(task, TaskState::preempted);
  }
  void allow_task(const Scope& scope) {
    if (live_tasks_ >= most_tasks_ || scope.live_ >= scope.look_from_ ||
        arena_->live_bytes() >= arena_->limit()) [[unlikely]]
      look_at_limits(scope);
  }
  // Throws when one is reached.
  void look_at_limits(const Scope& scope);
  [[noreturn]] void deny(SpawnDenied::Limit limit, std::size_t used, std::size_t allowed);
  [[noreturn]] void deny_fiber();
  // There is no memory for the arguments: because of a limit, or because the system has none.
  [[noreturn]] void deny_memory(const Scope& scope);
  Dependencies::Owner make_waits(const DependencyList& after, const Scope& scope);
  // A cancel is due where the task would suspend. It is thrown at once; but code that swallows
  // Cancelled in a loop must not keep the processor, so when this has happened often enough in one
  // slice, the others have their turn first.
  bool delivers_now(TaskRecord& task) noexcept {
    if (throws_of_ != slices()) {
      throws_of_ = slices();
      throws_ = 0;
    }
    if (++throws_ <= kThrowsPerSlice) {
      deliver_cancel_ = true;
      return true;
    }
    task.set(TaskRecord::kDeliverCancel);
    ++alarms_;
    task.state_ = TaskState::suspended;
    ready_.push(task);
    return false;
  }
  // To the back of the queue. A task that is alone goes on at once instead (true), but not for longer
  // than the loop said it would: timers, other threads and less urgent tasks must be looked at.
  bool stays_on(TaskRecord& task, TaskState state) noexcept {
    if (ring_->head != last_head_ && ready_.empty()) {
      ++slice_base_;
      --last_head_;
      return true;
    }
    task.state_ = state;
    ready_.push(task);
    return false;
  }
  // See io/blocking_io.hpp. True when the wait is over and the task goes on.
  bool wait_inline(TaskRecord& task);
  [[noreturn]] static void throw_no_task(std::string_view what);
  void run_rings();
  template <bool kPrefetch>
  void run_batch(ReadyQueue::Ring& ring);
  void run_with_care(TaskRecord& task, ReadyQueue::Ring& ring);
  bool begin_slice(TaskRecord& task);
  bool begin_special_slice(TaskRecord& task);
  bool begin_cancelled_slice(TaskRecord& task) noexcept;
  void raise_alarm_for_running() const noexcept {
    if (!alarm_for_running_) ++alarms_;
    alarm_for_running_ = true;
  }
  void count_slices_by(ReadyQueue::Ring& ring, std::uint64_t until) noexcept;
  void run_ring(ReadyQueue::Ring& ring, std::uint64_t until);
  void watch_slice(TaskRecord& task, void (*slice)(Scheduler&, TaskRecord&));
  void watch_stretch(TaskRecord& task);
  void report_watched(const TaskRecord& task, const std::string& what);
  void drop_dead_heads();
  void run_policy();
  void run_slice(TaskRecord& task);
  void run_begun_slice(TaskRecord& task);
  static void resume(void* frame);
  void slice_goes_on(TaskRecord& task, void* frame);
  std::size_t run_turn(std::size_t limit);
  bool look_outside();
  enum class Idle { moved_on, nothing_to_wait_for };
  Idle idle(Time limit);
  void cancel_daemons();
  // Closed circles of waits; see circles.cpp. True when a task is ready that was not.
  bool look_for_circles(Time limit);
  bool full_look_is_due();
  bool handle_circle(const std::vector<TaskId>& circle);
  bool cancel_last_of(const std::vector<TaskId>& circle, const std::string& why);
  static bool can_time_out(const TaskRecord& task) noexcept;
  // Nothing is ready. When the report that everything waits for outside is due, if it is not.
  std::optional<Time> look_at_quiet();
  void report_quiet(Duration how_long);
  bool can_be_woken_from_outside() const;
  class Drive;
  // Why the running task must stop, as seen from where it is.
  CancelReasonPtr why_cancelled() const;
  void refresh_cancel(TaskRecord& task) noexcept;
  static const CancelReasonPtr* effective_reason(const TaskRecord& task) noexcept;
  void interrupt(TaskRecord& task) noexcept;
  void keep_trace(TaskRecord& task) noexcept;
  void report_failure(TaskRecord& task) noexcept;
  // What the sink throws stays here, and is counted. False when it has thrown.
  bool write_log(const LogLine& line) noexcept;
  void end_unbegun(TaskRecord& task) noexcept;
  void system_task_failed(TaskRecord& task) noexcept;
  void throw_system_failure();
  void drop_everything() noexcept;
  void drop_by_force(TaskRecord& first) noexcept;
  static TaskRecord* task_in_scopes_of(const TaskRecord& task) noexcept;
  void drop_places();
  static Scope& innermost_scope_of(const TaskRecord& task) noexcept;

  // Far more than clean-up code that suspends in several places needs.
  static constexpr std::uint32_t kThrowsPerSlice = 64;
  ReadyQueue::Ring policy_ring_;  // has a head to count slices with, and no places
  std::uint64_t throws_of_ = 0;   // the slice that the next is for
  std::uint32_t throws_ = 0;
  struct Watch {
    // What a task has done since it last waited, or began.
    struct Stretch {
      TaskId task;
      std::uint64_t from = 0;  // of its steps
      bool reported = false;
    };
    // That of the task; null when there is no memory for it.
    Stretch* stretch_of(const TaskRecord& task) noexcept;
    // A wait in the middle of a slice.
    class Wait {
     public:
      Wait(Watch& watch, const TaskRecord& task);
      ~Wait();
      Wait(const Wait&) = delete;
      Wait& operator=(const Wait&) = delete;

     private:
      Watch& watch_;
      const TaskRecord& task_;
      Duration begun_{};
    };

    bool on = false;
    Duration limit{};
    std::function<Duration()> clock;  // none: time is not watched
    std::optional<std::uint64_t> most_steps;
    std::vector<Stretch> stretches;  // by the slots of the tasks
    Duration begun{};                // when the slice began, later by what its task waited inline
  };
  std::size_t most_tasks_;
  std::size_t most_fibers_;
  std::uint32_t ageing_;
  std::uint8_t aged_priority_ = 0;  // whose turn it was last
  std::uint64_t denied_ = 0;
  std::uint64_t hogs_ = 0;
  std::uint64_t spinners_ = 0;
  std::uint64_t unseen_failures_ = 0;
  std::uint64_t lost_log_lines_ = 0;
  Watch watch_;
  std::uint32_t quantum_[256];
  std::uint64_t throttled_[256] = {};
  InlineOrder* inline_order_;  // null unless tasks wait inline
  std::size_t dead_in_queue_ = 0;
  std::size_t live_tasks_ = 0;
  std::size_t daemons_ = 0;              // of these
  std::uint64_t daemons_cancelled_ = 0;  // how many tasks had been spawned when they last were
  std::size_t pending_externals_ = 0;
  ExternalEntry* externals_ = nullptr;
  mutable TaskId waits_for_outside_;  // a task that did when they were last looked for
  StackPool stacks_;
  struct Retire {
    void operator()(Arena* arena) const noexcept { arena->retire(); }
  };
  std::unique_ptr<Arena, Retire> arena_;
  Arena* here_ = arena_.get();  // that of the running task
  TaskTable tasks_;
  std::unique_ptr<Reactor> reactor_;
  TimerWheel timers_;
  Random random_;
  std::function<void(const LogLine&)> log_;
  SystemFailure system_failure_;
  std::exception_ptr system_failed_;  // to be thrown when the run ends
  bool tearing_down_ = false;

  // Tasks that parked on what needs_all() since circles were last looked for; more than there is room
  // for: all tasks are looked at.
  static constexpr std::uint32_t kSuspects = 64;
  std::uint32_t new_suspects_ = 0;
  std::uint32_t turns_since_look_ = 0;
  TaskId suspects_[kSuspects];
  std::uint64_t next_full_look_ = 0;  // the slice
  std::optional<Time> full_look_by_;
  CirclePolicy circle_policy_;
  std::uint64_t circles_found_ = 0;
  struct Circles;
  struct DropCircles {
    void operator()(Circles* circles) const noexcept;
  };
  std::unique_ptr<Circles, DropCircles> circles_;
  struct Quiet {
    Duration limit = Duration::max();
    std::uint64_t slices = UINT64_MAX;  // as many had been begun when it fell quiet
    Time since;
    bool reported = false;
    std::uint64_t spells = 0;
  };
  Quiet quiet_;

  // How many tasks have completed, failed, been cancelled.
  std::uint64_t ended_[3] = {};
  // The exception that was thrown last, until the turn is over. It is held for so long because a
  // later one may be made at the same address, and would be taken for it.
  struct Flight {
    std::exception_ptr error;
    AsyncTracePtr origin;  // the trace it had when it came into the task
    TaskId task;           // whose frames it has left; none yet when it has just come
    AwaitStack frames;
  };
  Flight flight_;
  LiveScheduler live_;
};

}  // namespace tiffany
