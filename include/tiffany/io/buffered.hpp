// Lines and exact numbers of bytes from a stream that gives them as they come; and small writes
// gathered into large ones. Over every stream (io/stream.hpp): sockets, TLS, pipes.
//
//   BufferedReader reader(socket);
//   while (std::optional<std::string> line = co_await reader.line()) ...
//
//   BufferedWriter writer(socket);
//   for (const Row& row : rows) co_await writer.write(row.text());
//   co_await writer.flush();
//
// Cancel. What has been read ahead stays in the reader when a call is cancelled, and what was not
// written yet in the writer, so that nothing is lost. Both have a bound; a line beyond it is an
// error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

template <ReadStream S>
class BufferedReader {
 public:
  // Refers to the stream, which must outlive it. `most`: bytes that it holds at a time.
  explicit BufferedReader(S& stream, std::size_t most = 65536) : stream_(&stream), most_(most) {}

  // The next line, without its "\n" or "\r\n". None at the end of the stream; a last line without
  // an end counts. Throws Errc::line_too_long.
  Task<std::optional<std::string>> line() {
    std::size_t looked = 0;
    for (;;) {
      const std::size_t end = buffer_.find('\n', begin_ + looked);
      if (end != std::string::npos) {
        std::string found = buffer_.substr(begin_, end - begin_);
        begin_ = end + 1;
        if (!found.empty() && found.back() == '\r') found.pop_back();
        co_return found;
      }
      looked = size();
      if (size() >= most_) {
        throw Error(Errc::line_too_long, "A line is longer than the " + std::to_string(most_) +
                                             " bytes that its reader holds; give the reader more.");
      }
      const std::size_t came = co_await fill();
      if (came > 0) continue;
      if (size() == 0) co_return std::nullopt;
      std::string rest = buffer_.substr(begin_);
      begin_ = buffer_.size();
      co_return rest;
    }
  }

  // Exactly so many bytes. Throws Errc::end_of_stream when there are fewer; those stay.
  Task<std::string> exactly(std::size_t count) {
    std::string out;
    while (size() < count && size() < most_) {
      const std::size_t came = co_await fill();
      if (came == 0) end_too_early(count);
    }
    if (count <= size()) {
      out = buffer_.substr(begin_, count);
      begin_ += count;
      co_return out;
    }
    // More than the buffer holds. It grows for this one, so that a cancel loses nothing.
    const std::size_t before = std::exchange(most_, count);
    while (size() < count) {
      std::size_t came = 0;
      try {
        came = co_await fill();
      } catch (...) {
        most_ = before;
        throw;
      }
      if (came == 0) {
        most_ = before;
        end_too_early(count);
      }
    }
    most_ = before;
    out = buffer_.substr(begin_, count);
    begin_ += count;
    co_return out;
  }

  // What is there, or else what comes next; 0 at the end.
  Task<std::size_t> read(Room room) {
    if (size() == 0) co_return co_await stream_->read(room);
    const std::size_t count = std::min(room.size(), size());
    std::memcpy(room.data(), buffer_.data() + begin_, count);
    begin_ += count;
    co_return count;
  }

  // Bytes that were read ahead.
  std::size_t size() const noexcept { return buffer_.size() - begin_; }

 private:
  Task<std::size_t> fill() {
    if (begin_ > 0) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    // Read into a room of its own: while the stream is awaited the buffer holds what it held.
    const std::size_t before = buffer_.size();
    const std::size_t want = std::min<std::size_t>(most_ - before, 16384);
    if (room_.size() < want) room_.resize(want);
    const std::size_t came = co_await stream_->read(Room(room_.data(), want));
    buffer_.append(room_.data(), came);
    co_return came;
  }
  [[noreturn]] void end_too_early(std::size_t count) const {
    throw Error(Errc::end_of_stream, "The stream ended after " + std::to_string(size()) +
                                         " of the " + std::to_string(count) +
                                         " bytes that were asked for.");
  }

  S* stream_;
  std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::string room_;
};

template <WriteStream S>
class BufferedWriter {
 public:
  // Refers to the stream, which must outlive it. `most`: bytes that it holds at a time. What was
  // not flushed when it is destroyed is not written.
  explicit BufferedWriter(S& stream, std::size_t most = 16384) : stream_(&stream), most_(most) {}
  BufferedWriter(const BufferedWriter&) = delete;
  BufferedWriter& operator=(const BufferedWriter&) = delete;

  // Keeps the bytes, or writes them when there are too many to keep. Gives their number.
  // Cancel. Before start and while parked: either none of these bytes was taken, and Cancelled is
  // thrown, or a part of them was written and its size is given. After completion: all were taken.
  Task<std::size_t> write(Bytes bytes) {
    if (size() + bytes.size() > most_) co_await flush();
    if (bytes.size() >= most_) co_return co_await stream_->write(bytes);
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    co_return bytes.size();
  }

  // Writes what is kept.
  // Cancel. Before start and while parked: what was not written stays. After completion: it was.
  Task<void> flush() {
    while (size() > 0) {
      const Account account(*this);
      went_ = co_await stream_->write(Bytes(buffer_));
    }
  }

  // Bytes that were taken and not written yet.
  std::size_t size() const noexcept { return buffer_.size(); }

 private:
  // Forgets what the stream has taken, also when the write threw. A TLS stream takes bytes for good
  // before they are on their way, and says how many.
  class Account {
   public:
    explicit Account(BufferedWriter& writer) noexcept : writer_(writer), before_(taken()) {
      writer_.went_ = 0;
    }
    ~Account() { writer_.buffer_.erase(0, std::max(writer_.went_, taken() - before_)); }
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

   private:
    std::size_t taken() const noexcept {
      if constexpr (requires { writer_.stream_->written(); }) {
        return static_cast<std::size_t>(writer_.stream_->written());
      } else {
        return 0;
      }
    }
    BufferedWriter& writer_;
    std::size_t before_;
  };

  S* stream_;
  std::size_t most_;
  std::string buffer_;
  std::size_t went_ = 0;
};

}  // namespace tiffany
