#include "tiffany/serve/http.hpp"

#include <algorithm>
#include <array>

#include "serve/comma_list.hpp"

namespace tiffany::http {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_token(std::string_view name) noexcept {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}
bool is_value(std::string_view value) noexcept {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}
void require_header(const std::string& name, const std::string& value) {
  if (is_token(name) && is_value(value)) return;
  throw Error(Errc::bad_argument,
              "\"" + name.substr(0, 64) +
                  "\" cannot be a header: its name has a character that is no part of a token, or "
                  "its value a line break or another control character.");
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

}  // namespace

bool same_name(std::string_view one, std::string_view other) noexcept {
  return one.size() == other.size() &&
         std::equal(one.begin(), one.end(), other.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

Headers& Headers::add(std::string name, std::string value) {
  require_header(name, value);
  all_.emplace_back(std::move(name), std::move(value));
  return *this;
}
Headers& Headers::set(std::string name, std::string value) {
  require_header(name, value);
  std::erase_if(all_, [&](const auto& header) { return same_name(header.first, name); });
  all_.emplace_back(std::move(name), std::move(value));
  return *this;
}

std::optional<std::string_view> Headers::find(std::string_view name) const noexcept {
  for (const auto& [key, value] : all_) {
    if (same_name(key, name)) return value;
  }
  return std::nullopt;
}

bool Headers::has_word(std::string_view name, std::string_view word) const noexcept {
  bool found = false;
  for (const auto& [key, value] : all_) {
    if (!same_name(key, name)) continue;
    for_each_listed(value, [&](std::string_view part) { found |= same_name(part, word); });
  }
  return found;
}

std::string_view Request::path() const noexcept {
  return std::string_view(target).substr(0, target.find('?'));
}
std::string_view Request::query() const noexcept {
  const std::size_t mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  std::string_view rest = query();
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const auto key = percent_decoded(pair.substr(0, equals));
    if (!key || *key != name) continue;
    return equals == std::string_view::npos ? std::string()
                                            : percent_decoded(pair.substr(equals + 1));
  }
  return std::nullopt;
}

std::string_view reason_of(int status) noexcept {
  constexpr std::array<std::pair<int, std::string_view>, 30> kReasons{{
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
  }};
  for (const auto& [number, reason] : kReasons) {
    if (number == status) return reason;
  }
  return "";
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

}  // namespace tiffany::http
