// The command itself: a child in a session of its own, with its limits and a clean environment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

// NAME=value, as the command gets them. Reads the secrets, and tells them to `secrets`; a Refusal
// names the variable and the source of one that cannot be read, never its value.
std::vector<std::string> environment_of(const exec::CommandSpec& spec,
                                        const CommandDirectory& directory, Scrubber& secrets);

struct Launched {
  pid_t process = -1;
  std::string problem;  // not empty: it was not started
};
// `out` and `err` are what it writes to. The command dies with this process.
Launched launch(const exec::CommandSpec& spec, const std::vector<std::string>& environment,
                const Fd& out, const Fd& err);

}  // namespace tiffany::supervisor
