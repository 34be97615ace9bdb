#include "tiffany/core/scheduler.hpp"

#include <algorithm>
#include <coroutine>
#include <cstdio>
#include <random>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/deadlock.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {
namespace {

// How many messages from other threads one turn takes in: they must not starve the tasks.
constexpr std::size_t kDrainLimit = 1024;
// How many slices the tasks get to unwind when their scheduler is destroyed, per task.
constexpr std::size_t kTeardownSlices = 64;
// How many tasks ahead the frames are fetched, where there are many.
constexpr std::size_t kAhead = 8;

std::uint64_t pick_seed(const std::optional<std::uint64_t>& asked, bool virtual_time) {
  if (asked) return *asked;
  if (virtual_time) return 0;
  std::random_device entropy;
  return (std::uint64_t{entropy()} << 32) | entropy();
}

void log_to_stderr(const LogLine& line) {
  std::string text = "[task " + line.task.text();
  if (!line.task_name.empty()) text += " \"" + std::string(line.task_name) + "\"";
  text += "] " + std::string(line.message) + "\n";
  std::fputs(text.c_str(), stderr);
}

Duration monotonic_clock() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

std::unique_ptr<Reactor> or_real_clock(std::unique_ptr<Reactor> reactor) {
  return reactor != nullptr ? std::move(reactor) : real_clock();
}

}  // namespace

// Marks this thread as driving this scheduler, and refuses to do so twice.
class Scheduler::Drive {
 public:
  explicit Drive(Scheduler& scheduler) {
    if (current_ != nullptr) {
      throw Error(Errc::nested_run,
                  "A scheduler was driven from inside " +
                      (current_->running_ != nullptr ? current_->running_->describe()
                                                     : std::string("another scheduler's loop")) +
                      ". Await or spawn instead; one thread drives one scheduler at a time.");
    }
    current_ = &scheduler;
  }
  ~Drive() { current_ = nullptr; }
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;
};

Scheduler::Scheduler(Options options)
    : turn_(std::max<std::uint32_t>(1, options.turn_)),
      ready_(options.record_picks_
                 ? std::make_unique<RecordingOrder>(std::move(options.policy_), picks_)
                 : std::move(options.policy_)),
      inbox_(std::make_shared<Inbox>()),
      root_(*this, Scope::RootTag{}),
      spawn(&root_),
      most_tasks_(options.most_tasks_),
      ageing_(options.ageing_),
      arena_(Arena::create()),
      tasks_(*arena_),
      reactor_(or_real_clock(std::move(options.reactor_))),
      timers_(reactor_->now()),
      random_(pick_seed(options.seed_, reactor_->virtual_time()), "scheduler"),
      log_(options.log_ ? std::move(options.log_) : log_to_stderr),
      system_failure_(options.system_failure_) {
  now_ = reactor_->now();
  arena_->set_limit(options.most_bytes_);
  std::fill(std::begin(quantum_), std::end(quantum_), std::max<std::uint32_t>(1, options.quantum_));
  for (const auto& [priority, steps] : options.quantum_of_) {
    quantum_[priority] = std::max<std::uint32_t>(1, steps);
  }
  if (options.watch_limit_) {
    watch_ = Watch{true, *options.watch_limit_,
                   options.watch_clock_ ? std::move(options.watch_clock_) : monotonic_clock};
  }
  ready_.set_origin(tasks_.origin());
}

Scheduler::~Scheduler() {
  drop_everything();
  inbox_->close();
  while (externals_ != nullptr) {
    ExternalEntry& entry = *externals_;
    remove_external(entry);
    entry.scheduler_gone();
  }
  // The records that handles still hold keep the arena.
  Arena* arena = arena_;
  tasks_.abandon();
  arena->retire();
}

void Scheduler::throw_no_task(std::string_view what) {
  throw Error(Errc::no_task,
              std::string(what) +
                  " needs a running task, and none is running on this thread. Call it "
                  "from a coroutine that a scheduler runs.");
}

Scheduler* Scheduler::owner(const TaskRecord& task) noexcept {
  return task.has(TaskRecord::kOrphan) ? nullptr : &task.scope_->scheduler_;
}

// ---- The loop ----

bool Scheduler::look_outside() {
  now_ = reactor_->now();
  if (!inbox_->maybe_empty()) inbox_->drain(*this, kDrainLimit);
  if (timers_.size() > 0) timers_.fire_due(*this, now_);
  return !ready_.empty();
}

std::size_t Scheduler::run_turn(std::size_t limit) {
  struct NobodyRuns {
    Scheduler& scheduler;
    ~NobodyRuns() {
      scheduler.running_ = nullptr;
      if (scheduler.flight_.error != nullptr) scheduler.exception_comes(nullptr, nullptr);
    }
  };
  const NobodyRuns at_the_end{*this};  // also when a policy throws
  const std::uint64_t start = slices();
  turn_end_ = start + limit;
  if (ready_.policy() == nullptr) [[likely]] {
    run_rings();
  } else {
    run_policy(*ready_.policy());
  }
  return static_cast<std::size_t>(slices() - start);
}

inline void Scheduler::resume(void* frame) {
  std::coroutine_handle<>::from_address(frame).resume();
}

// False when the task has ended, and only its place in the queue was left.
inline bool Scheduler::begin_slice(TaskRecord& task) noexcept {
  if (alarm_for_running_) [[unlikely]] {
    alarm_for_running_ = false;
    --alarms_;
  }
  running_ = &task;
  if (task.flags_ & (TaskRecord::kDeliverCancel | TaskRecord::kCancelPending)) [[unlikely]]
    return begin_cancelled_slice(task);
  task.state_ = State::running;
  return true;
}

// A slice of a task that did something else than to yield when it ran last, or was cancelled.
inline void Scheduler::run_with_care(TaskRecord& task, ReadyQueue::Ring& ring) {
  if (!begin_slice(task)) return;
  void* frame = task.cursor_;
  if (frame == nullptr) {
    frame = task.begin(*this);
    if (frame == nullptr) return;
  }
  resume(frame);
  void* const next = Trampoline::next;
  if (next == nullptr) {
    task.cursor_ = frame;
  } else if (next == Trampoline::ended()) {
    task.cursor_ = frame;
    task.ended(*this);
  } else if (next == Trampoline::yielded() && alarms_ == 0 && !ring.empty()) {
    count_yield(task);
    task.state_ = State::suspended;
    task.cursor_ = frame;
    if (ReadyQueue::Place::reaches(ready_.origin(), frame)) [[likely]] {
      ring.push(ReadyQueue::Place(task, frame, ready_.origin()), 0);
    } else {
      ring.push(ReadyQueue::Place(task), ReadyQueue::kRecord);
    }
  } else {
    slice_goes_on(task, frame);
  }
}

// Runs the tasks of one priority until the turn ends, none is left, or a more urgent one becomes
// ready. The hot loop: its common case, a coroutine that yields again, takes a few dozen
// instructions and touches the frame and the ring. The task is taken from the ring, resumed, and put
// behind the others. Where the ring begins is kept in a register and written through, so that one
// round does not wait for the memory of the one before.
template <bool kPrefetch>
void Scheduler::run_batch(ReadyQueue::Ring& ring) {
  std::size_t head = ring.head;
  for (;;) {
    if constexpr (kPrefetch) {
      // Here and not in a function, which GCC would take for one without effect. First the record,
      // which knows the frame; then the frame.
      const std::size_t ahead = (head + kAhead) & ring.mask;
      const std::size_t far_ahead = (head + 2 * kAhead) & ring.mask;
      if (ring.yields[far_ahead] == ReadyQueue::kRecord) {
        __builtin_prefetch(&ring.places[far_ahead].task(), 1);
      }
      const void* frame = ring.yields[ahead] == ReadyQueue::kRecord
                              ? ring.places[ahead].task().cursor_
                              : ring.places[ahead].frame(ready_.origin());
      __builtin_prefetch(frame, 1);
      __builtin_prefetch(static_cast<const char*>(frame) + 64, 1);
    }
    const ReadyQueue::Place place = ring.places[head & ring.mask];
    const std::uint32_t yields = ring.yields[head & ring.mask];
    ring.head = ++head;
    if (yields < ReadyQueue::kLook && alarms_ == 0) [[likely]] {
      running_ = &tasks_.in_slot(place.slot());
      resume(place.frame(ready_.origin()));
      if (Trampoline::next == Trampoline::yielded() && alarms_ == 0 && head != ring.tail)
          [[likely]] {
        trace_ = mix(trace_, place.slot());
        ring.push(place, yields + 1);
        if (head == last_head_ || !ready_.is_best(ring)) return;
        continue;
      }
      running_->steps_ += ring.take_running_yields();
      slice_goes_on(*running_, running_->cursor_);
    } else if (yields == ReadyQueue::kRecord) {
      run_with_care(place.task(), ring);
    } else {
      TaskRecord& task = tasks_.in_slot(place.slot());
      task.steps_ += ring.take_running_yields();
      run_with_care(task, ring);
    }
    if (head == last_head_ || head == ring.tail || !ready_.is_best(ring)) return;
    if (kPrefetch && ring.size() < ReadyQueue::kMany) return;
  }
}

void Scheduler::run_rings() {
  while (slices() < turn_end_) {
    if (ageing_ != 0 && slices() >= next_aged_ && age()) continue;
    ReadyQueue::Ring* const ring = ready_.best();
    if (ring == nullptr) return;
    if (watch_.on) [[unlikely]] {
      // One slice at a time; whose it is, the place at the head says.
      const auto slice = [](Scheduler& self, TaskRecord& task) {
        self.run_ring(*self.ready_.ring_of(task), self.slices() + 1);
      };
      watch_slice(ready_.first(*ring, tasks_), slice);
    } else {
      run_ring(*ring, ageing_ != 0 ? std::min(turn_end_, next_aged_) : turn_end_);
    }
  }
}

// One slice for the next of the less urgent priorities that have ready tasks. False when none has.
bool Scheduler::age() {
  next_aged_ = slices() + ageing_;
  ReadyQueue::Ring* const ring = ready_.next_below_best(aged_priority_);
  if (ring == nullptr) return false;
  run_ring(*ring, slices() + 1);
  return true;
}

void Scheduler::run_ring(ReadyQueue::Ring& ring, std::uint64_t until) {
  count_slices_by(ring, until);
  if (ring.size() < ReadyQueue::kMany) {
    run_batch<false>(ring);
  } else {
    run_batch<true>(ring);
  }
}

inline void Scheduler::count_slices_by(ReadyQueue::Ring& ring, std::uint64_t until) noexcept {
  slice_base_ = slices() - ring.head;
  ring_ = &ring;
  last_head_ = static_cast<std::size_t>(until - slice_base_);
}

std::uint64_t Scheduler::throttled() const noexcept {
  std::uint64_t all = 0;
  for (const std::uint64_t count : throttled_) all += count;
  return all;
}

void Scheduler::run_policy(ReadyPolicy& policy) {
  count_slices_by(policy_ring_, turn_end_);
  while (slices() < turn_end_ && policy.size() > 0) {
    TaskRecord& task = policy.pop();
    ++policy_ring_.head;
    if (watch_.on) [[unlikely]] {
      watch_slice(task, [](Scheduler& self, TaskRecord& watched) { self.run_slice(watched); });
    } else {
      run_slice(task);
    }
  }
}

void Scheduler::run_slice(TaskRecord& task) {
  if (!begin_slice(task)) return;
  void* frame = task.cursor_ != nullptr ? task.cursor_ : task.begin(*this);
  if (frame == nullptr) return;
  resume(frame);
  slice_goes_on(task, frame);
}

bool Scheduler::begin_cancelled_slice(TaskRecord& task) noexcept {
  if (task.has(TaskRecord::kDeliverCancel)) {
    if (task.settled()) {
      // It was cancelled while it waited for its first turn.
      --slice_base_;
      ++last_head_;
      --dead_in_queue_;
      --alarms_;
      ready_.unreserve(task.priority_);
      running_ = nullptr;
      task.release();
      return false;
    }
    if (task.state_ == State::pending) {
      end_unbegun(task);
      return false;
    }
    task.clear(TaskRecord::kDeliverCancel);
    if (task.state_ == State::suspended) --alarms_;
    deliver_cancel_ = true;
  }
  task.state_ = State::running;
  if (task.has(TaskRecord::kCancelPending)) raise_alarm_for_running();
  return true;
}

void Scheduler::count_steps() const noexcept {
  if (running_ != nullptr && ring_ != &policy_ring_) {
    running_->steps_ += ring_->take_running_yields();
    raise_alarm_for_running();  // run_batch has the number from before
  }
  ready_.count_yields(
      [this](std::uint32_t slot, std::uint32_t yields) { tasks_.in_slot(slot).steps_ += yields; });
}

// Its turn has come, but what it comes after did not complete. That is found out here and not where the
// other task ends: a chain of a million such tasks would end one inside the other.
void Scheduler::end_unbegun(TaskRecord& task) noexcept {
  task.drop_code();
  if (task.extras().refused == nullptr) return finish(task, State::cancelled);
  new (task.storage_) std::exception_ptr(std::move(task.extras().refused));
  finish(task, State::failed);
}

// A frame never resumes another one: it returns here and says which is next. So calls nest to any
// depth on a constant native stack, whatever the compiler makes of tail calls.
void Scheduler::slice_goes_on(TaskRecord& task, void* frame) {
  // A call and its return, or a call in a loop, go back and forth between two frames. Where the next
  // one is the one before, its address is taken from a register, under a branch that is foreseen:
  // the processor need not wait for it to come through memory.
  void* before = frame;
  for (;;) {
    void* const next = Trampoline::next;
    if (next == before) [[likely]] {
      asm("" : "+r"(before));  // or the compiler takes `next` all the same
      std::swap(frame, before);
    } else if (next > Trampoline::yielded()) {
      before = frame;
      frame = next;
    } else if (next == Trampoline::yielded()) {
      count_yield(task);
      const bool goes_on = task.has(TaskRecord::kCancelPending) ? delivers_now(task)
                                                                : stays_on(task, State::suspended);
      if (!goes_on) {
        task.cursor_ = frame;
        return;
      }
    } else {
      task.cursor_ = frame;
      if (next == Trampoline::ended()) task.ended(*this);
      return;
    }
    resume(frame);
  }
}

Scheduler::Idle Scheduler::idle(Time limit) {
  if (reactor_->virtual_time()) {
    if (const auto next = timers_.next_until(limit)) {
      reactor_->advance_to(*next);
      trace_ = mix(trace_, static_cast<std::uint64_t>(next->time_since_epoch().count()));
      return Idle::moved_on;
    }
    if (limit != kEndOfTime) {
      reactor_->advance_to(limit);
      return Idle::moved_on;
    }
  }
  std::optional<Time> until;
  if (limit != kEndOfTime) until = limit;
  if (const auto next = timers_.next_hint(); next && (!until || *next < *until)) until = next;
  if (!until && !can_be_woken_from_outside()) return Idle::nothing_to_wait_for;
  Wakeup& wakeup = inbox_->wakeup();
  wakeup.prepare();
  if (inbox_->empty()) reactor_->wait(until, wakeup);
  wakeup.finish();
  return Idle::moved_on;
}

bool Scheduler::can_be_woken_from_outside() const {
  if (pending_externals_ > 0 || !inbox_->empty()) return true;
  bool found = false;
  for_each_task([&](TaskRecord& task) {
    found = found || (task.waiting_on_ != nullptr && task.waiting_on_->waits_for_outside());
  });
  return found;
}

void Scheduler::run() {
  Drive drive(*this);
  while (live_tasks_ > 0) {
    if (look_outside()) {
      run_turn(turn_);
    } else if (idle(kEndOfTime) == Idle::nothing_to_wait_for) {
      throw Deadlock(wait_report());
    }
  }
  drop_places();
  throw_system_failure();
}

// Of tasks that were cancelled before they began only a place in the queue is left, with a reference.
void Scheduler::drop_places() {
  while (!ready_.empty()) run_turn(1);
}

bool Scheduler::step() {
  Drive drive(*this);
  look_outside();
  return run_turn(1) > 0;
}

std::size_t Scheduler::step_until_idle() {
  Drive drive(*this);
  std::size_t ran = 0;
  while (look_outside()) ran += run_turn(turn_);
  return ran;
}

void Scheduler::run_until(Time time) {
  Drive drive(*this);
  while (live_tasks_ > 0) {
    if (look_outside()) {
      run_turn(turn_);
    } else if (now_ >= time) {
      return;
    } else {
      idle(time);
    }
  }
  if (reactor_->virtual_time()) reactor_->advance_to(time);
  now_ = reactor_->now();
  throw_system_failure();
}

bool Scheduler::poll(Time deadline) {
  Drive drive(*this);
  if (!look_outside() && now_ < deadline) {
    idle(deadline);
    look_outside();
  }
  return run_turn(turn_) > 0;
}

void Scheduler::shutdown(std::string_view why, std::source_location site) {
  root_.cancel_all(reason(CancelCause::shutdown, why, site));
  run();
}

// ---- Tasks ----

inline void Scheduler::enlist(TaskRecord& record, Scope& scope, std::uint8_t priority,
                              const std::source_location& site) noexcept {
  record.priority_ = priority;
  record.spawn_site_ = site;
  if (running_ != nullptr) {
    record.parent_ = running_->id_;
    if (running_->has(TaskRecord::kHasHeritage)) [[unlikely]]
      record.inherit(*running_);
  }
  ++live_tasks_;
  scope.add(record);
}

void Scheduler::admit(TaskRecord& record, Scope& scope, std::uint8_t priority,
                      const std::source_location& site) noexcept {
  enlist(record, scope, priority, site);
  ready_.push(record);
  if (scope.reason_ != nullptr) cancel(record, scope.reason_);
}

void Scheduler::admit_after(Dependencies::Owner waits, TaskRecord& record, Scope& scope,
                            std::uint8_t priority, const std::source_location& site) noexcept {
  enlist(record, scope, priority, site);
  Dependencies::begin(std::move(waits), *this, record);
  if (scope.reason_ != nullptr) cancel(record, scope.reason_);
}

void Scheduler::finish(TaskRecord& task, State state) noexcept {
  // Apart, so that a task without one has nothing to save around the call.
  if (task.has(TaskRecord::kHasHeritage)) [[unlikely]]
    return finish_with_heritage(task, state);
  end(task, state);
}

[[gnu::noinline]] void Scheduler::finish_with_heritage(TaskRecord& task, State state) noexcept {
  task.leave_heritage(state);
  end(task, state);
}

inline void Scheduler::end(TaskRecord& task, State state) noexcept {
  trace_ = mix(trace_, task.id_.value() + static_cast<std::uint64_t>(state));
  --live_tasks_;
  ++ended_[static_cast<std::size_t>(state) - static_cast<std::size_t>(State::completed)];
  ready_.unreserve(task.priority_);
  task.settle(*this, state);
  if (state == State::failed) [[unlikely]]
    keep_trace(task);
  task.scope_->child_ended(task);
  task.release();
}

void Scheduler::wake(TaskRecord& task) noexcept {
  if (task.state_ != State::blocked) return;
  task.waiting_on_ = nullptr;
  task.state_ = State::ready;
  ready_.push(task);
}

Scope& Scheduler::innermost_scope_of(const TaskRecord& task) noexcept {
  for (CancelRegion* region = task.region_; region != nullptr; region = region->outer()) {
    if (region->kind() == CancelRegion::Kind::scope) return *region->scope();
  }
  return *task.scope_;
}

void Scheduler::add_external(ExternalEntry& entry) noexcept {
  ++pending_externals_;
  entry.next_ = externals_;
  if (externals_ != nullptr) externals_->prev_ = &entry;
  externals_ = &entry;
}

void Scheduler::remove_external(ExternalEntry& entry) noexcept {
  (entry.prev_ != nullptr ? entry.prev_->next_ : externals_) = entry.next_;
  if (entry.next_ != nullptr) entry.next_->prev_ = entry.prev_;
}

// ---- Cancellation ----

CancelReasonPtr Scheduler::reason(CancelCause cause, std::string_view why,
                                  std::source_location site) const {
  const TaskId asker = running_ != nullptr ? running_->id_ : TaskId();
  return std::make_shared<const CancelReason>(cause, why, asker, site, now_);
}

void Scheduler::cancel(TaskRecord& task, CancelReasonPtr reason) noexcept {
  if (task.settled()) return;
  TaskRecord::Extras& extras = task.extras();
  if (extras.cancel != nullptr) return;
  extras.cancel = std::move(reason);
  refresh_cancel(task);
}

bool Scheduler::cancel(TaskId id, std::string_view why, std::source_location site) {
  TaskRecord* task = find(id);
  if (task == nullptr || task->settled()) return false;
  cancel(*task, reason(CancelCause::requested, why, site));
  return true;
}

// The innermost reason that no shield hides; null when the code may go on.
const CancelReasonPtr* Scheduler::effective_reason(const TaskRecord& task) noexcept {
  for (const CancelRegion* region = task.region_; region != nullptr; region = region->outer_) {
    if (region->reason_ != nullptr) return &region->reason_;
    if (CancelRegion::hides(region->kind_)) return nullptr;
  }
  const TaskRecord::Extras* own = task.own_extras();
  return own != nullptr && own->cancel != nullptr ? &own->cancel : nullptr;
}

void Scheduler::refresh_cancel(TaskRecord& task) noexcept {
  // The end breaks shields, but not the wait of a scope for its tasks: they may refer to its frame.
  const bool closing =
      task.region_ != nullptr && task.region_->kind_ == CancelRegion::Kind::closing;
  const bool pending = effective_reason(task) != nullptr || (tearing_down_ && !closing);
  if (!pending) {
    task.clear(TaskRecord::kCancelPending);
  } else if (!task.has(TaskRecord::kCancelPending)) {
    task.set(TaskRecord::kCancelPending);
    interrupt(task);
  }
}

void Scheduler::interrupt(TaskRecord& task) noexcept {
  if (&task == running_) {  // the next suspension throws
    raise_alarm_for_running();
    return;
  }
  switch (task.state_) {
    case State::pending:
      if (task.waiting_on_ != nullptr) {
        // It waits for other tasks before it begins, and is in no queue.
        std::exchange(task.waiting_on_, nullptr)->withdraw(task);
        task.drop_code();
        finish(task, State::cancelled);
        break;
      }
      // Never starts. Its place in the queue stays and holds a reference until it comes up.
      task.add_ref();
      task.set(TaskRecord::kDeliverCancel);
      ++dead_in_queue_;
      ++alarms_;
      ready_.keep_place(task.priority_);
      task.drop_code();
      finish(task, State::cancelled);
      break;
    case State::blocked:
      task.waiting_on_->withdraw(task);
      task.waiting_on_ = nullptr;
      task.set(TaskRecord::kDeliverCancel);
      task.state_ = State::ready;
      ready_.push(task);
      break;
    case State::suspended:
      task.set(TaskRecord::kDeliverCancel);  // it yielded, and there is nothing it could lose
      ++alarms_;
      break;
    default:
      break;  // a result has arrived, which comes first: the next suspension throws
  }
}

CancelReasonPtr Scheduler::why_cancelled() const {
  if (const CancelReasonPtr* reason = effective_reason(*running_)) return *reason;
  return reason(CancelCause::shutdown, "its scheduler is being destroyed", running_->spawn_site_);
}

void Scheduler::throw_cancelled() {
  deliver_cancel_ = false;
  throw Cancelled(why_cancelled());
}

// A task of one of the scopes that this task has opened; null when they have none.
TaskRecord* Scheduler::task_in_scopes_of(const TaskRecord& task) noexcept {
  for (CancelRegion* region = task.region_; region != nullptr; region = region->outer_) {
    if (region->scope_ != nullptr && region->scope_->first_ != nullptr)
      return region->scope_->first_;
  }
  return nullptr;
}

// The tasks of its scopes go first: what they hold may refer to its frames.
void Scheduler::drop_by_force(TaskRecord& first) noexcept {
  std::vector<TaskRecord*> path{&first};
  while (!path.empty()) {
    TaskRecord& task = *path.back();
    if (TaskRecord* inner = task_in_scopes_of(task)) {
      path.push_back(inner);
      continue;
    }
    path.pop_back();
    task.add_ref();
    const bool parked = task.waiting_on_ != nullptr;
    if (parked) {
      std::exchange(task.waiting_on_, nullptr)->withdraw(task);
    } else {
      // It is in the queue, and its place there keeps the reference.
      const bool counted = task.has(TaskRecord::kDeliverCancel) && task.state_ == State::suspended;
      if (!counted) ++alarms_;
      task.set(TaskRecord::kDeliverCancel);
      ++dead_in_queue_;
      ready_.keep_place(task.priority_);
    }
    task.drop_code();
    finish(task, State::cancelled);
    if (parked) task.release();
  }
}

// First politely, then without shields, then by force.
void Scheduler::drop_everything() noexcept {
  Scheduler* const outer = std::exchange(current_, this);
  const CancelReasonPtr why = reason(CancelCause::shutdown, "its scheduler is being destroyed",
                                     std::source_location::current());
  root_.cancel_all(why);
  const auto unwind = [this] {
    for (std::size_t left = live_tasks_ * kTeardownSlices; left > 0 && !ready_.empty(); --left) {
      run_turn(1);
    }
  };
  unwind();
  tearing_down_ = true;
  for_each_task([&](TaskRecord& task) {
    const Ref<TaskRecord> held(&task);
    cancel(task, why);
    if (!task.settled()) refresh_cancel(task);
  });
  unwind();
  for_each_task([this](TaskRecord& task) { drop_by_force(task); });
  drop_places();
  current_ = outer;
}

// ---- Reports ----

void Scheduler::log(std::string_view message) {
  const bool in_task = running_ != nullptr;
  log_(LogLine{now_, in_task ? running_->id_ : TaskId(),
               in_task ? running_->name() : std::string_view(), message});
}

void Scheduler::report_failure(TaskRecord& task) noexcept {
  const AsyncTracePtr trace = task.trace();
  const std::string message =
      task.describe() + ", spawned at " + site_text(task.spawn_site_) +
      ", failed and nobody looked at the error: " + error_text(task.error()) +
      (trace != nullptr ? "\n  " + trace->text() : "");
  log_(LogLine{now_, task.id_, task.name(), message, task.error()});
}

void Scheduler::system_task_failed(TaskRecord& task) noexcept {
  if (system_failure_ == SystemFailure::report || system_failed_ != nullptr) return;
  system_failed_ = std::make_unique<SystemTaskFailed>(
      TaskFailure(task.id_, task.describe(), task.error()), site_text(task.spawn_site_));
  task.mark_observed();
  root_.cancel_all(
      reason(CancelCause::shutdown, "the system " + task.describe() + " failed", task.spawn_site_));
}

void Scheduler::throw_system_failure() {
  if (system_failed_ == nullptr) [[likely]]
    return;
  const std::unique_ptr<SystemTaskFailed> failed = std::move(system_failed_);
  throw SystemTaskFailed(*failed);
}

}  // namespace tiffany
