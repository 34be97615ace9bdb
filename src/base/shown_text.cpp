#include "base/shown_text.hpp"

#include <cstddef>

#include "base/utf8.hpp"
#include "tiffany/base/hex.hpp"

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
  if (code == '\n' || code == '\t' || code == '\r') {
    out += code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r";
    return;
  }
  out += "\\u";
  append_hex(out, code, 4);
}

}  // namespace

std::string shown(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 sequence = utf8_at(text, at);
    const std::string_view bytes = text.substr(at, sequence.bytes);
    at += sequence.bytes;
    if (!sequence.good) {
      for (const char c : bytes) {
        out += "\\x";
        append_hex(out, static_cast<unsigned char>(c), 2);
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
