// How the sentences of lints begin. Internal.
#pragma once

#include <string>

#include "tiffany/core/task_record.hpp"

namespace tiffany::observe {

// `task #3 "fetch", at shop.cpp:40,`
std::string lint_subject(const TaskRecord& task);

}  // namespace tiffany::observe
