#include "tiffany/structure/combine.hpp"

namespace tiffany::detail {
namespace {

// How many of them a report names.
constexpr std::size_t kNamedWaits = 8;

}  // namespace

void Alternatives::add(const std::string& one) {
  if (++count_ > kNamedWaits) return;
  if (count_ > 1) text_ += " or ";
  text_ += one;
}

std::string Alternatives::text() && {
  if (count_ > kNamedWaits) text_ += " or " + std::to_string(count_ - kNamedWaits) + " more";
  return std::move(text_);
}

void cancel_losers(Scope& scope) noexcept {
  Scheduler& scheduler = scope.scheduler();
  scope.cancel_all(scheduler.reason(CancelCause::race_decided, "another contender was decided",
                                    scheduler.running()->spawn_site()));
}

void throw_all_failed(std::span<const GroupCall::Entry> entries) {
  std::vector<std::exception_ptr> errors;
  errors.reserve(entries.size());
  for (const GroupCall::Entry& entry : entries) {
    entry.target->mark_observed();
    errors.push_back(entry.target->error());
  }
  throw AllFailed(std::move(errors));
}

}  // namespace tiffany::detail
