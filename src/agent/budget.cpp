#include "tiffany/agent/budget.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tiffany::agent {
namespace {

// Amounts come from files, endpoints and people: they stop at the largest number.
std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

struct Kind {
  const char* name;
  std::int64_t Amounts::* amount;
  std::optional<std::int64_t> BudgetLimits::* limit;
};
constexpr Kind kKinds[] = {
    {"tokens", &Amounts::tokens, &BudgetLimits::tokens},
    {"micro-dollars", &Amounts::micro_dollars, &BudgetLimits::micro_dollars},
    {"seconds", &Amounts::seconds, &BudgetLimits::seconds},
    {"turns", &Amounts::turns, &BudgetLimits::turns},
    {"runs of tools", &Amounts::tool_runs, &BudgetLimits::tool_runs},
    {"bytes", &Amounts::bytes, &BudgetLimits::bytes},
};

}  // namespace

void Amounts::add(const Amounts& other) noexcept {
  for (const Kind& kind : kKinds) {
    this->*kind.amount = sum(this->*kind.amount, std::max<std::int64_t>(other.*kind.amount, 0));
  }
}

void Amounts::settle(const Amounts& reserved, const Amounts& used) noexcept {
  for (const Kind& kind : kKinds) {
    const std::int64_t given_back = std::min(this->*kind.amount, reserved.*kind.amount);
    this->*kind.amount -= std::max<std::int64_t>(given_back, 0);
  }
  add(used);
}

void BudgetLimits::raise(const Amounts& by) noexcept {
  for (const Kind& kind : kKinds) {
    std::optional<std::int64_t>& limit = this->*kind.limit;
    if (limit) limit = sum(*limit, std::max<std::int64_t>(by.*kind.amount, 0));
  }
}

BudgetLimits BudgetLimits::share(const Amounts& spent) const noexcept {
  BudgetLimits part;
  for (const Kind& kind : kKinds) {
    const std::optional<std::int64_t>& limit = this->*kind.limit;
    if (!limit) continue;
    const std::int64_t left = std::max<std::int64_t>(sum(*limit, -(spent.*kind.amount)), 0);
    part.*kind.limit = kind.limit == &BudgetLimits::seconds ? left : left / 2;
  }
  return part;
}

BudgetLimits BudgetLimits::with(const BudgetLimits& other) const noexcept {
  BudgetLimits both = *this;
  for (const Kind& kind : kKinds) {
    const std::optional<std::int64_t>& limit = other.*kind.limit;
    if (limit && (!(both.*kind.limit) || *limit < *(both.*kind.limit))) both.*kind.limit = limit;
  }
  return both;
}

Amounts BudgetLimits::amounts() const noexcept {
  Amounts all;
  for (const Kind& kind : kKinds) all.*kind.amount = (this->*kind.limit).value_or(0);
  all.seconds = 0;
  return all;
}

std::string BudgetLimits::negative() const {
  for (const Kind& kind : kKinds) {
    if ((this->*kind.limit).value_or(0) < 0) return kind.name;
  }
  return "";
}

std::string over_budget(const BudgetLimits& limits, const Amounts& spent, const Amounts& more) {
  for (const Kind& kind : kKinds) {
    const std::optional<std::int64_t>& limit = limits.*kind.limit;
    if (!limit || sum(spent.*kind.amount, more.*kind.amount) <= *limit) continue;
    return "The budget has " + std::to_string(*limit) + " " + kind.name + ", of which " +
           std::to_string(spent.*kind.amount) + " are used, and " +
           std::to_string(more.*kind.amount) + " more are needed.";
  }
  return "";
}

}  // namespace tiffany::agent
