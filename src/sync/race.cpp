#include "tiffany/sync/race.hpp"

namespace tiffany::detail {
namespace {

// How many of them a report names.
constexpr std::size_t kShown = 8;

}  // namespace

void Alternatives::add(const std::string& one) {
  if (++count_ > kShown) return;
  if (count_ > 1) text_ += " or ";
  text_ += one;
}

std::string Alternatives::text() && {
  if (count_ > kShown) text_ += " or " + std::to_string(count_ - kShown) + " more";
  return std::move(text_);
}

}  // namespace tiffany::detail
