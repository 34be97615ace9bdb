// One attempt at a command, as a step of a durable task that goes on behind the statement that
// began it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/durable/begin_step.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::plan {

struct CommandDone {
  exec::CommandResult result{};
  std::map<std::string, std::string> outputs{};
  std::string problem{};  // with the outputs
};
TIFFANY_JSON(CommandDone, result, outputs, problem);

// One attempt: the command, what it hands on, and what it holds meanwhile.
class CommandOrder {
 public:
  CommandOrder() = default;
  std::string unit{};  // names the step in the log
  int attempt = 1;
  Uuid id{};
  exec::CommandSpec spec{};
  std::vector<std::string> outputs{};
  std::vector<std::string> locks{};
};

// What exec::CommandRunner::run throws when the command has not begun. After any other error nobody
// knows how far the command came.
bool has_not_begun(Errc code) noexcept;
// Asks each of the commands to end, with pauses between the tries. Errc::command_failed: some could
// not be asked.
Task<void> stop_commands(exec::CommandRunner* commands, std::vector<Uuid> ids);

// co_await begin_command(...) gives a handle.
detail::BeginStepCall<CommandDone> begin_command(Flow& flow, PlanServices& services,
                                                 CommandOrder order);

}  // namespace tiffany::plan
