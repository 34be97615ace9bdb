// The scheduler: single-threaded, deterministic, owner of its tasks.
//
// Each turn of its loop: (1) deliver what came from the reactor and from other threads, at most so
// many; (2) fire the timers that are due; (3) run ready tasks, each until a system call that cannot
// be answered at once or until its quantum is spent; (4) when nothing is ready, jump to the next
// deadline (virtual clock) or sleep until then (real clock). now() is constant within a turn. When
// nothing is ready, no timer is armed, nothing from outside can come, and tasks are left, that is a
// deadlock.
//
// A task changes its state in seven functions and nowhere else: admit, make_ready, begin_slice,
// park, wake, end, cancel (docs/decisions/0021-scheduler-is-the-loop.md). They count in Counters.
//
// Thread safety: a scheduler is driven by one thread at a time. Other threads reach it through
// ExternalPromise, Gateway (core/external.hpp) and MailSender (core/mailbox.hpp) only.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/core/dump.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/detail/core/loop.hpp"
#include "tiffany/detail/core/trampoline.hpp"

namespace tiffany {

namespace detail {
class Teardown;
}

class Scheduler : private detail::Loop {
  Scope root_;

 public:
  explicit Scheduler(Options options = Options());
  // Cancels what is left, joins it, and drops by force what does not end.
  ~Scheduler();

  // Spawns into the root scope, from outside of any task or from within.
  const Spawner spawn;
  const FiberSpawner spawn_fiber;
  const AgentSpawner spawn_agent;

  // ---- Driving it ----

  // Runs until no task is left; when only daemons are (Handle::daemon), they are cancelled. Throws
  // Deadlock when that cannot come to be, and SystemTaskFailed when a system task has failed and
  // Options::system_failure says that this ends the run.
  void run();
  // One turn that runs at most one task. False when nothing was ready. Time does not move.
  bool step();
  // Runs until nothing is ready at the present time, and returns how many slices that took.
  std::size_t step_until_idle();
  // Runs until the clock has reached `time` (a virtual one is moved there) or no task is left.
  void run_until(Time time);
  // Runs what is ready; when nothing is, waits until something is or `deadline` has come, never
  // shorter. True when anything ran. For embedding in another loop.
  bool poll(Time deadline);
  // Cancels every task, with that cause, and runs until all have ended.
  void shutdown(std::string_view why = {},
                std::source_location site = std::source_location::current());

  // ---- Looking at it ----

  Time now() const noexcept { return now_; }
  // The point in time that lies `delay` after this call, for every deadline that is given as a
  // duration: counted from now(), which stands still within a turn, it would come early.
  Time deadline_in(Duration delay) const;
  std::size_t ready_len() const noexcept { return ready_.size() - dead_in_queue_; }
  bool has_ready() noexcept { return !ready_.empty(); }
  std::size_t live_tasks() const noexcept { return live_tasks_; }
  std::size_t armed_timers() const noexcept { return timers_.size(); }
  std::size_t pending_externals() const noexcept { return pending_externals_; }
  // Something that is pending may come from outside and wake a task.
  bool can_be_woken_from_outside() const;
  bool virtual_time() const noexcept { return !clock_runs_; }
  // A rolling hash over every system call and end of a task: equal runs have equal hashes.
  std::uint64_t trace_hash() const noexcept { return trace_; }
  // The tasks in the order they were picked, when Options::record_picks is on.
  const std::vector<TaskId>& picks() const noexcept { return picks_; }
  Counters counters() const noexcept;
  // Calls visit(name, count) for the name of every system call that was made.
  template <class Visit>
  void for_each_call(Visit visit) const;
  // Counters::throttled of one priority.
  std::uint64_t throttled(std::uint8_t priority) const noexcept { return throttled_[priority]; }
  using detail::Loop::count_steps;
  using detail::Loop::slices;
  const Arena& arena() const noexcept { return *here_; }
  // Null when no task with this id is known any more.
  TaskRecord* find(TaskId id) const noexcept { return tasks_.find(id); }
  // A task had this id once, and nothing of it is left.
  bool has_forgotten(TaskId id) const noexcept { return tasks_.was_given_back(id); }
  template <class Visit>
  void for_each_task(Visit visit) const;
  // The same for a signal handler on the thread of the scheduler, which may have interrupted it
  // anywhere: a task that is just being made is left out. False: ask again.
  template <class Visit>
  bool for_each_whole_task(Visit visit) const;

  // ---- Reports ----

  // Who waits for what, where, and the cycle if there is one. In the order of the task slots. Says
  // "Deadlock" only when nothing can wake any of them.
  std::string wait_report() const;
  // Everything that is known of the tasks that have not ended; see core/dump.hpp.
  void dump(DumpVisitor& visitor) const;
  std::string dump_text() const;
  std::string dump_json() const;
  AsyncTracePtr trace_of(const std::exception_ptr& error) const noexcept;  // core/async_trace.hpp

  // ---- For tasks, through this_task and other functions ----

  // The scheduler that is running a task on this thread right now, or null.
  static Scheduler* current() noexcept { return current_; }
  // As above, or an error (Errc::no_task) that names the call.
  static Scheduler& require(std::string_view what);
  // The scheduler that a task belongs to; null when it is gone.
  static Scheduler* owner(const TaskRecord& task) noexcept;
  TaskRecord* running() const noexcept { return running_; }
  Scope& root() noexcept { return root_; }
  Scope& scope_of(TaskRecord& task) noexcept;  // where a plain spawn of this task goes
  Random& random() noexcept { return random_; }
  // Level 1 (docs/19-observing.md): tells `observer` of every transition from now on; null: nobody.
  // An observer that is replaced or goes is not told. For module observe.
  void set_observer(detail::Observer* observer) noexcept;
  detail::Observer* observer() const noexcept { return observer_; }
  // The turns of the scheduler, as another thread sees them; null: none. For module observe.
  void set_pulse(detail::Pulse* pulse) noexcept;
  detail::Pulse* pulse() const noexcept { return pulse_; }
  detail::FatFrames& fat_frames() noexcept { return fat_frames_; }
  const detail::FatFrames& fat_frames() const noexcept { return fat_frames_; }
  // run() returns when its turn is over, whatever tasks are left; a later run() goes on with them.
  void leave_run() noexcept { leaving_ = true; }
  // From now on a spawn into the root scope throws SpawnDenied (Limit::shutdown); spawns into other
  // scopes are a part of work that has begun, and go on. See observe/shutdown.hpp.
  void refuse_new_tasks(bool refuse = true) noexcept;
  bool refuses_new_tasks() const noexcept { return root_.refusing_; }
  // What a shutdown closes before that, in this order; see core/close_first.hpp.
  IntrusiveList<CloseFirst>& close_first() noexcept { return close_first_; }
  void log(std::string_view message) noexcept { reports_.log(message); }
  detail::Reports& reports() noexcept { return reports_; }

  // Asks a task to stop. The first reason stands; an ended task keeps its value.
  void cancel(TaskRecord& task, CancelReasonPtr reason) noexcept;
  // By id. False when no such task is alive.
  bool cancel(TaskId id, std::string_view why = {},
              std::source_location site = std::source_location::current());
  // Without memory to record it, the reason has its cause only. `text` is built here, so that
  // running out of memory cannot lose the cancel.
  CancelReasonPtr reason(CancelCause cause, std::string_view why,
                         std::source_location site) const noexcept;
  template <std::invocable Text>
  CancelReasonPtr reason(CancelCause cause, const Text& text,
                         std::source_location site) const noexcept;
  // True when the next suspension of the running task will throw.
  bool cancel_pending() const noexcept { return running_->has(TaskRecord::kCancelPending); }
  // Throws what that suspension would. For calls that were taken back late; see
  // SystemCall::take_back.
  [[noreturn]] void throw_cancelled();
  // See Handle::daemon. An ended task stays what it was.
  void make_daemon(TaskRecord& task) noexcept;

  // ---- For system calls ----

  void arm(Timer& timer, Time deadline) noexcept { timers_.arm(timer, deadline); }
  void disarm(Timer& timer) noexcept { timers_.cancel(timer); }
  // For what the running task takes: that of the scheduler, or of its scope (Scope::limit_memory).
  Arena& arena() noexcept { return *here_; }
  Reactor& reactor() noexcept { return *reactor_; }
  const Reactor& reactor() const noexcept { return *reactor_; }
  World& world() noexcept { return reactor_->world(); }
  const std::shared_ptr<Inbox>& inbox() const noexcept { return inbox_; }
  void add_external(ExternalEntry& entry) noexcept;
  void external_settled() noexcept { --pending_externals_; }
  void remove_external(ExternalEntry& entry) noexcept;

  // ---- For engines; the bodies are in detail/core/scheduler_inline.hpp ----

  using Trampoline = detail::Trampoline;
  // An exception on its way from a callee to its caller, or out of a task.
  std::exception_ptr& flying() noexcept { return flying_; }
  // The running task makes a system call. True: answered, go on with `resumed`, then
  // `call.finish()`. False: the engine must suspend the task's code; the same follows then.
  template <Call C>
  bool enter(C& call);
  // The running task makes a call that is a plain function and so never suspends (get, put, tell).
  // It counts like any other: when it spends the quantum, the next call that can suspend does.
  TaskRecord& enter_plain(const PlainCall& call, std::uint64_t about = 0) noexcept;
  // The running task gives way. As `enter`, for engines other than coroutines.
  bool enter_yield() noexcept;
  // To be called first when a task's code goes on after a system call; throws Cancelled if it must.
  static void resumed();
  // What `resumed` will do, for an engine whose code asks before it goes on.
  static bool must_throw() noexcept { return deliver_cancel_; }
  // What the engine keeps for this scheduler; made of the scheduler when it is asked for first.
  template <class State>
  State& engine_state();
  detail::Limits& limits() noexcept { return limits_; }
  // Runs code of a task that is dropped by force, as that task.
  template <class F>
  void run_as(TaskRecord& task, F code) noexcept;
  // Makes a record of an engine's type, in the given scope, of the scheduler, the arena for what
  // the task takes, and the arguments; and queues it. The caller owns one reference to it.
  template <class Record, class... Args>
  Record& make_task(Scope& scope, std::uint8_t priority, const std::source_location& site,
                    Args&&... args);
  // As above, and queues it when what it comes after has ended.
  template <class Record, class... Args>
  Record& make_task_after(const DependencyList& after, Scope& scope, std::uint8_t priority,
                          const std::source_location& site, Args&&... args);
  detail::ExceptionFlight& exceptions() noexcept { return flight_; }
  // The code of a task has ended and its result is stored. Wakes who waits for it.
  void finish(TaskRecord& task, TaskState state) noexcept;

 private:
  friend class CancelRegion;
  friend class Dependencies;
  friend struct DebugLayout;
  friend class detail::Loop;
  friend class detail::Teardown;
  friend class Scope;
  friend class SystemCall;
  friend class TaskRecord;

  // ---- Transitions of a task; see detail::Loop for the others ----

  void admit(TaskRecord& record, Scope& scope, std::uint8_t priority,
             const std::source_location& site) noexcept;
  template <Call C>
  bool park(C& call, TaskRecord& task);
  void wake(TaskRecord& task, const SystemCall& call) noexcept;  // see SystemCall::wake
  void end(TaskRecord& task, TaskState state) noexcept;
  void interrupt(TaskRecord& task) noexcept;
  // Something else than a wake ends its wait, or the wait before it begins.
  void leaves_wait(const TaskRecord& task) noexcept;
  void tell_woken(TaskRecord& task, const SystemCall& call) noexcept;
  bool park_aside(TaskRecord& task, const CallName& name);
  std::uint64_t call_count(CallNumber number) const noexcept;

  class Reservation;
  class Drive;
  enum class Idle { moved_on, nothing_to_wait_for };

  template <class Record, class... Args>
  Record& make_record(const Scope& scope, std::uint8_t priority, Args&&... args);
  void start_ready(TaskRecord& record, Scope& scope, std::uint8_t priority,
                   const std::source_location& site) noexcept;
  void start_after(Dependencies::Owner waits, TaskRecord& record, Scope& scope,
                   std::uint8_t priority, const std::source_location& site) noexcept;
  template <Call C>
  bool start_apart(C& call, bool goes_on);
  bool wait_inline(TaskRecord& task);
  void finish_aside(TaskRecord& task, TaskState state) noexcept;
  bool look_outside();
  Idle idle(Time limit);
  void cancel_daemons();
  void drop_places();
  CancelReasonPtr why_cancelled() const;
  void refresh_cancel(TaskRecord& task) noexcept;
  void system_task_failed(TaskRecord& task) noexcept;
  void throw_system_failure();
  [[noreturn]] static void throw_no_task(std::string_view what);
  static Scope& innermost_scope_of(const TaskRecord& task) noexcept;
  Time clock_now() const;  // never before now()
  // It is running, and its record does not say so.
  bool runs_as_suspended(const TaskRecord& task) const noexcept;
};

}  // namespace tiffany

#include "tiffany/detail/core/scheduler_inline.hpp"
