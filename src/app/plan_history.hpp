// How the steps of a plan stood when it ended, by its log. Internal.
#pragma once

#include <string>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {

// Of a plan that has ended without a result, because it failed or was cancelled: its code, which
// knows its units, is gone. `why`: the sentence that the task ended with. Of a sub-plan the log of
// the plan around it does not name the step: its state is "failed" when `why` does, or "unknown".
std::vector<plan::UnitView> units_by_log(const Host& host, const Uuid& id, const plan::Plan& plan,
                                         const std::string& why);

}  // namespace tiffany::app
