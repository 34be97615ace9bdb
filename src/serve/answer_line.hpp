// The answers of one connection, in the order of their requests. Internal.
//
// Requests that were sent behind one another are handled beside one another. Each has a number, and
// its answer is sent when all before it are. What is answered while something is being sent is sent
// with the next write: many answers are one system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::http::detail {

// The client is gone, or too slow: nobody is there to be answered.
class ClientGone : public Error {
 public:
  explicit ClientGone(const std::string& why) : Error(Errc::io_failed, why) {}
};

// The bound is for no progress at all, so what is long is sent in parts.
Task<void> write_in_time(AnyStream& stream, std::string_view bytes, Duration longest);

class AnswerLine {
 public:
  AnswerLine(AnyStream& stream, Duration longest_write) noexcept
      : stream_(stream), longest_write_(longest_write) {}
  AnswerLine(const AnswerLine&) = delete;
  AnswerLine& operator=(const AnswerLine&) = delete;

  std::uint64_t enter() noexcept { return entered_++; }
  // The number of the next one to enter: its turn is when all are answered.
  std::uint64_t next() const noexcept { return entered_; }
  // Returns when the answers before that one are sent or will be with the next write.
  Task<void> turn(std::uint64_t number);
  // A whole answer: may return before it is sent, and lets the next one have its turn.
  Task<void> put(std::uint64_t number, std::string answer, bool last);
  // A piece of an answer: returns when it is sent. The turn is kept.
  Task<void> send(std::uint64_t number, std::string_view piece);
  // The one behind it may answer. A second time: nothing.
  void leave(std::uint64_t number) noexcept;

  // Nothing more is answered: the last answer was given, or the client is gone.
  bool over() const noexcept { return over_; }
  // A write has failed.
  bool failed() const noexcept { return failed_; }
  void end() noexcept { over_ = true; }
  // Set when the client has closed its end.
  ManualResetEvent& hung_up() noexcept { return hung_up_; }

 private:
  Task<void> write_all();
  void require_going_on() const;

  AnyStream& stream_;
  Duration longest_write_;
  std::uint64_t entered_ = 0;
  std::uint64_t next_ = 0;  // whose turn it is
  std::unordered_map<std::uint64_t, ManualResetEvent*> waiting_;
  std::string out_;               // answers that the next write takes
  ManualResetEvent quiet_{true};  // nothing is being written
  ManualResetEvent hung_up_;
  bool over_ = false;
  bool failed_ = false;
};

}  // namespace tiffany::http::detail
