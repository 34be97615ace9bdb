// The agents of a daemon: what the file says that the setting `agents` names. Internal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiffany/agent/embedder.hpp"
#include "tiffany/agent/mcp_tools.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/agent/rules.hpp"
#include "tiffany/agent/skill.hpp"
#include "tiffany/durable/registry.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/observe/metrics.hpp"
#include "tiffany/observe/pal.hpp"

namespace tiffany::app {

class Agents {
 public:
  // `file` empty: agents with the tools of the library, whose replies come from scripts. Throws an
  // Error that names the file and what is wrong in it.
  Agents(const std::string& file, const std::string& data, exec::CommandRunner& commands,
         observe::Pal& pal, observe::Metrics& metrics);
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  void add(Registry& types);
  // Reads the models, with the files that they name, and asks servers of tools that are not known
  // yet what they offer. Throws as the constructor; a server that cannot be reached is in the log.
  Task<void> open();
  // When no agent runs any more: programs that are servers of tools end.
  Task<void> close();
  // What people allowed for good.
  agent::RuleBook& rules() noexcept;
  const agent::Skills& skills() const noexcept;
  std::shared_ptr<agent::Memory> memory() const noexcept;      // null: the agents have none
  std::shared_ptr<agent::Embedder> embedder() const noexcept;  // null: notes have words alone
  // Servers of others whose tools agents have.
  const std::vector<std::shared_ptr<agent::McpServer>>& servers() const noexcept;
  Task<void> accept_list(agent::McpServer& server, std::string digest);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tiffany::app
