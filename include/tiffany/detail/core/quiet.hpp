// Notices when everything has waited for something from outside for longer than
// Options::quiet_limit.
#pragma once

#include <cstdint>
#include <optional>

#include "tiffany/base/time.hpp"
#include "tiffany/core/counters.hpp"

namespace tiffany {

class Scheduler;

namespace detail {

class Quiet {
 public:
  Quiet(Duration limit, Counters& counters) noexcept : limit_(limit), counters_(counters) {}

  // Nothing is ready. Reports if that is due; if not, says when it will be, if it will.
  std::optional<Time> look(Scheduler& scheduler);

 private:
  void report(Scheduler& scheduler, Duration how_long);

  Duration limit_;
  Counters& counters_;
  std::uint64_t slices_ = UINT64_MAX;  // as many had been begun when it fell quiet
  Time since_;
  bool reported_ = false;
};

}  // namespace detail
}  // namespace tiffany
