#include "tiffany/sync/race.hpp"

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

}  // namespace tiffany::detail
