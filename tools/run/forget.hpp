// What is left of a command, removed.
#pragma once

#include <string>

#include "files.hpp"

namespace tiffany::supervisor {

// Removes the directory of a command that has ended or never began, whatever the command put into
// it; a Refusal when the command runs. Links are removed and not followed.
int forget(const std::string& path);

// Removes everything that is in a directory in that of a command, and most often nothing is.
void empty_inner(const CommandDirectory& directory, const std::string& name);

}  // namespace tiffany::supervisor
