// A rate limiter: a bucket of tokens, which fills at a fixed rate on the scheduler's clock.
//
//   RateLimiter calls(100, 1s, 10);   // 100 in a second, and 10 at once at the most
//   co_await calls.acquire();         // or acquire(3): when so many tokens are there, they are
//                                     // spent
//
// The bucket begins full. Tokens come evenly, `count` in each `per`, to the nanosecond and without
// rounding errors that add up; what would be more than `burst` is lost. Those who wait are served
// in the order they came: a task that asks for many is not overtaken by those who ask for few.
//
// Lifetime: belongs to one scheduler, whose clock counts; only tasks of that scheduler may acquire.
// A limiter that is destroyed fails those who wait for it with Errc::primitive_gone. Thread safety:
// none; see core/scheduler.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "tiffany/base/time.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class RateLimiter : private Timer {
 public:
  class Acquire;

  // In a task: on the clock of its scheduler. Nothing, nothing per time, or a burst of nothing is
  // an error (Errc::bad_argument).
  RateLimiter(std::uint64_t count, Duration per, std::uint64_t burst);
  // The same outside of any task. The scheduler outlives the use of the limiter.
  RateLimiter(Scheduler& scheduler, std::uint64_t count, Duration per, std::uint64_t burst);
  ~RateLimiter();
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;

  // Awaited: so many tokens have been spent. None, or more than the burst, is an error
  // (Errc::bad_argument) at the call.
  Acquire acquire(std::uint64_t tokens = 1);
  // Without waiting; false, and nothing spent, when too few are there or somebody is in line. The
  // same numbers are errors.
  bool try_acquire(std::uint64_t tokens = 1);

  // Whole tokens that are there now.
  std::uint64_t available() const;
  std::uint64_t burst() const noexcept { return burst_; }

 private:
  // One token is as many parts as `per` has nanoseconds, so that a nanosecond brings whole parts.
  __extension__ typedef unsigned __int128 Parts;

  static void on_alarm(Scheduler& scheduler, Timer& timer) noexcept;
  void check(const char* call, std::uint64_t tokens) const;
  Parts cost(std::uint64_t tokens) const noexcept {
    return static_cast<Parts>(tokens) * static_cast<Parts>(per_.count());
  }
  Parts parts_at(Time time) const noexcept;
  void refill() noexcept;
  bool spend(std::uint64_t tokens) noexcept;
  void admit() noexcept;
  // For the first in line; for nobody when nobody is.
  void set_alarm() noexcept;

  Scheduler& scheduler_;
  const std::uint64_t count_;
  const Duration per_;
  const std::uint64_t burst_;
  // What the nanosecond in which a token comes brings beyond it is kept for the next in line. Less
  // than a token.
  const std::uint64_t rest_;
  Parts parts_;  // as of `filled_`
  Time filled_;
  WaiterList waiters_;
};

// Cancel. Before start: tokens that are there are spent, else Cancelled is thrown. While parked:
// the task leaves the line and has spent nothing; those behind it go on as if it had not come.
// After completion: the tokens have been spent; the next suspension throws.
class [[nodiscard(
    "acquire does nothing until awaited: co_await limiter.acquire()")]] RateLimiter::Acquire final
    : public detail::ParkingCall<Acquire> {
 public:
  using value_type = void;
  static constexpr CallName call_name{"acquire_tokens"};

  Acquire(RateLimiter& limiter, std::uint64_t tokens) noexcept
      : limiter_(&limiter), tokens_(tokens) {}
  Acquire(Acquire&&) noexcept = default;

  bool answer(TaskRecord& asker);
  void enlist(TaskRecord& asker) noexcept;
  void leave() noexcept { limiter_->waiters_.remove(*this); }
  void pass_on() noexcept { limiter_->admit(); }
  void finish() const {
    if (gone()) detail::throw_gone("a rate limiter");
  }
  std::string describe() const override;

 private:
  friend class RateLimiter;
  RateLimiter* limiter_;
  std::uint64_t tokens_;
};

}  // namespace tiffany
