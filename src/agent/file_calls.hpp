// What the file tools do (agent/file_tools.hpp), with arguments that fit to their schemas. Errors
// are those of Canvas, and bad_tool.
#pragma once

#include <string>
#include <string_view>

#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {

std::string read_lines(Canvas& canvas, std::string_view arguments);
std::string list_files(Canvas& canvas, std::string_view arguments);
std::string search_files(Canvas& canvas, std::string_view arguments);
std::string edit_file(Canvas& canvas, std::string_view arguments);
std::string write_whole(Canvas& canvas, std::string_view arguments);
std::string remove_file(Canvas& canvas, std::string_view arguments);
std::string rename_file(Canvas& canvas, std::string_view arguments);
// Of git, without a process: what the canvas changes, and what it is based on.
std::string show_status(Canvas& canvas, std::string_view arguments);
std::string show_diff(Canvas& canvas, std::string_view arguments);
std::string show_log(Canvas& canvas, std::string_view arguments);

// Models write "./a" and "." where paths of the canvas are "a" and "".
std::string canvas_path(std::string path);
std::string canvas_directory(std::string path);

}  // namespace tiffany::agent
