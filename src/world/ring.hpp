// A ring of io_uring, and how an operation becomes an entry of it. Internal.
#pragma once

#include <liburing.h>

#include <cstdint>

#include "tiffany/core/operation.hpp"

namespace tiffany::world {

// In the place of an operation's address: an entry whose completion nobody waits for.
inline constexpr std::uint64_t kNobody = 1;

class Ring {
 public:
  Ring() noexcept;
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // The kernel has everything that is used without a way around it, and allows its use.
  bool complete() noexcept;
  io_uring* get() noexcept { return &ring_; }

 private:
  // A filter may allow a ring to be made and refuse its use: an operation that does nothing shows.
  bool goes_round() noexcept;

  io_uring ring_{};
  unsigned features_ = 0;
  bool open_ = false;
};

// Fills an entry with everything but its data.
void prepare(io_uring_sqe& entry, Operation& op) noexcept;

}  // namespace tiffany::world
