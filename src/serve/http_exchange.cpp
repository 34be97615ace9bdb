// One request and its answer.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "serve/answer_line.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_server.hpp"

namespace tiffany::http {

namespace {

std::string date_of_second(std::int64_t seconds) {
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::int64_t days = seconds / kSecondsOfDay;
  const auto of_day = static_cast<int>(seconds % kSecondsOfDay);
  const Date date = date_of(days);
  char text[40];
  std::snprintf(text, sizeof text, "%s, %02u %s %04d %02d:%02d:%02d GMT", kDays[weekday_of(days)],
                date.day, kMonths[date.month - 1], static_cast<int>(date.year), of_day / 3600,
                of_day / 60 % 60, of_day % 60);
  return text;
}

// Adds "date: Tue, 17 Nov 2026 09:30:00 GMT"; nothing in a world without a wall clock. The text is
// made once a second.
void add_date(std::string& head) {
  const auto now = World::current().wall_clock_us();
  if (!now) return;
  thread_local std::int64_t second = -1;
  thread_local std::string text;
  if (second != *now / 1'000'000) {
    second = *now / 1'000'000;
    text = date_of_second(second);
  }
  head += "date: ";
  head += text;
  head += "\r\n";
}

bool has_no_body(int status) noexcept { return status < 200 || status == 204 || status == 304; }

std::string_view sentence_of_status(int status) noexcept {
  const std::string_view reason = reason_of(status);
  return reason.empty() ? std::string_view("Unknown") : reason;
}

void add_number(std::string& text, std::uint64_t number) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

std::string Exchange::head_of(const Response& response) const {
  std::string head;
  head.reserve(256 + response.body.size());  // the body of a whole answer comes behind it
  head += "HTTP/1.1 ";
  add_number(head, static_cast<std::uint64_t>(response.status));
  head += ' ';
  head += sentence_of_status(response.status);
  head += "\r\n";
  bool dated = false;
  for (const auto& [name, value] : response.headers) {
    // What is about the message and not about its content is ours.
    if (same_name(name, "content-length") || same_name(name, "transfer-encoding") ||
        same_name(name, "connection")) {
      continue;
    }
    dated = dated || same_name(name, "date");
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  if (!dated) add_date(head);
  if (last_) head += "connection: close\r\n";
  return head;
}

Task<void> Exchange::send(std::string_view bytes) {
  if (line_.line != nullptr) return line_.line->send(line_.number, bytes);
  return detail::write_in_time(stream_, bytes, limits_.write_time);
}

Task<void> Exchange::respond(Response response) {
  if (begun_) throw Error(Errc::bad_argument, "A request was answered twice.");
  begun_ = true;
  std::string text = head_of(response);
  if (!has_no_body(response.status)) {
    text += "content-length: ";
    add_number(text, response.body.size());
    text += "\r\n";
  }
  text += "\r\n";
  if (request_.method != "HEAD" && !has_no_body(response.status)) text += response.body;
  if (line_.line != nullptr) {
    co_await line_.line->put(line_.number, std::move(text), last_);
  } else {
    co_await detail::write_in_time(stream_, text, limits_.write_time);
  }
}

Task<void> Exchange::begin(Response head) {
  if (begun_) throw Error(Errc::bad_argument, "A request was answered twice.");
  begun_ = true;
  streaming_ = true;
  chunked_ = !request_.old;
  if (!chunked_) last_ = true;  // the end of the connection is the end of the answer
  std::string text = head_of(head);
  if (chunked_) text += "transfer-encoding: chunked\r\n";
  text += "\r\n";
  co_await send(text);
}

Task<void> Exchange::write(std::string_view piece) {
  if (!streaming_)
    throw Error(Errc::bad_argument, "A piece of an answer was written before begin().");
  if (piece.empty() || request_.method == "HEAD") co_return;  // an empty chunk would be the end
  if (!chunked_) {
    co_await send(piece);
    co_return;
  }
  char size[24];
  const int length = std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  std::string text(size, static_cast<std::size_t>(length));
  text += piece;
  text += "\r\n";
  co_await send(text);
}

// What comes is the beginning of the next request.
Task<void> Exchange::closed() {
  if (line_.line != nullptr) {
    co_await line_.line->hung_up().wait();
    co_return;
  }
  // A stream may be there for long: its memory is given back, which an assignment would not do.
  if (rest_->empty()) std::string().swap(*rest_);
  std::array<char, 32> room;
  std::size_t came = 1;
  while (came > 0 && rest_->size() < limits_.head) {
    try {
      came = co_await stream_.read(room);
    } catch (const IoError&) {
      came = 0;
    }
    rest_->append(room.data(), came);
  }
}

Task<Exchange::Upgraded> Exchange::upgrade(Headers headers) {
  if (begun_) throw Error(Errc::bad_argument, "A request was answered twice.");
  begun_ = true;
  std::string text = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  text += "\r\n";
  last_ = true;
  upgraded_ = true;
  co_await send(text);
  co_return Upgraded{stream_, rest_ != nullptr ? std::move(*rest_) : std::string()};
}

Task<void> Exchange::finish() {
  if (streaming_ && chunked_ && request_.method != "HEAD") co_await send("0\r\n\r\n");
}

}  // namespace tiffany::http
