// Waiting for a descriptor of somebody else: libpq, libcurl and their like own theirs and do the
// reading and writing themselves; a task only waits until they can.
//
//   co_await readable(PQsocket(connection));
//
// The descriptor may be closed meanwhile, or its number given to another file: then the wait ends
// with an IoError (EBADF), at the latest after a tenth of a second. The kernel does not tell when
// the number of an eventfd, timerfd or epoll descriptor goes to another of these kinds at once;
// announce_close(fd) before the close ends the wait in any case, and without delay. Any number of
// tasks may wait for one, and wake in the order they came. Cancel: see io/io_call.hpp.
#pragma once

#include <poll.h>

#include <cstddef>

#include "tiffany/io/io_call.hpp"

namespace tiffany {

// Gives what the descriptor is ready for: POLLIN, POLLOUT, POLLHUP, POLLERR.
class [[nodiscard("this does nothing until awaited: co_await readable(fd)")]] IoWait final
    : public IoCall {
 public:
  static constexpr CallName call_name{"io_wait"};
  IoWait(int descriptor, int events) noexcept : IoCall(Kind::poll, descriptor) { flags = events; }
  IoWait(const Descriptor& descriptor, int events) noexcept : IoCall(Kind::poll, descriptor) {
    flags = events;
  }
  int finish() const { return static_cast<int>(outcome()); }

 private:
  const char* verb() const noexcept override { return "wait"; }
};

inline IoWait readable(int fd) noexcept { return IoWait(fd, POLLIN); }
inline IoWait writable(int fd) noexcept { return IoWait(fd, POLLOUT); }
inline IoWait readable(const Descriptor& on) noexcept { return IoWait(on, POLLIN); }
inline IoWait writable(const Descriptor& on) noexcept { return IoWait(on, POLLOUT); }

// To be called before a raw descriptor is closed, by a task or by what a task calls: ends the waits
// of this scheduler for it with an error.
void announce_close(int fd) noexcept;

}  // namespace tiffany
