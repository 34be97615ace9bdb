// Records and events as lines for people. Internal.
#pragma once

#include <string>

#include "app/cli.hpp"

namespace tiffany::app {

// "09:30:00  step      charge#1 gave "payment-a7""; the text of tasks in it is harmless.
std::string record_line(const Output& out, const Json& record);
std::string event_line(const Output& out, const Json& event);
// A result in a line: of plans and agents what a person wants to know, of others the JSON.
std::string result_text(const Json& result);
// The result of a task that has ended, on standard output, or why there is none.
void show_result(const Cli& cli, const Json& task);
// Of an option that is a number. CliFailure 2.
std::int64_t number_of(const Given& given, const char* option, std::int64_t least);
// --limit. CliFailure 2.
std::size_t limit_of(const Given& given, std::size_t fallback);

// Of cli_tasks.cpp.
Task<std::string> arguments_of(Cli& cli, std::string type);
Task<std::vector<Json>> listed_tasks(Cli& cli, std::size_t limit, bool* more);
std::string task_table(const Output& out, const std::vector<Json>& tasks);
// Of cli_plans.cpp: an approval that a plan asks for.
Task<int> decide_plan_unit(Cli& cli, Json promise, bool approved);

}  // namespace tiffany::app
