#include "app/types_of_logs.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/durable/schedule.hpp"

namespace tiffany::app {

TypesOfLogs::TypesOfLogs(Registry& types)
    : commands_("", ""), plans_(commands_), agents_(model_, repositories_) {
  if (types.find(plan::kPlanType) == nullptr) plan::add_plans(types, plans_);
  if (types.find(agent::kAgentType) == nullptr) agent::add_agent(types, agents_);
  if (types.find("tiffany.schedule") == nullptr) add_schedules(types);
}

Task<agent::Reply> TypesOfLogs::NoModel::ask(agent::Request, agent::Try, agent::LiveText) {
  throw NotRetryable("A log is read, and nobody is asked.");
}

}  // namespace tiffany::app
