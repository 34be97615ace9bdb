// Replay: the commands of the code, compared one by one with those of the log.
#include <charconv>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/base/hash.hpp"

namespace tiffany {

using detail::Command;
using detail::SlotKind;
using wal::RecordType;

namespace {

std::string place_of(const std::source_location& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}
std::string text_of(const Command& call) {
  return call.kind + " \"" + call.id + "\" (record " + std::to_string(call.seq) + ", from " +
         call.place + ")";
}

}  // namespace

std::string FlowState::next_id(std::string_view name, std::string_view kind) {
  detail::require_name(name, "The name of a step, timer, promise or child");
  std::string id = path;
  id += kind;
  id += name;
  if (last_use_ == nullptr || id != last_use_->first) last_use_ = &*uses_.try_emplace(id).first;
  id += '#';
  char digits[10];
  id.append(digits, std::to_chars(digits, digits + sizeof digits, ++last_use_->second).ptr);
  return id;
}

// The call is the next of the log. Code that is newer than the log may make the calls of the log in
// another order; a call that the log does not have comes after all of them. So whether code and log
// agree is known before anything new is done.
Command* FlowState::match(std::string_view kind, const std::string& id, const std::string& hash,
                          const std::source_location& site, bool& differs, std::string_view shape) {
  asked_anything = true;
  differs = false;
  trace = mix(trace, hash_name(id) ^ hash_name(kind));
  while (next_command_ < commands_.size() && commands_[next_command_].used) ++next_command_;
  Command* recorded = nullptr;
  if (next_command_ < commands_.size()) {
    recorded = &commands_[next_command_];
    if (recorded->kind != kind || recorded->id != id) {
      recorded = lenient() ? find_recorded(kind, id) : nullptr;
    }
    if (recorded == nullptr && kind == "version")
      return nullptr;  // the place is older than the change
    const Command* const other = recorded == nullptr ? left_over() : nullptr;
    if (other != nullptr) {
      diverge("The log says " + text_of(*other) + ", the code asks for " + std::string(kind) +
              " \"" + id + "\" (" + place_of(site) + ").");
      differs = true;
      return nullptr;
    }
  }
  if (recorded == nullptr) {
    differs = !checked_ && !values_decode();
    return nullptr;
  }
  if (recorded->hash != hash) {
    diverge("The log says " + recorded->kind + " \"" + recorded->id + "\" with the arguments " +
            recorded->hash + " (record " + std::to_string(recorded->seq) + ", from " +
            recorded->place + "), the code asks for it with the arguments " + hash + " (" +
            place_of(site) + ").");
    differs = true;
    return nullptr;
  }
  if (!detail::shapes_fit(recorded->shape, shape)) {
    diverge("The log says " + text_of(*recorded) + " for a value of the kind " + recorded->shape +
            ", the code waits for one of the kind " + std::string(shape) + " (" + place_of(site) +
            ").");
    differs = true;
    return nullptr;
  }
  recorded->used = true;
  ++compared;
  return recorded;
}

int FlowState::version(std::string_view change, int oldest, int newest,
                       const std::source_location& site) {
  const std::string id = next_id(change);
  bool differs = false;
  const Command* recorded = match("version", id, "", site, differs);
  if (recorded != nullptr) return recorded->value;
  if (differs) leave_code();
  if (left_over() != nullptr) return oldest;
  records::Asked::version(payload_, id, newest);
  append(RecordType::Command, payload_, &site);
  return newest;
}

Command* FlowState::find_recorded(std::string_view kind, const std::string& id) noexcept {
  for (std::size_t i = next_command_; i < commands_.size(); ++i) {
    Command& each = commands_[i];
    if (!each.used && each.kind == kind && each.id == id) return &each;
  }
  return nullptr;
}

// Newer code need not ask for versions any more.
const Command* FlowState::left_over() noexcept {
  while (next_command_ < commands_.size() && commands_[next_command_].used) ++next_command_;
  for (std::size_t i = next_command_; i < commands_.size(); ++i) {
    if (!commands_[i].used && !(lenient() && commands_[i].kind == "version")) return &commands_[i];
  }
  return nullptr;
}

FlowState::Slot* FlowState::make_slot(SlotKind kind, std::string id, const Command* recorded,
                                      const std::source_location& site) {
  auto slot = std::make_unique<Slot>(*this, kind, std::move(id));
  Slot* const made = slot.get();
  made->site = site;
  if (recorded != nullptr) {
    made->command = recorded->seq;
    const auto early = early_.find(made->id);
    if (early != early_.end()) {
      arrive(*made, early->second);
      early_.erase(early);
    }
  }
  made->place = slots_.size();
  slots_.push_back(std::move(slot));
  if (recorded != nullptr) recorded_.emplace(made->id, made);
  return made;
}

// Nobody will ask for it any more. What is in the log will be delivered all the same, so that it is
// the same when the log is read; a child has to be ended with its parent.
void FlowState::drop(Slot* slot) noexcept {
  slot->wanted = false;
  const bool kept = slot->recorded || slot->running || slot->kind == SlotKind::child;
  if (kept && !slot->arrived) return;
  if (slot->armed()) host_.scheduler_->disarm(*slot);
  if (slot->kind == SlotKind::promise && !slot->arrived) host_.promises_.erase(slot->uuid);
  erase(slot);
}

void FlowState::erase(Slot* slot) noexcept {
  if (slot->retired) {
    std::erase_if(retired_, [slot](const auto& each) { return each.get() == slot; });
    return;
  }
  if (!recorded_.empty()) recorded_.erase(slot->id);
  slots_.back()->place = slot->place;
  std::swap(slots_[slot->place], slots_.back());
  slots_.pop_back();
}

}  // namespace tiffany
