// Which variables of the environment a program hands down to commands that it starts.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tiffany {

// What a program needs to find its way: PATH, HOME, LANG, LC_* and the like. No secrets are kept
// under these names, so commands inherit them, and nothing else.
inline bool is_basic_variable(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 10> kBasics = {
      "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"};
  return name.starts_with("LC_") ||
         std::find(kBasics.begin(), kBasics.end(), name) != kBasics.end();
}

}  // namespace tiffany
