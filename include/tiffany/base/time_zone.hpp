// A time zone: what clocks on the wall show, and when, by the rules of the IANA database.
//
//   const TimeZone zone = TimeZone::parse("Europe/Berlin", bytes);   // of /usr/share/zoneinfo/...
//   zone.offset_at(1'800'000'000)              // seconds that local time is ahead of UTC
//   zone.to_utc(local)                         // one moment, two, or none
//
// Made from the bytes of a TZif file (RFC 8536), with the rule at its end for the years after the
// last entry. Reads no file and asks no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany {

class TimeZone {
 public:
  // UTC.
  TimeZone() = default;
  // Throws an Error (Errc::bad_argument) for bytes that are no such file.
  static TimeZone parse(std::string name, std::string_view bytes);

  const std::string& name() const noexcept { return name_; }
  // At that moment, in seconds since 1970.
  std::int32_t offset_at(std::int64_t utc) const noexcept;

  // Local times are seconds since 1970 as if clocks showed UTC.
  struct Moments {
    enum class Kind : std::uint8_t {
      one,
      two,   // clocks were set back: `first`, and an hour later `second`
      none,  // clocks were set forward over it: both are the moment when they were
    };
    Kind kind = Kind::one;
    std::int64_t first = 0;
    std::int64_t second = 0;
  };
  Moments to_utc(std::int64_t local) const noexcept;

 private:
  // A day of the year on which clocks are set, by the footer of the file.
  struct Change {
    enum class Kind : std::uint8_t { weekday_of_month, day_without_leap, day };
    Kind kind = Kind::weekday_of_month;
    unsigned month = 1;
    unsigned week = 1;  // 5: the last
    int day = 0;        // of the week, or of the year
    std::int32_t time = 7200;
    std::int64_t local_in(std::int64_t year) const noexcept;
  };
  struct Rule {
    std::int32_t standard = 0;
    std::int32_t summer = 0;
    std::optional<Change> begins{};  // none: there is no summer time
    Change ends{};
  };
  static std::optional<Rule> parse_rule(std::string_view text);
  std::int32_t by_rule(std::int64_t utc) const noexcept;

  std::string name_ = "UTC";
  std::vector<std::int64_t> since_;    // sorted: from these moments on...
  std::vector<std::int32_t> offsets_;  // ...these count
  std::int32_t before_ = 0;            // and before the first this
  std::optional<Rule> rule_;           // and behind the last this
};

}  // namespace tiffany
