// The tool `fetch`: the text of a URL, by GET, from hosts that the operator has named.
//
//   agent::FetchOptions options;
//   options.hosts = {"docs.example.org", "127.0.0.1:8080"};
//   agent::add_fetch_tool(services.tools, options);
//
// A URL can carry data out, and what it gives was written by others: the policy treats it as both.
// A host without a port is reached at the port of the scheme, and only at addresses of the public
// internet, so that a name that somebody else owns does not lead into a network of the operator. A
// host with a port is reached there, wherever it is. Redirects are not followed: the model is told
// where they lead, and may fetch that if it is allowed.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "tiffany/agent/tool.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/io/resolve.hpp"

namespace tiffany::agent {

class FetchOptions {
 public:
  FetchOptions() = default;
  std::vector<std::string> hosts{};  // "docs.example.org", "[::1]:8080"; exactly these
  bool ask = true;
  std::size_t most_bytes = std::size_t{48} << 10;  // of an answer; the rest is left out
  Duration deadline = std::chrono::seconds(30);    // of all of it
  std::string trust{};                             // a PEM file, trusted besides the system's
  LookUp look_up{};                                // empty: as the system does it
};

// Errc::bad_tool when no host is named, or one that is none; the errors of TlsContext for `trust`.
void add_fetch_tool(ToolSet& tools, FetchOptions options);

// Whether an address is one of the public internet: not of this machine, of a private network, of
// a link, of a group, nor reserved.
bool is_public(const Address& address) noexcept;

}  // namespace tiffany::agent
