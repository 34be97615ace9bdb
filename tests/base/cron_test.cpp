#include "tiffany/base/cron.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tiffany/base/calendar.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::cron_test {

std::int64_t utc(const std::string& text) {
  return parse_utc(text + ":00.000000Z").value_or(0) / 1'000'000;
}
std::string text_of(std::int64_t seconds) { return utc_text(seconds * 1'000'000).substr(0, 16); }

// The next few after a moment, in UTC.
std::vector<std::string> next(const std::string& cron, const std::string& after, std::size_t count,
                              const TimeZone& zone = TimeZone()) {
  std::vector<std::string> all;
  std::int64_t at = utc(after);
  while (all.size() < count) {
    const auto found = Cron::parse(cron).next_after(at, zone);
    if (!found) break;
    at = *found;
    all.push_back(text_of(at));
  }
  return all;
}
using Times = std::vector<std::string>;

TEST(Cron, FieldsMeanWhatTheyMeanToEveryCron) {
  EXPECT_EQ(next("*/20 * * * *", "2026-11-17T09:30", 3),
            (Times{"2026-11-17T09:40", "2026-11-17T10:00", "2026-11-17T10:20"}));
  EXPECT_EQ(next("30 7 * * mon-fri", "2026-11-20T07:30", 2),
            (Times{"2026-11-23T07:30", "2026-11-24T07:30"}));
  EXPECT_EQ(next("0 0 1,15 * *", "2026-11-17T00:00", 2),
            (Times{"2026-12-01T00:00", "2026-12-15T00:00"}));
  EXPECT_EQ(next("0 12 13 * 5", "2026-11-12T13:00", 3),  // the 13th, and every Friday
            (Times{"2026-11-13T12:00", "2026-11-20T12:00", "2026-11-27T12:00"}));
  EXPECT_EQ(next("0 0 29 feb *", "2096-03-01T00:00", 1), (Times{"2104-02-29T00:00"}));
  EXPECT_EQ(next("5/25 1 * * *", "2026-01-01T00:00", 3),
            (Times{"2026-01-01T01:05", "2026-01-01T01:30", "2026-01-01T01:55"}));
  EXPECT_EQ(
      next("0 0 * * fri-sun", "2026-11-17T00:00", 4),
      (Times{"2026-11-20T00:00", "2026-11-21T00:00", "2026-11-22T00:00", "2026-11-27T00:00"}));
  EXPECT_EQ(next("0 0 * * 7", "2026-11-17T00:00", 1), (Times{"2026-11-22T00:00"}));
  EXPECT_EQ(next("@hourly", "2026-11-17T09:30", 1), (Times{"2026-11-17T10:00"}));
  EXPECT_EQ(next("@yearly", "2026-11-17T09:30", 1), (Times{"2027-01-01T00:00"}));
}

TEST(Cron, ADateThatIsFarAwayIsFound) {
  EXPECT_EQ(next("0 0 29 2 */7", "2010-01-01T00:00", 1), (Times{"2032-02-29T00:00"}));
  EXPECT_EQ(next("0 0 * * sun-sun", "2026-11-17T00:00", 2),
            (Times{"2026-11-22T00:00", "2026-11-29T00:00"}));
}

TEST(Cron, ADateThatNeverComesIsNever) {
  EXPECT_EQ(next("0 0 30 2 *", "2026-01-01T00:00", 1), Times{});
  EXPECT_EQ(next("0 0 31 4,6,9,11 *", "2026-01-01T00:00", 1), Times{});
}

TEST(Cron, WhatIsNoneIsRefusedWithTheFieldThatIsWrong) {
  for (const char* bad : {"",
                          "* * * *",
                          "* * * * * *",
                          "60 * * * *",
                          "* 24 * * *",
                          "* * 0 * *",
                          "* * 32 * *",
                          "* * * 13 *",
                          "* * * foo *",
                          "* * * * 8",
                          "5-1 * * * *",
                          "*/0 * * * *",
                          "1,,2 * * * *",
                          "1- * * * *",
                          "-1 * * * *",
                          "*/61 * * * *",
                          "1.5 * * * *",
                          "@noon",
                          "janfeb * * * *",
                          "* * * anf *",
                          "111 * * * *",
                          "** * * * *"}) {
    EXPECT_THROW(Cron::parse(bad), Error) << bad;
  }
  try {
    Cron::parse("0 25 * * *");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"25\" does not fit the hour (0 to 23)"),
              std::string::npos)
        << error.what();
  }
}

TimeZone zone(const std::string& name) {
  std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return TimeZone::parse(name, bytes.str());
}

TEST(TimeZone, AgreesWithTheLibraryOfTheSystemForAllItsZones) {
  const std::string before = std::getenv("TZ") != nullptr ? std::getenv("TZ") : "";
  for (const char* name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                           "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia", "UTC",
                           "America/Nuuk", "Antarctica/Troll", "Asia/Tehran"}) {
    const TimeZone ours = zone(name);
    ::setenv("TZ", name, 1);
    ::tzset();
    Random random(7);
    for (int i = 0; i < 3000; ++i) {
      const auto moment = static_cast<std::int64_t>(random.below(6'000'000'000)) - 2'000'000'000;
      const std::time_t time = moment;
      std::tm local{};
      ::localtime_r(&time, &local);
      ASSERT_EQ(ours.offset_at(moment), local.tm_gmtoff) << name << " " << text_of(moment);
    }
  }
  ::setenv("TZ", before.c_str(), 1);
  ::tzset();
}

TEST(TimeZone, LocalTimesAreOneMomentOrTwoOrNone) {
  const TimeZone berlin = zone("Europe/Berlin");
  using Kind = TimeZone::Moments::Kind;
  EXPECT_EQ(text_of(berlin.to_utc(utc("2026-07-01T12:00")).first), "2026-07-01T10:00");
  const auto none = berlin.to_utc(utc("2026-03-29T02:30"));
  EXPECT_EQ(none.kind, Kind::none);
  EXPECT_EQ(text_of(none.first), "2026-03-29T01:00");
  const auto two = berlin.to_utc(utc("2026-10-25T02:30"));
  EXPECT_EQ(two.kind, Kind::two);
  EXPECT_EQ(text_of(two.first), "2026-10-25T00:30");
  EXPECT_EQ(text_of(two.second), "2026-10-25T01:30");
  // Beyond what the file lists, by its rule.
  EXPECT_EQ(berlin.to_utc(utc("2090-03-26T02:30")).kind, Kind::none);
}

TEST(TimeZone, ADamagedFileIsRefused) {
  std::ifstream file("/usr/share/zoneinfo/Europe/Berlin", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string good = bytes.str();
  EXPECT_THROW(TimeZone::parse("x", ""), Error);
  EXPECT_THROW(TimeZone::parse("x", "TZif2"), Error);
  Random random(1);
  for (int i = 0; i < 2000; ++i) {  // no crash, and no read beyond the bytes
    std::string bad = good.substr(0, 1 + random.below(good.size()));
    for (int changes = 0; changes < 3; ++changes) {
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    }
    try {
      const TimeZone read = TimeZone::parse("x", bad);
      (void)read.offset_at(4'000'000'000);
      (void)read.to_utc(-4'000'000'000);
    } catch (const Error&) {
    }
  }
}

TEST(Cron, AFixedHourIsDueOnceWhenClocksAreSet) {
  const TimeZone berlin = zone("Europe/Berlin");
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00", 2, berlin),
            (Times{"2026-03-29T01:00", "2026-03-30T00:30"}));
  EXPECT_EQ(next("30 2 * * *", "2026-10-24T12:00", 2, berlin),
            (Times{"2026-10-25T00:30", "2026-10-26T01:30"}));
}

TEST(Cron, AnyHourFollowsTheTimeThatPasses) {
  const TimeZone berlin = zone("Europe/Berlin");
  EXPECT_EQ(
      next("*/30 * * * *", "2026-10-25T00:00", 4, berlin),
      (Times{"2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30", "2026-10-25T02:00"}));
  EXPECT_EQ(next("15 * * * *", "2026-03-29T00:15", 2, berlin),
            (Times{"2026-03-29T01:15", "2026-03-29T02:15"}));
}

}  // namespace tiffany::cron_test
