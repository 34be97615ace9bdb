// The plans of a directory, by their names: the library of a daemon. Internal.
#pragma once

#include <string>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/plan/check.hpp"

namespace tiffany::app {

struct KnownPlan {
  std::string name;  // of the file, without its ending
  std::string file;
  std::string text;
  plan::Checked checked;
};

// Those of *.yaml, *.yml and *.json in a directory, by name; none when the directory is empty or is
// not there. Read each time: a plan that is edited is another one from then on.
Task<std::vector<KnownPlan>> known_plans(std::string directory);
// HttpError 404 when there is none of that name.
Task<KnownPlan> known_plan(std::string directory, std::string name);

// The files that a plan names as sub-plans, and those that these name, as far as they can be read.
// `below`: only files in this directory and in those below it; empty: every file.
Task<plan::Files> sub_plan_files(std::string text, std::string file, std::string below);

// The id of a task that a person chose: a UUID, or a text that is always the same id.
Uuid id_of_text(const std::string& text);

// The path of tiffany-run: beside this program, or where it is installed. Empty: nowhere.
std::string find_runner();

}  // namespace tiffany::app
