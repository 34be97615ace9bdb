// Resources of MCP: tasks with what belongs to them, at tiffany://tasks/..., and those of the
// program (App::resource). Internal.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "app/mcp_door.hpp"
#include "app/mcp_message.hpp"

namespace tiffany::app {

// What is there of each task, or of each plan or agent.
struct McpTaskResource {
  std::string_view uri;  // a template, with {task}
  std::string_view name;
  std::string_view about;
  std::string_view mime;
  std::string_view type;  // of the tasks that have it; empty: all have
  // Throws CliFailure.
  Task<Content> (*read)(McpDoor& door, App::Texts in);
};
std::span<const McpTaskResource> mcp_task_resources() noexcept;
// "tiffany://tasks/<id>", and what is behind it.
std::string mcp_task_uri(const std::string& id);

// Members of results, without the braces around them. They throw RpcFailure.

// Of resources/templates/list.
std::string mcp_resource_templates(const App& app);
// Of resources/list: the resources of the program, then tasks, the newest first, page by page.
Task<std::string> list_mcp_resources(McpDoor& door, RawObject params);
// Of resources/read. `modern` says which error it is when there is no such resource.
Task<std::string> read_mcp_resource(McpDoor& door, std::string uri, bool modern);
// Something that is another text when the resource is another: for those who watch it.
Task<std::string> mcp_resource_mark(McpDoor& door, std::string uri);

}  // namespace tiffany::app
