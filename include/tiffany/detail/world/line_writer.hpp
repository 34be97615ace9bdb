// Writes lines to a descriptor on a thread of its own, so that whoever has a line never waits for
// the disk, the pipe or the terminal behind it.
//
// Bounded: lines that find the buffer full are dropped whole, and counted. A descriptor that cannot
// be written to drops what it was given, and counts that; it is tried again with the next lines.
//
// Thread safety: all calls may be made from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace tiffany::detail {

bool is_terminal(int fd) noexcept;

class LineWriter {
 public:
  // The descriptor stays the caller's, and open until close() or the destructor has returned. The
  // thread is started with the first line.
  LineWriter(int fd, std::size_t capacity);
  // With a mutex that the caller has anyway, so that a line needs no second one. The mutex outlives
  // the writer, and must not be held when a function of the writer is called.
  LineWriter(int fd, std::size_t capacity, std::mutex& mutex);
  // Writes what was put before.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Locks the buffer; what is appended to text() until the guard goes is written, unless that is
  // more than the room: then it is dropped.
  class Room {
   public:
    explicit Room(LineWriter& writer);
    // `held`: the lock of the mutex that the writer was given.
    Room(LineWriter& writer, std::unique_lock<std::mutex> held);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    std::string& text() noexcept;

   private:
    LineWriter& writer_;
    std::unique_lock<std::mutex> lock_;
    std::size_t before_;
  };

  // Returns when everything that was put before the call has been written or dropped.
  void flush();
  // The same, and false, when that takes longer.
  bool flush_for(std::chrono::milliseconds longest);

  std::uint64_t dropped() const;  // lines that found no room
  std::uint64_t failed() const;   // writes that failed

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tiffany::detail
