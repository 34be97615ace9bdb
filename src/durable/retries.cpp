// When a step is tried again: pauses, jitter, what is not tried again, the time of all attempts.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/steps.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/hash.hpp"

namespace tiffany {

namespace {

// The finish of SplitMix64: every bit depends on all bits of both.
std::uint64_t scattered(std::uint64_t key, int attempt) noexcept {
  std::uint64_t bits = key + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(attempt);
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace

Duration Retry::pause_after(int attempt, std::uint64_t key) const noexcept {
  if (first <= Duration::zero()) return Duration::zero();
  double pause = static_cast<double>(first.count()) * std::pow(factor, attempt - 1);
  if (spread > 0) {
    constexpr double kParts = 1 << 20;
    const auto drawn = static_cast<double>(scattered(key, attempt) >> 44) / kParts;
    pause = std::min(pause, static_cast<double>(longest.count())) * (1 - spread * drawn);
  }
  // What is less than the longest fits into a Duration, whatever a double makes of the longest.
  return pause < static_cast<double>(longest.count()) ? Duration(static_cast<Duration::rep>(pause))
                                                      : longest;
}

bool Retry::excepts(const std::exception_ptr& error) const noexcept {
  return std::any_of(never.begin(), never.end(), [&](auto is) { return is(error); });
}

StepOptions&& StepOptions::retry(Retry how) && {
  policy = std::move(how);
  check();
  return std::move(*this);
}
StepOptions&& StepOptions::recorded_as(wal::RecordType type) && {
  ending = type;
  check();
  return std::move(*this);
}
StepOptions&& StepOptions::timeout(Duration longest) && {
  limit = longest;
  check();
  return std::move(*this);
}
StepOptions&& StepOptions::heartbeat(Duration longest_silence) && {
  silence = longest_silence;
  check();
  return std::move(*this);
}
StepOptions&& StepOptions::deadline(Duration in_all) && {
  total = in_all;
  check();
  return std::move(*this);
}

void StepOptions::check() const {
  const auto none = [](const std::optional<Duration>& time) {
    return time && *time <= Duration::zero();
  };
  const char* const wrong = policy.most < 1                     ? "is tried at least once"
                            : policy.first < Duration::zero()   ? "cannot pause for a negative time"
                            : policy.longest < Duration::zero() ? "cannot pause for a negative time"
                            : !(policy.factor >= 0 && std::isfinite(policy.factor))
                                ? "pauses longer by a factor that is a number from 0 on"
                            : !(policy.spread >= 0 && policy.spread <= 1)
                                ? "has pauses that are shorter by a part from 0 to 1"
                            : none(limit)   ? "needs some time for an attempt"
                            : none(silence) ? "needs some time between two heartbeats"
                            : none(total)   ? "needs some time for its attempts"
                            : !wal::ends_step(ending)
                                ? "ends as a StepEnd, or as a record that says the same"
                                : nullptr;
  if (wrong == nullptr) return;
  throw Error(Errc::bad_argument, std::string("A step ") + wrong + ".");
}

std::uint64_t Steps::key_hash(const StepSlot& step) const {
  return mix(hash_name(flow_.name_outside()), hash_name(step.id));
}

// Duration::max() without a deadline.
Duration Steps::time_left(const StepSlot& step) const noexcept {
  if (!step.options->total) return Duration::max();
  const std::int64_t used = flow_.host.store->clock().now() - step.first_begun;
  const std::int64_t all = step.options->total->count() / 1000;
  return used >= all ? Duration::zero() : std::chrono::microseconds(all - used);
}

}  // namespace tiffany
