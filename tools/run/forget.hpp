// What is left of a command, removed.
#pragma once

#include <string>

namespace tiffany::supervisor {

// Removes the directory of a command that has ended or never began, whatever the command put into
// it; a Refusal when the command runs. Links are removed and not followed.
int forget(const std::string& path);

}  // namespace tiffany::supervisor
