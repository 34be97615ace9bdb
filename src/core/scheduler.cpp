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
    : quantum_(std::max<std::uint32_t>(1, options.quantum_)),
      turn_(std::max<std::uint32_t>(1, options.turn_)),
      ready_(options.record_picks_
                 ? std::make_unique<RecordingOrder>(std::move(options.policy_), picks_)
                 : std::move(options.policy_)),
      inbox_(std::make_shared<Inbox>()),
      root_(*this, Scope::RootTag{}),
      spawn(&root_),
      arena_(Arena::create()),
      tasks_(*arena_),
      reactor_(or_real_clock(std::move(options.reactor_))),
      timers_(reactor_->now()),
      random_(pick_seed(options.seed_, reactor_->virtual_time()), "scheduler"),
      log_(options.log_ ? std::move(options.log_) : log_to_stderr) {
  now_ = reactor_->now();
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

std::size_t Scheduler::run_turn(std::size_t slices) {
  struct NobodyRuns {
    Scheduler& scheduler;
    ~NobodyRuns() {
      scheduler.running_ = nullptr;
      if (scheduler.flight_.error != nullptr) scheduler.exception_comes(nullptr, nullptr);
    }
  };
  const NobodyRuns at_the_end{*this};  // also when a policy throws
  const std::uint64_t start = slice_;
  turn_end_ = start + slices;
  if (ready_.policy() == nullptr) [[likely]] {
    run_rings();
  } else {
    run_policy(*ready_.policy());
  }
  return static_cast<std::size_t>(slice_ - start);
}

void Scheduler::run_rings() {
  while (slice_ < turn_end_) {
    ReadyQueue::Ring* const ring = ready_.best();
    if (ring == nullptr) return;
    const std::size_t size = ring->size();
    const std::size_t count = std::min<std::size_t>(size, turn_end_ - slice_);
    if (size < ReadyQueue::kMany) {
      run_batch<false>(*ring, count);
    } else {
      run_batch<true>(*ring, count);
    }
  }
}

// So many tasks of one priority, all of which are in the ring now, unless a more urgent one becomes
// ready. The hot loop: its common case, a coroutine that yields, takes a few dozen instructions. The
// task is taken from the ring, resumed, and put behind the others. Where the ring begins is kept in a
// register and written through, so that one round does not wait for the memory of the one before.
template <bool kPrefetch>
void Scheduler::run_batch(ReadyQueue::Ring& ring, std::size_t count) {
  std::size_t head = ring.head;
  const std::size_t end = head + count;
  do {
    TaskRecord& task = ring.at(head);
    void* frame = ring.frame_at(head);
    if constexpr (kPrefetch) ring.prefetch_from(head);
    ring.head = ++head;
    ++slice_;
    if (task.has(TaskRecord::kDeliverCancel)) [[unlikely]] {
      run_slice(task);
      continue;
    }
    running_ = &task;
    task.state_ = State::running;
    if (frame == nullptr) {
      frame = task.cursor_ != nullptr ? task.cursor_ : task.begin(*this);
      if (frame == nullptr) continue;
    }
    resume(frame);
    void* const next = trampoline.next;
    if (next == Trampoline::yielded() && !task.has(TaskRecord::kCancelPending) &&
        (head != end || !ring.empty())) [[likely]] {
      count_yield(task);
      task.state_ = State::suspended;
      task.cursor_ = frame;
      ring.push(task, frame);
    } else if (next == nullptr) {
      task.cursor_ = frame;
    } else if (next == Trampoline::ended()) {
      task.cursor_ = frame;
      task.ended(*this);
    } else {
      slice_goes_on(task, frame);
    }
  } while (head != end && ready_.is_best(ring));
}

void Scheduler::run_policy(ReadyPolicy& policy) {
  while (slice_ < turn_end_ && policy.size() > 0) {
    TaskRecord& task = policy.pop();
    ++slice_;
    run_slice(task);
  }
}

void Scheduler::run_slice(TaskRecord& task) {
  if (task.has(TaskRecord::kDeliverCancel)) {
    if (task.settled()) {
      // It was cancelled while it waited for its first turn; only its place in the queue is left.
      --slice_;
      --dead_in_queue_;
      ready_.unreserve(task.priority_);
      task.release();
      return;
    }
    task.clear(TaskRecord::kDeliverCancel);
    deliver_cancel_ = true;
  }
  running_ = &task;
  task.state_ = State::running;
  void* frame = task.cursor_ != nullptr ? task.cursor_ : task.begin(*this);
  if (frame == nullptr) return;
  resume(frame);
  slice_goes_on(task, frame);
}

inline void Scheduler::resume(void* frame) {
  trampoline.next = nullptr;
  std::coroutine_handle<>::from_address(frame).resume();
}

// A frame never resumes another one: it returns here and says which is next. So calls nest to any
// depth on a constant native stack, whatever the compiler makes of tail calls.
void Scheduler::slice_goes_on(TaskRecord& task, void* frame) {
  for (;;) {
    void* const next = trampoline.next;
    if (next > Trampoline::yielded()) [[likely]] {
      frame = next;
    } else if (next == Trampoline::yielded()) {
      count_yield(task);
      const bool goes_on = task.has(TaskRecord::kCancelPending) ? delivers_now(task)
                                                                : stays_on(task, State::suspended);
      if (!goes_on) break;
    } else {
      break;
    }
    resume(frame);
  }
  task.cursor_ = frame;
  if (trampoline.next == Trampoline::ended()) task.ended(*this);
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

void Scheduler::admit(TaskRecord& record, TaskId id, Scope& scope, std::uint8_t priority,
                      const std::source_location& site) noexcept {
  record.id_ = id;
  record.priority_ = priority;
  record.spawn_site_ = site;
  if (running_ != nullptr) record.parent_ = running_->id_;
  ++live_tasks_;
  scope.add(record);
  ready_.push(record);
  if (scope.reason_ != nullptr) cancel(record, scope.reason_);
}

void Scheduler::finish(TaskRecord& task, State state) noexcept {
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

Scope& Scheduler::scope_of(TaskRecord* task) noexcept {
  if (task == nullptr) return root_;
  for (CancelRegion* region = task->region_; region != nullptr; region = region->outer()) {
    if (region->kind() == CancelRegion::Kind::scope) return *region->scope();
  }
  return *task->scope_;
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
  return task.extras_ != nullptr && task.extras_->cancel != nullptr ? &task.extras_->cancel
                                                                    : nullptr;
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
  switch (task.state_) {
    case State::pending:
      // Never starts. Its place in the queue stays and holds a reference until it comes up.
      task.add_ref();
      task.set(TaskRecord::kDeliverCancel);
      ++dead_in_queue_;
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
      break;
    default:
      break;  // running, or a result has arrived, which comes first: the next suspension throws
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
    const bool parked = task.state_ == State::blocked;
    if (parked) {
      task.waiting_on_->withdraw(task);
    } else {
      // It is in the queue, and its place there keeps the reference.
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
    cancel(task, why);
    refresh_cancel(task);
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
  std::string what;
  try {
    std::rethrow_exception(task.error());
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an exception that is not a std::exception";
  }
  const AsyncTracePtr trace = task.trace();
  const std::string message = task.describe() + ", spawned at " + site_text(task.spawn_site_) +
                              ", failed and nobody looked at the error: " + what +
                              (trace != nullptr ? "\n  " + trace->text() : "");
  log_(LogLine{now_, task.id_, task.name(), message});
}

}  // namespace tiffany
