#include "tiffany/base/json_reader.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/plain_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/hex.hpp"

namespace tiffany {
namespace {

constexpr bool is_json_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_visible(char c) { return c > 0x20 && c < 0x7F; }

// -1 for what is none.
constexpr int hex_digit(char c) {
  if (is_json_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool is_high_surrogate(unsigned code) { return code >= 0xD800 && code <= 0xDBFF; }
constexpr bool is_low_surrogate(unsigned code) { return code >= 0xDC00 && code <= 0xDFFF; }

void append_utf8(std::string& out, unsigned code) {
  const auto add = [&out](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

constexpr char unescaped(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;  // a quote, a backslash or a slash
  }
}

unsigned code_at(std::string_view body, std::size_t at) {
  unsigned code = 0;
  for (const char c : body.substr(at, 4)) code = code * 16 + static_cast<unsigned>(hex_digit(c));
  return code;
}

// Of the inside of a string that has been checked.
void unescape(std::string_view body, std::string& out) {
  out.clear();
  out.reserve(body.size());
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] != '\\') {
      out += body[at++];
    } else if (body[at + 1] != 'u') {
      out += unescaped(body[at + 1]);
      at += 2;
    } else {
      unsigned code = code_at(body, at + 2);
      at += 6;
      if (is_high_surrogate(code)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (code_at(body, at + 2) - 0xDC00);
        at += 6;
      }
      append_utf8(out, code);
    }
  }
}

std::string found_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "The JSON text ends";
  if (!is_visible(text[at])) {
    const unsigned char byte = detail::byte_at(text, at);
    return std::string("The JSON text has 0x") + kHexDigits[byte >> 4] + kHexDigits[byte & 15];
  }
  constexpr std::size_t kShown = 24;
  std::size_t end = at;
  while (end < text.size() && end - at < kShown && is_visible(text[end])) ++end;
  const bool cut = end < text.size() && is_visible(text[end]);
  return "The JSON text has " + std::string(text.substr(at, end - at)) + (cut ? "..." : "");
}

}  // namespace

void JsonReader::fail(std::string_view expected, std::size_t at) const {
  throw Error(Errc::bad_json, found_at(text_, at) + " at byte " + std::to_string(at) + ", where " +
                                  std::string(expected) + " was expected.");
}

void JsonReader::skip_space() noexcept {
  while (ahead(' ') || ahead('\n') || ahead('\r') || ahead('\t')) ++at_;
}

JsonKind JsonReader::kind() {
  skip_space();
  if (at_end()) fail("a value");
  const char c = text_[at_];
  if (c == '{') return JsonKind::object;
  if (c == '[') return JsonKind::array;
  if (c == '"') return JsonKind::string;
  if (c == 't' || c == 'f') return JsonKind::boolean;
  if (c == 'n') return JsonKind::null;
  if (c == '-' || is_json_digit(c)) return JsonKind::number;
  fail("a value");
}

void JsonReader::open(char bracket, std::string_view expected) {
  skip_space();
  if (!ahead(bracket)) fail(expected);
  if (depth_ == deepest_) {
    fail("something less than " + std::to_string(deepest_) + " brackets deep");
  }
  ++at_;
  ++depth_;
  first_ = true;
}

// Over the comma, or over the bracket that closes.
bool JsonReader::more(char bracket, std::string_view expected) {
  skip_space();
  if (depth_ > 0 && ahead(bracket)) {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (!ahead(',')) fail(expected);
    ++at_;
  }
  first_ = false;
  return true;
}

void JsonReader::begin_object() { open('{', "an object"); }
void JsonReader::begin_array() { open('[', "an array"); }

bool JsonReader::next_element() {
  if (!more(']', "a comma or the end of the array")) return false;
  kind();  // refuses a bracket after a comma
  return true;
}

// To the value of the next member.
bool JsonReader::next_name(Text& name) {
  if (!more('}', "a comma or the end of the object")) return false;
  skip_space();
  if (!ahead('"')) fail("the name of a member");
  name = text();
  skip_space();
  if (!ahead(':')) fail("a colon");
  ++at_;
  return true;
}

bool JsonReader::next_member(std::string& name) {
  Text read;
  if (!next_name(read)) return false;
  if (read.escaped) {
    unescape(read.body, name);
  } else {
    name.assign(read.body);
  }
  return true;
}

std::string JsonReader::string() {
  skip_space();
  if (!ahead('"')) fail("a string");
  const Text read = text();
  if (!read.escaped) return std::string(read.body);
  std::string out;
  unescape(read.body, out);
  return out;
}

// Over a string, from its first quote; all of it is checked.
JsonReader::Text JsonReader::text() {
  const std::size_t begin = ++at_;
  bool escaped = false;
  for (;;) {
    at_ += detail::plain_bytes(text_, at_);
    if (ahead('"')) break;
    if (at_end()) fail("the end of the string");
    if (ahead('\\')) {
      escape();
      escaped = true;
    } else if (detail::byte_at(text_, at_) < 0x20) {
      fail("a character of a string");
    } else {
      const detail::Utf8 sequence = detail::utf8_at(text_, at_);
      if (!sequence.good) fail("valid UTF-8");
      at_ += sequence.bytes;
    }
  }
  return {text_.substr(begin, at_++ - begin), escaped};
}

void JsonReader::escape() {
  const std::size_t begin = at_++;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  if (at_end()) fail("the rest of an escape");
  if (!ahead('u')) {
    if (kLetters.find(text_[at_]) == std::string_view::npos) fail("an escape", begin);
    ++at_;
    return;
  }
  ++at_;
  const unsigned code = hex4();
  if (is_low_surrogate(code)) fail("a high surrogate before the low one", begin);
  if (!is_high_surrogate(code)) return;
  const std::size_t second = at_;
  if (!text_.substr(at_).starts_with("\\u")) fail("the low surrogate of a pair");
  at_ += 2;
  if (!is_low_surrogate(hex4())) fail("the low surrogate of a pair", second);
}

unsigned JsonReader::hex4() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const int digit_value = at_end() ? -1 : hex_digit(text_[at_]);
    if (digit_value < 0) fail("a hexadecimal digit");
    code = code * 16 + static_cast<unsigned>(digit_value);
  }
  return code;
}

void JsonReader::word(std::string_view letters, std::string_view expected) {
  if (!text_.substr(at_).starts_with(letters)) fail(expected);
  at_ += letters.size();
}

bool JsonReader::boolean() {
  skip_space();
  const bool value = ahead('t');
  word(value ? "true" : "false", "true or false");
  return value;
}

void JsonReader::null() {
  skip_space();
  word("null", "null");
}

void JsonReader::digits() {
  if (at_end() || !is_json_digit(text_[at_])) fail("a digit");
  while (!at_end() && is_json_digit(text_[at_])) ++at_;
}

// Over a number. What would make it another one, as in 01, is left for the next who looks.
std::string_view JsonReader::number_text(std::string_view expected) {
  skip_space();
  if (!ahead('-') && (at_end() || !is_json_digit(text_[at_]))) fail(expected);
  const std::size_t begin = at_;
  if (ahead('-')) ++at_;
  if (ahead('0')) {
    ++at_;
  } else {
    digits();
  }
  if (ahead('.')) {
    ++at_;
    digits();
  }
  if (ahead('e') || ahead('E')) {
    ++at_;
    if (ahead('+') || ahead('-')) ++at_;
    digits();
  }
  return text_.substr(begin, at_ - begin);
}

template <class N>
N JsonReader::whole(std::string_view expected) {
  const std::string_view text = number_text(expected);
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(expected, at_ - text.size());
  return value;
}

template <class N>
N JsonReader::real(std::string_view expected) {
  const std::string_view text = number_text("a number");
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Standard libraries do not agree about what is too small; here it is an error with all of them.
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  const bool vanished = value == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
  if (error != std::errc() || !std::isfinite(value) || vanished) fail(expected, at_ - text.size());
  return value;
}

std::int64_t JsonReader::integer() { return whole<std::int64_t>("an integer of 64 bits"); }
std::uint64_t JsonReader::unsigned_integer() {
  return whole<std::uint64_t>("an unsigned integer of 64 bits");
}
double JsonReader::number() { return real<double>("a number in the range of a double"); }
float JsonReader::single() { return real<float>("a number in the range of a float"); }

void JsonReader::skip() {
  switch (kind()) {
    case JsonKind::null:
      return null();
    case JsonKind::boolean:
      boolean();
      return;
    case JsonKind::number:
      number_text("a number");
      return;
    case JsonKind::string:
      text();
      return;
    case JsonKind::array:
      begin_array();
      while (next_element()) skip();
      return;
    case JsonKind::object:
      begin_object();
      for (Text name; next_name(name);) skip();
      return;
  }
}

std::string_view JsonReader::raw() {
  skip_space();
  const std::size_t begin = at_;
  skip();
  return text_.substr(begin, at_ - begin);
}

void JsonReader::end() {
  skip_space();
  if (!at_end()) fail("the end of the text");
}

}  // namespace tiffany
