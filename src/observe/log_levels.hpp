// Which lines of the log are written, by target.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tiffany/observe/log.hpp"

namespace tiffany::observe::log {

struct Levels {
  Level all = Level::info;
  std::map<std::string, Level, std::less<>> targets{};

  Level of(std::string_view target) const noexcept {
    for (std::string_view part = target; !part.empty();) {
      if (const auto found = targets.find(part); found != targets.end()) return found->second;
      const std::size_t end = part.rfind("::");
      if (end == std::string_view::npos) break;
      part = part.substr(0, end);
    }
    return all;
  }
};

// "info,shop=debug". Throws Errc::bad_argument.
Levels parse_levels(std::string_view text);
std::string text_of(const Levels& levels);

}  // namespace tiffany::observe::log
