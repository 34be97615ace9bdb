// What can be seen of a scheduler from a signal handler that has interrupted its thread. Internal.
//
// Everything is copied into memory that was there before; nothing is allocated, locked or
// formatted. Sites and names of calls are constants of the program, so their addresses are enough.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/core/counters.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/state.hpp"

namespace tiffany::observe {

// The beginning of a text, in place.
class ShortText {
 public:
  void assign(std::string_view text) noexcept;
  std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 64> text_{};
  std::size_t size_ = 0;
};

// One task: who it is, and the innermost lines where its code is.
class StuckTask {
 public:
  static constexpr std::size_t kSites = 16;
  void take(const TaskRecord& task) noexcept;
  // `task #3 "spin", spawned at shop.cpp:30`
  std::string subject() const;
  // A line for each site.
  void append_sites(std::string& out) const;

  TaskId id{};
  TaskState state = TaskState::ready;
  std::uint8_t priority = 0;
  const char* call = nullptr;  // what it is blocked in
  std::size_t call_size = 0;
  Time since{};  // then: since when

 private:
  class Sites;
  ShortText name_;
  std::source_location spawned_;
  std::array<std::source_location, kSites> sites_{};
  std::size_t frames_ = 0;
};

// Which slice runs, and whose it is.
struct StuckSlice {
  std::uint64_t number = 0;
  bool runs = false;  // a task does
  StuckTask task{};
  void take(const Scheduler& scheduler, bool with_task) noexcept;
};

// All tasks, up to a bound.
class StuckView {
 public:
  static constexpr std::size_t kMost = 500;
  StuckView() : tasks_(kMost) {}
  // False: the table of tasks is being changed, and only numbers were taken. Ask again.
  bool take(const Scheduler& scheduler) noexcept;
  // As Scheduler::dump_text(), but for what calls say of themselves.
  std::string text() const;

 private:
  Time now_{};
  Counters counters_{};
  std::size_t live_ = 0;
  std::size_t ready_ = 0;
  std::size_t timers_ = 0;
  std::size_t externals_ = 0;
  std::size_t count_ = 0;  // of all tasks; the first kMost are kept
  std::vector<StuckTask> tasks_;
};

// Both kinds of dump have it.
std::string counters_text(const Counters& counters);

}  // namespace tiffany::observe
