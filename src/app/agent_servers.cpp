#include "app/agent_servers.hpp"

#include <algorithm>
#include <utility>

#include "app/small_files.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

constexpr std::size_t kMostServers = 100;
constexpr std::size_t kLongestList = std::size_t{64} << 20;

std::vector<exec::Secret> named_secrets(const agent::McpEntry& entry,
                                        const std::vector<exec::Secret>& all) {
  std::vector<exec::Secret> found;
  for (const std::string& name : entry.secrets) {
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const exec::Secret& each) { return each.name == name; });
    if (at == all.end()) {
      throw Error(Errc::bad_argument, "The MCP server " + entry.options.name +
                                          " needs the secret \"" + name +
                                          "\", which nobody has named a source for.");
    }
    found.push_back(*at);
  }
  return found;
}

}  // namespace

void AgentServers::read(agent::ConfigReader& in, const std::string& directory) {
  in.array(kMostServers,
           [&](std::size_t) { entries_.push_back(agent::read_mcp_entry(in, directory)); });
}

void AgentServers::make(const std::vector<exec::Secret>& secrets) {
  for (agent::McpEntry& entry : entries_) {
    entry.options.secrets = named_secrets(entry, secrets);
    for (const auto& each : servers_) {
      if (each->options().name != entry.options.name) continue;
      throw Error(Errc::bad_argument,
                  "There are two MCP servers with the name " + entry.options.name + ".");
    }
    servers_.push_back(std::make_shared<agent::McpServer>(std::move(entry.options)));
  }
  entries_.clear();
}

std::string AgentServers::file_of(const agent::McpServer& server) const {
  return directory_ + "/" + server.options().name + ".json";
}

Task<void> AgentServers::learn(agent::McpServer& server, std::string& problem) const {
  try {
    co_await server.learn();
    make_private_directory(directory_);
    write_private_file(file_of(server), server.kept());
  } catch (const Error& error) {
    problem = error.what();
  }
}

Task<void> AgentServers::open(agent::ToolSet& tools) {
  std::vector<std::string> problems(servers_.size());
  co_await scope([&](Scope& all) -> Task<void> {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const std::optional<std::string> kept = read_small_file(file_of(*servers_[i]), kLongestList);
      if (kept && servers_[i]->know(*kept)) continue;
      all.spawn(&AgentServers::learn, this, std::ref(*servers_[i]), std::ref(problems[i]));
    }
    co_return;
  });
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    agent::McpServer& server = *servers_[i];
    if (!server.known()) {
      observe::log::warn("the tools of an MCP server are missing", {{"error", problems[i]}});
      tools.miss(server.options().name + "__",
                 "The MCP server " + server.options().name +
                     " could not be asked for its tools when the daemon began.");
      continue;
    }
    agent::add_mcp_tools(tools, servers_[i]);
    for (const std::string& each : server.left_out()) {
      observe::log::warn("a tool of an MCP server is left out",
                         {{"server", server.options().name}, {"why", each}});
    }
    if (!problems[i].empty()) {
      observe::log::warn("the tools of an MCP server are not kept", {{"error", problems[i]}});
    }
    observe::log::info("an MCP server has tools for agents",
                       {{"server", server.options().name}, {"digest", server.list_digest()}});
  }
}

Task<void> AgentServers::accept(agent::McpServer& server, std::string digest,
                                agent::ToolSet& tools) {
  const auto at = std::find_if(servers_.begin(), servers_.end(),
                               [&](const auto& each) { return each.get() == &server; });
  const std::shared_ptr<agent::McpServer> kept = *at;
  co_await kept->accept(std::move(digest));
  make_private_directory(directory_);
  write_private_file(file_of(*kept), kept->kept());
  for (auto& each : tools.take_out(kept->options().name + "__")) {
    retired_.push_back(std::move(each));
  }
  agent::add_mcp_tools(tools, kept);
  observe::log::info("the tools of an MCP server were accepted",
                     {{"server", kept->options().name}, {"digest", kept->list_digest()}});
}

Task<void> AgentServers::close() {
  co_await scope([&](Scope& all) -> Task<void> {
    for (const auto& each : servers_) all.spawn(&agent::McpServer::close, each.get());
    co_return;
  });
}

}  // namespace tiffany::app
