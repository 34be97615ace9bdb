// Prompts of MCP: those of the program (App::prompt), and the skills of agents. Internal.
#pragma once

#include <string>

#include "app/mcp_door.hpp"
#include "app/mcp_message.hpp"

namespace tiffany::app {

// Members of results, without the braces around them. They throw RpcFailure.

// Of prompts/list.
Task<std::string> list_mcp_prompts(McpDoor& door);
// Of prompts/get.
Task<std::string> get_mcp_prompt(McpDoor& door, RawObject params);
// Of completion/complete: ids of tasks, units and files of plans for the names in the addresses of
// resources, and values of arguments of prompts.
Task<std::string> complete_for_mcp(McpDoor& door, RawObject params);

}  // namespace tiffany::app
