// The command itself: a child in a session of its own, with its limits and a clean environment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

struct Reachable;

// NAME=value, as the command gets them. Reads the secrets, and tells them to `secrets`; a Refusal
// names the variable and the source of one that cannot be read, never its value.
std::vector<std::string> environment_of(const exec::CommandSpec& spec,
                                        const CommandDirectory& directory, Scrubber& secrets);

struct Launch {
  Launch(const exec::CommandSpec& of, const std::vector<std::string>& with)
      : spec(of), environment(with) {}
  const exec::CommandSpec& spec;
  const std::vector<std::string>& environment;
  int out = -1;  // what the command writes to
  int err = -1;
  // What a command of level 2 or 3 may reach; null: it enters no sandbox here. `tell` is told the
  // listener of its filter (confine.hpp).
  const Reachable* reach = nullptr;
  int tell = -1;
  // They become 3, 4 and so on in the command, and are above 9 here. Commands in a sandbox inherit
  // nothing else.
  std::vector<int> hand_down{};
};

struct Launched {
  pid_t process = -1;
  std::string problem;  // not empty: it was not started
};
// The command dies with this process.
Launched launch(const Launch& how);

}  // namespace tiffany::supervisor
