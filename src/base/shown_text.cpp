#include "base/shown_text.hpp"

#include <cstddef>

#include "base/utf8.hpp"

namespace tiffany::detail {
namespace {

char32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1) return byte_at(sequence, 0);
  char32_t code = byte_at(sequence, 0) & (0x7Fu >> sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    code = code << 6 | (byte_at(sequence, i) & 0x3Fu);
  }
  return code;
}

bool moves(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x61C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

void escape_code(std::string& out, char32_t code) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  if (code == '\n' || code == '\t' || code == '\r') {
    out += code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r";
    return;
  }
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[code >> shift & 15];
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 sequence = utf8_at(text, at);
    const std::string_view bytes = text.substr(at, sequence.bytes);
    at += sequence.bytes;
    if (!sequence.good) {
      for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += "\\x";
        out += kHexDigits[byte >> 4];
        out += kHexDigits[byte & 15];
      }
    } else if (moves(code_point(bytes))) {
      escape_code(out, code_point(bytes));
    } else {
      out += bytes;
    }
  }
  return out;
}

}  // namespace tiffany::detail
