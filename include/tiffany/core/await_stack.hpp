// Where the code of a task is suspended: the lines of its nested calls, innermost first.
//
// A million frames are of no use to a reader, and the innermost ones say most: what is shown is
// bounded, and needs no memory from anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>
#include <string>

#include "tiffany/core/task_record.hpp"

namespace tiffany {

class AwaitStack final : public FrameVisitor {
 public:
  static constexpr std::size_t kShown = 32;

  void clear() noexcept { frames_ = 0; }
  void on_frame(const std::source_location& site) override {
    if (frames_ < kShown) sites_[frames_] = site;
    ++frames_;
  }
  std::span<const std::source_location> sites() const noexcept {
    return {sites_.data(), frames_ - hidden()};
  }
  // How many more there are, further out.
  std::size_t hidden() const noexcept { return frames_ > kShown ? frames_ - kShown : 0; }

 private:
  std::array<std::source_location, kShown> sites_;
  std::size_t frames_ = 0;
};

// One line for each, `at fetch.cpp:40 in fetch`, for below a line that names the task.
void append_stack(std::string& out, std::span<const std::source_location> sites);
void append_stack(std::string& out, const AwaitStack& stack);

}  // namespace tiffany
