// A server of tools as a file of the operator has it. Internal.
#pragma once

#include <string>
#include <vector>

#include "agent/config_reader.hpp"
#include "tiffany/agent/mcp_tools.hpp"

namespace tiffany::agent {

struct McpEntry {
  McpOptions options{};
  std::vector<std::string> secrets{};  // names, whose sources are elsewhere in the file
};

// One element of the list. `directory`: that of the file, with a slash at its end or empty; paths
// are found from there. Throws as ConfigReader::fail.
McpEntry read_mcp_entry(ConfigReader& in, const std::string& directory);

}  // namespace tiffany::agent
