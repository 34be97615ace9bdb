// Programs as tools: each call is a supervised command (exec/commands.hpp) in a checkout of the
// canvas, in the sandbox that the manifest asks for.
//
//   agent::Workshop workshop(commands, "state/agents");
//   agent::add_command_tool(services.tools, agent::read_manifest(text), workshop);
//
// The command has the id of the task, the step and the try. After a crash the call attaches to the
// command, which went on meanwhile, or takes its end; what the command did is not done again. An
// end that nobody knows is tried again, unless the manifest says at_most_once: then the model is
// told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tiffany/agent/manifest.hpp"
#include "tiffany/agent/tool.hpp"
#include "tiffany/exec/commands.hpp"

namespace tiffany::agent {

// Where tools work. Outlives the tools.
class Workshop {
 public:
  // `scratch`: a directory for checkouts, one for each task. It is made when the first is needed.
  Workshop(exec::CommandRunner& used, std::string scratch)
      : commands(used), directory(std::move(scratch)) {}
  exec::CommandRunner& commands;
  std::string directory;
  std::vector<exec::Secret> secrets{};  // that manifests may name

  std::string place_of(const Uuid& task) const { return directory + "/" + task.text(); }
  // Removes the checkout of a task that needs it no more. Cancel: a part of it is gone.
  Task<void> forget(Uuid task) const;
};

// Errc::bad_tool for a manifest with mistakes, a name that is there already, and a secret that the
// workshop does not have.
void add_command_tool(ToolSet& tools, Manifest manifest, Workshop& workshop);

}  // namespace tiffany::agent
