#include "tiffany/durable/flow.hpp"

#include <algorithm>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"

namespace tiffany {

Answer DurableCall::start(Scheduler& scheduler, TaskRecord& task) {
  // It was stopped when it was about to go on: nothing more is asked for, and the scheduler throws
  // at once.
  if (scheduler.cancel_pending()) [[unlikely]] {
    flow_->waits.unwind();
    return Answer::parked;
  }
  return flow_->waits.begin(*this, task) ? Answer::now : Answer::parked;
}

void DurableCall::withdraw(TaskRecord&) noexcept { flow_->waits.end(); }

// The code of a step lives in the frame that waits for it: that cannot go before the step has
// ended.
bool DurableCall::take_back(TaskRecord& task) noexcept {
  if (!flow_->waits.unwind()) return false;
  withdraw(task);
  return true;
}

std::string DurableCall::describe() const { return "the log of durable task " + flow_->id_text; }

namespace detail {

SlotRef::~SlotRef() {
  if (slot_ != nullptr) flow_->drop(slot_);
}
bool SlotRef::arrived() const noexcept { return slot_arrived(slot_); }
const std::string& SlotRef::value() const { return slot_value(*flow_, slot_); }

FlowState& flow_of(const SlotRef& slot) {
  if (slot.flow() != nullptr) return *slot.flow();
  throw Error(Errc::durable_misuse, "An empty durable handle was awaited.");
}
bool slot_arrived(const Slot* slot) noexcept { return slot != nullptr && slot->arrived; }
namespace {
bool succeeded(const Slot* slot) noexcept { return slot_arrived(slot) && !slot->failed; }
}  // namespace
void drop_slot(FlowState& flow, Slot* slot) noexcept { flow.drop(slot); }
Uuid id_of(const Slot* slot) noexcept { return slot->public_id(); }
void check_cancelled(FlowState& flow) { flow.check_cancelled(); }

namespace {
[[noreturn]] void throw_failure(const Slot& slot) {
  if (slot.unknown) throw StepUnknown(slot.value);
  const Failure known = slot.failure != nullptr ? *slot.failure : Failure();
  if (slot.kind != SlotKind::step) throw DurableFailed(slot.value, known.type, known.cause());
  const int attempts = std::max(known.attempts, static_cast<const StepSlot&>(slot).attempts);
  throw StepFailed(slot.value, known.type, known.cause(), attempts);
}
}  // namespace

const std::string& slot_value(FlowState& flow, const Slot* slot) {
  if (!slot_arrived(slot)) {
    flow.check_cancelled();
    throw Error(Errc::durable_misuse, "The value of an empty durable handle was asked for.");
  }
  if (slot->kind == SlotKind::signal) static_cast<const SignalSlot*>(slot)->taken = true;
  if (slot->failed) throw_failure(*slot);
  return slot->value;
}

Slot* issue_step(FlowState& flow, std::string_view name, const StepOptions& options, StepCode& code,
                 const std::source_location& site) {
  return flow.steps.issue(name, options, code, site);
}
Slot* begin_kept_step(FlowState& flow, const std::string& name, std::unique_ptr<KeptStep> code,
                      const ValueType& type, const std::source_location& site) {
  return flow.steps.issue_kept(name, std::move(code), type, site);
}
Slot* issue_timer(FlowState& flow, const std::string&, const std::string& delay, const ValueType&,
                  const std::source_location& site) {
  return issue_timer(flow, Duration(std::stoll(delay)), site);
}
Slot* issue_promise(FlowState& flow, const std::string& name, const std::string&,
                    const ValueType& type, const std::source_location& site) {
  return issue_promise(flow, name, type, site);
}

Task<void> nothing() { co_return; }
KeptStep::~KeptStep() = default;

void SleepCall::issue() { slot_ = issue_timer(flow(), delay_, site()); }
void SleepCall::finish() { slot_value(flow(), slot_); }
SleepCall::~SleepCall() {
  if (slot_ != nullptr) flow().drop(slot_);
}

// Checked when it is awaited, and not when it was made: there is no task to blame before.
void SeveralCall::issue() {
  if (slots_.empty() && needs_one()) {
    throw Error(Errc::durable_misuse, "race and any need something to wait for.");
  }
  for (const Slot* slot : slots_) {
    if (slot == nullptr) {
      throw Error(Errc::durable_misuse,
                  "An empty durable handle was given to gather, race or any.");
    }
  }
}
bool FirstCall::ready() const {
  if (what_ == First::settled) return std::any_of(slots_.begin(), slots_.end(), slot_arrived);
  return std::all_of(slots_.begin(), slots_.end(), slot_arrived) ||
         std::any_of(slots_.begin(), slots_.end(), succeeded);
}
std::size_t FirstCall::decided() const {
  const auto first = std::find_if(slots_.begin(), slots_.end(),
                                  what_ == First::settled ? slot_arrived : succeeded);
  if (first != slots_.end()) return static_cast<std::size_t>(first - slots_.begin());
  flow().check_cancelled();
  throw Error(Errc::durable_failed, "All " + std::to_string(slots_.size()) +
                                        " failed; the first: " + slots_.front()->value);
}
bool GatherBase::ready() const {
  return std::all_of(slots_.begin(), slots_.end(), slot_arrived) ||
         std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot* slot) { return slot_arrived(slot) && slot->failed; });
}
void GatherBase::throw_first_failure() const {
  for (const Slot* slot : slots_) {
    if (slot_arrived(slot) && slot->failed) slot_value(flow(), slot);
  }
}

Slot* issue_signal(FlowState& flow, const std::string& name, const std::string&,
                   const ValueType& type, const std::source_location& site) {
  return flow.signals.begin(name, type, site);
}

void require_signal_name(std::string_view name) { require_name(name, "The name of a signal"); }
void SignalWait::issue() {
  flow().signals.issue(name_, *type_, timed(), site());
  issued_ = true;
}
bool SignalWait::asks() const noexcept { return flow().written_by.records_waits(); }
bool SignalWait::ready() const {
  return (issued_ || !flow().written_by.records_waits()) && flow().signals.has(name_);
}
std::string SignalWait::take() {
  if (!SignalWait::ready()) flow().check_cancelled();
  return flow().signals.take(name_);
}
std::string SignalWait::what() const { return "signal \"" + name_ + "\""; }

SignalWaitFor::~SignalWaitFor() {
  if (timer_ != nullptr) flow().drop(timer_);
}
void SignalWaitFor::issue() {
  SignalWait::issue();
  if (flow().comparison.stopped()) return;
  timer_ = issue_timer(flow(), longest_, site());
}
bool SignalWaitFor::ready() const {
  return SignalWait::ready() || (timer_ != nullptr && slot_arrived(timer_));
}
std::optional<std::string> SignalWaitFor::take_in_time() {
  if (SignalWait::ready()) return take();
  slot_value(flow(), timer_);
  return std::nullopt;
}

void CheckpointWait::issue() { slot_ = issue_checkpoint(flow(), state_, site()); }
CheckpointWait::~CheckpointWait() {
  if (slot_ != nullptr) flow().drop(slot_);
}

// The code ends here although it has not returned: its frames are destroyed by the host, which
// calls the code anew.
Durable<void> make_checkpoint(FlowState& flow, std::string state, std::source_location site) {
  co_await CheckpointWait(flow, std::move(state), site);
  flow.code.at_checkpoint = true;
  co_await LeaveForGood(flow.code.caller);
}

int agreed_version(FlowState& flow, std::string_view change, int oldest, int newest,
                   const std::source_location& site) {
  flow.require_own_code();
  if (flow.comparison.stopped()) flow.leave_code();
  return issue_version(flow, change, oldest, newest, site);
}

const std::string* saved_state(FlowState& flow) {
  if (flow.code.asked_anything) {
    throw Error(
        Errc::durable_misuse,
        "flow.state() comes first: what was asked for before it would not be in the log after "
        "a checkpoint.");
  }
  return flow.code.saved();
}

}  // namespace detail

// ---- Queries ----

FlowQuery::FlowQuery(std::shared_ptr<detail::Queries> all, std::uint64_t number) noexcept
    : all_(std::move(all)), number_(number) {}
FlowQuery& FlowQuery::operator=(FlowQuery&& other) noexcept {
  std::swap(all_, other.all_);
  std::swap(number_, other.number_);
  return *this;
}
FlowQuery::~FlowQuery() {
  if (all_ != nullptr) all_->remove(number_);
}
FlowQuery FlowMessages::on_query(std::string name, std::function<std::string()> answer) {
  detail::require_name(name, "The name of a query");
  const std::shared_ptr<detail::Queries>& all = state_->code.queries();
  const std::uint64_t number = all->add(std::move(name), std::move(answer));
  return FlowQuery(all, number);
}
WallTime Flow::now() const noexcept {
  return WallTime(std::chrono::microseconds(state_->code.now));
}
Random& Flow::random() {
  state_->require_own_code();
  return state_->generation.random();
}
Uuid Flow::uuid() { return Uuid::random(random()); }
const Uuid& Flow::id() const noexcept { return state_->log.id; }
Uuid Flow::written_by() const noexcept {
  const detail::Command* const next = state_->comparison.replay.next();
  const Uuid other = next != nullptr ? state_->code.writer_of(next->seq) : Uuid();
  return other.nil() ? state_->log.id : other;
}
bool Flow::replaying() const noexcept { return state_->waits.replaying(); }

FlowPath::FlowPath(FlowState& state, std::string_view name)
    : state_(state), size_(state.code.names.path().size()) {
  detail::require_name(name, "A part of a path");
  if (size_ + name.size() + 1 > kLongestPath) {
    throw Error(Errc::bad_argument, "A path of steps has at most " + std::to_string(kLongestPath) +
                                        " bytes with its slashes; with \"" + std::string(name) +
                                        "\" this one would have " +
                                        std::to_string(size_ + name.size() + 1) + ".");
  }
  state_.code.names.enter(name);
}
FlowPath::~FlowPath() { state_.code.names.leave_to(size_); }

FlowShield::FlowShield(FlowState& state) noexcept : state_(state) { ++state_.cancel.shields; }
FlowShield::~FlowShield() { --state_.cancel.shields; }

}  // namespace tiffany
