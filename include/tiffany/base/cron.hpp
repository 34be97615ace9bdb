// When something is due, as cron says it: minute, hour, day of the month, month, day of the week.
//
//   const Cron every_morning = Cron::parse("30 7 * * mon-fri");
//   every_morning.next_after(now, zone)         // seconds since 1970; nothing: never again
//
// A field is *, a number, a name (jan, mon), a range (1-5), a list (1,15), each with a step (*/15,
// 0-30/10). Sunday is 0 and 7. When both days are restricted, either is enough, as with every cron.
// @hourly, @daily (@midnight), @weekly, @monthly and @yearly (@annually) are short for the rest.
//
// Where clocks are set. With a fixed hour, a time that clocks were set over is due at the moment
// when they were, and one that they showed twice is due the first time: once in either case. With
// any hour (*), what is due follows the time that passes: both hours that look the same have their
// minutes.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tiffany/base/time_zone.hpp"

namespace tiffany {

class Cron {
 public:
  // Throws an Error (Errc::bad_argument) that says which field is wrong.
  static Cron parse(std::string_view text);

  // The first that is due after that moment, both in seconds since 1970. None when no date fits,
  // such as 30 February.
  std::optional<std::int64_t> next_after(std::int64_t utc, const TimeZone& zone) const;
  // As it was given.
  const std::string& text() const noexcept { return text_; }

 private:
  bool day_fits(std::int64_t days) const noexcept;
  std::optional<std::int64_t> first_of_day(std::int64_t days, std::int64_t after,
                                           const TimeZone& zone) const noexcept;

  std::string text_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  bool any_hour_ = false;
  bool any_day_ = false;
  bool any_weekday_ = false;
};

}  // namespace tiffany
