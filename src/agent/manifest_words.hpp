// The words of a manifest, in which "{name}" stands for an argument.
#pragma once

#include <string>
#include <vector>

#include "tiffany/agent/schema.hpp"

namespace tiffany::agent {

// Adds a sentence to `why` for each mistake.
void note_words(const std::vector<std::string>& argv, const Schema& input,
                std::vector<std::string>& why);

}  // namespace tiffany::agent
