#include "tiffany/detail/world/line_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <string_view>
#include <thread>
#include <utility>

namespace tiffany::detail {

namespace {

constexpr std::chrono::milliseconds kLinger(1);

}  // namespace

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

struct LineWriter::Shared {
  Shared(int to, std::size_t most, std::mutex* given)
      : fd(to),
        capacity(most),
        mutex(given != nullptr ? *given : own_mutex),
        enough(std::min(most / 2, std::size_t{256} << 10)) {}

  void run();
  bool write_all(std::string_view text) const noexcept;

  const int fd;
  const std::size_t capacity;
  std::mutex own_mutex;
  std::mutex& mutex;
  std::condition_variable work;     // the buffer is not empty, or it ends
  std::condition_variable written;  // the thread has taken and written a buffer
  std::string buffer;
  std::uint64_t put = 0;   // buffers that were begun
  std::uint64_t done = 0;  // and written, or dropped
  std::uint64_t dropped = 0;
  std::uint64_t failed = 0;
  const std::size_t enough;  // bytes that are written without waiting for more
  bool idle = false;         // the thread waits for work
  bool hurry = false;        // somebody waits until it is written
  bool ends = false;
  std::thread thread;
};

// A descriptor that does not block is waited for: it may be shared with a program that made it so.
bool LineWriter::Shared::write_all(std::string_view text) const noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      (void)::poll(&wait, 1, 1000);
      const std::lock_guard lock(mutex);
      if (ends) return false;  // nobody reads, and the program wants to end
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void LineWriter::Shared::run() {
  std::string taken;
  std::unique_lock lock(mutex);
  for (;;) {
    idle = true;
    work.wait(lock, [this] { return !buffer.empty() || ends; });
    idle = false;
    if (buffer.empty()) return;
    // Others come soon after the first: a write, and a wake of this thread, is for many lines.
    work.wait_for(lock, kLinger, [this] { return buffer.size() >= enough || hurry || ends; });
    hurry = false;
    taken.clear();
    std::swap(taken, buffer);
    const std::uint64_t number = put;
    lock.unlock();
    const bool good = write_all(taken);
    lock.lock();
    if (!good) ++failed;
    done = number;
    written.notify_all();
  }
}

LineWriter::LineWriter(int fd, std::size_t capacity)
    : shared_(std::make_unique<Shared>(fd, capacity, nullptr)) {}

LineWriter::LineWriter(int fd, std::size_t capacity, std::mutex& mutex)
    : shared_(std::make_unique<Shared>(fd, capacity, &mutex)) {}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ends = true;
  }
  shared_->work.notify_one();
  if (shared_->thread.joinable()) shared_->thread.join();
}

LineWriter::Room::Room(LineWriter& writer)
    : Room(writer, std::unique_lock(writer.shared_->mutex)) {}

LineWriter::Room::Room(LineWriter& writer, std::unique_lock<std::mutex> held)
    : writer_(writer), lock_(std::move(held)), before_(writer.shared_->buffer.size()) {}

std::string& LineWriter::Room::text() noexcept { return writer_.shared_->buffer; }

LineWriter::Room::~Room() {
  Shared& shared = *writer_.shared_;
  if (shared.buffer.size() == before_) return;
  if (shared.buffer.size() > shared.capacity) {
    shared.buffer.resize(before_);
    ++shared.dropped;
    return;
  }
  if (before_ == 0) ++shared.put;
  if (!shared.thread.joinable()) {
    try {
      shared.thread = std::thread(&Shared::run, &shared);
    } catch (...) {  // no thread to be had: the line is lost, and the next one tries again
      shared.buffer.clear();
      shared.done = shared.put;
      ++shared.dropped;
      return;
    }
  }
  const bool wake = (shared.idle && before_ == 0) ||
                    (before_ < shared.enough && shared.buffer.size() >= shared.enough);
  // Before the lock goes: afterwards the writer may.
  if (wake) shared.work.notify_one();
}

void LineWriter::flush() {
  while (!flush_for(std::chrono::hours(1))) {
  }
}

bool LineWriter::flush_for(std::chrono::milliseconds longest) {
  std::unique_lock lock(shared_->mutex);
  const std::uint64_t number = shared_->put;
  if (shared_->done >= number) return true;
  shared_->hurry = true;
  shared_->work.notify_one();
  return shared_->written.wait_for(lock, longest, [&] { return shared_->done >= number; });
}

std::uint64_t LineWriter::dropped() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->dropped;
}
std::uint64_t LineWriter::failed() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failed;
}

}  // namespace tiffany::detail
