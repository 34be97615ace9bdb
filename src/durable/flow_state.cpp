#include "durable/flow_state.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/base/hash.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/cancel.hpp"

namespace tiffany {

using detail::Notice;
using detail::Recorded;
using detail::SlotKind;
using wal::Level;
using wal::RecordType;

namespace detail {

std::string_view name_of(SlotKind kind) noexcept {
  switch (kind) {
    case SlotKind::step:
      return "step";
    case SlotKind::timer:
      return "timer";
    case SlotKind::promise:
      return "promise";
    case SlotKind::child:
      return "spawn";
    case SlotKind::checkpoint:
      return "checkpoint";
  }
  return "";
}

namespace {
void timer_fired(Scheduler&, Timer& timer) noexcept {
  Slot& slot = static_cast<Slot&>(timer);
  try {
    slot.flow.settle(slot, RecordType::Resumed, "null", false);
  } catch (const std::exception&) {
    slot.flow.broken(std::current_exception());
  }
}
std::string place_of(const std::source_location& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}
}  // namespace

Slot::Slot(FlowState& of, SlotKind what, std::string name)
    : Timer(&timer_fired), flow(of), kind(what), id(std::move(name)) {}

void Slot::synced(std::exception_ptr error) noexcept {
  error != nullptr ? flow.broken(error) : flow.slot_arrived(*this);
}

}  // namespace detail

FlowState::FlowState(HostCore& host, wal::TaskLog& log, const DurableType& type)
    : random(log.id.hash(), "durable task"),
      host_(host),
      log_(log),
      id_text_(log.id.text()),
      type_(type) {}

FlowState::~FlowState() {
  for (const auto& [id, slot] : slots_) {
    if (slot->armed()) host_.scheduler_->disarm(*slot);
    if (!slot->uuid.nil()) host_.promises_.erase(slot->uuid);
  }
}

std::uint64_t FlowState::append(RecordType type, std::string_view payload,
                                const std::source_location* site, std::uint64_t cause, Level level,
                                wal::Ticket* ticket) {
  wal::Entry entry{type, id_text_, payload};
  entry.tid = task != nullptr ? task->id().value() : 0;
  entry.cause = cause;
  if (site != nullptr) {
    entry.file = site->file_name();
    entry.line = site->line();
  }
  return host_.log_->append(log_, entry, level, ticket);
}

// ---- Identity, and comparing with the log ----

std::string FlowState::next_id(std::string_view name) {
  if (name.empty() || name.size() > 200) {
    throw Error(Errc::bad_argument,
                "The name of a step, timer, promise or child has 1 to 200 bytes; this one has " +
                    std::to_string(name.size()) + ".");
  }
  std::string id = path;
  id += name;
  const std::uint32_t use = ++uses_[id];
  id += '#';
  id += std::to_string(use);
  return id;
}

Recorded* FlowState::match(std::string_view kind, const std::string& id, const std::string& hash,
                           const std::source_location& site, bool& differs) {
  asked_anything = true;
  differs = false;
  trace = mix(trace, hash_name(id) ^ hash_name(kind));
  while (next_command_ < commands_.size() && commands_[next_command_].used) ++next_command_;
  if (next_command_ == commands_.size()) return nullptr;
  Recorded* recorded = &commands_[next_command_];
  const bool same = recorded->kind == kind && recorded->id == id;
  if (!same && log_version_ != type_.version) {
    // The code is newer than the log, and says that it can go on with it: it may ask for more than was
    // asked for then.
    recorded = nullptr;
    for (std::size_t i = next_command_; i < commands_.size() && recorded == nullptr; ++i) {
      if (commands_[i].id == id && commands_[i].kind == kind) recorded = &commands_[i];
    }
    if (recorded == nullptr) return nullptr;
  } else if (!same && kind == "version") {
    return nullptr;  // what it asks is older than the change
  } else if (!same) {
    diverge("The log says " + recorded->kind + " \"" + recorded->id + "\" (record " +
            std::to_string(recorded->seq) + ", from " + recorded->place + "), the code asks for " +
            std::string(kind) + " \"" + id + "\" (" + detail::place_of(site) + ").");
    differs = true;
    return nullptr;
  }
  if (recorded->hash != hash) {
    diverge("The log says " + recorded->kind + " \"" + recorded->id + "\" with the arguments " +
            recorded->hash + " (record " + std::to_string(recorded->seq) + ", from " +
            recorded->place + "), the code asks for it with the arguments " + hash + " (" +
            detail::place_of(site) + ").");
    differs = true;
    return nullptr;
  }
  recorded->used = true;
  ++compared;
  return recorded;
}

void FlowState::diverge(std::string text) {
  divergence =
      "Task " + id_text_ + " (" + type_.name + ", version " + std::to_string(type_.version) +
      ") was stopped, because its code does not do what its log says. " + std::move(text) +
      " Nothing was appended. Run the code that wrote the log, or raise the version and use "
      "flow.version().";
  host_.note_divergence(*this, divergence);
}

FlowState::Slot* FlowState::make_slot(SlotKind kind, std::string id) {
  auto slot = std::make_unique<Slot>(*this, kind, id);
  Slot* const made = slot.get();
  slots_.insert_or_assign(std::move(id), std::move(slot));
  return made;
}

void FlowState::drop(Slot* slot) noexcept {
  slot->wanted = false;
  const bool over =
      slot->arrived || (!slot->recorded && !slot->running && !slot->armed() && slot->uuid.nil());
  if (over) slots_.erase(slot->id);
}

// ---- Waiting ----

bool FlowState::begin_wait(DurableCall& call, TaskRecord& running) {
  if (task != &running) {
    throw Error(Errc::durable_misuse,
                "A Flow was used outside of the code of its task, in a step perhaps. Use it in "
                "Durable coroutines only.");
  }
  waiting_ = &call;
  try {
    if (!cancel_is_due()) call.issue();
    if (divergence.empty() && advance()) {
      waiting_ = nullptr;
      return true;
    }
    // It may wait for long, and what it has asked for (until when, for instance) must not be forgotten.
    if (divergence.empty()) host_.log_->hurry();
  } catch (...) {
    waiting_ = nullptr;
    throw;
  }
  return false;
}

// What has come is shown to the code one by one, in the order of the log, and only while it waits for
// something that is not there yet. So it makes no difference whether it came long ago or just now.
bool FlowState::advance() {
  for (;;) {
    if (unwinding_) return false;
    if (waiting_->ready()) return true;
    if (cancel_is_due()) {
      if (busy_ == nullptr) return true;
      busy_->runner.cancel("its task was cancelled");
      return false;
    }
    if (notices_.empty()) {
      if (!live_) caught_up();
      return false;
    }
    Notice next = std::move(notices_.front());
    notices_.pop_front();
    deliver(next);
    if (!divergence.empty()) return false;
  }
}

void FlowState::deliver(Notice& notice) {
  now = notice.time;
  const std::string& about = notice.slot != nullptr ? notice.slot->id : notice.id;
  trace = mix(trace, hash_name(about));
  if (host_.looking()) {
    constexpr std::string_view kWhat[] = {"result of ", "signal ", "cancel: "};
    host_.happened(wal::text_of_time(now) + " " +
                   std::string(kWhat[static_cast<int>(notice.kind)]) + about +
                   (notice.failed ? " failed: " : " ") + notice.value);
  }
  switch (notice.kind) {
    case Notice::Kind::signal:
      mailbox_.emplace_back(std::move(notice.id), std::move(notice.value));
      return;
    case Notice::Kind::cancel:
      if (!cancelled_) cancelled_ = std::move(notice.id);
      return;
    case Notice::Kind::slot:
      break;
  }
  Slot* slot = notice.slot;
  if (slot == nullptr) {
    const auto found = slots_.find(notice.id);
    if (found == slots_.end()) return;  // nobody waits for it any more
    slot = found->second.get();
    slot->value = std::move(notice.value);
    slot->failed = notice.failed;
    slot->unknown = notice.unknown;
    slot->recorded = true;
  }
  slot->arrived = true;
  if (!slot->uuid.nil()) host_.promises_.erase(slot->uuid);
  if (!slot->wanted) slots_.erase(slot->id);
}

void FlowState::go_on() noexcept {
  if (waiting_ == nullptr) return;
  try {
    if (!advance()) return;
  } catch (const std::exception&) {
    broken(std::current_exception());
    return;
  }
  waiting_ = nullptr;
  host_.scheduler_->wake(*task);
}

void FlowState::slot_arrived(Slot& slot) noexcept {
  Notice notice;
  notice.slot = &slot;
  notice.time = slot.time;
  notices_.push_back(std::move(notice));
  go_on();
}

void FlowState::notice(Notice notice) {
  notices_.push_back(std::move(notice));
  go_on();
}

void FlowState::broken(const std::exception_ptr& error) noexcept {
  host_.flow_broken(*this, error);
}

bool FlowState::unwind() noexcept {
  unwinding_ = true;
  if (busy_ == nullptr) return true;
  busy_->runner.cancel("its task is being stopped");
  return false;
}

void FlowState::step_ended() noexcept {
  busy_ = nullptr;
  if (unwinding_ && waiting_ != nullptr) {
    waiting_ = nullptr;
    host_.scheduler_->wake(*task);
  } else {
    go_on();
  }
}

// The code waits, and the log has no more to tell it: from here on it is no repetition.
void FlowState::caught_up() {
  if (!finish()) return;
  std::vector<Slot*> pending;
  for (const auto& [id, slot] : slots_) {
    if (!slot->recorded && !slot->live) pending.push_back(slot.get());
  }
  std::sort(pending.begin(), pending.end(),
            [](const Slot* a, const Slot* b) { return a->command < b->command; });
  for (Slot* slot : pending) go_live(*slot);
}

bool FlowState::finish() {
  while (next_command_ < commands_.size() && commands_[next_command_].used) ++next_command_;
  if (next_command_ < commands_.size()) {
    const Recorded& recorded = commands_[next_command_];
    diverge("The log says " + recorded.kind + " \"" + recorded.id + "\" (record " +
            std::to_string(recorded.seq) + ", from " + recorded.place +
            "), which the code does not ask for: it " +
            (waiting_ != nullptr ? "waits for something else." : "has ended."));
    return false;
  }
  if (!live_) {
    live_ = true;
    commands_.clear();
    next_command_ = 0;
    host_.replayed(*this);
  }
  return true;
}

std::vector<Uuid> FlowState::children() const {
  std::vector<Uuid> all;
  for (const auto& [id, slot] : slots_) {
    if (slot->kind == SlotKind::child && !slot->arrived) all.push_back(slot->uuid);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// ---- Signals, cancels ----

bool FlowState::has_signal(const std::string& name) const noexcept {
  return std::any_of(mailbox_.begin(), mailbox_.end(),
                     [&](const auto& mail) { return mail.first == name; });
}

std::string FlowState::take_signal(const std::string& name) {
  for (auto mail = mailbox_.begin(); mail != mailbox_.end(); ++mail) {
    if (mail->first != name) continue;
    std::string value = std::move(mail->second);
    mailbox_.erase(mail);
    return value;
  }
  check_cancelled();
  return "null";
}

void FlowState::check_cancelled() const {
  if (unwinding_) host_.scheduler_->throw_cancelled();
  if (cancel_is_due()) {
    throw DurableCancelled(Errc::durable_cancelled,
                           "Durable task " + id_text_ + " was cancelled: " + *cancelled_);
  }
}

}  // namespace tiffany
