// The library's own types of tasks, for those who read logs: plans, agents, schedules. Nothing of
// them is run but their code along a log. Internal.
#pragma once

#include "tiffany/agent/agent.hpp"
#include "tiffany/durable/registry.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {

class TypesOfLogs {
 public:
  // Adds those that are missing. The registry must not be used for longer than this.
  explicit TypesOfLogs(Registry& types);

 private:
  class NoModel final : public agent::Model {
   public:
    Task<agent::Reply> ask(agent::Request request, agent::Try attempt,
                           agent::LiveText live) override;
  };

  exec::Commands commands_;
  plan::PlanServices plans_;
  NoModel model_;
  agent::GitRepositories repositories_;
  agent::AgentServices agents_;
};

}  // namespace tiffany::app
