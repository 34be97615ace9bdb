#include "app/agents.hpp"

#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/config_reader.hpp"
#include "agent/endpoint_reader.hpp"
#include "app/agent_servers.hpp"
#include "app/agents_tools.hpp"
#include "app/small_files.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/command_tool.hpp"
#include "tiffany/agent/delegate.hpp"
#include "tiffany/agent/file_tools.hpp"
#include "tiffany/agent/memory_tools.hpp"
#include "tiffany/agent/meters.hpp"
#include "tiffany/agent/router.hpp"
#include "tiffany/agent/skill.hpp"
#include "tiffany/agent/symbols_tool.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany::app {
namespace {

using agent::ConfigReader;

// Those of a file; without one agents bring a script.
class ModelsOfFile final : public agent::Model {
 public:
  Task<agent::Reply> ask(agent::Request request, agent::Try attempt,
                         agent::LiveText live) override {
    if (router == nullptr) {
      throw NotRetryable(
          "This daemon knows no model. Name one in the file of the setting `agents`, or give the "
          "agent a script.");
    }
    co_return co_await router->ask(std::move(request), std::move(attempt), std::move(live));
  }
  std::unique_ptr<agent::Router> router;
};

std::string required_file(const std::string& path, const std::string& what) {
  if (std::optional<std::string> text = read_small_file(path)) return *text;
  throw Error(Errc::bad_argument, what + " names " + path + ", and there is no such file.");
}

exec::Secret secret_in(ConfigReader& in, const std::string& directory) {
  exec::Secret secret;
  in.object({"name", "file", "variable"}, [&](const std::string& name) {
    if (name == "name") secret.name = in.text();
    if (name == "file") secret.file = path_from(in.text(), directory);
    if (name == "variable") secret.variable = in.text();
  });
  if (secret.name.empty() || secret.file.empty() == secret.variable.empty()) {
    in.fail("needs a name, and a file or a variable that the value comes from.");
  }
  return secret;
}

// To be taken out of everything that models and tools say.
std::string value_of(const exec::Secret& secret) {
  if (!secret.variable.empty()) {
    const char* const value = std::getenv(secret.variable.c_str());
    return value == nullptr ? "" : value;
  }
  std::string text = required_file(secret.file, "The secret " + secret.name);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

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

agent::RuleBook rules_in(const std::string& path) {
  const std::string text = read_small_file(path).value_or("");
  try {
    return agent::RuleBook(text,
                           [path](const std::string& rules) { write_private_file(path, rules); });
  } catch (const Error& error) {
    throw Error(error.code(), path + ": " + error.what());
  }
}

}  // namespace

struct Agents::Parts {
  Parts(exec::CommandRunner& commands, observe::Pal& pal, observe::Metrics& metrics,
        const std::string& data)
      : workshop(commands, data + "/agents"),
        servers(data),
        rules(rules_in(data + "/rules.json")),
        meters(metrics),
        services(models, git) {
    services.pal = &pal;
    services.rules = &rules;
    services.meters = &meters;
    services.tidy = [this](Uuid task) { return workshop.forget(task); };
    services.price = [this](const agent::Usage& usage, const std::string& model) {
      return models.router == nullptr ? 0 : models.router->price(usage, model);
    };
    agent::add_file_tools(services.tools);
    agent::add_symbols_tool(services.tools, workshop);
  }

  void read(const std::string& path) {
    const std::string text = required_file(path, "The setting `agents`");
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    std::vector<std::string> manifests;
    std::vector<SkillSource> skill_sources;
    std::optional<agent::RunOptions> run;
    std::optional<agent::FetchOptions> fetch;
    std::optional<agent::EmbedderSource> embeddings;
    bool delegates = false;
    ConfigReader in(path, text);
    in.whole([&] {
      in.object({"prompt", "author", "policy", "budget", "models", "tools", "secrets", "memory",
                 "embeddings", "run", "fetch", "skills", "delegate", "mcp"},
                [&](const std::string& name) {
                  if (name == "prompt") services.prompt = in.text();
                  if (name == "author") services.author = in.text();
                  if (name == "policy") services.policy = policy_in(in);
                  if (name == "budget") services.budget = budget_in(in);
                  if (name == "models") models_file = path_from(in.text(), directory);
                  if (name == "memory") memory_file = path_from(in.text(), directory);
                  if (name == "embeddings") embeddings = agent::read_embedder(in, directory);
                  if (name == "tools") {
                    in.array(kMostTools, [&](std::size_t) {
                      manifests.push_back(path_from(in.text(), directory));
                    });
                  }
                  if (name == "delegate") delegates = in.boolean();
                  if (name == "run") run = run_options_in(in);
                  if (name == "mcp") servers.read(in, directory);
                  if (name == "fetch") fetch = fetch_options_in(in, directory);
                  if (name == "skills") {
                    in.array(kMostTools, [&](std::size_t) {
                      skill_sources.push_back(skill_source_in(in, directory));
                    });
                  }
                  if (name == "secrets") {
                    in.array(kMostTools, [&](std::size_t) {
                      workshop.secrets.push_back(secret_in(in, directory));
                    });
                  }
                });
    });
    if (!memory_file.empty()) {
      memory = std::make_shared<agent::Memory>(memory_file);
      if (embeddings) {
        embeddings->options.secrets = &services.secrets;
        embedder = std::make_shared<agent::HttpEmbedder>(embeddings->endpoint, embeddings->options);
      }
      agent::add_memory_tools(services.tools, memory, embedder);
    } else if (embeddings) {
      throw Error(Errc::bad_argument,
                  path + ": embeddings are for the memory, and the file names no `memory`.");
    }
    if (run) agent::add_run_tool(services.tools, workshop, std::move(*run));
    if (fetch) agent::add_fetch_tool(services.tools, std::move(*fetch));
    if (delegates) agent::add_delegate_tool(services.tools);
    for (const std::string& each : manifests) add_tool(each, path);
    for (const SkillSource& each : skill_sources)
      skills->add(agent::read_skill(each.path, each.pin));
    agent::add_skill_tools(services.tools, skills, workshop);
    services.prompt_more = skills->prompt();
    for (const exec::Secret& each : workshop.secrets) services.secrets.add(value_of(each));
    servers.make(workshop.secrets);
  }
  void add_tool(const std::string& manifest, const std::string& path) {
    try {
      agent::add_command_tool(services.tools, agent::read_manifest(required_file(manifest, path)),
                              workshop);
    } catch (const Error& error) {
      throw Error(error.code(), manifest + ": " + error.what());
    }
  }

  static constexpr std::size_t kMostTools = 1000;
  agent::Workshop workshop;
  AgentServers servers;
  ModelsOfFile models;
  std::string models_file;
  std::string memory_file;
  std::shared_ptr<agent::Memory> memory;
  std::shared_ptr<agent::Embedder> embedder;
  std::shared_ptr<agent::Skills> skills = std::make_shared<agent::Skills>();
  agent::GitRepositories git;
  agent::RuleBook rules;
  agent::AgentMeters meters;
  agent::AgentServices services;
};

Agents::Agents(const std::string& file, const std::string& data, exec::CommandRunner& commands,
               observe::Pal& pal, observe::Metrics& metrics)
    : parts_(std::make_unique<Parts>(commands, pal, metrics, data)) {
  if (!file.empty()) parts_->read(file);
}
Agents::~Agents() = default;
const agent::Skills& Agents::skills() const noexcept { return *parts_->skills; }
std::shared_ptr<agent::Memory> Agents::memory() const noexcept { return parts_->memory; }
std::shared_ptr<agent::Embedder> Agents::embedder() const noexcept { return parts_->embedder; }

const std::vector<std::shared_ptr<agent::McpServer>>& Agents::servers() const noexcept {
  return parts_->servers.all();
}
Task<void> Agents::accept_list(agent::McpServer& server, std::string digest) {
  co_await parts_->servers.accept(server, std::move(digest), parts_->services.tools);
}

agent::RuleBook& Agents::rules() noexcept { return parts_->rules; }

// What has expired is found no more; here it goes.
Task<void> Agents::open() {
  if (parts_->memory != nullptr) {
    const std::shared_ptr<agent::Memory> memory = parts_->memory;
    const std::int64_t now_us = World::current().wall_clock_us().value_or(0);
    const auto expire = [](std::shared_ptr<agent::Memory> in, std::int64_t now) {
      return in->expire(now);
    };
    co_await offload(expire, memory, now_us);
  }
  if (!parts_->models_file.empty()) {
    parts_->models.router = co_await agent::read_models(parts_->models_file);
  }
  co_await parts_->servers.open(parts_->services.tools);
}

Task<void> Agents::close() { co_await parts_->servers.close(); }

void Agents::add(Registry& types) {
  if (types.find(agent::kAgentType) == nullptr) agent::add_agent(types, parts_->services);
}

}  // namespace tiffany::app
