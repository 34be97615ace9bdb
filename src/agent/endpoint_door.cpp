#include "agent/endpoint_door.hpp"

#include <utility>

#include "tiffany/io/resolve.hpp"

namespace tiffany::agent {

EndpointDoor::EndpointDoor(EndpointUrl where, const std::string& trust) : url_(std::move(where)) {
  if (url_.encrypted) tls_.emplace(trust);
}

Task<http::StreamedAnswer> EndpointDoor::open(http::Request message) {
  Socket socket = co_await connect_to(url_.host, url_.port);
  if (!tls_) {
    AnyStream plain(std::move(socket));
    co_return co_await http::StreamedAnswer::open(std::move(plain), std::move(message));
  }
  AnyStream secured = co_await tls_->secure(std::move(socket), url_.host);
  co_return co_await http::StreamedAnswer::open(std::move(secured), std::move(message));
}

void set_headers(http::Request& message, const EndpointUrl& url, std::string accept) {
  message.keep_alive = false;
  message.headers.set("host", url.authority());
  message.headers.set("user-agent", "tiffany");
  message.headers.set("accept", std::move(accept));
  message.headers.set("accept-encoding", "identity");
  message.headers.set("content-type", "application/json");
}

void set_key(http::Request& message, const std::string& header, const std::string& key) {
  if (key.empty()) return;
  const bool bearer = http::same_name(header, "authorization");
  message.headers.set(header, bearer ? "Bearer " + key : key);
}

std::string media_type(const http::Response& head) {
  const std::string_view whole = head.headers.find("content-type").value_or("");
  std::string type;
  for (const char c : whole.substr(0, whole.find(';'))) {
    if (c == ' ' || c == '\t') continue;
    type += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return type;
}

}  // namespace tiffany::agent
