// The MCP servers of the file of the setting `agents`, whose tools agents have. Internal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/config_reader.hpp"
#include "agent/mcp_reader.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/mcp_tools.hpp"

namespace tiffany::app {

class AgentServers {
 public:
  // Lists of tools are kept in a directory `mcp` below `data`.
  explicit AgentServers(std::string data) : directory_(std::move(data) + "/mcp") {}

  // The member `mcp`.
  void read(agent::ConfigReader& in, const std::string& directory);
  // When the file was read. Errc::bad_argument for a name that is there twice, a secret that nobody
  // has named a source for, and what McpServer refuses.
  void make(const std::vector<exec::Secret>& secrets);
  // What each server offers, as it was kept, or as it says now. One that cannot be reached keeps
  // nobody from starting: its tools are missing, and the log says why.
  Task<void> open(agent::ToolSet& tools);
  Task<void> close();

  const std::vector<std::shared_ptr<agent::McpServer>>& all() const noexcept { return servers_; }
  // McpServer::accept, kept and offered to agents from here on. A call that was judged before is
  // refused when its tool has changed, and the model makes it again.
  Task<void> accept(agent::McpServer& server, std::string digest, agent::ToolSet& tools);

 private:
  Task<void> learn(agent::McpServer& server, std::string& problem) const;
  std::string file_of(const agent::McpServer& server) const;

  std::string directory_;
  std::vector<agent::McpEntry> entries_;
  std::vector<std::shared_ptr<agent::McpServer>> servers_;
  std::vector<std::shared_ptr<agent::Tool>> retired_;  // may be in a call
};

}  // namespace tiffany::app
