#include "tiffany/base/cron.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/base/calendar.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany {

namespace {

// 29 February on one day of the week comes after forty years at the latest.
constexpr std::int64_t kFarthest = 41 * 366;

struct Field {
  const char* name;
  unsigned lowest;
  unsigned highest;
  std::string_view words;  // three letters each, the first for `first_word`
  unsigned first_word;
};
constexpr std::array<Field, 5> kFields{{
    {"minute", 0, 59, "", 0},
    {"hour", 0, 23, "", 0},
    {"day of the month", 1, 31, "", 0},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1},
    {"day of the week", 0, 7, "sunmontuewedthufrisat", 0},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShort{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(Errc::bad_argument,
              "\"" + std::string(text.substr(0, 100)) + "\" is no time of a schedule: " + why);
}

class FieldParser {
 public:
  FieldParser(std::string_view whole, const Field& field) noexcept : whole_(whole), field_(field) {}

  // Bit i is set when i fits.
  std::uint64_t parse(std::string_view text) const {
    std::uint64_t fits = 0;
    for (;;) {
      const std::size_t comma = text.find(',');
      fits |= parse_part(text.substr(0, comma));
      if (comma == std::string_view::npos) return fits;
      text.remove_prefix(comma + 1);
    }
  }

 private:
  std::uint64_t parse_part(std::string_view part) const {
    unsigned step = 1;
    const std::size_t slash = part.find('/');
    if (slash != std::string_view::npos) {
      step = digits(part.substr(slash + 1), 1, field_.highest);
      part = part.substr(0, slash);
    }
    unsigned from = field_.lowest;
    unsigned to = field_.highest;
    if (part != "*") {
      const std::size_t dash = part.find('-');
      from = value(part.substr(0, dash));
      to = dash != std::string_view::npos    ? value(part.substr(dash + 1))
           : slash != std::string_view::npos ? field_.highest
                                             : from;
      // "fri-sun" ends with the other name of Sunday.
      if (to == 0 && from > 0 && dash != std::string_view::npos && field_.highest == 7) to = 7;
      if (to < from) wrong(part);
    }
    std::uint64_t fits = 0;
    for (unsigned i = from; i <= to; i += step) fits |= std::uint64_t{1} << i;
    return fits;
  }

  unsigned value(std::string_view text) const {
    if (text.size() == 3 && !field_.words.empty()) {
      std::string lower(text);
      for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      }
      const std::size_t at = field_.words.find(lower);
      if (at != std::string_view::npos && at % 3 == 0) {
        return field_.first_word + static_cast<unsigned>(at / 3);
      }
    }
    return digits(text, field_.lowest, field_.highest);
  }
  unsigned digits(std::string_view text, unsigned lowest, unsigned highest) const {
    if (text.empty() || text.size() > 2) wrong(text);
    unsigned number = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') wrong(text);
      number = number * 10 + static_cast<unsigned>(c - '0');
    }
    if (number < lowest || number > highest) wrong(text);
    return number;
  }
  [[noreturn]] void wrong(std::string_view part) const {
    refuse(whole_, "\"" + std::string(part.substr(0, 40)) + "\" does not fit the " + field_.name +
                       " (" + std::to_string(field_.lowest) + " to " +
                       std::to_string(field_.highest) + ").");
  }

  std::string_view whole_;
  const Field& field_;
};

std::int64_t floor_day(std::int64_t seconds) noexcept {
  return seconds >= 0 ? seconds / kSecondsOfDay : (seconds - (kSecondsOfDay - 1)) / kSecondsOfDay;
}

}  // namespace

Cron Cron::parse(std::string_view text) {
  Cron cron;
  cron.text_ = text;
  std::string_view rest = text;
  for (const auto& [name, meaning] : kShort) {
    if (text == name) rest = meaning;
  }
  std::array<std::string_view, kFields.size()> parts;
  for (std::string_view& part : parts) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    part = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(part.size());
    if (part.empty()) {
      refuse(text, "it has five fields (minute, hour, day of the month, month, day of the week).");
    }
  }
  if (rest.find_first_not_of(" \t") != std::string_view::npos) {
    refuse(text, "there is more than five fields.");
  }
  std::array<std::uint64_t, kFields.size()> fits{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    fits[i] = FieldParser(text, kFields[i]).parse(parts[i]);
  }
  cron.minutes_ = fits[0];
  cron.hours_ = fits[1];
  cron.days_ = fits[2];
  cron.months_ = fits[3];
  cron.weekdays_ = (fits[4] | fits[4] >> 7) & 0x7f;
  cron.any_hour_ = parts[1].starts_with('*');
  cron.any_day_ = parts[2].starts_with('*');
  cron.any_weekday_ = parts[4].starts_with('*');
  return cron;
}

bool Cron::day_fits(std::int64_t days) const noexcept {
  const Date date = date_of(days);
  if (!months_[date.month]) return false;
  const bool day = days_[date.day];
  const bool weekday = weekdays_[weekday_of(days)];
  return any_day_ || any_weekday_ ? day && weekday : day || weekday;
}

// Of a day by the clocks on the wall. Clocks may be set on it, so all its minutes are looked at.
std::optional<std::int64_t> Cron::first_of_day(std::int64_t days, std::int64_t after,
                                               const TimeZone& zone) const noexcept {
  std::optional<std::int64_t> first;
  const auto candidate = [&](std::int64_t utc) {
    if (utc > after && (!first || utc < *first)) first = utc;
  };
  for (unsigned hour = 0; hour < 24; ++hour) {
    if (!hours_[hour]) continue;
    for (unsigned minute = 0; minute < 60; ++minute) {
      if (!minutes_[minute]) continue;
      const TimeZone::Moments at = zone.to_utc(days * kSecondsOfDay + hour * 3600 + minute * 60);
      if (at.kind == TimeZone::Moments::Kind::none && any_hour_) continue;
      candidate(at.first);
      if (at.kind == TimeZone::Moments::Kind::two && any_hour_) candidate(at.second);
    }
  }
  return first;
}

std::optional<std::int64_t> Cron::next_after(std::int64_t utc, const TimeZone& zone) const {
  const std::int64_t today = floor_day(utc + zone.offset_at(utc));
  for (std::int64_t days = today; days < today + kFarthest; ++days) {
    if (!day_fits(days)) continue;
    if (const auto first = first_of_day(days, utc, zone)) return first;
  }
  return std::nullopt;
}

}  // namespace tiffany
