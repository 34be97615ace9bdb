// The tasks extension of MCP (io.modelcontextprotocol/tasks, SEP-2663): a call of `submit` gives a
// handle, and the client asks for the result by its id, which is that of our task. Internal.
#pragma once

#include <string>

#include "app/mcp_door.hpp"
#include "app/mcp_message.hpp"

namespace tiffany::app {

// Members of results, without the braces around them. All throw RpcFailure: kBadParams when there
// is no such task, kInternal with the sentence of the command line when no daemon answers.

// Of tasks/get. A task that has failed is completed, with a result that says so: the extension has
// `failed` for errors of the protocol, which are here mistakes of the program. With `asks`, what
// waits for a yes or a no of a person is `input_required`, by the id of its promise.
Task<std::string> get_mcp_task(McpDoor& door, RawObject params, bool asks);
// Of tasks/cancel. Does not wait for the end of the task.
Task<std::string> cancel_mcp_task(McpDoor& door, RawObject params);
// Of tasks/update. Without `asks` nothing is asked of the client, and nothing is answered.
Task<std::string> update_mcp_task(McpDoor& door, RawObject params, bool asks);
// How a person answers what a task waits for; empty: it waits for nobody.
std::string mcp_waits_of(const McpDoor& door, const Json& task);
// Of the handle for a task that was started: what the API said of it.
std::string mcp_task_handle(const Json& task);

}  // namespace tiffany::app
