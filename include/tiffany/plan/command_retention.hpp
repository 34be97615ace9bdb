// How long commands and their directories stay (exec/commands.hpp): as long as their tasks.
//
//   std::size_t gone = co_await plan::forget_old_commands(commands, host, kept);
//   co_await host.kill(task, "enough");
//   co_await plan::stop_orphans(commands, host);   // what it ran does not go on
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tiffany/durable/host.hpp"
#include "tiffany/exec/commands.hpp"

namespace tiffany::plan {

// Forgets the commands of tasks that the host does not know any more, because they have left the
// archive, and commands that ended longer ago than `kept` and whose task has completed. Commands
// that run stay, and so do those of tasks that failed or were cancelled, which may be retried. When
// the log has damage that may have hurt tasks which nobody can name, nothing is forgotten. Gives
// how many; Errc::command_failed when some could not be removed.
//
// Cancel: what is forgotten is forgotten; the rest stays for the next call.
Task<std::size_t> forget_old_commands(exec::Commands& commands, Host& host,
                                      std::optional<std::chrono::seconds> kept);
// Stops commands of tasks that have ended: of one that was killed nobody takes the end any more.
// Those of tasks that the host does not know are stopped too, unless the log has damage, as above.
// Gives how many were asked to end; Errc::command_failed when some could not be asked.
//
// Cancel: some were asked; the rest goes on until the next call.
Task<std::size_t> stop_orphans(exec::Commands& commands, Host& host);
// Both, now, and every hour until it is cancelled; zero days: directories stay for ever. A failure
// is a warning in the log of the program.
Task<void> forget_old_commands_hourly(exec::Commands* commands, Host* host, std::uint64_t days);

}  // namespace tiffany::plan
