#include "tiffany/core/scheduler.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/inline_order.hpp"
#include "core/teardown.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/close_first.hpp"
#include "tiffany/core/deadlock.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany {
namespace {

// How many messages from other threads one turn takes in: they must not starve the tasks.
constexpr std::size_t kDrainLimit = 1024;

std::uint64_t pick_seed(const std::optional<std::uint64_t>& asked, World& world) {
  if (asked) return *asked;
  std::uint64_t seed = 0;
  return world.entropy(&seed, sizeof seed) ? seed : 0;
}

void log_to_stderr(const LogLine& line) {
  std::string text = "[task " + line.task.text();
  if (!line.task_name.empty()) text += " \"" + std::string(line.task_name) + "\"";
  text += "] " + std::string(line.message) + "\n";
  std::fputs(text.c_str(), stderr);
}

std::unique_ptr<Reactor> or_the_system(std::unique_ptr<Reactor> reactor) {
  return reactor != nullptr ? std::move(reactor) : system_reactor();
}

// Apart, and of the address, so that a spawn that nobody observes has one comparison more.
[[gnu::noinline]] void tell_admitted(detail::Observer** observer, const TaskRecord& task) noexcept {
  (*observer)->admitted(task);
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
    if (scheduler.pulse_ != nullptr) scheduler.pulse_->driven();
  }
  ~Drive() {
    if (current_->pulse_ != nullptr) current_->pulse_->left();
    current_ = nullptr;
  }
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;
};

World& World::current() noexcept {
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->world() : os_world();
}

detail::Loop::Loop(Scheduler& scheduler, Options& options)
    : turn_(std::max<std::uint32_t>(1, options.turn_)),
      ready_(options.record_picks_
                 ? std::make_unique<RecordingOrder>(std::move(options.policy_), picks_)
                 : std::move(options.policy_)),
      inbox_(std::make_shared<Inbox>()),
      ageing_(options.ageing_),
      arena_(Arena::create()),
      tasks_(*arena_),
      reactor_(or_the_system(std::move(options.reactor_))),
      timers_(reactor_->now()),
      random_(pick_seed(options.seed_, reactor_->world()), "scheduler"),
      system_failure_(options.system_failure_),
      reports_(scheduler, counters_, options.log_ ? std::move(options.log_) : log_to_stderr),
      limits_(options.most_tasks_, options.most_fibers_, options.fiber_stack_, counters_),
      watch_(options, counters_, reports_),
      circles_(options.circles_, counters_),
      quiet_(options.quiet_limit_, counters_) {
  now_ = reactor_->now();
  clock_runs_ = !reactor_->virtual_time();
  arena_->set_limit(options.most_bytes_);
  std::fill(std::begin(quantum_), std::end(quantum_), std::max<std::uint32_t>(1, options.quantum_));
  for (const auto& [priority, steps] : options.quantum_of_) {
    quantum_[priority] = std::max<std::uint32_t>(1, steps);
  }
  ready_.set_origin(tasks_.origin());
  inline_order_ = options.wait_inline_ ? dynamic_cast<InlineOrder*>(ready_.policy()) : nullptr;
  park_aside_ = inline_order_ != nullptr;
}

detail::Loop::~Loop() = default;

Scheduler::Scheduler(Options options)
    : detail::Loop(*this, options),
      root_(*this, Scope::RootTag{}),
      spawn(&root_),
      spawn_fiber(&root_),
      spawn_agent(&root_) {
  root_.arena_ = arena_.get();
}

Scheduler::~Scheduler() {
  detail::Teardown(*this).run();
  if (observer_ != nullptr) std::exchange(observer_, nullptr)->scheduler_gone();
  if (pulse_ != nullptr) std::exchange(pulse_, nullptr)->scheduler_gone();
  inbox_->close();
  while (ExternalEntry* const entry = externals_.pop()) entry->scheduler_gone();
  while (CloseFirst* const open = close_first_.pop()) open->scheduler_gone();
  tasks_.abandon();  // the records that handles still hold keep the arena
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
  if (reactor_->in_flight() > 0) reactor_->collect(*this, !ready_.empty());
  if (!inbox_->maybe_empty()) inbox_->drain(*this, kDrainLimit);
  if (timers_.size() > 0) timers_.fire_due(*this, now_);
  return !ready_.empty();
}

Scheduler::Idle Scheduler::idle(Time limit) {
  if (circles_.has_suspects() && circles_.look(*this, limit)) return Idle::moved_on;
  if (reactor_->virtual_time()) {
    if (const auto next = timers_.next_until(limit)) {
      reactor_->advance_to(*next);
      trace_ = mix(trace_, static_cast<std::uint64_t>(next->time_since_epoch().count()));
      return Idle::moved_on;
    }
    if (limit != kEndOfTime) {
      const std::optional<Time> quiet = quiet_.look(*this);
      if (!ready_.empty()) return Idle::moved_on;  // the sink of the log has made a task ready
      reactor_->advance_to(quiet ? std::min(*quiet, limit) : limit);
      return Idle::moved_on;
    }
  }
  std::optional<Time> until;
  if (limit != kEndOfTime) until = limit;
  if (const auto next = timers_.next_hint(); next && (!until || *next < *until)) until = next;
  if (!until && !can_be_woken_from_outside()) return Idle::nothing_to_wait_for;
  if (clock_runs_) {  // the time of a virtual one does not pass in a wait
    if (const auto quiet = quiet_.look(*this); quiet && (!until || *quiet < *until)) until = quiet;
    if (!ready_.empty()) return Idle::moved_on;
    if (const auto& by = circles_.full_look_by(); by && (!until || *by < *until)) until = by;
  }
  Wakeup& wakeup = inbox_->wakeup();
  wakeup.prepare();
  if (inbox_->empty()) reactor_->wait(until, wakeup);
  wakeup.finish();
  return Idle::moved_on;
}

bool Scheduler::can_be_woken_from_outside() const {
  if (pending_externals_ > 0 || !inbox_->empty()) return true;
  if (reactor_->in_flight() > 0 && reactor_->hears_from_outside()) return true;
  const auto waits = [](const TaskRecord& task) {
    return task.waiting_on_ != nullptr && task.waiting_on_->waits_for_outside();
  };
  // Mostly the task that was found before waits again, and the others need not be looked at.
  if (const TaskRecord* const before = find(waits_for_outside_);
      before != nullptr && waits(*before))
    return true;
  const TaskRecord* const found = tasks_.find_if(waits);
  if (found != nullptr) waits_for_outside_ = found->id();
  return found != nullptr;
}

void Scheduler::run() {
  Drive drive(*this);
  while (live_tasks_ > 0) {
    if (std::exchange(leaving_, false)) [[unlikely]]
      return;
    if (live_tasks_ == daemons_) [[unlikely]]
      cancel_daemons();
    if (look_outside()) {
      run_turn(turn_);
      if (circles_.due_after_turn()) circles_.look(*this, now_);
    } else if (idle(kEndOfTime) == Idle::nothing_to_wait_for) {
      throw Deadlock(wait_report());
    }
  }
  drop_places();
  throw_system_failure();
}

void Scheduler::make_daemon(TaskRecord& task) noexcept {
  if (task.daemon_ || task.settled()) return;
  task.daemon_ = true;
  ++daemons_;
}

// Only they are left. What they spawn while they end is a daemon as well, and its turn comes here,
// too.
void Scheduler::cancel_daemons() {
  const std::uint64_t spawned = counters().admitted;
  if (daemons_cancelled_ == spawned) return;
  daemons_cancelled_ = spawned;
  const CancelReasonPtr why =
      reason(CancelCause::shutdown, "only daemon tasks are left", std::source_location::current());
  for_each_task([&](TaskRecord& task) {
    const Ref<TaskRecord> held(&task);
    cancel(task, why);
  });
}

// Of tasks that were cancelled before they began only a place in the queue is left, with a
// reference.
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
  for (;;) {
    while (look_outside()) ran += run_turn(turn_);
    if (!circles_.has_suspects() || !circles_.look(*this, now_)) return ran;
  }
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
  // A wait may end before the deadline with nothing ready: a report was due, or a message woke
  // nobody.
  while (!look_outside() && now_ < deadline) {
    if (idle(deadline) == Idle::nothing_to_wait_for) break;
  }
  return run_turn(turn_) > 0;
}

void Scheduler::shutdown(std::string_view why, std::source_location site) {
  root_.cancel_all(reason(CancelCause::shutdown, why, site));
  run();
}

// ---- Tasks ----

inline void Scheduler::admit(TaskRecord& record, Scope& scope, std::uint8_t priority,
                             const std::source_location& site) noexcept {
  record.priority_ = priority;
  record.spawn_site_ = site;
  if (scope.own_arena_) [[unlikely]]
    record.set(TaskRecord::kOwnArena);
  ++live_tasks_;
  if (running_ != nullptr) {
    record.parent_ = running_->id_;
    if (running_->has(TaskRecord::kHasHeritage)) [[unlikely]]
      record.inherit(*running_);
    if (running_->daemon_) [[unlikely]]
      make_daemon(record);
  }
  scope.add(record);
  if (detail::kSeam && observer_ != nullptr) [[unlikely]]
    tell_admitted(&observer_, record);
}

void Scheduler::start_ready(TaskRecord& record, Scope& scope, std::uint8_t priority,
                            const std::source_location& site) noexcept {
  admit(record, scope, priority, site);
  make_ready(record, TaskState::pending);
  if (scope.reason_ != nullptr) cancel(record, scope.reason_);
}

void Scheduler::start_after(Dependencies::Owner waits, TaskRecord& record, Scope& scope,
                            std::uint8_t priority, const std::source_location& site) noexcept {
  admit(record, scope, priority, site);
  Dependencies::begin(std::move(waits), *this, record);
  if (scope.reason_ != nullptr) cancel(record, scope.reason_);
}

void Scheduler::finish(TaskRecord& task, TaskState state) noexcept {
  // Apart, so that a task without either has nothing to save around the calls.
  if (task.has(TaskRecord::kHasHeritage) || (detail::kSeam && observer_ != nullptr)) [[unlikely]]
    return finish_aside(task, state);
  end(task, state);
}

[[gnu::noinline]] void Scheduler::finish_aside(TaskRecord& task, TaskState state) noexcept {
  if (task.has(TaskRecord::kHasHeritage)) task.leave_heritage(state);
  if (observer_ != nullptr) observer_->ended(task, state);
  end(task, state);
}

inline void Scheduler::end(TaskRecord& task, TaskState state) noexcept {
  trace_ = mix(trace_, task.id_.value() + static_cast<std::uint64_t>(state));
  --live_tasks_;
  if (task.daemon_) [[unlikely]]
    --daemons_;
  detail::count(
      ended_[static_cast<std::size_t>(state) - static_cast<std::size_t>(TaskState::completed)]);
  ready_.unreserve(task.priority_);
  task.settle(*this, state);
  if (state == TaskState::failed) [[unlikely]]
    task.keep_trace(flight_.lands(*this, task));
  task.scope_->child_ended(task);
  task.release();
}

Time Scheduler::clock_now() const { return std::max(now_, reactor_->now()); }

void Scheduler::wake(TaskRecord& task, const SystemCall& call) noexcept {
  if (task.waiting_on_ != &call) return;
  // Apart, so that nothing has to be saved around the call.
  if (detail::kSeam && observer_ != nullptr) [[unlikely]]
    return tell_woken(task, call);
  task.waiting_on_ = nullptr;
  detail::count(counters_.wakes_by[static_cast<std::size_t>(call.parked_for())]);
  make_ready(task, TaskState::ready);
}

Scope& Scheduler::innermost_scope_of(const TaskRecord& task) noexcept {
  for (CancelRegion* region = task.region_; region != nullptr; region = region->outer()) {
    if (region->kind() == CancelRegion::Kind::scope) return *region->scope();
  }
  return *task.scope_;
}

void Scheduler::add_external(ExternalEntry& entry) noexcept {
  ++pending_externals_;
  externals_.push_front(entry);
}

void Scheduler::remove_external(ExternalEntry& entry) noexcept { externals_.remove(entry); }

// ---- The end of a system task ----

void Scheduler::system_task_failed(TaskRecord& task) noexcept {
  if (system_failure_ == SystemFailure::report || system_failed_ != nullptr) return;
  try {
    system_failed_ = std::make_exception_ptr(SystemTaskFailed(
        TaskFailure(task.id_, task.describe(), task.error()), site_text(task.spawn_site_)));
  } catch (const std::bad_alloc&) {
    system_failed_ = std::current_exception();
  }
  task.mark_observed();
  root_.cancel_all(reason(
      CancelCause::shutdown, [&] { return "the system " + task.describe() + " failed"; },
      task.spawn_site_));
}

void Scheduler::throw_system_failure() {
  if (system_failed_ == nullptr) [[likely]]
    return;
  std::rethrow_exception(std::exchange(system_failed_, nullptr));
}

}  // namespace tiffany
