// A clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tiffany/core/reactor.hpp"

namespace tiffany::test {

// Stands until it is told, or slept on. To the scheduler it is a real clock.
class HandClock final : public Reactor {
 public:
  explicit HandClock(Time& time) noexcept : time_(time) {}
  Time now() override { return time_; }
  bool virtual_time() const noexcept override { return false; }
  void advance_to(Time) override {}
  void wait(std::optional<Time> until, Wakeup&) override {
    ASSERT_TRUE(until.has_value()) << "this clock cannot wait for other threads";
    time_ = *until;
  }

 private:
  Time& time_;
};

}  // namespace tiffany::test
