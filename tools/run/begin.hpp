// A command begins, once: what the files of its directory say decides whether it may.
#pragma once

#include <string>
#include <string_view>

#include "files.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

// Which process watches over the command; damaged or missing: nobody.
exec::SupervisorMark mark_in(const CommandDirectory& directory);

enum class Standing {
  taken,  // its supervisor is there
  over,   // exit.json is there by now
  free,   // spec.json is written, and this process has the lock: supervise() comes next
};
// Settles a command whose supervisor is gone: its end is unknown, and written down.
Standing take(CommandDirectory& directory, const exec::CommandSpec& spec, std::string_view text);

// tiffany-run begin: a supervisor is forked, and this process returns when the command has begun.
int begin(const std::string& path);

}  // namespace tiffany::supervisor
