#include "tiffany/base/json.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>

#include "base/plain_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/hex.hpp"

namespace tiffany {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void escape(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      out += "\\u00";
      append_hex(out, c, 2);
  }
}

// The fewest digits that give the same number back.
template <class N>
std::string shortest(N number) {
  if (!std::isfinite(number)) {
    throw Error(Errc::bad_argument, std::string("JSON has no ") +
                                        (std::isnan(number) ? "NaN" : "infinity") +
                                        ": write null or a string in its place.");
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof digits, number);
  return std::string(digits, result.ptr);
}

}  // namespace

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  if (break_line_) out_ += '\n';
  break_line_ = false;
}

void JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  comma_ = false;
}

void JsonWriter::close(char bracket) {
  if (break_line_) out_ += '\n';
  break_line_ = false;
  out_ += bracket;
  comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  comma_ = false;
}

void JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  comma_ = true;
}

void JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
  comma_ = true;
}

void JsonWriter::number_value(std::int64_t number) { raw(std::to_string(number)); }
void JsonWriter::number_value(std::uint64_t number) { raw(std::to_string(number)); }
void JsonWriter::value(double number) { raw(shortest(number)); }
void JsonWriter::value(float number) { raw(shortest(number)); }

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = detail::plain_bytes(text, at);
    out_.append(text, at, plain);
    at += plain;
    if (at == text.size()) break;
    if (detail::byte_at(text, at) < 0x80) {
      escape(out_, detail::byte_at(text, at++));
      continue;
    }
    const detail::Utf8 sequence = detail::utf8_at(text, at);
    out_ += sequence.good ? text.substr(at, sequence.bytes) : kReplacement;
    at += sequence.bytes;
  }
  out_ += '"';
}

}  // namespace tiffany
