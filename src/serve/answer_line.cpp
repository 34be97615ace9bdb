#include "serve/answer_line.hpp"

#include <utility>

#include "tiffany/structure/blocks.hpp"

namespace tiffany::http::detail {

Task<void> write_in_time(AnyStream& stream, std::string_view bytes, Duration longest) {
  constexpr std::size_t kPart = std::size_t{256} << 10;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kPart);
    const auto sent = co_await within(longest, stream.write(part));
    if (sent.timed_out()) throw ClientGone("A client did not read its answer in time.");
    bytes.remove_prefix(part.size());
  }
}

void AnswerLine::require_going_on() const {
  if (over_) throw ClientGone("The connection has ended before this answer.");
}

Task<void> AnswerLine::turn(std::uint64_t number) {
  if (number <= next_) co_return;
  ManualResetEvent mine;
  waiting_.emplace(number, &mine);
  struct Gone {
    AnswerLine& line;
    std::uint64_t number;
    ~Gone() { line.waiting_.erase(number); }
  };
  const Gone gone{*this, number};
  co_await mine.wait();
}

void AnswerLine::leave(std::uint64_t number) noexcept {
  if (number != next_) return;
  ++next_;
  const auto found = waiting_.find(next_);
  if (found != waiting_.end()) found->second->set();
}

Task<void> AnswerLine::put(std::uint64_t number, std::string answer, bool last) {
  if (number > next_) co_await turn(number);
  require_going_on();
  // A client that does not read: its answers wait where they are made.
  constexpr std::size_t kMostWaiting = std::size_t{256} << 10;
  while (out_.size() > kMostWaiting && !quiet_.is_set()) co_await quiet_.wait();
  require_going_on();
  out_ += answer;
  if (last) over_ = true;
  leave(number);
  if (quiet_.is_set()) co_await write_all();
}

Task<void> AnswerLine::send(std::uint64_t number, std::string_view piece) {
  if (number > next_) co_await turn(number);
  while (!quiet_.is_set()) co_await quiet_.wait();
  require_going_on();
  co_await write_in_time(stream_, piece, longest_write_);
}

Task<void> AnswerLine::write_all() {
  quiet_.reset();
  struct Quiet {
    AnswerLine& line;
    bool done = false;
    ~Quiet() {
      if (!done) line.over_ = line.failed_ = true;
      line.quiet_.set();
    }
  };
  Quiet after{*this};
  while (!out_.empty()) {
    const std::string now = std::exchange(out_, std::string());
    co_await write_in_time(stream_, now, longest_write_);
  }
  after.done = true;
}

}  // namespace tiffany::http::detail
