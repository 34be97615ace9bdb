// The bodies of core/scheduler.hpp and detail/core/loop.hpp that are templates, or that a switch
// needs inline.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <new>
#include <source_location>
#include <string_view>
#include <utility>

#include "tiffany/base/hash.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

// ---- detail::Loop ----

inline Scheduler& detail::Loop::self() noexcept { return static_cast<Scheduler&>(*this); }

inline void detail::Loop::resume(void* frame) {
  std::coroutine_handle<>::from_address(frame).resume();
}

inline void detail::Loop::count_slices_by(ReadyQueue::Ring& ring, std::uint64_t until) noexcept {
  slice_base_ = slices() - ring.head;
  ring_ = &ring;
  last_head_ = static_cast<std::size_t>(until - slice_base_);
}

inline void detail::Loop::count_yield(TaskRecord& task) noexcept {
  ++task.steps_;
  count(yields_);
  trace_ = mix(trace_, task.id_.slot() - 1);
}

// The budget is renewed here and not where a slice begins, because most slices never ask.
inline bool detail::Loop::still_has_quantum(const TaskRecord& task) noexcept {
  if (budget_of_ != slices()) {
    budget_of_ = slices();
    budget_ = quantum_[task.priority_];
  }
  return --budget_ > 0;
}

inline bool detail::Loop::throttle(TaskRecord& task) noexcept {
  ++throttled_[task.priority_];
  if (kSeam && observer_ != nullptr) observer_->throttled(task);
  return stays_on(task, TaskState::preempted);
}

// Code that swallows Cancelled in a loop must not keep the processor: when this has happened often
// enough in one slice, the others have their turn first.
inline bool detail::Loop::delivers_now(TaskRecord& task) noexcept {
  // Far more than clean-up code that suspends in several places needs.
  constexpr std::uint32_t kThrowsPerSlice = 64;
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
  make_ready(task, TaskState::suspended);
  return false;
}

// A task that is alone goes on at once, but not for longer than the loop said it would: timers,
// other threads and less urgent tasks must be looked at.
inline bool detail::Loop::stays_on(TaskRecord& task, TaskState state) noexcept {
  if (ring_->head != last_head_ && ready_.empty()) {
    ++slice_base_;
    --last_head_;
    if (kSeam && observer_ != nullptr) [[unlikely]] {
      observer_->slice_ends(task, state);
      observer_->slice_begins(task);
    }
    return true;
  }
  make_ready(task, state);
  return false;
}

// ---- Calls ----

template <Call C>
bool Scheduler::enter(C& call) {
  TaskRecord& task = *running_;
  ++task.steps_;
  detail::count(calls_[call_kind<C>.number()]);
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

// The rest of `enter`, out of the way of what is answered inline.
template <Call C>
[[gnu::noinline]] bool Scheduler::start_apart(C& call, bool goes_on) {
  TaskRecord& task = *running_;
  if (call.start(*this, task) == Answer::now) return goes_on || throttle(task);
  return park(call, task);
}

template <Call C>
bool Scheduler::park(C& call, TaskRecord& task) {
  if (task.has(TaskRecord::kCancelPending)) [[unlikely]] {
    call.withdraw(task);
    return delivers_now(task);
  }
  SystemCall& parked = call;
  const WaitKind kind = wait_kind_of(call);
  parked.since_ =
      (now_.time_since_epoch().count() & ~SystemCall::kKindBits) | static_cast<Duration::rep>(kind);
  task.waiting_on_ = &parked;
  task.state_ = TaskState::blocked;
  detail::count(counters_.parks_by[static_cast<std::size_t>(kind)]);
  if (call.C::needs_all()) circles_.suspect(task.id_);
  return park_aside_ && park_aside(task, C::call_name);
}

inline TaskRecord& Scheduler::enter_plain(const PlainCall& call, std::uint64_t about) noexcept {
  TaskRecord& task = *running_;
  ++task.steps_;
  detail::count(calls_[call.number()]);
  trace_ = mix(trace_, task.id_.value() ^ call.name().hash ^ about);
  still_has_quantum(task);
  return task;
}

inline bool Scheduler::enter_yield() noexcept {
  TaskRecord& task = *running_;
  count_yield(task);
  if (task.has(TaskRecord::kCancelPending)) [[unlikely]]
    return delivers_now(task);
  return stays_on(task, TaskState::suspended);
}

template <class State>
State& Scheduler::engine_state() {
  for (const EngineState::Kept& kept : engine_states_) {
    if (kept.type == &EngineState::type_of<State>) return static_cast<State&>(*kept.state);
  }
  engine_states_.push_back({&EngineState::type_of<State>, std::make_unique<State>(*this)});
  return static_cast<State&>(*engine_states_.back().state);
}

template <class F>
void Scheduler::run_as(TaskRecord& task, F code) noexcept {
  TaskRecord* const before = std::exchange(running_, &task);
  code();
  running_ = before;
}

// ---- Spawning ----

// Gives the room for a task back when its record cannot be made.
class Scheduler::Reservation {
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

template <class Record, class... Args>
Record& Scheduler::make_record(const Scope& scope, std::uint8_t priority, Args&&... args) {
  static_assert(sizeof(Record) == sizeof(TaskRecord), "an engine keeps its state elsewhere");
  ready_.reserve(priority);
  Reservation reservation(*this, priority);
  const TaskTable::Slot slot = reservation.take_slot();
  Record* record;
  try {
    record = new (slot.memory) Record(*this, *scope.arena_, std::forward<Args>(args)...);
  } catch (const std::bad_alloc&) {
    limits_.deny_memory(scope, *arena_);
  }
  reservation.keep();
  record->id_ = slot.id;
  tasks_.made();
  return *record;
}

template <class Record, class... Args>
Record& Scheduler::make_task(Scope& scope, std::uint8_t priority, const std::source_location& site,
                             Args&&... args) {
  limits_.allow_task(live_tasks_, scope, *arena_);
  Record& record = make_record<Record>(scope, priority, std::forward<Args>(args)...);
  start_ready(record, scope, priority, site);
  return record;
}

template <class Record, class... Args>
Record& Scheduler::make_task_after(const DependencyList& after, Scope& scope, std::uint8_t priority,
                                   const std::source_location& site, Args&&... args) {
  limits_.allow_task(live_tasks_, scope, *arena_);
  Dependencies::Owner waits = limits_.make_waits(after, scope, *arena_);
  Record& record = make_record<Record>(scope, priority, std::forward<Args>(args)...);
  start_after(std::move(waits), record, scope, priority, site);
  return record;
}

// ---- Others ----

inline Scheduler& Scheduler::require(std::string_view what) {
  if (current_ != nullptr && current_->running_ != nullptr) [[likely]]
    return *current_;
  throw_no_task(what);
}

inline void Scheduler::resumed() {
  if (deliver_cancel_) [[unlikely]]
    current_->throw_cancelled();
}

inline bool Scheduler::runs_as_suspended(const TaskRecord& task) const noexcept {
  return running_ == &task && ready_.policy() == nullptr;
}

inline Scope& Scheduler::scope_of(TaskRecord& task) noexcept {
  return task.region_ == nullptr ? *task.scope_ : innermost_scope_of(task);
}

// Reads the clock if it is a real one; a virtual clock costs nothing.
inline Time Scheduler::deadline_in(Duration delay) const {
  return detail::saturating_add(clock_runs_ ? clock_now() : now_, delay);
}

inline AsyncTracePtr Scheduler::trace_of(const std::exception_ptr& error) const noexcept {
  return flight_.trace_of(*this, error);
}

template <class Visit>
void Scheduler::for_each_call(Visit visit) const {
  for (std::size_t number = 0; number < kCallNumbers; ++number) {
    const std::uint64_t count = call_count(static_cast<CallNumber>(number));
    const CallName* const call = call_with_number(static_cast<CallNumber>(number));
    if (count > 0) visit(call != nullptr ? call->name : std::string_view("other"), count);
  }
}

template <class Visit>
void Scheduler::for_each_task(Visit visit) const {
  tasks_.for_each([&](TaskRecord& task) {
    if (!task.settled()) visit(task);
  });
}

template <class Visit>
bool Scheduler::for_each_whole_task(Visit visit) const {
  return tasks_.for_each_whole([&](TaskRecord& task) {
    if (!task.settled()) visit(task);
  });
}

template <std::invocable Text>
CancelReasonPtr Scheduler::reason(CancelCause cause, const Text& text,
                                  std::source_location site) const noexcept {
  try {
    return reason(cause, std::string_view(text()), site);
  } catch (const std::bad_alloc&) {
    return unrecorded_reason(cause);
  }
}

}  // namespace tiffany
