// What the file of the setting `agents` says of tools that the library brings. Internal.
#pragma once

#include <string>

#include "agent/config_reader.hpp"
#include "tiffany/agent/fetch_tool.hpp"
#include "tiffany/agent/run_tool.hpp"

namespace tiffany::app {

// true, or an object with options; nothing for false.
std::optional<agent::RunOptions> run_options_in(agent::ConfigReader& in);
agent::FetchOptions fetch_options_in(agent::ConfigReader& in, const std::string& directory);

struct SkillSource {
  std::string path{};
  std::string pin{};
};
// A path, or an object with a path and a pin.
SkillSource skill_source_in(agent::ConfigReader& in, const std::string& directory);

// A relative path is one from the file that has it.
std::string path_from(const std::string& path, const std::string& directory);

}  // namespace tiffany::app
