// Secrets in the arguments of a call, which are JSON.
#pragma once

#include <string>
#include <string_view>

#include "tiffany/base/scrub.hpp"

namespace tiffany::agent {

// The same JSON without secrets in its strings, whichever escapes these are written with: a tool
// gets the strings, and not what was written. A text that is no JSON is scrubbed as it is.
std::string scrubbed_json(const Scrubber& secrets, std::string_view json);

}  // namespace tiffany::agent
