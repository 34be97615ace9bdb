// Coroutine frames that are larger than most: which tasks have made one, for the lint "fat frame"
// (observe/lints.hpp).
//
// A table of fixed size, which a frame of ordinary size does not touch: the size of a frame is
// known to the compiler. A row is shared by tasks of several slots, and knows the one that came
// last.
#pragma once

#include <array>
#include <cstddef>

#include "tiffany/core/id.hpp"

namespace tiffany::detail {

class FatFrames {
 public:
  // A page: a thousand tasks with such a frame are four megabytes.
  static constexpr std::size_t kFat = 4096;

  struct Row {
    TaskId task{};
    std::size_t bytes = 0;  // the largest frame of that task
  };

  void note(TaskId task, std::size_t bytes) noexcept {
    Row& row = rows_[task.slot() % rows_.size()];
    if (row.task != task) row = Row{task, 0};
    if (row.bytes < bytes) row.bytes = bytes;
  }
  const std::array<Row, 64>& rows() const noexcept { return rows_; }

 private:
  std::array<Row, 64> rows_{};
};

}  // namespace tiffany::detail
