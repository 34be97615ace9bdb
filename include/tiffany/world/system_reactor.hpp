// The operating system as a reactor: io_uring where the kernel allows it, epoll otherwise, and a
// few threads for what both cannot do.
//
// Which one is decided at the first operation, and can be asked for: by system_reactor(kind), or by
// the environment variable TIFFANY_REACTOR=uring|epoll|automatic for those that were not told. Any
// other value is an error (Errc::no_io) at the first operation. Programs see no difference but the
// speed.
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

// How many threads there may be for what neither io_uring nor epoll can do. Each kind of work has
// threads of its own, started when they are needed and ended when they have been idle for some
// seconds. What comes when all are busy waits for one, and can be cancelled there.
//
// A call that is stuck keeps its thread, also after its task has given it up; so the bound is also
// how many stuck calls it takes until the next one waits. From 1 to 4096, else Errc::bad_argument.
class ReactorOptions {
 public:
  ReactorOptions() noexcept = default;
  // For offload(). Default: 64.
  ReactorOptions&& offload_threads(std::size_t most) &&;
  // For resolve() and connect_to(). Default: 16.
  ReactorOptions&& name_threads(std::size_t most) &&;
  // For files, where epoll is used. Default: 16.
  ReactorOptions&& file_threads(std::size_t most) &&;

  std::size_t offload_threads() const noexcept { return offload_; }
  std::size_t name_threads() const noexcept { return names_; }
  std::size_t file_threads() const noexcept { return files_; }

 private:
  // A thread that is stuck costs a few kilobytes; a disk serves about this many requests at a time,
  // a resolver about as many.
  std::size_t offload_ = 64;
  std::size_t names_ = 16;
  std::size_t files_ = 16;
};

std::unique_ptr<Reactor> system_reactor(ReactorKind kind,
                                        ReactorOptions options = ReactorOptions());

// True when the kernel lets this process use io_uring with all that is needed of it.
bool uring_works() noexcept;

// What a reactor that came from here uses: "uring", "epoll", or "none yet". For reports and tests.
const char* reactor_name(const Reactor& reactor) noexcept;

}  // namespace tiffany
