#include "tiffany/base/time_text.hpp"

#include <cstdint>

namespace tiffany {
namespace {

struct TextUnit {
  std::uint64_t nanoseconds;
  std::size_t digits;  // after the point
  const char* name;
};
constexpr TextUnit kUnits[] = {{1'000'000'000, 9, " s"}, {1'000'000, 6, " ms"}, {1'000, 3, " us"}};

}  // namespace

std::string duration_text(Duration duration) {
  const std::int64_t count = duration.count();
  const std::uint64_t size =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string out = count < 0 ? "-" : "";
  for (const TextUnit& unit : kUnits) {
    if (size < unit.nanoseconds) continue;
    out += std::to_string(size / unit.nanoseconds);
    std::string rest = std::to_string(size % unit.nanoseconds);
    rest.insert(0, unit.digits - rest.size(), '0');
    rest.erase(rest.find_last_not_of('0') + 1);
    if (!rest.empty()) out += "." + rest;
    return out + unit.name;
  }
  return out + std::to_string(size) + " ns";
}

std::string time_text(Time time) { return duration_text(time.time_since_epoch()); }

}  // namespace tiffany
