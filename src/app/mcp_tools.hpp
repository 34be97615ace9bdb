// The tools of `mcp`: what a client can do with the tasks of a daemon. Internal.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/cli.hpp"
#include "app/mcp_message.hpp"

namespace tiffany::app {

struct McpTool {
  std::string_view name;
  std::string_view title;
  std::string_view about;   // for the model of the client
  std::string_view input;   // JSON Schema
  std::string_view hints;   // members of `annotations`
  bool answers_for_people;  // there only with --approve
  // A JSON object. Throws CliFailure.
  Task<std::string> (*call)(Cli& cli, RawObject arguments);
};

std::span<const McpTool> mcp_tools() noexcept;
// Nothing when there is no such tool.
const McpTool* mcp_tool(std::string_view name, bool with_approvals) noexcept;
// The member `tools` of tools/list, as a JSON array.
std::string mcp_tool_list(bool with_approvals);

// The members of the result of tools/call, without the braces around them: content,
// structuredContent, isError. A failure is a result, too: the model is to read its sentence.
std::string mcp_tool_result(const std::string& json, bool failed = false);
std::string mcp_tool_failure(const std::string& sentence);
Task<std::string> call_mcp_tool(Cli& cli, const McpTool& tool, std::string arguments);

// A task with what it waits for, and the view of a plan or an agent. Throws CliFailure.
Task<std::string> mcp_task(Cli& cli, std::string id);
// Starts what the arguments of `submit` ask for; what the API says of the new task.
Task<Json> mcp_start(Cli& cli, RawObject arguments);
// Sentences about arguments that do not fit; empty: they do.
std::string mcp_misfits(const McpTool& tool, const std::string& arguments);

}  // namespace tiffany::app
