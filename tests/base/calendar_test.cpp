#include "tiffany/base/calendar.hpp"

#include <gtest/gtest.h>

namespace tiffany::calendar_test {

TEST(Calendar, DaysAndDatesAreTheSameBothWaysOverManyCenturies) {
  Date expected{1600, 1, 1};
  for (std::int64_t day = days_of(expected); expected.year < 2500; ++day) {
    ASSERT_EQ(date_of(day), expected) << day;
    ASSERT_EQ(days_of(expected), day);
    if (++expected.day > days_in_month(expected.year, expected.month)) {
      expected.day = 1;
      if (++expected.month > 12) expected.month = 1, ++expected.year;
    }
  }
}

TEST(Calendar, MonthsHaveTheirDays) {
  EXPECT_EQ(days_in_month(2023, 2), 28u);
  EXPECT_EQ(days_in_month(2024, 2), 29u);
  EXPECT_EQ(days_in_month(1900, 2), 28u);
  EXPECT_EQ(days_in_month(2000, 2), 29u);
  EXPECT_EQ(days_in_month(2026, 12), 31u);
  EXPECT_EQ(days_in_month(2026, 4), 30u);
}

TEST(Calendar, WeekdaysAreThoseOfTheCalendar) {
  EXPECT_EQ(weekday_of(0), 4u);  // a Thursday
  EXPECT_EQ(weekday_of(-1), 3u);
  EXPECT_EQ(weekday_of(days_of({2026, 11, 17})), 2u);  // a Tuesday
  EXPECT_EQ(weekday_of(days_of({1600, 1, 1})), 6u);
}

TEST(Calendar, ATextIsReadBackAndNothingElseIsRead) {
  for (const std::int64_t time :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'800'000'000'123'456}}) {
    EXPECT_EQ(parse_utc(utc_text(time)), time);
  }
  EXPECT_EQ(utc_text(951'782'400'000'000), "2000-02-29T00:00:00.000000Z");
  for (const char* bad :
       {"", "2000-02-30T00:00:00.000000Z", "2001-02-29T00:00:00.000000Z",
        "2000-13-01T00:00:00.000000Z", "2000-00-01T00:00:00.000000Z", "2000-01-00T00:00:00.000000Z",
        "2000-01-01T24:00:00.000000Z", "2000-01-01T00:60:00.000000Z", "2000-01-01T00:00:60.000000Z",
        "2000-01-01 00:00:00.000000Z", "2000-01-01T00:00:00.000000", "2000-01-01T00:00:00.000000ZZ",
        "20x0-01-01T00:00:00.000000Z", "2000-01-01T00:00:00,000000Z"}) {
    EXPECT_EQ(parse_utc(bad), std::nullopt) << bad;
  }
}

}  // namespace tiffany::calendar_test
