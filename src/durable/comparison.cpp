#include "durable/comparison.hpp"

#include <exception>
#include <string>
#include <utility>

#include "base/thrown.hpp"
#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany {

using detail::Arrival;
using detail::Slot;
using detail::ValueType;

namespace detail {

namespace {

std::string_view kind_of(std::string_view json) {
  try {
    switch (JsonReader(json).kind()) {
      case JsonKind::null:
        return "null";
      case JsonKind::boolean:
        return "a boolean";
      case JsonKind::number:
        return "a number";
      case JsonKind::string:
        return "a string";
      case JsonKind::array:
        return "an array";
      case JsonKind::object:
        return "an object";
    }
  } catch (const Error&) {  // it is no JSON at all
  }
  return "a text that is no JSON";
}

constexpr std::string_view kCodecThrew = "its codec threw something that is no std::exception";

}  // namespace

bool shapes_fit(std::string_view recorded, std::string_view now) noexcept {
  const auto any = [](std::string_view shape) { return shape.empty() || shape == "any"; };
  return any(recorded) || any(now) || recorded == now || (recorded == "integer" && now == "number");
}

std::string what_is(const Slot* slot) {
  return std::string(name_of(slot->kind)) + " \"" + slot->id + "\"";
}

void refuse_value(FlowState& flow, const ValueType& type, std::string_view what,
                  std::string_view json) {
  flow.comparison.value_differs(type, what, json,
                                sentence_of(std::current_exception(), kCodecThrew));
  flow.leave_code();
}

}  // namespace detail

void Comparison::load(std::vector<detail::Command> commands, bool lenient) {
  checked_ = false;
  replay.load(std::move(commands), lenient);
}

const detail::Command* Comparison::match(std::string_view kind, const std::string& id,
                                         const std::string& hash, const std::source_location& site,
                                         bool& differs, std::string_view shape) {
  flow_.code.asked_anything = true;
  flow_.code.trace = mix(flow_.code.trace, hash_name(id) ^ hash_name(kind));
  differs = false;
  // The common case: the task is not being replayed.
  if (replay.empty() && checked_) return nullptr;
  detail::Replay::Match found = replay.match(kind, id, hash, shape, site);
  if (!found.difference.empty()) {
    differs = true;
    diverge(std::move(found.difference));
  } else if (found.recorded == nullptr && !found.older) {
    differs = !checked_ && !values_decode();
  }
  return found.recorded;
}

// A command of the log that the code does not make is a difference, too: what it did is not undone.
bool Comparison::complete(bool waits) {
  if (replay.empty() && checked_) return true;
  if (const detail::Command* const other = replay.left_over()) {
    diverge("The log says " + other->text() + ", which the code does not ask for: it " +
            (waits ? "waits for something else." : "has ended."));
    return false;
  }
  if (!checked_ && !values_decode()) return false;
  replay.clear();
  return true;
}

// Both sides are in the sentence: whoever reads it has neither the log nor the code at hand.
void Comparison::diverge(std::string text) {
  divergence_ =
      "Task " + flow_.id_text + " (" + flow_.type.name + ", version " +
      std::to_string(flow_.type.version) +
      ") was stopped, because its code does not do what its log says. " + std::move(text) +
      (flow_.waits.live() ? " Nothing more was appended." : " Nothing was appended.") +
      " Run the code that wrote the log, or mend this code: docs/18-durable-tasks.md says what "
      "may change, and how.";
  flow_.host.runs.diverged(flow_, *divergence_);
}

void Comparison::stop(std::string why) {
  divergence_ =
      "Task " + flow_.id_text + " was stopped. " + std::move(why) + " Nothing more was appended.";
  flow_.host.runs.diverged(flow_, *divergence_);
}

void Comparison::value_differs(const ValueType& type, std::string_view what, std::string_view json,
                               std::string_view why) {
  diverge("The log has " + std::string(detail::kind_of(json)) + " as the value of " +
          std::string(what) + ", which the code reads as " + std::string(type.name) + ": " +
          std::string(why) + " The value is " + detail::excerpt(json) + ".");
}

bool Comparison::check(const Slot& slot, const std::string& json) {
  const ValueType* const type = slot.value_type();
  if (type == nullptr) return true;
  std::string why;
  try {
    type->check(json);
    return true;
  } catch (...) {
    why = caught_sentence(detail::kCodecThrew);
  }
  value_differs(*type, detail::what_is(&slot), json, why);
  return false;
}

// Values that have come, or are in the log and will come, to what the code has asked for. The code
// may look at them only after it has done something new.
bool Comparison::values_decode() {
  checked_ = true;
  for (const auto& slot : flow_.slots) {
    if (slot->arrived && slot->wanted && !slot->failed && !check(*slot, slot->value)) return false;
  }
  for (const Arrival& arrival : flow_.arrivals) {
    if (arrival.kind != Arrival::Kind::slot || arrival.failed) continue;
    const Slot* const slot = flow_.slots.find(arrival.id);
    if (slot == nullptr || !slot->wanted) continue;
    if (!check(*slot, arrival.value)) return false;
  }
  return true;
}

}  // namespace tiffany
