// Tools with which a model reads and changes the files of a canvas: read, list, search, edit,
// write, remove, and with which it sees what it has changed and what was before: git_status,
// git_diff, git_log. They need no sandbox: they reach nothing but the canvas, and its history.
//
//   agent::add_file_tools(tools);                            // for an agent
//   agent::run_file_tool(canvas, "read", R"({"path":"a"})")  // the same, as a function
//
// Arguments are JSON, the answer is text for the model, at most 64 KiB, which says when it is cut.
// Wrong arguments, a path that is not there, a text that is there twice: Error bad_tool, with a
// sentence for the model. Only a repository that cannot be read or written is another Error
// (canvas_failed).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/canvas.hpp"
#include "tiffany/agent/model.hpp"
#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

// By name.
std::vector<ToolOffer> file_tool_offers();

// An Error bad_tool as well when no file tool has that name.
std::string run_file_tool(Canvas& canvas, std::string_view name, std::string_view arguments);

// Whether a file tool changes the canvas; false for names that no file tool has.
bool file_tool_writes(std::string_view name) noexcept;

// As tools of an agent: each call opens the canvas of its context on a thread, and keeps what it
// has become for the task. May be made again after a crash: the canvas of the context is the one
// before the call.
void add_file_tools(ToolSet& tools);

}  // namespace tiffany::agent
