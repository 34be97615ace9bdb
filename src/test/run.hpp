// One run of a body under one order, and how it ended. Shared by explore.cpp and shrink.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tiffany/test/explore.hpp"

namespace tiffany::test::detail {

struct Run {
  bool failed() const noexcept { return !kind.empty(); }

  // Empty when it passed. Equal for failures of the same kind: a check by its place, an exception
  // by its type. The sentence would be too narrow, for it may contain what differs from run to run.
  std::string kind;
  std::string error;
  Deviations deviations;
  std::vector<std::string> order;
  std::vector<std::size_t> widths;
  std::vector<Pick> picks;
  std::size_t pick_count = 0;
};

// With `record`, the picks and the order in words are kept.
Run run_once(const Body& body, Schedule schedule, const ExploreOptions& options,
             bool record = false);

// The fewest deviations that fail as `first` did. Sets what concerns it in `result`, and gives the
// last run that failed. `choices`: of the first in first out run.
Run shrink(const Body& body, Run first, std::size_t choices, const ExploreOptions& options,
           Exploration& result);

}  // namespace tiffany::test::detail
