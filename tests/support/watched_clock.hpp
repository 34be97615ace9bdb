// A real clock that tells when the scheduler is about to block.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <semaphore>

#include "tiffany/core/reactor.hpp"

namespace tiffany::test {

// Tells another thread whenever the scheduler is about to block, and then really blocks.
class WatchedClock final : public Reactor {
 public:
  // `timers`: whether there may be one to wait for, besides other threads.
  explicit WatchedClock(std::counting_semaphore<>& idle, bool timers = true)
      : idle_(idle), timers_(timers) {}
  Time now() override { return clock_->now(); }
  bool virtual_time() const noexcept override { return false; }
  void advance_to(Time) override {}
  void wait(std::optional<Time> until, Wakeup& wakeup) override {
    EXPECT_TRUE(timers_ || !until.has_value()) << "only another thread may end this";
    idle_.release();
    clock_->wait(until, wakeup);
  }

 private:
  std::unique_ptr<Reactor> clock_ = real_clock();
  std::counting_semaphore<>& idle_;
  bool timers_;
};

}  // namespace tiffany::test
