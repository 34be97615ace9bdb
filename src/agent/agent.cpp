#include "tiffany/agent/agent.hpp"

#include <string_view>
#include <tuple>
#include <utility>

#include "agent/agent_run.hpp"

namespace tiffany::agent {
namespace {

using AgentArguments = std::tuple<Instruction>;

Durable<Summary> react(AgentServices* with, Flow* flow, AgentArguments arguments,
                       std::string type) {
  AgentRun run(*with, *flow, std::get<0>(arguments), std::move(type));
  const auto view = flow->on_query(kAgentView, [&] { return run.view(); });
  const auto transcript = flow->on_query(kTranscript, [&] { return run.transcript(); });
  co_return co_await run.run();
}

}  // namespace

void add_agent(Registry& types, AgentServices& services, std::string name) {
  DurableType type;
  type.name = name;
  type.make = [&services, name](Flow& flow, std::string_view arguments) {
    return detail::DurableCode::of(
        react(&services, &flow, from_json<AgentArguments>(arguments), name));
  };
  type.arguments = &detail::kValueType<AgentArguments>;
  types.add(std::move(type));
}

}  // namespace tiffany::agent
