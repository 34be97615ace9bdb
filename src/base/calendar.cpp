#include "tiffany/base/calendar.hpp"

namespace tiffany {

namespace {

constexpr std::string_view kPattern = "0000-00-00T00:00:00.000000Z";
constexpr std::int64_t kDaysOfEra = 146097;   // 400 years
constexpr std::int64_t kEraToEpoch = 719468;  // from 0000-03-01 to 1970-01-01

void put_digits(char* to, std::uint64_t number, int digits) noexcept {
  for (int i = digits - 1; i >= 0; --i, number /= 10) to[i] = static_cast<char>('0' + number % 10);
}

// Takes the digits where the pattern has some, and everything else as it is there.
bool matches_pattern(std::string_view text) noexcept {
  if (text.size() != kPattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kPattern[i] == '0' ? !digit : text[i] != kPattern[i]) return false;
  }
  return true;
}
std::int64_t digits_at(std::string_view text, std::size_t at, std::size_t count) noexcept {
  std::int64_t number = 0;
  for (const char c : text.substr(at, count)) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

// Years begin in March here, so that the leap day is the last of its year.
Date date_of(std::int64_t days) noexcept {
  days += kEraToEpoch;
  const std::int64_t era = (days >= 0 ? days : days - (kDaysOfEra - 1)) / kDaysOfEra;
  const auto in_era = static_cast<unsigned>(days - era * kDaysOfEra);
  const unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
  const unsigned month = (5 * in_year + 2) / 153;
  return {static_cast<std::int64_t>(year) + era * 400 + (month >= 10 ? 1 : 0),
          month < 10 ? month + 3 : month - 9, in_year - (153 * month + 2) / 5 + 1};
}

std::int64_t days_of(const Date& date) noexcept {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto in_era = static_cast<unsigned>(year - era * 400);
  const unsigned in_year =
      (153 * (date.month > 2 ? date.month - 3 : date.month + 9) + 2) / 5 + date.day - 1;
  return era * kDaysOfEra + (in_era * 365 + in_era / 4 - in_era / 100 + in_year) - kEraToEpoch;
}

unsigned weekday_of(std::int64_t days) noexcept {
  const std::int64_t weekday = (days + 4) % 7;  // 1970 began on a Thursday
  return static_cast<unsigned>(weekday < 0 ? weekday + 7 : weekday);
}

unsigned days_in_month(std::int64_t year, unsigned month) noexcept {
  const Date next{month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1};
  return static_cast<unsigned>(days_of(next) - days_of({year, month, 1}));
}

std::string utc_text(std::int64_t microseconds) {
  std::int64_t seconds = microseconds / 1'000'000;
  std::int64_t fraction = microseconds % 1'000'000;
  if (fraction < 0) fraction += 1'000'000, --seconds;
  std::int64_t days = seconds / kSecondsOfDay;
  std::int64_t in_day = seconds % kSecondsOfDay;
  if (in_day < 0) in_day += kSecondsOfDay, --days;
  const Date date = date_of(days);
  std::string text(kPattern);
  put_digits(&text[0], static_cast<std::uint64_t>(date.year), 4);
  put_digits(&text[5], date.month, 2);
  put_digits(&text[8], date.day, 2);
  put_digits(&text[11], static_cast<std::uint64_t>(in_day / 3600), 2);
  put_digits(&text[14], static_cast<std::uint64_t>(in_day / 60 % 60), 2);
  put_digits(&text[17], static_cast<std::uint64_t>(in_day % 60), 2);
  put_digits(&text[20], static_cast<std::uint64_t>(fraction), 6);
  return text;
}

std::optional<std::int64_t> parse_utc(std::string_view text) noexcept {
  if (!matches_pattern(text)) return std::nullopt;
  const std::int64_t year = digits_at(text, 0, 4);
  const auto month = static_cast<unsigned>(digits_at(text, 5, 2));
  const auto day = static_cast<unsigned>(digits_at(text, 8, 2));
  const std::int64_t hour = digits_at(text, 11, 2);
  const std::int64_t minute = digits_at(text, 14, 2);
  const std::int64_t second = digits_at(text, 17, 2);
  if (month < 1 || month > 12 || day < 1 || (day > 28 && day > days_in_month(year, month)) ||
      hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  return ((days_of({year, month, day}) * 24 + hour) * 60 + minute) * 60'000'000 +
         second * 1'000'000 + digits_at(text, 20, 6);
}

}  // namespace tiffany
