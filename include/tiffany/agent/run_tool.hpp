// The tool `run`: a command that the model chooses, word by word, in a checkout of the canvas.
//
//   agent::add_run_tool(services.tools, workshop);
//
// No shell reads the words. The command runs in a sandbox of level 2 or 3, without a network, and
// writes to nothing but the files of the canvas, whose changes are taken back. Each call asks
// unless the policy, or the operator, says otherwise.
#pragma once

#include <string>
#include <vector>

#include "tiffany/agent/command_tool.hpp"
#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

class RunOptions {
 public:
  RunOptions() = default;
  int sandbox = 2;  // 2 or 3
  bool ask = true;
  // What is done about a command whose end nobody knows: with `idempotent` it is run again.
  ToolEffect effect = ToolEffect::at_most_once;
  std::vector<std::string> reads{};  // paths besides the files of the canvas
  ToolLimits limits{};
};

// Errc::bad_tool for options that a manifest could not have, and for a sandbox below level 2.
void add_run_tool(ToolSet& tools, Workshop& workshop, RunOptions options = {});

}  // namespace tiffany::agent
