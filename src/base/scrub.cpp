#include "tiffany/base/scrub.hpp"

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany {
namespace {

constexpr std::string_view kStars = "***";
constexpr std::size_t kLongLine = 16;

std::string percent_encoded(std::string_view text, const char* digits) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string in_digits(std::string_view text, const char* digits) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

std::string json_escaped(std::string_view text) {
  std::string out;
  JsonWriter writer(out);
  writer.value(text);
  return out.substr(1, out.size() - 2);
}

// As writers of JSON have it that write nothing but ASCII.
std::string json_in_ascii(std::string_view text, const char* digits) {
  const std::string escaped = json_escaped(text);
  std::string out;
  const auto unit = [&](std::uint32_t value) {
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out += digits[(value >> shift) & 15U];
  };
  for (std::size_t at = 0; at < escaped.size();) {
    const auto first = static_cast<unsigned char>(escaped[at]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (size == 1) {
      out += escaped[at++];
      continue;
    }
    std::uint32_t point = first & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
      point = point << 6 | (static_cast<unsigned char>(escaped[at + i]) & 0x3FU);
    }
    at += size;
    if (point >= 0x10000) {
      unit(0xD800 + ((point - 0x10000) >> 10));
      point = 0xDC00 + ((point - 0x10000) & 0x3FFU);
    }
    unit(point);
  }
  return out;
}

// The characters that stand for these bytes alone, when `before` bytes of something else come first
// in the group of three. At the end of what was encoded these are all, with the padding.
std::string base64_inside(std::string_view text, std::size_t before, bool ends) {
  const std::string all = to_base64(std::string(before, '\0') + std::string(text));
  const std::size_t bits = (before + text.size()) * 8;
  const std::size_t from = (before * 8 + 5) / 6;
  const std::size_t to = ends ? all.size() : bits / 6;
  return to > from ? all.substr(from, to - from) : "";
}

constexpr const char* kLower = "0123456789abcdef";
constexpr const char* kUpper = "0123456789ABCDEF";

}  // namespace

void Scrubber::add_form(std::string form) {
  if (form.size() < kShortest) return;
  if (std::find(needles_.begin(), needles_.end(), form) != needles_.end()) return;
  const auto at = std::find_if(needles_.begin(), needles_.end(),
                               [&](const std::string& each) { return each.size() < form.size(); });
  needles_.insert(at, std::move(form));
}

void Scrubber::add(std::string_view secret) {
  if (secret.size() < kShortest) return;
  add_form(std::string(secret));
  for (const char* const digits : {kLower, kUpper}) {
    add_form(percent_encoded(secret, digits));
    add_form(in_digits(secret, digits));
  }
  std::string plus = percent_encoded(secret, kUpper);  // as forms have it
  for (std::size_t at; (at = plus.find("%20")) != std::string::npos;) plus.replace(at, 3, "+");
  add_form(std::move(plus));
  if (detail::is_utf8(secret)) {
    add_form(json_escaped(secret));
    for (const char* const digits : {kLower, kUpper}) add_form(json_in_ascii(secret, digits));
  }
  for (const std::size_t each : {0U, 1U, 2U, 3U, 4U, 5U}) {
    std::string form = base64_inside(secret, each % 3, each >= 3);
    add_form(form);
    for (char& c : form) {
      if (c == '+') c = '-';
      if (c == '/') c = '_';
    }
    add_form(std::move(form));
  }
  if (secret.find('\n') != std::string_view::npos) {
    for (std::string_view rest = secret; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.size() >= kLongLine) add(line);
    }
  }
  for (auto& each : by_first_) each.clear();
  for (std::size_t i = 0; i < needles_.size(); ++i) {
    by_first_[static_cast<unsigned char>(needles_[i][0])].push_back(static_cast<std::uint32_t>(i));
  }
}

std::size_t Scrubber::scrub(std::string_view text, bool last, std::string& out) const {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    std::size_t found = 0;
    for (const std::uint32_t number : by_first_[static_cast<unsigned char>(rest[0])]) {
      const std::string& needle = needles_[number];  // the longest first
      if (rest.starts_with(needle)) {
        found = needle.size();
        break;
      }
      if (!last && rest.size() < needle.size() && needle.starts_with(rest)) return at;
    }
    if (found > 0) {
      out += kStars;
      at += found;
    } else {
      out += text[at++];
    }
  }
  return at;
}

std::string Scrubber::scrubbed(std::string_view text) const {
  std::string out;
  scrub(text, true, out);
  return out;
}

std::string Scrubber::Stream::add(std::string_view bytes) {
  if (secrets_->empty()) return std::string(bytes);
  std::string out;
  held_ += bytes;
  held_.erase(0, secrets_->scrub(held_, false, out));
  return out;
}

std::string Scrubber::Stream::finish() {
  std::string out;
  secrets_->scrub(held_, true, out);
  held_.clear();
  return out;
}

}  // namespace tiffany
