// The tools of `mcp`: what a client can do with the tasks of a daemon. Internal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "app/mcp_door.hpp"
#include "app/mcp_message.hpp"
#include "app/mcp_progress.hpp"

namespace tiffany::app {

struct McpTool {
  std::string_view name;
  std::string_view title;
  std::string_view about;   // for the model of the client
  std::string_view input;   // JSON Schema
  std::string_view hints;   // members of `annotations`
  bool answers_for_people;  // there only where approvals are allowed
  // A JSON object. Throws CliFailure.
  Task<std::string> (*call)(McpDoor& door, RawObject arguments, McpProgress& progress);
};

// Clients give up after a minute, many of them.
inline constexpr int kLongestMcpWaitSeconds = 45;
// A model reads no more, and the text is in the answer twice.
inline constexpr std::size_t kLongestMcpAnswer = std::size_t{4} << 20;

// Nothing when there is no such tool.
const McpTool* mcp_tool(std::string_view name, bool with_approvals) noexcept;
// The member `tools` of tools/list, as a JSON array.
std::string mcp_tool_list(const App& app, bool with_approvals);

// The members of the result of tools/call, without the braces around them: content,
// structuredContent, isError. A failure is a result, too: the model is to read its sentence.
std::string mcp_tool_result(const std::string& json, bool failed = false);
std::string mcp_tool_failure(const std::string& sentence);
Task<std::string> call_mcp_tool(McpDoor& door, const McpTool& tool, std::string arguments,
                                McpProgress& progress);

// A task with what it waits for, and the view of a plan or an agent. Throws CliFailure.
Task<std::string> mcp_task(McpDoor& door, std::string id);
// That view; null when there is none. Throws CliFailure.
Task<Json> mcp_task_view(McpDoor& door, Json task);
// Starts what the arguments of `submit` ask for; what the API says of the new task.
Task<Json> mcp_start(McpDoor& door, RawObject arguments);
// Sentences about arguments that do not fit; empty: they do.
std::string mcp_misfits(std::string_view tool, std::string_view input,
                        const std::string& arguments);
bool mcp_task_goes_on(const Json& task);
// JSON of the API has line breaks between values. A message has none.
std::string one_line(std::string json);

}  // namespace tiffany::app
