#include "tiffany/base/canonical_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/plain_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/hex.hpp"

namespace tiffany {
namespace {

// Characters beyond U+FFFF are two surrogates (0xD800-0xDFFF) in UTF-16, and so come before those
// from U+E000 on, whose UTF-8 begins with 0xEE or 0xEF. All other first bytes are in order, and the
// bytes that follow them are below 0xC0.
constexpr unsigned utf16_rank(unsigned char byte) {
  return byte == 0xEE || byte == 0xEF ? byte + 0x10U : byte;
}

void canonical_escape(std::string& out, char c) {
  constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
  constexpr std::string_view kTo = "\"\\bfnrt";
  const std::size_t at = kFrom.find(c);
  out += '\\';
  if (at != std::string_view::npos) {
    out += kTo[at];
  } else {
    out += 'u';
    append_hex(out, static_cast<unsigned char>(c), 4);
  }
}

void canonical_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = detail::plain_bytes(text, at);
    out.append(text, at, plain);
    at += plain;
    if (at == text.size()) break;
    if (detail::byte_at(text, at) >= 0x80) {
      const std::size_t bytes = detail::utf8_at(text, at).bytes;
      out.append(text, at, bytes);
      at += bytes;
    } else if (const char c = text[at++];
               static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') {
      canonical_escape(out, c);
    } else {
      out += c;
    }
  }
  out += '"';
}

// Number::toString of ECMAScript: the fewest digits that give the number back, as "123000",
// "1.23", "0.00123" or "1.23e+30".
std::string canonical_number(double number) {
  if (number == 0) return "0";  // and so does minus zero
  char room[32];
  const auto end =
      std::to_chars(room, room + sizeof room, number, std::chars_format::scientific).ptr;
  const std::string_view written(room, static_cast<std::size_t>(end - room));
  const std::size_t e = written.find('e');
  std::string sign;
  std::string digits;
  for (const char c : written.substr(0, e)) {
    if (c == '-') {
      sign = "-";
    } else if (c != '.') {
      digits += c;
    }
  }
  std::string_view exponent = written.substr(e + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  int power = 0;
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);

  const int count = static_cast<int>(digits.size());
  const int point = power + 1;  // how many digits are before it
  if (point >= count && point <= 21) {
    return sign + digits + std::string(static_cast<std::size_t>(point - count), '0');
  }
  if (point > 0 && point <= 21) return sign + digits.insert(static_cast<std::size_t>(point), ".");
  if (point > -6 && point <= 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  }
  if (count > 1) digits.insert(1, ".");
  return sign + digits + (power < 0 ? "e-" : "e+") + std::to_string(power < 0 ? -power : power);
}

// Of two numbers of one size, the same digits are the same number.
std::string significant(std::string_view number) {
  std::string digits;
  for (const char c : number.substr(0, number.find('e'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

class Canonical {
 public:
  Canonical(std::string_view text, int deepest) : in_(text, deepest) { out_.reserve(text.size()); }

  std::string all() {
    value();
    in_.end();
    return std::move(out_);
  }

 private:
  // As deep as the reader lets it.
  void value() {  // NOLINT(misc-no-recursion)
    switch (in_.kind()) {
      case JsonKind::array:
        return array();
      case JsonKind::object:
        return object();
      case JsonKind::string:
        return canonical_string(out_, in_.string());
      case JsonKind::number:
        return number();
      default:
        out_ += in_.raw();
    }
  }

  void array() {  // NOLINT(misc-no-recursion)
    in_.begin_array();
    out_ += '[';
    for (bool first = true; in_.next_element(); first = false) {
      if (!first) out_ += ',';
      value();
    }
    out_ += ']';
  }

  // The members are written in the order in which they come, and then put into theirs.
  void object() {  // NOLINT(misc-no-recursion)
    struct Member {
      std::string name;
      std::string text;  // name, colon and value
    };
    in_.kind();
    const std::size_t begin = in_.offset();
    std::vector<Member> members;
    in_.begin_object();
    for (std::string name; in_.next_member(name);) {
      std::string outer = std::exchange(out_, std::string());
      canonical_string(out_, name);
      out_ += ':';
      value();
      members.push_back({std::move(name), std::exchange(out_, std::move(outer))});
    }
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return utf16_less(a.name, b.name); });
    const auto twice =
        std::adjacent_find(members.begin(), members.end(),
                           [](const Member& a, const Member& b) { return a.name == b.name; });
    if (twice != members.end()) in_.fail("an object that has each name once", begin);
    out_ += '{';
    for (const Member& each : members) {
      if (&each != members.data()) out_ += ',';
      out_ += each.text;
    }
    out_ += '}';
  }

  void number() {
    JsonReader again = in_;
    const std::size_t begin = in_.offset();
    const std::string_view written = in_.raw();
    const std::string made = canonical_number(again.number());
    const bool whole = written.find_first_of(".eE") == std::string_view::npos;
    if (whole && significant(made) != significant(written)) {
      in_.fail("an integer that a double keeps exactly (write others as strings)", begin);
    }
    out_ += made;
  }

  JsonReader in_;
  std::string out_;
};

}  // namespace

bool utf16_less(std::string_view a, std::string_view b) noexcept {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t at = 0; at < common; ++at) {
    if (a[at] == b[at]) continue;
    return utf16_rank(detail::byte_at(a, at)) < utf16_rank(detail::byte_at(b, at));
  }
  return a.size() < b.size();
}

std::string canonical_json(std::string_view text, int deepest) {
  return Canonical(text, deepest).all();
}

}  // namespace tiffany
