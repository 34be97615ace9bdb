// Command values that are not of the type that the code reads, and how a task is stopped when its
// code and its log disagree. docs/decisions/0018-schema-change-and-divergence.md says what is
// compared, and when.
#include <exception>
#include <string>
#include <utility>

#include "durable/excerpt.hpp"
#include "durable/hosted_task.hpp"
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

std::string sentence_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "its codec threw something that is no std::exception";
  }
}

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
  flow.value_differs(type, what, json, sentence_of(std::current_exception()));
  flow.leave_code();
}

}  // namespace detail

void FlowState::diverge(std::string text) {
  divergence =
      "Task " + id_text_ + " (" + type_.name + ", version " + std::to_string(type_.version) +
      ") was stopped, because its code does not do what its log says. " + std::move(text) +
      (live_ ? " Nothing more was appended." : " Nothing was appended.") +
      " Run the code that wrote the log, or mend this code: docs/18-durable-tasks.md says what "
      "may change, and how.";
  host_.note_divergence(*this, divergence);
}

void FlowState::value_differs(const ValueType& type, std::string_view what, std::string_view json,
                              std::string_view why) {
  diverge("The log has " + std::string(detail::kind_of(json)) + " as the value of " +
          std::string(what) + ", which the code reads as " + std::string(type.name) + ": " +
          std::string(why) + " The value is " + detail::excerpt(json) + ".");
}

void FlowState::leave_code() {
  unwinding_ = true;
  host_.scheduler_->throw_cancelled();
}

// Values that have come, or are in the log and will come, to what the code has asked for. It may
// look at them only after it has done something new.
bool FlowState::values_decode() {
  checked_ = true;
  const auto decodes = [this](const Slot& slot, const std::string& json) {
    if (slot.type == nullptr) return true;
    std::string why;
    try {
      slot.type->check(json);
      return true;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {
      why = detail::sentence_of(std::current_exception());
    }
    value_differs(*slot.type, detail::what_is(&slot), json, why);
    return false;
  };
  for (const auto& slot : slots_) {
    if (slot->arrived && slot->wanted && !slot->failed && !decodes(*slot, slot->value))
      return false;
  }
  for (const Arrival& arrival : arrivals_) {
    if (arrival.kind != Arrival::Kind::slot || arrival.failed) continue;
    const auto found = recorded_.find(arrival.id);
    if (found == recorded_.end() || !found->second->wanted) continue;
    if (!decodes(*found->second, arrival.value)) return false;
  }
  return true;
}

// A child that has ended, and whose parent has not been told: what the parent would be told.
void HostCore::would_take(Slot& slot) {
  HostedTask* const child = find(slot.uuid);
  if (child == nullptr || slot.type == nullptr) return;
  const DurableInfo end = info_of(*child);
  child->status = end.status;  // quarantined, when the result cannot be read
  if (end.status == DurableStatus::quarantined) child->detail = end.detail;
  if (end.status != DurableStatus::completed) return;
  std::string why;
  try {
    return slot.type->check(end.detail);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    why = detail::sentence_of(std::current_exception());
  }
  slot.flow.value_differs(*slot.type, detail::what_is(&slot), end.detail, why);
}

}  // namespace tiffany
