// Where a task was spawned and by whom, where that one was, and so on, as far as they are known.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>
#include <string>

#include "tiffany/core/id.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;

struct SpawnStep {
  std::source_location site;
  TaskId by;  // no task: spawned from outside of every task
};

class SpawnChain {
 public:
  // Chains may be as long as a program has run; the first steps say most.
  static constexpr std::size_t kShown = 8;

  // Ends where the record of a parent is gone.
  void trace(const Scheduler& scheduler, const TaskRecord& task) noexcept;
  std::span<const SpawnStep> steps() const noexcept { return {steps_.data(), size_}; }

 private:
  std::array<SpawnStep, kShown> steps_;
  std::size_t size_ = 0;
};

// One line: `spawned at a.cpp:40 by task #2, spawned at b.cpp:7`.
void append_spawns(std::string& out, std::span<const SpawnStep> steps);

}  // namespace tiffany
