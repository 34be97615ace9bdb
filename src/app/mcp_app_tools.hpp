// Types of the program's own as tools of MCP (App::tool). Internal.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/mcp_progress.hpp"

namespace tiffany::app {

// Nothing when there is no such tool.
const App::Tool* tool_of_app(const App& app, std::string_view name) noexcept;
// JSON Schema: an object with a member for each argument of the type.
std::string input_of_app_tool(const App& app, const App::Tool& tool);
// One of the array `tools` of tools/list.
std::string app_tool_text(const App& app, const App::Tool& tool);

// The arguments of a schema that are also in headers (x-mcp-header), with the names of these. Errc
// bad_json or bad_argument for what is no schema of an object, or no name of a header.
std::vector<std::pair<std::string, std::string>> headers_in_schema(std::string_view schema);

// Starts the task, which is on disk then; what the API says of it. CliFailure.
Task<Json> start_app_tool(McpDoor& door, const App::Tool& tool, std::string arguments);
// Members of the result of tools/call: of the end of the task or, when that does not come in the
// time that a client has, of the task as it is. CliFailure.
Task<std::string> wait_for_app_tool(McpDoor& door, McpProgress& progress, Json task);
// Members of the result of a task that has ended: what it gave, and the task itself.
std::string app_tool_result(const App& app, const Json& task);

}  // namespace tiffany::app
