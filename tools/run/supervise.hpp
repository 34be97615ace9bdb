// The supervisor of one command, from the moment at which the command is going to begin until its
// end is in exit.json.
#pragma once

#include <string>

#include "files.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

// Called in a process that has left its parent, with the lock. Writes `supervisor`, tells the
// program that reads `tell` (exec::kBegun; or kRefused and a sentence: then nothing has begun),
// runs the command, writes exit.json, and tells that text, too.
void supervise(const CommandDirectory& directory, const exec::CommandSpec& spec, Fd tell);
// The end of a command, on the disk; gives the text.
std::string record_end(const CommandDirectory& directory, const exec::CommandResult& result,
                       bool synced);

}  // namespace tiffany::supervisor
