#include <string>
#include <utility>

#include "durable/limits.hpp"
#include "tiffany/durable/host.hpp"

namespace tiffany {

void TypeOptions::apply(DurableType& type) const {
  type.accepts = oldest_.value_or(type.version);
  type.priority = priority_;
  type.limits = limits_;
  const auto bad = [](const RateLimit& rate, bool given) {
    return given && (rate.count == 0 || rate.per.count() / 1000 < rate.count);
  };
  if (limits_.most == 0u || limits_.key_most == 0u || bad(limits_.rate, paced_) ||
      bad(limits_.key_rate, key_paced_)) {
    throw Error(Errc::bad_argument, "A limit of durable task \"" + type.name +
                                        "\" lets at least one task run, at a rate of at most one "
                                        "in a microsecond.");
  }
}

// Refused here, and not when a log with such a task is opened years later.
DurableType& Registry::add(DurableType type) {
  std::string name = type.name;
  detail::require_name(name, "The name of a type of durable tasks");
  if (type.version < 1 || type.accepts < 1 || type.accepts > type.version) {
    throw Error(Errc::bad_argument, "The version of durable task \"" + name +
                                        "\" is at least 1, and goes on with logs from version 1 to "
                                        "itself; this is version " +
                                        std::to_string(type.version) + " that accepts " +
                                        std::to_string(type.accepts) + ".");
  }
  const auto [added, first] = types_.emplace(name, std::move(type));
  if (!first) {
    throw Error(Errc::bad_argument, "A durable task named \"" + name + "\" is registered already.");
  }
  if (const detail::AnyFunction function = added->second.function) {
    const auto [known, alone] = names_.emplace(function, name);
    if (!alone) known->second.clear();
  }
  return added->second;
}

const DurableType& Registry::require(detail::AnyFunction function, std::string_view what) const {
  const auto known = names_.find(function);
  if (known == names_.end()) {
    throw Error(Errc::unknown_type, "The function that was given, " + std::string(what) +
                                        ", is not the code of a registered durable task. Add it: "
                                        "types.add(name, version, function).");
  }
  if (known->second.empty()) {
    throw Error(Errc::bad_argument, "The function that was given, " + std::string(what) +
                                        ", is registered under several names. Start the task by "
                                        "its name.");
  }
  return *find(known->second);
}

const DurableType* Registry::find(std::string_view name) const noexcept {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

std::string_view name_of(DurableStatus status) noexcept {
  switch (status) {
    case DurableStatus::running:
      return "running";
    case DurableStatus::queued:
      return "queued";
    case DurableStatus::paused:
      return "paused";
    case DurableStatus::diverged:
      return "diverged";
    case DurableStatus::quarantined:
      return "quarantined";
    case DurableStatus::completed:
      return "completed";
    case DurableStatus::failed:
      return "failed";
    case DurableStatus::cancelled:
      return "cancelled";
  }
  return "";
}

}  // namespace tiffany
