// What an agent may use: reserved before a call, settled after it.
//
//   if (!fits(limits, spent, asked)) wait for somebody who raises the limits;
//   spent.add(asked);              // reserved
//   ... the call ...
//   spent.settle(asked, used);     // what nobody knows stays reserved
//
// So a budget is never over its limit by more than one call was estimated wrongly. A call that is
// tried again is paid again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

// Amounts of each kind. As a limit: none is no limit.
struct Amounts {
  std::int64_t tokens = 0;
  std::int64_t micro_dollars = 0;
  std::int64_t seconds = 0;  // on the clock of the wall, waits for people included
  std::int64_t turns = 0;
  std::int64_t tool_runs = 0;
  std::int64_t bytes = 0;  // that tools answered
  bool operator==(const Amounts&) const = default;

  void add(const Amounts& other) noexcept;
  void settle(const Amounts& reserved, const Amounts& used) noexcept;
};
TIFFANY_JSON(Amounts, tokens, micro_dollars, seconds, turns, tool_runs, bytes);
TIFFANY_JSON_ADDED(Amounts, tokens, micro_dollars, seconds, turns, tool_runs, bytes);

struct BudgetLimits {
  std::optional<std::int64_t> tokens{};
  std::optional<std::int64_t> micro_dollars{};
  std::optional<std::int64_t> seconds{};
  std::optional<std::int64_t> turns{};
  std::optional<std::int64_t> tool_runs{};
  std::optional<std::int64_t> bytes{};
  bool operator==(const BudgetLimits&) const = default;

  // By so much more; of what has no limit nothing changes.
  void raise(const Amounts& by) noexcept;
  // What is left of each kind, halved; of seconds all, because they pass for everybody.
  BudgetLimits share(const Amounts& spent) const noexcept;
  // What both allow.
  BudgetLimits with(const BudgetLimits& other) const noexcept;
  // As what is reserved: no limit is nothing, and seconds are never reserved.
  Amounts amounts() const noexcept;
  // The name of a limit below zero; empty: there is none.
  std::string negative() const;
};
TIFFANY_JSON(BudgetLimits, tokens, micro_dollars, seconds, turns, tool_runs, bytes);

// A sentence on the first limit that `spent` with `more` would be over; empty: all of it fits.
std::string over_budget(const BudgetLimits& limits, const Amounts& spent, const Amounts& more);

}  // namespace tiffany::agent
