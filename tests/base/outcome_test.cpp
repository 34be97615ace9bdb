#include "tiffany/base/outcome.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace tiffany {
namespace outcome_test {

TEST(Outcome, W4_ASuccessHoldsItsValue) {
  auto outcome = Outcome<int>::success(7);
  EXPECT_TRUE(outcome.ok());
  EXPECT_TRUE(static_cast<bool>(outcome));
  EXPECT_FALSE(outcome.failed());
  EXPECT_FALSE(outcome.cancelled());
  EXPECT_EQ(outcome.error(), nullptr);
  EXPECT_EQ(outcome.value(), 7);
  outcome.value() = 8;
  EXPECT_EQ(std::as_const(outcome).value(), 8);
}

TEST(Outcome, W4_AFailureHoldsItsErrorAndThrowsItWhenAskedForTheValue) {
  auto outcome =
      Outcome<int>::failure(std::make_exception_ptr(std::runtime_error("broken")), false);
  EXPECT_FALSE(outcome.ok());
  EXPECT_TRUE(outcome.failed());
  EXPECT_FALSE(outcome.cancelled());
  EXPECT_THROW(static_cast<void>(outcome.value()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(std::as_const(outcome).value()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(std::move(outcome).value()), std::runtime_error);
}

TEST(Outcome, W4_ACancelledOneIsNotAFailure) {
  const auto outcome = Outcome<int>::failure(std::make_exception_ptr(1), true);
  EXPECT_TRUE(outcome.cancelled());
  EXPECT_FALSE(outcome.failed());
  EXPECT_FALSE(outcome.ok());
}

TEST(Outcome, I7_VoidBecomesUnit) {
  const auto outcome = Outcome<void>::success(Unit());
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value(), Unit());
}

TEST(Outcome, HoldsWhatCanOnlyBeMoved) {
  auto outcome = Outcome<std::unique_ptr<int>>::success(std::make_unique<int>(3));
  const std::unique_ptr<int> value = std::move(outcome).value();
  EXPECT_EQ(*value, 3);
}

TEST(Timed, T9_HoldsTheValueOrTheTimeout) {
  Timed<std::string> in_time(std::string("done"));
  EXPECT_TRUE(in_time.has_value());
  EXPECT_TRUE(static_cast<bool>(in_time));
  EXPECT_FALSE(in_time.timed_out());
  EXPECT_EQ(*in_time, "done");
  EXPECT_EQ(*std::as_const(in_time), "done");
  EXPECT_EQ(std::move(in_time).value(), "done");

  const Timed<std::string> late = TimedOut();
  EXPECT_TRUE(late.timed_out());
  EXPECT_FALSE(static_cast<bool>(late));
}

TEST(Timed, T9_AskingForTheValueOfATimeoutIsAnErrorThatSaysSo) {
  Timed<int> late = TimedOut();
  try {
    static_cast<void>(late.value());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::timed_out);
    EXPECT_NE(std::string(error.what()).find("timed_out()"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(*late), Error);
  EXPECT_THROW(static_cast<void>(std::as_const(late).value()), Error);
  EXPECT_THROW(static_cast<void>(std::move(late).value()), Error);
}

TEST(Timed, I7_VoidBecomesUnit) {
  EXPECT_FALSE(Timed<void>(Unit()).timed_out());
  EXPECT_TRUE(Timed<void>(TimedOut()).timed_out());
}

TEST(Outcome, GivesTheTextOfItsError) {
  EXPECT_EQ(Outcome<int>::success(1).error_text(), "no error");
  const auto failed =
      Outcome<int>::failure(std::make_exception_ptr(std::runtime_error("unplugged")), false);
  EXPECT_EQ(failed.error_text(), "unplugged");
  EXPECT_EQ(Outcome<void>::failure(std::make_exception_ptr(7), false).error_text(),
            "an exception that is not a std::exception");
}

}  // namespace outcome_test
}  // namespace tiffany
