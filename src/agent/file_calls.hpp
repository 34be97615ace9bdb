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

}  // namespace tiffany::agent
