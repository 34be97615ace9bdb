#include "tiffany/observe/shutdown.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tiffany/base/time_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/close_first.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/signals.hpp"

namespace tiffany::observe {

namespace {

// Where a task is and what it waits for.
std::string place_of(const TaskRecord& task) {
  if (task.state() == TaskState::pending) return "not begun";
  AwaitStack stack;
  task.visit_frames(stack);
  std::string out;
  if (!stack.sites().empty()) out = site_text(stack.sites().front());
  if (const SystemCall* const call = task.waiting_on()) {
    if (const std::string what = call->describe(); !what.empty()) {
      out += (out.empty() ? "waits for " : ", waits for ") + what;
    }
  }
  return out.empty() ? std::string(tiffany::name_of(task.state())) : out;
}

std::string count_text(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

std::string signal_text(int number) { return number == SIGTERM ? "SIGTERM" : "SIGINT"; }

}  // namespace

// A task that was there, and its place.
struct Shutdown::Kept {
  Ref<TaskRecord> task;
  std::string place;
};

// Parks until a task has ended, the time has come, or hurry() was called. Looks at nothing of how
// the task has ended, so that a failure which nobody has looked at is still reported.
// Cancel. Before start and while parked: the wait is withdrawn. After completion: it has no value.
class Shutdown::Wait final : public SystemCall, private Timer {
 public:
  static constexpr CallName call_name{"shutdown"};
  Wait(Shutdown& of, TaskRecord& target, Time deadline) noexcept
      : Timer(&Wait::on_alarm, deadline), of_(of), target_(&target) {}

  Answer start(Scheduler& scheduler, TaskRecord& task) noexcept {
    if (of_.hurried_ || target_->settled()) return Answer::now;
    task_ = &task;
    target_->add_waiter(waiter_, task);
    scheduler.arm(*this, deadline());
    of_.waiting_ = this;
    return Answer::parked;
  }
  void withdraw(TaskRecord& task) noexcept override {
    target_->remove_waiter(waiter_);
    Scheduler::owner(task)->disarm(*this);
    of_.waiting_ = nullptr;
  }
  void on_settled(Scheduler& scheduler, Waiter&) noexcept override {
    scheduler.disarm(*this);
    of_.waiting_ = nullptr;
    wake(scheduler, *task_);
  }
  void hurry() noexcept {
    withdraw(*task_);
    wake(*task_);
  }
  void finish() noexcept {}
  std::string describe() const override { return target_->describe() + " to end, in a shutdown"; }
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::join; }
  bool waits_for_time() const noexcept override { return true; }

 private:
  static void on_alarm(Scheduler& scheduler, Timer& timer) noexcept {
    auto& wait = static_cast<Wait&>(timer);
    wait.target_->remove_waiter(wait.waiter_);
    wait.of_.waiting_ = nullptr;
    wait.wake(scheduler, *wait.task_);
  }

  Shutdown& of_;
  Ref<TaskRecord> target_;
  Waiter waiter_;
  TaskRecord* task_ = nullptr;
};

Shutdown::Shutdown(ShutdownOptions options) : options_(std::move(options)) {}
Shutdown::~Shutdown() = default;

void Shutdown::hurry() noexcept {
  hurried_ = true;
  if (waiting_ != nullptr) waiting_->hurry();
}

bool Shutdown::is_spared(const TaskRecord& task) const noexcept {
  return std::find(spared_.begin(), spared_.end(), task.id()) != spared_.end();
}

// Who is there: those that are to be listed are kept.
void Shutdown::look(Scheduler& scheduler) {
  there_ = 0;
  scheduler.for_each_task([&](TaskRecord& task) {
    if (is_spared(task)) return;
    ++there_;
    if (kept_.size() < options_.most_listed) kept_.push_back({Ref<TaskRecord>(&task), {}});
  });
}

Task<bool> Shutdown::wait_for_all(Time deadline, bool also_daemons) {
  Scheduler& scheduler = *Scheduler::current();
  rounds_ = 0;
  for (;;) {
    std::vector<TaskId> left;
    scheduler.for_each_task([&](const TaskRecord& task) {
      if (!is_spared(task) && (also_daemons || !task.daemon())) left.push_back(task.id());
    });
    if (left.empty()) co_return true;
    // What they have spawned meanwhile is looked for afterwards.
    const bool ended = co_await wait_for_each(&left, deadline);
    if (!ended) co_return false;
  }
}

// One after the other.
Task<bool> Shutdown::wait_for_each(const std::vector<TaskId>* tasks, Time deadline) {
  Scheduler& scheduler = *Scheduler::current();
  for (std::size_t at = 0; at < tasks->size();) {
    TaskRecord* const task = scheduler.find((*tasks)[at]);
    if (task == nullptr || task->settled()) {
      ++at;
      continue;
    }
    if (hurried_ || scheduler.now() >= deadline) co_return false;
    if (scheduler.virtual_time() && scheduler.ready_len() > 0) {
      if (++rounds_ > kRounds) co_return false;
      co_await yield();
      continue;
    }
    rounds_ = 0;
    co_await Wait(*this, *task, deadline);
  }
  co_return true;
}

// What is not closed in time is cancelled with everything else.
Task<void> Shutdown::close_first(Time deadline) {
  std::vector<TaskId> closing;
  for (CloseFirst* each = Scheduler::current()->close_first().first(); each != nullptr;
       each = each->next) {
    closing.push_back(each->begin_close().id());
  }
  rounds_ = 0;
  co_await wait_for_each(&closing, deadline);
}

void Shutdown::cancel_all(Scheduler& scheduler) {
  for (Kept& each : kept_) {
    if (!each.task->settled()) each.place = place_of(*each.task);
  }
  const CancelReasonPtr why =
      scheduler.reason(CancelCause::shutdown, options_.reason, std::source_location::current());
  scheduler.for_each_task([&](TaskRecord& task) {
    if (is_spared(task)) return;
    const Ref<TaskRecord> held(&task);
    scheduler.cancel(task, why);
  });
}

ShutdownReport Shutdown::report(Scheduler& scheduler, const Counters& before) {
  const Counters after = scheduler.counters();
  ShutdownReport out;
  out.reason = options_.reason;
  out.there = there_;
  out.spawned = after.admitted - before.admitted;
  out.refused = after.denied - before.denied;
  out.failed = after.failed - before.failed;
  out.finished = after.completed - before.completed + out.failed;
  out.cancelled = after.cancelled - before.cancelled;
  scheduler.for_each_task(
      [&](const TaskRecord& task) { out.abandoned += is_spared(task) ? 0 : 1; });
  for (Kept& each : kept_) {
    const TaskRecord& task = *each.task;
    out.lines.push_back({task.id(), std::string(task.name()), site_text(task.spawn_site()),
                         std::move(each.place), task.state()});
  }
  return out;
}

Task<ShutdownReport> Shutdown::run() {
  Scheduler& scheduler = Scheduler::require("Shutdown::run()");
  // Those who wait for this task cannot end before it.
  for (const TaskRecord* task = scheduler.running(); task != nullptr;
       task = task->scope()->owner()) {
    spare(task->id());
  }
  const Time begun = scheduler.deadline_in(Duration::zero());
  const Counters before = scheduler.counters();
  look(scheduler);
  if (options_.pal != nullptr) {
    const PalEvent event(Uuid(), stage::kShutdownBegin, options_.reason, PalKind::runtime);
    options_.pal->emit(event, [&](JsonWriter& data) {
      data.member("pending", there_);
      data.member("deadline_vt", (begun + options_.drain).time_since_epoch().count());
    });
  }
  const Time drained = scheduler.deadline_in(options_.drain);
  co_await close_first(drained);
  scheduler.refuse_new_tasks();
  co_await wait_for_all(drained, false);
  hurried_ = false;
  cancel_all(scheduler);
  const bool all = co_await wait_for_all(scheduler.deadline_in(options_.unwind), true);
  ShutdownReport out = report(scheduler, before);
  out.took = scheduler.deadline_in(Duration::zero()) - begun;
  if (!all) scheduler.leave_run();
  kept_.clear();
  if (options_.pal != nullptr) {
    const PalEvent event(Uuid(), stage::kShutdownComplete, options_.reason, PalKind::runtime);
    options_.pal->emit(event, [&](JsonWriter& data) {
      data.member("drained", out.finished);
      data.member("aborted", out.cancelled + out.abandoned);
      data.member("dur_ns", out.took.count());
    });
  }
  co_return out;
}

std::string ShutdownReport::text() const {
  std::string out = "Shut down (" + reason + ") in " + duration_text(took) + ": of " +
                    count_text(there, "tasks and ") + count_text(spawned, "spawned meanwhile, ") +
                    count_text(finished, "finished (") + count_text(failed, "of them failed), ") +
                    count_text(cancelled, "were cancelled, ") +
                    count_text(abandoned, "were abandoned; ") +
                    count_text(refused, "spawns were refused.");
  for (const Line& line : lines) {
    if (line.place.empty()) continue;
    out += "\n  " + describe_task(line.task, line.name) + ", spawned at " + line.spawned_at + ", " +
           (is_final(line.state) ? std::string(tiffany::name_of(line.state)) : "abandoned") +
           "; it was at " + line.place;
  }
  return out;
}

Task<ShutdownReport> shut_down(ShutdownOptions options) {
  Shutdown shutdown(std::move(options));
  co_return co_await shutdown.run();
}

namespace detail {

Task<void> hurry_on_signals(const Signals* signals, Shutdown* shutdown) {
  for (;;) {
    co_await signals->next();
    shutdown->hurry();
  }
}

}  // namespace detail

Task<ShutdownReport> shut_down_on_signals(ShutdownOptions options) {
  const Signals signals({SIGTERM, SIGINT});
  const int number = co_await signals.next();
  options.reason = signal_text(number) + ": " + options.reason;
  Shutdown shutdown(std::move(options));
  auto again = spawn(detail::hurry_on_signals, &signals, &shutdown).daemon();
  shutdown.spare(again.id());
  ShutdownReport report = co_await shutdown.run();
  again.cancel("the shutdown is over");
  co_await again.outcome();
  co_return report;
}

}  // namespace tiffany::observe
