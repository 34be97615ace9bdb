#include "tiffany/sync/rate_limiter.hpp"

#include <algorithm>

#include "tiffany/base/error.hpp"

namespace tiffany {

RateLimiter::RateLimiter(std::uint64_t count, Duration per, std::uint64_t burst)
    : RateLimiter(Scheduler::require("RateLimiter"), count, per, burst) {}

RateLimiter::RateLimiter(Scheduler& scheduler, std::uint64_t count, Duration per,
                         std::uint64_t burst)
    : Timer(&RateLimiter::on_alarm),
      scheduler_(scheduler),
      count_(count),
      per_(per),
      burst_(burst),
      rest_(std::min(count, static_cast<std::uint64_t>(per.count())) - 1),
      parts_(0),
      filled_(scheduler.deadline_in(Duration::zero())) {
  if (count == 0 || per <= Duration::zero() || burst == 0) {
    throw Error(Errc::bad_argument,
                "A rate limiter was made with " + std::to_string(count) + " tokens per " +
                    std::to_string(per.count()) + " ns and a burst of " + std::to_string(burst) +
                    ", so nobody could ever acquire one. Each of the three must be at least one.");
  }
  parts_ = cost(burst);
}

RateLimiter::~RateLimiter() {
  parts_ = 0;  // nobody is let in any more
  filled_ = kEndOfTime;
  detail::tell_all(waiters_, detail::Stage::gone);
  if (armed()) scheduler_.disarm(*this);
}

void RateLimiter::check(const char* call, std::uint64_t tokens) const {
  if (tokens >= 1 && tokens <= burst_) return;
  throw Error(Errc::bad_argument,
              std::string(call) + " asked for " + std::to_string(tokens) +
                  " tokens of a rate limiter that never has more than " + std::to_string(burst_) +
                  ". Ask for at least one and at most the burst, or make the burst larger.");
}

RateLimiter::Parts RateLimiter::parts_at(Time time) const noexcept {
  if (time <= filled_) return parts_;
  // Below 2^127 each: no overflow.
  const Parts parts = parts_ + static_cast<Parts>((time - filled_).count()) * count_;
  const Parts full = waiters_.empty() ? cost(burst_) : cost(burst_) + rest_;
  return parts < full ? parts : full;
}

// By the clock and not by the time of the turn: who has taken long since the turn began must not be
// followed too closely.
void RateLimiter::refill() noexcept {
  const Time time = scheduler_.deadline_in(Duration::zero());
  parts_ = parts_at(time);
  if (time > filled_) filled_ = time;
}

bool RateLimiter::spend(std::uint64_t tokens) noexcept {
  refill();
  const Parts price = cost(tokens);
  if (price > parts_) return false;
  parts_ -= price;
  return true;
}

// From the front each time: whoever hears of its tokens may leave other places in this line.
void RateLimiter::admit() noexcept {
  while (Waiter* waiter = waiters_.front()) {
    if (!spend(static_cast<Acquire&>(*waiter).tokens_)) break;
    waiters_.remove(*waiter);
    detail::arrived(*waiter);
  }
  set_alarm();
}

void RateLimiter::set_alarm() noexcept {
  if (armed()) scheduler_.disarm(*this);
  Waiter* const first = waiters_.front();
  if (first == nullptr) return;
  const Parts price = cost(static_cast<Acquire&>(*first).tokens_);
  const Parts missing = price > parts_ ? price - parts_ : 0;
  const Parts delay = (missing + count_ - 1) / count_;
  const Parts longest = static_cast<Parts>(Duration::max().count());
  scheduler_.arm(
      *this, detail::saturating_add(
                 filled_, Duration(static_cast<Duration::rep>(delay < longest ? delay : longest))));
}

void RateLimiter::on_alarm(Scheduler&, Timer& timer) noexcept {
  static_cast<RateLimiter&>(timer).admit();
}

RateLimiter::Acquire RateLimiter::acquire(std::uint64_t tokens) {
  check("acquire()", tokens);
  return Acquire(*this, tokens);
}

bool RateLimiter::try_acquire(std::uint64_t tokens) {
  check("try_acquire()", tokens);
  return waiters_.empty() && spend(tokens);
}

std::uint64_t RateLimiter::available() const {
  const Parts parts = parts_at(scheduler_.deadline_in(Duration::zero()));
  return static_cast<std::uint64_t>(parts / static_cast<Parts>(per_.count()));
}

bool RateLimiter::Acquire::answer(TaskRecord& asker) {
  if (Scheduler::owner(asker) != &limiter_->scheduler_) {
    throw Error(Errc::bad_argument,
                "A task acquired tokens of a rate limiter that belongs to another scheduler, whose "
                "clock is another one. Make a limiter for each scheduler.");
  }
  return limiter_->waiters_.empty() && limiter_->spend(tokens_);
}

void RateLimiter::Acquire::enlist(TaskRecord& asker) noexcept {
  const bool first = limiter_->waiters_.empty();
  limiter_->waiters_.push(*this, asker);
  if (first) limiter_->set_alarm();
}

std::string RateLimiter::Acquire::describe() const {
  return std::to_string(tokens_) + (tokens_ == 1 ? " token" : " tokens") + " of a rate limiter (" +
         std::to_string(limiter_->available()) + " of " + std::to_string(limiter_->burst_) +
         " there)";
}

}  // namespace tiffany
