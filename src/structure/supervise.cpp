#include "tiffany/structure/supervise.hpp"

#include <algorithm>

#include "structure/supervisor_loop.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {
namespace {

std::string child_text(const std::string& name) { return "child \"" + name + "\""; }

// For the log: of an error with several lines the first sentence says enough.
std::string end_text(const std::exception_ptr& error) {
  if (error == nullptr) return "returned";
  const std::string text = error_text(error);
  const bool one_line = text.find('\n') == std::string::npos;
  return "failed: " +
         (one_line ? text : text.substr(0, std::min(text.find('\n'), text.find(". "))));
}

// For a list of failures: the error of a supervisor inside this one is a list itself.
std::string entry_text(const ChildFailure& failure) {
  const std::string number = " (number " + std::to_string(failure.times) + ")";
  if (failure.error == nullptr) return "returned" + number;
  std::string text = "failed" + number + ": ";
  for (const char c : error_text(failure.error)) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

}  // namespace

SupervisionFailed::SupervisionFailed(const std::string& why, std::vector<ChildFailure> history)
    : Error(Errc::supervision_failed, why), history_(std::move(history)) {}

SupervisorLoop::SupervisorLoop(const Supervision& how, Supervisor& children,
                               std::source_location site)
    : scheduler_(Scheduler::require("supervise()")),
      how_(how),
      site_(site),
      began_(scheduler_.now()) {
  if (how_.period_ < Duration::zero() || how_.first_wait_ < Duration::zero() ||
      how_.longest_wait_ < how_.first_wait_) {
    throw Error(Errc::bad_argument,
                "The supervisor at " + site_text(site) +
                    " was given a negative time, or a longest back-off that is shorter than the "
                    "first. Use intensity(3, 10s) and backoff(100ms, 5s), for example.");
  }
  for (Supervisor::Spec& spec : children.specs_)
    children_.push_back(std::make_unique<Child>(children_.size(), std::move(spec)));
  ended_.reserve(children_.size());
}

std::string SupervisorLoop::Wait::describe() const {
  std::string out;
  for (const auto& child : loop_.children_) {
    if (child->phase == Phase::gone) continue;
    if (!out.empty()) out += " or ";
    out += child->phase == Phase::running ? child->handle.waitable().describe()
                                          : "the restart of " + child_text(child->name.text);
  }
  return out;
}

void SupervisorLoop::Wait::visit_waits(WaitVisitor& visitor) const {
  for (const auto& child : loop_.children_) {
    if (child->phase == Phase::running) visitor.on_waitable(child->handle.waitable());
  }
}

// ---- Starting and ending ----

Task<void> SupervisorLoop::run_child(Child& child, EndNote) {
  co_await scope([&](Scope&) -> Task<void> { co_await child.code->run(); });
}

// The task of the child is about to settle, and will have when the supervisor runs.
void SupervisorLoop::note_end(Child& child) noexcept {
  become(child, Phase::ended);
  child.ended = scheduler_.now();
  ended_.push_back(&child);
  if (wait_ != nullptr) wait_->go_on();
}

void SupervisorLoop::start(Scope& scope, Child& child) {
  become(child, Phase::running);
  child.started = scheduler_.now();
  child.not_begun = nullptr;
  try {
    child.handle = scope.spawn.with_priority(how_.priority_)(run_child, std::ref(child),
                                                             EndNote(*this, child), child.name.at);
  } catch (...) {
    // There is no room for a task. The child has failed, and its note has said so; whether that is
    // the end is for the limits to say.
    child.not_begun = std::current_exception();
    return;
  }
  child.handle.named(child.name.text);
}

void SupervisorLoop::start_due(Scope& scope) {
  if (scheduler_.now() < next_due_) return;
  for (const auto& child : children_) {
    if (child->phase == Phase::waiting && child->due <= scheduler_.now()) start(scope, *child);
  }
  next_due_ = earliest_due();
}

Time SupervisorLoop::earliest_due() const {
  Time earliest = kEndOfTime;
  for (const auto& child : children_) {
    if (child->phase == Phase::waiting) earliest = std::min(earliest, child->due);
  }
  return earliest;
}

void SupervisorLoop::write_down(Child& child, std::exception_ptr error) {
  const std::size_t limit = std::max<std::size_t>(100, std::size_t{how_.restarts_} + 1);
  if (history_.size() == limit) history_.pop_front();
  history_.emplace_back(child.name.text, child.ended, ++child.failures, std::move(error));
}

// Looks at how a child ended by itself. True when it has to be started again.
bool SupervisorLoop::comes_back(Child& child) {
  std::erase(ended_, &child);
  become(child, Phase::gone);
  TaskState state = TaskState::failed;
  std::exception_ptr error = child.not_begun;
  if (error == nullptr) {
    state = child.handle.waitable().state();
    error = child.handle.waitable().error();
  }
  const bool comes_back = child.restart == Restart::permanent ||
                          (child.restart == Restart::transient && state == TaskState::failed);
  if (comes_back || state == TaskState::failed) write_down(child, error);
  if (child.not_begun == nullptr) child.handle.waitable().mark_observed();  // not before
  if (state == TaskState::failed && !comes_back) {
    scheduler_.log(child_text(child.name.text) + " " + end_text(error) +
                   ". It is temporary, and not started again.");
  }
  return comes_back;
}

// Counts a restart. False when it is one too many.
bool SupervisorLoop::may_restart(const Child& child) {
  while (!restarts_.empty() && child.ended - restarts_.front() > how_.period_)
    restarts_.pop_front();
  restarts_.push_back(child.ended);
  if (restarts_.size() <= how_.restarts_) return true;
  why_ = child_text(child.name.text) + " would have to be restarted, but no more than " +
         std::to_string(how_.restarts_) + (how_.restarts_ == 1 ? " restart is" : " restarts are") +
         " allowed within " + duration_text(how_.period_);
  return false;
}

Duration SupervisorLoop::wait_before(Child& child) const {
  if (child.ended - child.started >= how_.period_) child.streak = 0;
  Duration wait = how_.first_wait_;
  for (std::uint32_t i = 0; i < child.streak && wait < how_.longest_wait_; ++i) {
    wait = wait > how_.longest_wait_ / 2 ? how_.longest_wait_ : wait * 2;
  }
  ++child.streak;
  return wait;
}

void SupervisorLoop::wait_until(Child& child, Time due) {
  become(child, Phase::waiting);
  child.due = due;
  next_due_ = std::min(next_due_, due);
}

// Cancels a child and waits until it has ended. True when it has to be started again with the
// others: it was running, whatever it made of the cancel, or had failed by itself.
Task<bool> SupervisorLoop::stop(Child& child, std::string why) {
  if (child.phase == Phase::ended) co_return comes_back(child);
  child.handle.cancel_with(CancelCause::supervisor, why, site_);
  const Outcome<void> end = co_await child.handle.outcome();
  std::erase(ended_, &child);
  become(child, Phase::gone);
  if (end.failed()) {
    write_down(child, end.error());
    scheduler_.log(child_text(child.name.text) + " " + end_text(end.error()) +
                   ". It was being stopped.");
  }
  co_return child.restart != Restart::temporary;
}

// Stops those who have to go with the child, the last first, and lets all wait for their new start.
Task<void> SupervisorLoop::restart(Child& child) {
  const std::string what = child_text(child.name.text) + " " + end_text(history_.back().error);
  std::string others;
  std::vector<Child*> group{&child};
  const Time from = scheduler_.deadline_in(Duration::zero());
  Time due = detail::saturating_add(from, wait_before(child));
  if (how_.strategy_ != RestartStrategy::one_for_one) {
    const std::size_t first = how_.strategy_ == RestartStrategy::one_for_all ? 0 : child.index;
    for (std::size_t i = children_.size(); i-- > first;) {
      Child& sibling = *children_[i];
      if (&sibling == &child || sibling.phase == Phase::gone) continue;
      if (sibling.phase == Phase::waiting) {
        due = std::max(due, sibling.due);
      } else if (!co_await stop(sibling,
                                "it is restarted together with " + child_text(child.name.text))) {
        continue;
      }
      group.push_back(&sibling);
      others = ", \"" + sibling.name.text + "\"" + others;
    }
  }
  due = std::max(due, scheduler_.now());  // stopping the others took its time
  for (Child* member : group) wait_until(*member, due);
  if (group.size() > 1) next_due_ = earliest_due();  // some of them had another time before
  const Duration wait = due - std::min(due, std::max(from, scheduler_.now()));
  scheduler_.log(what + ". Restart " + std::to_string(restarts_.size()) + " of " +
                 std::to_string(how_.restarts_) + " within " + duration_text(how_.period_) +
                 ": \"" + child.name.text + "\"" + others +
                 (wait > Duration::zero() ? " in " + duration_text(wait) : " at once") + ".");
}

// ---- The two halves of a supervisor's life ----

Task<void> SupervisorLoop::run(Scope& scope) {
  for (const auto& child : children_) start(scope, *child);
  for (;;) {
    while (!ended_.empty()) {
      Child& child = *ended_.front();
      if (!comes_back(child)) continue;
      if (!may_restart(child)) co_return;
      co_await restart(child);
    }
    start_due(scope);
    if (left_ == 0) co_return;
    co_await Wait(*this);
  }
}

Task<void> SupervisorLoop::stop_all() {
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    if ((*child)->phase == Phase::waiting) become(**child, Phase::gone);
    if ((*child)->phase != Phase::gone) co_await stop(**child, "its supervisor ends");
  }
}

std::exception_ptr SupervisorLoop::error() const {
  std::string text = "The supervisor at " + site_text(site_) + " gave up: " + why_ +
                     ". All its children have ended. What happened, by the time since it began:";
  for (const ChildFailure& failure : history_) {
    text += "\n  " + duration_text(failure.when - began_) + ": " + child_text(failure.child) + " " +
            entry_text(failure);
  }
  // Not make_exception_ptr, which gives std::bad_alloc instead of throwing that.
  try {
    throw SupervisionFailed(text, {history_.begin(), history_.end()});
  } catch (const SupervisionFailed&) {
    return std::current_exception();
  }
}

void SupervisorLoop::report_last_failure() const noexcept {
  if (history_.empty() || history_.back().error == nullptr) return;
  scheduler_.reports().lost(*scheduler_.running(),
                            "supervises a child whose failure cannot be thrown, because the "
                            "supervisor failed as well",
                            history_.back().error);
}

namespace detail {
namespace {

Task<void> supervise_with(std::unique_ptr<SupervisorLoop> loop) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  std::exception_ptr error;
  try {
    co_await loop->run(scope);
  } catch (...) {
    error = std::current_exception();
    if (is_error(error)) loop->report_last_failure();
  }
  try {
    // One after the other, whatever comes from outside meanwhile.
    const CancelRegion closing(CancelRegion::Kind::closing);
    co_await loop->stop_all();
    if (loop->gave_up()) error = loop->error();
  } catch (...) {
    // No memory for that: all at once.
    if (error != nullptr && is_error(error)) {
      Scheduler& scheduler = scope.scheduler();
      scheduler.reports().lost(*scheduler.running(),
                               "threw from a supervisor that then could not stop its children in "
                               "order, so that this error cannot be thrown",
                               error);
    } else if (loop->gave_up()) {
      loop->report_last_failure();
    }
    error = std::current_exception();
  }
  if (error != nullptr) scope.block_threw(error);
  co_await std::move(close);
}

}  // namespace

Task<void> run_supervisor(const Supervision& how, Supervisor& children, std::source_location site) {
  return supervise_with(std::make_unique<SupervisorLoop>(how, children, site));
}

}  // namespace detail
}  // namespace tiffany
