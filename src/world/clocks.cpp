// The reactors that know only a clock, and how a sleeping thread is woken.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "tiffany/core/reactor.hpp"

namespace tiffany {

Wakeup::Wakeup() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) {
    throw std::system_error(errno, std::generic_category(),
                            "A scheduler needs an eventfd to be woken by other threads, and the "
                            "system refused one; is the limit on open files reached?");
  }
}

Wakeup::~Wakeup() { close(fd_); }

void Wakeup::notify() noexcept {
  if (!sleeping_.exchange(false)) return;
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the sleeper is woken anyway.
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

void Wakeup::finish() noexcept {
  if (!sleeping_.exchange(false)) unread_ = true;
  if (!unread_) return;
  // Who has taken the flag may not have written yet; then the next wait ends at once, and the one
  // after it reads this.
  std::uint64_t count = 0;
  unread_ = read(fd_, &count, sizeof count) < 0;
}

namespace {

void sleep_on(Wakeup& wakeup, std::optional<Duration> limit) {
  pollfd entry{wakeup.fd(), POLLIN, 0};
  timespec time{};
  if (limit) {
    const auto ns = std::max<Duration::rep>(0, limit->count());
    time.tv_sec = ns / 1'000'000'000;
    time.tv_nsec = ns % 1'000'000'000;
  }
  // An interrupted wait ends early, which the loop above it can bear.
  ppoll(&entry, 1, limit ? &time : nullptr, nullptr);
}

class RealClock final : public Reactor {
 public:
  Time now() override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return Time(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
  }
  bool virtual_time() const noexcept override { return false; }
  void advance_to(Time) override {}
  void wait(std::optional<Time> until, Wakeup& wakeup) override {
    std::optional<Duration> limit;
    if (until) limit = *until - now();
    sleep_on(wakeup, limit);
  }
};

class VirtualClock final : public Reactor {
 public:
  Time now() override { return now_; }
  bool virtual_time() const noexcept override { return true; }
  void advance_to(Time time) override { now_ = std::max(now_, time); }
  void wait(std::optional<Time>, Wakeup& wakeup) override { sleep_on(wakeup, std::nullopt); }

 private:
  Time now_{};
};

}  // namespace

std::unique_ptr<Reactor> real_clock() { return std::make_unique<RealClock>(); }
std::unique_ptr<Reactor> virtual_clock() { return std::make_unique<VirtualClock>(); }

}  // namespace tiffany
