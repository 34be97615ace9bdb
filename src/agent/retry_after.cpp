#include "agent/retry_after.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "tiffany/base/calendar.hpp"

namespace tiffany::agent {

namespace {

constexpr Duration kLongestWait = std::chrono::hours(24);

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0) return {};
  return value;
}

// "Tue, 17 Nov 2026 09:30:00 GMT", the form that servers must write: seconds since 1970.
std::optional<std::int64_t> seconds_of_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return {};
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  const auto day = whole_number(text.substr(5, 2));
  const auto year = whole_number(text.substr(12, 4));
  const auto hour = whole_number(text.substr(17, 2));
  const auto minute = whole_number(text.substr(20, 2));
  const auto second = whole_number(text.substr(23, 2));
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second) return {};
  Date date;
  date.year = *year;
  date.month = static_cast<unsigned>(month - kMonths.begin()) + 1;
  date.day = static_cast<unsigned>(*day);
  if (date.day < 1 || date.day > days_in_month(date.year, date.month)) return {};
  return days_of(date) * kSecondsOfDay + *hour * 3600 + *minute * 60 + *second;
}

template <class Unit>
Duration bounded(std::int64_t count) {
  if (count > std::chrono::duration_cast<Unit>(kLongestWait).count()) return kLongestWait;
  return Unit(std::max<std::int64_t>(count, 0));
}

}  // namespace

std::optional<Duration> retry_after(const http::Headers& headers,
                                    std::optional<std::int64_t> wall_us) {
  if (const auto text = headers.find("retry-after-ms")) {
    if (const auto count = whole_number(*text)) return bounded<std::chrono::milliseconds>(*count);
  }
  const auto text = headers.find("retry-after");
  if (!text) return std::nullopt;
  if (const auto count = whole_number(*text)) return bounded<std::chrono::seconds>(*count);
  const auto due = seconds_of_date(*text);
  if (!due) return std::nullopt;
  std::optional<std::int64_t> now;
  if (const auto date = headers.find("date")) now = seconds_of_date(*date);
  if (!now && wall_us) now = *wall_us / 1'000'000;
  if (!now) return std::nullopt;
  return bounded<std::chrono::seconds>(*due - *now);
}

}  // namespace tiffany::agent
