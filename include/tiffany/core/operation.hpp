// One operation on the outside world, as a reactor sees it: what to do, with whose memory, and what
// came of it.
//
// The object, and the memory it names, belong to the reactor from submit() until done() is called
// or drop() returns. Who cancels therefore waits for one of the two, and no buffer is ever freed
// under the hands of the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiffany/base/intrusive_list.hpp"

namespace tiffany {

class Scheduler;

// A function that may block, for a thread. Returns the result of its operation. Made by
// std::make_shared: the thread that runs it keeps it alive, also when nobody waits for it any more.
class BlockingWork : public std::enable_shared_from_this<BlockingWork> {
 public:
  virtual ~BlockingWork() = default;
  virtual int run() noexcept = 0;
  // Called on the same thread after run() when nobody waits for the result any more.
  virtual void abandoned() noexcept {}
};

class Operation {
 public:
  enum class Kind : std::uint8_t {
    poll,      // until fd is ready for one of `flags` (POLLIN, POLLOUT); the result says for which
    read,      // into memory, size; offset -1 means where the file is
    write,     // all of it
    recv,      // as read, from a socket, with `flags`
    send,      // as write, to a socket, with `flags`
    recv_msg,  // memory is a msghdr
    send_msg,  // memory is a msghdr
    accept,    // the result is a descriptor
    connect,   // memory, size: the address
    sync,      // flags: not 0 means the data only
    allocate,  // flags: mode; offset, size
    open,      // memory: path, flags, size: mode; the result is a descriptor
    rename,    // memory, other: the two paths
    unlink,    // memory: path, flags
    work,      // memory is a BlockingWork; flags: a Lane
  };
  // Which threads do the work.
  enum Lane : int { kOffload = 0, kNames = 1 };
  enum class State : std::uint8_t {
    idle,
    in_flight,
    over,  // it has its result, and done() is about to come
  };
  using Done = void (*)(Scheduler&, Operation&) noexcept;

  Operation(Kind what, int descriptor, Done when_done) noexcept
      : done(when_done), fd(descriptor), kind(what) {}
  Operation(Operation&&) noexcept = default;  // only while it is idle
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const char* path() const noexcept { return static_cast<const char*>(memory); }
  bool writes() const noexcept { return kind == Kind::write || kind == Kind::send; }

  Done done;
  void* memory = nullptr;
  const void* other = nullptr;
  std::size_t size = 0;
  std::size_t progress = 0;  // of what writes: how much has gone
  std::int64_t offset = -1;
  int fd;
  int result = 0;  // what the system call would return, or a negative errno
  // Of the object that owns fd: a number that no other descriptor of this process ever has. 0: the
  // descriptor belongs to somebody else, who may close it or change it at any time.
  std::uint32_t incarnation = 0;
  int flags = 0;
  Kind kind;
  State state = State::idle;
  // A stream: fewer bytes than were asked for mean that there are no more for now.
  bool stream = false;
  // The descriptor was made by us and names an open file that no other process has, so that it may
  // be made non-blocking.
  bool made_here = false;
  // Of work: it uses what belongs to the waiter, who therefore waits for its end in any case.
  bool joined = false;
  // For the reactor: it has been asked for; a thread has it; it waits behind another one, or for
  // its descriptor to become ready.
  bool asked_for = false;
  bool pooled = false;
  bool queued = false;
  bool awaits_ready = false;

  // For the reactor: its place in a queue.
  Operation* next = nullptr;
  Operation* prev = nullptr;
};

// First in, first out.
using OperationQueue = IntrusiveList<Operation>;

}  // namespace tiffany
