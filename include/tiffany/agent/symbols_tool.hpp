// The tool `symbols`: where something is defined, found by universal-ctags.
//
//   agent::add_symbols_tool(services.tools, workshop);
//
// ctags reads the files of a checkout in a sandbox of level 2, and no options but ours: what the
// repository has of .ctags.d does not count. Only files that have the name at all are given to it.
#pragma once

#include "tiffany/agent/command_tool.hpp"
#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

// A machine without ctags has the tool, too: it says so when it is called.
void add_symbols_tool(ToolSet& tools, Workshop& workshop);

}  // namespace tiffany::agent
