// A little of a line that is no record, for those who are told.
#pragma once

#include <string>
#include <string_view>

namespace tiffany::wal {

inline std::string excerpt(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 60)) text += c >= 0x20 && c < 0x7F ? c : '.';
  return text;
}

}  // namespace tiffany::wal
