// Durations for readers: `5 ms`, `1.5 s`, `250 ns`. Exact: no digit is rounded away.
#pragma once

#include <string>

#include "tiffany/base/time.hpp"

namespace tiffany {

std::string duration_text(Duration duration);
// A point in time, as the duration since its clock's zero.
std::string time_text(Time time);

}  // namespace tiffany
