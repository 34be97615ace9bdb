#include "app/agents.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "agent/config_reader.hpp"
#include "app/small_files.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/file_tools.hpp"

namespace tiffany::app {
namespace {

using agent::ConfigReader;

// Of a daemon that has no model: agents bring a script.
class NoModel final : public agent::Model {
 public:
  Task<agent::Reply> ask(agent::Request, agent::Try, agent::LiveText) override {
    throw NotRetryable(
        "This daemon knows no model. Name one in the file of the setting `agents`, or give the "
        "agent a script.");
    co_return agent::Reply();
  }
};

agent::PolicyRule rule_in(ConfigReader& in) {
  agent::PolicyRule rule;
  in.object({"tool", "ruling"}, [&](const std::string& name) {
    if (name == "tool") rule.tool = in.text();
    if (name == "ruling")
      rule.ruling = from_json<agent::Ruling>(to_json(in.text_of({"allow", "ask", "refuse"})));
  });
  if (rule.tool.empty()) in.fail("needs the name of a tool, or \"*\".");
  return rule;
}

agent::Policy policy_in(ConfigReader& in) {
  constexpr std::size_t kMostRules = 1000;
  agent::Policy policy;
  in.object({"rules", "own_branch_is_free"}, [&](const std::string& name) {
    if (name == "own_branch_is_free") policy.own_branch_is_free = in.boolean();
    if (name != "rules") return;
    in.array(kMostRules, [&](std::size_t) { policy.rules.push_back(rule_in(in)); });
  });
  return policy;
}

agent::BudgetLimits budget_in(ConfigReader& in) {
  agent::BudgetLimits limits;
  in.object({"tokens", "micro_dollars", "seconds", "turns", "tool_runs", "bytes"},
            [&](const std::string& name) {
              const std::int64_t most = in.integer(0, std::numeric_limits<std::int64_t>::max());
              if (name == "tokens") limits.tokens = most;
              if (name == "micro_dollars") limits.micro_dollars = most;
              if (name == "seconds") limits.seconds = most;
              if (name == "turns") limits.turns = most;
              if (name == "tool_runs") limits.tool_runs = most;
              if (name == "bytes") limits.bytes = most;
            });
  return limits;
}

}  // namespace

struct Agents::Parts {
  Parts(exec::CommandRunner& used, observe::Pal& pal) : commands(used), services(none, git) {
    services.pal = &pal;
    agent::add_file_tools(services.tools);
  }

  void read(const std::string& file) {
    const std::optional<std::string> text = read_small_file(file);
    if (!text) {
      throw Error(Errc::bad_argument,
                  "The setting `agents` names " + file + ", and there is no such file.");
    }
    ConfigReader in(file, *text);
    in.whole([&] {
      in.object({"prompt", "author", "policy", "budget"}, [&](const std::string& name) {
        if (name == "prompt") services.prompt = in.text();
        if (name == "author") services.author = in.text();
        if (name == "policy") services.policy = policy_in(in);
        if (name == "budget") services.budget = budget_in(in);
      });
    });
  }

  exec::CommandRunner& commands;
  NoModel none;
  agent::GitRepositories git;
  agent::AgentServices services;
};

Agents::Agents(const std::string& file, const std::string& /*data*/, exec::CommandRunner& commands,
               observe::Pal& pal)
    : parts_(std::make_unique<Parts>(commands, pal)) {
  if (!file.empty()) parts_->read(file);
}
Agents::~Agents() = default;

void Agents::add(Registry& types) {
  if (types.find(agent::kAgentType) == nullptr) agent::add_agent(types, parts_->services);
}

}  // namespace tiffany::app
