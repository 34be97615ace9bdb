// Agents as durable tasks: an instruction, a model that is asked, tools that are run, a patch that
// is previewed, approved and committed. Each of these is a step, a promise or a signal of the task,
// so a crash at any place loses nothing and does nothing twice
// (docs/decisions/0030-agent.md, docs/25-agents.md).
//
//   agent::GitRepositories repositories;
//   agent::AgentServices services(model, repositories);
//   agent::add_file_tools(services.tools);
//   agent::add_agent(types, services);
//   Host host(types, wal::LogOptions("state/wal"));
//
//   agent::Instruction ask;
//   ask.instruction = "Make the tests pass.";
//   ask.repository = "/srv/shop";
//   const Uuid id = co_await host.start(agent::kAgentType, ask);
//   const agent::AgentView view = co_await host.ask(id, agent::kAgentView);   // what it waits for
//   const auto summary = co_await host.result<agent::Summary>(id);
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/approval.hpp"
#include "tiffany/agent/budget.hpp"
#include "tiffany/agent/canvas.hpp"
#include "tiffany/agent/message.hpp"
#include "tiffany/agent/model.hpp"
#include "tiffany/agent/policy.hpp"
#include "tiffany/agent/repositories.hpp"
#include "tiffany/agent/rules.hpp"
#include "tiffany/agent/tool.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/durable/names.hpp"
#include "tiffany/durable/registry.hpp"
#include "tiffany/observe/pal.hpp"

namespace tiffany::agent {

class AgentMeters;  // agent/meters.hpp

inline constexpr const char* kAgentType = "tiffany.agent";

// Where the instruction of another agent comes from (agent/delegate.hpp).
class Delegation {
 public:
  Delegation() = default;
  CanvasState canvas{};  // that the child goes on with, and gives back
  Exposure met{};        // what the parent has met: its words may have it
  int depth = 0;         // 1: a child of an agent that somebody started
};
TIFFANY_JSON(Delegation, canvas, met, depth);

class Instruction {
 public:
  Instruction() = default;
  std::string instruction{};
  std::string repository{};  // a directory; empty: there is nothing to change
  std::string base{};        // a branch, a tag or a commit; empty: HEAD
  std::string onto{};        // the branch that is moved; empty: tiffany/<task>
  std::string model{};       // empty: the first
  std::string script{};      // replies instead of a model (agent/script.hpp); empty: the model
  BudgetLimits budget{};     // of what is less than the operator's
  // Only of children: their changes go to their parent, and they commit nothing.
  std::optional<Delegation> from{};
};
TIFFANY_JSON(Instruction, instruction, repository, base, onto, model, script, budget, from);
TIFFANY_JSON_ADDED(Instruction, repository, base, onto, model, script, budget, from);

class Summary {
 public:
  Summary() = default;
  bool success = false;  // false: a patch was made, and nobody approved it in time
  std::string text{};    // what the model said at last
  std::string commit{};  // empty: nothing was committed
  std::string ref{};
  int turns = 0;
  Amounts spent{};       // with what children used
  Amounts raised{};      // by people, beyond what it began with
  CanvasState canvas{};  // as it was at the end
  Exposure met{};
};
TIFFANY_JSON(Summary, success, text, commit, ref, turns, spent, raised, canvas, met);
TIFFANY_JSON_ADDED(Summary, raised, canvas, met);

// Something that waits for a person.
class Question {
 public:
  Question() = default;
  std::string promise{};  // what Host::complete takes
  std::string tool{};     // what is asked for; of a patch "commit"
  std::string digest{};   // what the answer must name
  std::string action{};   // the canonical JSON that the digest is of
  std::string why{};
  std::string diff{};           // of a patch
  std::int64_t expires_us = 0;  // since 1970
};
TIFFANY_JSON(Question, promise, tool, digest, action, why, diff, expires_us);

class AgentView {
 public:
  AgentView() = default;
  std::string state{};  // thinking, acting, awaiting approval, out of budget, committing, ...
  std::string about{};  // a sentence
  int turns = 0;
  Amounts spent{};
  BudgetLimits limits{};
  CanvasState canvas{};
  std::optional<Question> question{};
};
TIFFANY_JSON(AgentView, state, about, turns, spent, limits, canvas, question);
inline constexpr QueryName<AgentView> kAgentView{"agent"};
// Everything that was said, the newest last; long texts are cut in the middle.
inline constexpr QueryName<std::vector<Message>> kTranscript{"transcript"};
// Raises the budget by so much, and lets an agent that has used it up go on.
inline constexpr SignalName<Amounts> kRaiseBudget{"budget"};

// What agents use of the process. Outlives the host.
class AgentServices {
 public:
  AgentServices(Model& asked, Repositories& used) : model(asked), repositories(used) {}
  Model& model;
  Repositories& repositories;
  ToolSet tools{};
  Policy policy{};            // that an agent begins with is the one that it keeps
  RuleBook* rules = nullptr;  // what people allowed for good; null: an answer is for a task at most
  BudgetLimits budget{};      // no instruction has more
  std::string prompt{};       // what the model is told first; empty: the library's own
  std::string prompt_more{};  // behind that, as the names of skills are
  std::string author = "Tiffany <agent@localhost>";  // of commits
  Duration approval_time = std::chrono::hours(24 * 7);
  int attempts = 5;  // at a question to the model
  Duration longest_thought = std::chrono::minutes(10);
  int checkpoint_turns = 256;  // see docs/decisions/0030-agent.md
  Scrubber secrets{};          // taken out of what tools and models say
  // What a call costs, in millionths of a dollar; without it money is not counted.
  std::function<std::int64_t(const Usage&, const std::string& model)> price{};
  // Called by the last step of a task, perhaps again after a crash: what its tools left goes.
  std::function<Task<void>(Uuid task)> tidy{};
  observe::Pal* pal = nullptr;  // told of what the log does not have: pieces of replies
  AgentMeters* meters = nullptr;
};

void add_agent(Registry& types, AgentServices& services, std::string name = kAgentType);

// The door: checks an answer against what the task asks, before the promise is touched, so that a
// wrong one does not use the promise up. Gives the question; throws Errc::approval_refused.
Question require_question(const AgentView& view, const Answer& answer, WallTime now);

}  // namespace tiffany::agent
