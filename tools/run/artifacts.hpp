// Files that a command leaves, copied beside its output.
#pragma once

#include "files.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

// Copies what the patterns of `spec` match, below the directory of the command, to artifact.0,
// artifact.1 and so on, and tells `result` of them. Symbolic links are not followed, and only plain
// files are taken. What is missing, too large or no such file is a sentence in
// result.artifact_problem.
void keep_artifacts(const CommandDirectory& directory, const exec::CommandSpec& spec,
                    exec::CommandResult& result);

}  // namespace tiffany::supervisor
