// Arguments of a tool that a service wants as headers, too, so that what stands between can route
// by them: members of the schema with "x-mcp-header" (SEP-2243).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiffany::agent::mcp {

// Why a tool with that schema cannot be called over HTTP; empty: it can.
std::string header_problem(std::string_view schema);
// "mcp-param-region" and its value, for each argument that is there and not null.
// Errc::bad_argument for a value that no header can have. The schema has no problem.
std::vector<std::pair<std::string, std::string>> argument_headers(std::string_view schema,
                                                                  std::string_view arguments);

}  // namespace tiffany::agent::mcp
