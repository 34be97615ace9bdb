// Resources that a client watches (resources/subscribe), looked at once a second. Internal.
//
// By looks and not by events: what has changed is in the log when the daemon comes back after it
// was killed, and a client that reads slowly is told once of many changes.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "app/mcp_door.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::app {

class McpSubscriptions {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr Duration kBetweenLooks = std::chrono::seconds(1);

  // The door outlives this.
  explicit McpSubscriptions(McpDoor& door) : door_(door) {}

  // Throws RpcFailure, also when there is no such resource. Again: nothing more.
  Task<void> add(std::string uri);
  void remove(const std::string& uri);
  // Waits, and gives the addresses of what has changed since the last time.
  Task<std::vector<std::string>> changed();

 private:
  Task<bool> has_changed(std::string uri);
  McpDoor& door_;
  std::map<std::string, std::string> marks_;  // by the address
  ManualResetEvent some_;
};

}  // namespace tiffany::app
