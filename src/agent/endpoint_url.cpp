#include "agent/endpoint_url.hpp"

#include <charconv>

#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {

namespace {

[[noreturn]] void refuse_url(std::string_view url, std::string_view why) {
  // Not with what may be a password.
  const std::size_t at = url.rfind('@');
  const std::string_view safe = at == std::string_view::npos ? url : url.substr(at);
  throw Error(Errc::bad_argument,
              "The URL of an endpoint, " + tiffany::detail::shown(safe.substr(0, 200)) + ", " +
                  std::string(why) +
                  " It looks like https://api.example.org/v1 or http://127.0.0.1:8080/v1.");
}

bool is_host(std::string_view host, bool bracketed) {
  for (const char c : host) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '.' && c != '_' && !(bracketed && c == ':')) return false;
  }
  return !host.empty();
}

}  // namespace

std::string EndpointUrl::authority() const {
  const bool usual = port == (encrypted ? 443 : 80);
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (!usual) text += ":" + std::to_string(port);
  return text;
}

bool EndpointUrl::on_loopback() const {
  if (host == "localhost" || host == "::1") return true;
  // As an address, and not as a name that begins so.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

EndpointUrl parse_endpoint_url(std::string_view url, std::string_view usual_path) {
  EndpointUrl found;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    found.encrypted = true;
  } else if (!rest.starts_with("http://")) {
    refuse_url(url, "begins with neither http:// nor https://.");
  }
  rest.remove_prefix(rest.find("//") + 2);
  for (const char c : rest) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f) refuse_url(url, "has a character that no URL has.");
    if (c == '?' || c == '#') refuse_url(url, "has a query or a fragment.");
    if (c == '@') refuse_url(url, "has the name of a user: keys come from a KeySource.");
  }
  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  found.path = slash == std::string_view::npos ? "" : std::string(rest.substr(slash));
  while (found.path.ends_with('/')) found.path.pop_back();
  if (found.path.empty()) found.path = usual_path;

  std::string_view port;
  const bool bracketed = authority.starts_with('[');
  if (bracketed) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) refuse_url(url, "has a [ without its ].");
    port = authority.substr(end + 1);
    authority = authority.substr(1, end - 1);
  } else if (const std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
    port = authority.substr(colon);
    authority = authority.substr(0, colon);
  }
  if (!is_host(authority, bracketed)) refuse_url(url, "has no valid name of a host.");
  found.host = authority;
  found.port = found.encrypted ? 443 : 80;
  if (!port.empty()) {
    const auto read = std::from_chars(port.data() + 1, port.data() + port.size(), found.port);
    if (port.front() != ':' || read.ec != std::errc() || read.ptr != port.data() + port.size() ||
        found.port == 0) {
      refuse_url(url, "has no valid port.");
    }
  }
  return found;
}

}  // namespace tiffany::agent
