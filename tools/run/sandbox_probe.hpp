// What this machine gives for the sandbox of a command.
#pragma once

#include <string>

#include "tiffany/exec/sandbox.hpp"

namespace tiffany::supervisor {

// What level 2 lacks here, with what to do; empty: nothing.
std::string level_two_missing();

struct Bubble {
  std::string path{};     // of bwrap; empty: it cannot be used
  std::string missing{};  // why not, with what to do
};
// Runs bwrap once for each start of the machine: `directory`, that of all commands, keeps that it
// works (bwrap.json). Empty: nothing is kept.
Bubble find_bubble(const std::string& directory);

// tiffany-run probe: an exec::SandboxProbe on standard output.
int print_probe();

}  // namespace tiffany::supervisor
