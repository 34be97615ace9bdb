// Whether the code of a durable task does what its log says. When it does not, the task is stopped,
// and nothing more is appended: docs/decisions/0018-schema-change-and-divergence.md.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "durable/rare.hpp"
#include "durable/replay.hpp"
#include "durable/slot.hpp"

namespace tiffany {

class Comparison {
 public:
  explicit Comparison(FlowState& flow) noexcept : flow_(flow) {}
  void load(std::vector<detail::Command> commands, bool lenient);

  // The record of this command in the log. Null: it is new. `differs`: the task has been stopped.
  const detail::Command* match(std::string_view kind, const std::string& id,
                               const std::string& hash, const std::source_location& site,
                               bool& differs, std::string_view shape = {});
  // The log has no more. False: the code has not done all of it, and the task has been stopped.
  bool complete(bool waits);
  // A recorded value is none of that type. The task has been stopped.
  void value_differs(const detail::ValueType& type, std::string_view what, std::string_view json,
                     std::string_view why);

  // The task is stopped for another reason, and nothing more is appended.
  void stop(std::string why);

  // Whether the code reads that value of the slot. False: the task has been stopped.
  bool check(const detail::Slot& slot, const std::string& json);

  bool stopped() const noexcept { return divergence_.has_value(); }
  // Why the task was stopped.
  const std::string& divergence() const noexcept { return *divergence_; }

  detail::Replay replay;

 private:
  void diverge(std::string text);
  bool values_decode();

  FlowState& flow_;
  detail::Rare<std::string> divergence_;
  bool checked_ = true;  // the recorded values of what the code has are of the right types
};

}  // namespace tiffany
