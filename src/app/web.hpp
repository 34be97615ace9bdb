// The files of the dashboard, as a browser asks for them. Internal.
//
// They are embedded by CMake from dashboard/dist; the setting web_root names a directory to take
// them from instead (docs/decisions/0029-dashboard.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiffany/serve/http.hpp"

namespace tiffany::app {

struct WebFile {
  std::string_view name;  // "index.html", "app-5TCRLZ2P.js"
  std::string_view text;
};
// Made by cmake/embed.cmake.
std::span<const WebFile> embedded_dashboard() noexcept;

// The answer for "/" and "/assets/<name>", which need no token; nothing for every other path.
// HttpError 404 and 405. `root`: the setting web_root; empty: the embedded files.
std::optional<http::Response> web_answer(const http::Request& request, const std::string& root);

}  // namespace tiffany::app
