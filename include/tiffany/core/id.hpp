// The name of a task within its scheduler: a slot and how often the slot has been used.
//
// An id is 64 bits and never names a second task: when a task has ended and its slot is used again,
// the generation is another one, and a look-up with the old id says so. Printed as `#7` for the
// first task in slot 7 and `#7.2` for the second.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tiffany {

class TaskId {
 public:
  constexpr TaskId() noexcept = default;
  constexpr TaskId(std::uint32_t slot, std::uint32_t generation) noexcept
      : value_((std::uint64_t{generation} << 32) | slot) {}

  constexpr std::uint32_t slot() const noexcept { return static_cast<std::uint32_t>(value_); }
  constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(value_ >> 32);
  }
  constexpr std::uint64_t value() const noexcept { return value_; }
  // False for a default-made id, which names no task.
  constexpr explicit operator bool() const noexcept { return value_ != 0; }

  std::string text() const;

  friend constexpr auto operator<=>(TaskId, TaskId) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace tiffany
