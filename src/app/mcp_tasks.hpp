// The tasks extension of MCP (io.modelcontextprotocol/tasks, SEP-2663): a call of `submit` gives a
// handle, and the client asks for the result by its id, which is that of our task. Internal.
#pragma once

#include <string>

#include "app/cli.hpp"
#include "app/mcp_message.hpp"

namespace tiffany::app {

// Members of results, without the braces around them. All throw RpcFailure: kBadParams when there
// is no such task, kInternal with the sentence of the command line when no daemon answers.

// Of tasks/get. A task that has failed is completed, with a result that says so: the extension has
// `failed` for errors of the protocol.
Task<std::string> get_mcp_task(Cli& cli, RawObject params);
// Of tasks/cancel. Does not wait for the end of the task.
Task<std::string> cancel_mcp_task(Cli& cli, RawObject params);
// Of tasks/update. Nothing is asked of clients here, so there is nothing to answer: a question to a
// person is answered with `approve`.
Task<std::string> update_mcp_task(Cli& cli, RawObject params);
// Of the handle for a task that was started: what the API said of it.
std::string mcp_task_handle(const Json& task);

}  // namespace tiffany::app
