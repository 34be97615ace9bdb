#include "tiffany/serve/http_client.hpp"

#include <array>
#include <exception>
#include <string>
#include <utility>

#include "serve/http_parser.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany::http {

namespace {

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

}  // namespace tiffany::http
