// The order of a scheduler whose tasks wait inline: by priority, first in first out, and the task
// that waits can be taken out of the middle when its wait is over. Internal.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "tiffany/core/ready_queue.hpp"

namespace tiffany {

class InlineOrder final : public ReadyPolicy {
 public:
  void push(TaskRecord& task) override;
  TaskRecord& pop() override;
  std::size_t size() const noexcept override { return size_; }
  void remove(TaskRecord& task) noexcept;

 private:
  std::map<std::uint8_t, std::deque<TaskRecord*>> tasks_;  // no queue in it is empty
  std::size_t size_ = 0;
};

}  // namespace tiffany
