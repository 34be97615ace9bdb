#include "tiffany/base/json.hpp"

#include <cstddef>

namespace tiffany {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// What a sequence that begins with this byte looks like: its length, and the range of the second
// byte, which is what rules out overlong forms, surrogates and what is beyond U+10FFFF.
struct Lead {
  std::size_t length;
  unsigned char second_low;
  unsigned char second_high;
};
constexpr Lead lead_of(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {1, 0, 0};  // no sequence begins so
}

struct Sequence {
  std::size_t bytes;  // to take; of a broken one, those that could have begun a good one
  bool good;
};
Sequence sequence_at(std::string_view text, std::size_t at) {
  const Lead lead = lead_of(byte_at(text, at));
  std::size_t bytes = 1;
  while (bytes < lead.length && at + bytes < text.size()) {
    const unsigned char next = byte_at(text, at + bytes);
    const unsigned char low = bytes == 1 ? lead.second_low : 0x80;
    const unsigned char high = bytes == 1 ? lead.second_high : 0xBF;
    if (next < low || next > high) break;
    ++bytes;
  }
  return {bytes, lead.length > 1 && bytes == lead.length};
}

constexpr bool is_plain(unsigned char c) {
  return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F && c < 0x80;
}

void escape(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
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
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
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

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_plain(byte_at(text, end))) ++end;
    out_ += text.substr(at, end - at);
    at = end;
    if (at == text.size()) break;
    if (byte_at(text, at) < 0x80) {
      escape(out_, byte_at(text, at++));
      continue;
    }
    const Sequence sequence = sequence_at(text, at);
    out_ += sequence.good ? text.substr(at, sequence.bytes) : kReplacement;
    at += sequence.bytes;
  }
  out_ += '"';
}

}  // namespace tiffany
