#include "tiffany/serve/http_client.hpp"

#include <array>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "serve/http_parser.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany::http {

namespace {

constexpr int kMostInformation = 32;  // answers 1xx before the answer; servers send one or two

bool is_target(std::string_view target) noexcept {
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f) return false;
  }
  return !target.empty();
}

std::string text_of_request(const Request& request) {
  if (!is_target(request.target) || !is_target(request.method)) {
    throw Error(Errc::bad_argument,
                "The method and the target of a request have no spaces, line breaks or other "
                "control characters: encode them (%20).");
  }
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : request.headers) {
    if (same_name(name, "content-length") || same_name(name, "connection")) continue;
    text += name + ": " + value + "\r\n";
  }
  if (!request.headers.has("host")) text += "host: localhost\r\n";
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    text += "content-length: " + std::to_string(request.body.size()) + "\r\n";
  }
  if (!request.keep_alive) text += "connection: close\r\n";
  return text + "\r\n" + request.body;
}

}  // namespace

Task<Response> ask_on(AnyStream& stream, Request request, std::size_t longest) {
  const std::string text = text_of_request(request);
  // A server that does not want all of a long request answers and closes: the answer is there.
  std::exception_ptr cut_off;
  try {
    co_await stream.write(text);
  } catch (const IoError&) {
    cut_off = std::current_exception();
  }
  detail::ParserLimits bounds;
  bounds.body = longest;
  std::string buffer;
  std::array<char, 16384> room;
  for (;;) {
    detail::MessageParser parser(detail::MessageParser::Side::response, bounds,
                                 request.method == "HEAD");
    while (!parser.complete()) {
      if (!buffer.empty()) {
        const std::size_t taken = parser.take(buffer);
        buffer.erase(0, taken);
        if (taken > 0) continue;
      }
      std::size_t came = 0;
      try {
        came = co_await stream.read(room);
      } catch (const IoError&) {
        if (cut_off == nullptr) throw;
      }
      if (came == 0 && cut_off != nullptr) std::rethrow_exception(cut_off);
      if (came == 0) {
        parser.end();
        break;
      }
      buffer.append(room.data(), came);
    }
    Response response = parser.response();
    if (response.status >= 200 || response.status == 101) co_return response;
    // 100 Continue and its like: the answer comes behind it.
  }
}

Task<Response> fetch(Address server, Request request, std::size_t longest) {
  request.keep_alive = false;
  AnyStream stream(co_await connect(server));
  co_return co_await ask_on(stream, std::move(request), longest);
}

struct StreamedAnswer::State {
  State(AnyStream from, const detail::ParserLimits& bounds, bool without_body)
      : stream(std::move(from)),
        parser(detail::MessageParser::Side::response, bounds, without_body) {}
  AnyStream stream;
  detail::MessageParser parser;
  Response head{};
  std::string buffer{};
  std::array<char, 16384> room;

  // Gives the parser what there is and reads more; false: there is no more.
  Task<bool> step() {
    if (!buffer.empty()) {
      const std::size_t taken = parser.take(buffer);
      buffer.erase(0, taken);
      if (taken > 0) co_return true;
    }
    const std::size_t came = co_await stream.read(room);
    if (came == 0) {
      parser.end();
      co_return false;
    }
    buffer.append(room.data(), came);
    co_return true;
  }
};

StreamedAnswer::StreamedAnswer(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
StreamedAnswer::StreamedAnswer(StreamedAnswer&& from) noexcept = default;
StreamedAnswer& StreamedAnswer::operator=(StreamedAnswer&& from) noexcept = default;
StreamedAnswer::~StreamedAnswer() = default;
const Response& StreamedAnswer::head() const noexcept { return state_->head; }

Task<StreamedAnswer> StreamedAnswer::open(AnyStream stream, Request request) {
  const std::string text = text_of_request(request);
  // As in ask_on(): the answer may be there before all of the request is.
  std::exception_ptr cut_off;
  try {
    co_await stream.write(text);
  } catch (const IoError&) {
    cut_off = std::current_exception();
  }
  detail::ParserLimits bounds;
  bounds.body = std::numeric_limits<std::size_t>::max();
  const bool without_body = request.method == "HEAD";
  std::string rest;
  for (int heads = 1;; ++heads) {
    auto state = std::make_unique<State>(std::move(stream), bounds, without_body);
    state->buffer = std::move(rest);
    try {
      while (!state->parser.head_complete() && co_await state->step()) {
      }
    } catch (const Error&) {  // HttpError and IoError: no answer came
      if (cut_off == nullptr) throw;
    }
    if (!state->parser.head_complete() && cut_off != nullptr) std::rethrow_exception(cut_off);
    state->head = state->parser.head();
    if (state->head.status >= 200 || state->head.status == 101) {
      co_return StreamedAnswer(std::move(state));
    }
    // 100 Continue and its like: the answer comes behind it.
    if (heads == kMostInformation) {
      throw HttpError(400, "The server says 1xx again and again, and never its answer.");
    }
    stream = std::move(state->stream);
    rest = std::move(state->buffer);
  }
}

Task<std::string> StreamedAnswer::read() {
  for (;;) {
    std::string piece = state_->parser.take_body();
    if (!piece.empty() || state_->parser.complete()) co_return piece;
    if (!co_await state_->step()) co_return state_->parser.take_body();
  }
}

}  // namespace tiffany::http
