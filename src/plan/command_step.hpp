// One attempt at a command, as a step of a durable task that goes on behind the statement that
// began it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tiffany/durable/begin_step.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/exec/commands.hpp"

namespace tiffany::plan {

struct CommandDone {
  exec::CommandResult result{};
  std::map<std::string, std::string> outputs{};
  std::string problem{};  // with the outputs
};
TIFFANY_JSON(CommandDone, result, outputs, problem);

// co_await begin_command(...) gives a handle. `unit` names the step in the log.
detail::BeginStepCall<CommandDone> begin_command(Flow& flow, exec::CommandRunner& commands,
                                                 const std::string& unit, const Uuid& id,
                                                 exec::CommandSpec spec,
                                                 std::vector<std::string> outputs);

}  // namespace tiffany::plan
