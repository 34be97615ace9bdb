#include "observe/log_levels.hpp"

#include <algorithm>
#include <array>

#include "tiffany/base/error.hpp"

namespace tiffany::observe::log {

namespace {

constexpr std::array<std::string_view, 5> kNames{"ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

Level level_of(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto found = std::find(kNames.begin(), kNames.end(), upper);
  if (found == kNames.end()) {
    throw Error(Errc::bad_argument, "\"" + std::string(text) +
                                        "\" is no level of the log: error, warn, info, debug or "
                                        "trace, alone or behind target=.");
  }
  return static_cast<Level>(found - kNames.begin());
}

}  // namespace

std::string_view name_of(Level level) noexcept { return kNames[static_cast<std::size_t>(level)]; }

Levels parse_levels(std::string_view text) {
  Levels all;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      all.all = level_of(part);
    } else {
      all.targets[std::string(part.substr(0, equals))] = level_of(part.substr(equals + 1));
    }
  }
  return all;
}

std::string text_of(const Levels& levels) {
  const auto lower = [](Level level) {
    std::string text(name_of(level));
    for (char& c : text) c = static_cast<char>(c - 'A' + 'a');
    return text;
  };
  std::string text = lower(levels.all);
  for (const auto& [target, level] : levels.targets) text += "," + target + "=" + lower(level);
  return text;
}

}  // namespace tiffany::observe::log
