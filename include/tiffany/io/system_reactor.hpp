// The operating system as a reactor: io_uring where the kernel allows it, epoll otherwise, and a few
// threads for what both cannot do.
//
// Which one is decided at the first operation, and can be asked for: by system_reactor(kind), or by
// the environment variable TIFFANY_REACTOR=uring|epoll for those that were not told. Programs see no
// difference but the speed.
//
// With io_uring the thread that made the first operation must go on to drive the scheduler.
#pragma once

#include <cstddef>
#include <memory>

#include "tiffany/core/reactor.hpp"

namespace tiffany {

enum class ReactorKind : unsigned char {
  automatic,  // as TIFFANY_REACTOR says, or the best one that works
  uring,      // io_uring, or an error at the first operation
  epoll,
  blocking,  // epoll, and everything that it cannot do is done here and now, by this thread
};

std::unique_ptr<Reactor> system_reactor(ReactorKind kind);

// True when the kernel lets this process use io_uring with all that is needed of it.
bool uring_works() noexcept;

// What a reactor that came from here uses: "uring", "epoll", or "none yet". For reports and tests.
const char* reactor_name(const Reactor& reactor) noexcept;

}  // namespace tiffany
