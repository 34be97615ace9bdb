// MCP over HTTP (`/mcp` of the daemon): one message a POST, one JSON text an answer. Internal.
//
// No sessions and no streams: a request of 2026-07-28 says in `_meta` what it is of, and one of the
// handshake era in the header MCP-Protocol-Version, so that nothing is kept between two of them and
// a client goes on after the daemon was restarted. Who asks, from where and with which role is
// looked at as for the rest of the API.
#pragma once

#include <string_view>

#include "app/access.hpp"
#include "app/api.hpp"

namespace tiffany::app {

inline constexpr std::string_view kMcpPath = "/mcp";

// HttpError for what is no message of MCP.
Task<void> serve_mcp(Api& api, http::Exchange& exchange, Principal who);

}  // namespace tiffany::app
