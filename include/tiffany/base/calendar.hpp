// Dates and times of day in UTC, as numbers and as text (RFC 3339 with microseconds).
//
// The calendar is the Gregorian one, also before it was introduced, and knows no leap seconds: as
// with POSIX, each day has 86,400 seconds. Nothing here asks a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tiffany {

// A point in time on the clock of the wall, in UTC. `time.time_since_epoch().count()` is the number
// of microseconds since 1970.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

inline constexpr std::int64_t kSecondsOfDay = 86400;

struct Date {
  std::int64_t year = 1970;
  unsigned month = 1;  // 1 to 12
  unsigned day = 1;    // 1 to 31

  friend bool operator==(const Date&, const Date&) = default;
};

// Days since 1970-01-01.
Date date_of(std::int64_t days) noexcept;
std::int64_t days_of(const Date& date) noexcept;
// 0 is Sunday.
unsigned weekday_of(std::int64_t days) noexcept;
unsigned days_in_month(std::int64_t year, unsigned month) noexcept;

// Microseconds since 1970 as "2026-11-17T09:30:00.000250Z", for years of four digits.
std::string utc_text(std::int64_t microseconds);
// Back; nothing when it is not exactly such a text, or names no such day.
std::optional<std::int64_t> parse_utc(std::string_view text) noexcept;

}  // namespace tiffany
