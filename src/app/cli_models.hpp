// Models that a command is given by options: --script, --models, --prompt. Internal.
#pragma once

#include <memory>
#include <string>

#include "app/cli.hpp"
#include "tiffany/agent/model.hpp"

namespace tiffany::app {

// The text of the file that an option names; empty without the option.
std::string file_of(const Given& given, const char* option);
// The same of --script, when it is a script.
std::string script_of(const Given& given);
// --script or --models, and not both.
Task<std::unique_ptr<agent::Model>> model_of(const Given& given);

}  // namespace tiffany::app
