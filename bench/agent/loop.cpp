// Agents on a log on the disk, with a model and a repository that cost nothing: what is measured is
// the loop.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "agent/spawn.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/durable/host.hpp"

namespace {

using namespace agent_rows;
using agent::AgentView;

// Calls the tool for so many turns, then says that it is done.
class Tireless final : public agent::Model {
 public:
  Task<agent::Reply> ask(agent::Request request, agent::Try, agent::LiveText) override {
    agent::Reply reply;
    std::size_t turn = 0;
    for (const agent::Message& each : request.messages) {
      turn += each.role == agent::Role::assistant ? 1 : 0;
    }
    if (turn < turns) {
      agent::ToolCall call;
      call.id = "c" + std::to_string(turn);
      call.name = "read";
      call.arguments = "{\"turn\":" + std::to_string(turn) + "}";
      reply.message = agent::Message::assistant("I look at it.", {call});
      reply.stop = agent::Stop::tools;
    } else {
      reply.message = agent::Message::assistant("Change it");
    }
    reply.usage.known = true;
    co_return reply;
  }
  std::size_t turns = 100;
};

class Unreal final : public agent::Repositories {
 public:
  Task<agent::CanvasState> open(std::string, std::string, std::string) override {
    co_return state("0");
  }
  Task<agent::CanvasState> keep(std::string, agent::CanvasState canvas, std::string) override {
    co_return canvas;
  }
  Task<std::string> diff(std::string, agent::CanvasState) override {
    co_return std::string(4096, '+');
  }
  Task<std::vector<std::string>> unresolved(std::string, agent::CanvasState) override {
    co_return std::vector<std::string>();
  }
  Task<std::string> commit(agent::CommitRequest) override { co_return std::string(40, '2'); }
  Task<agent::MergedCanvas> merge(std::string, agent::CanvasState, std::string,
                                  std::string) override {
    co_return agent::MergedCanvas();
  }
  Task<void> forget(std::string, std::string) override { co_return; }
  static agent::CanvasState state(const char* digit) {
    agent::CanvasState made;
    made.base = std::string(40, '0');
    made.tree = std::string(40, *digit);
    return made;
  }
};

class Answering final : public agent::Tool {
 public:
  Answering() {
    offer_.name = "read";
    offer_.about = "Reads.";
    offer_.schema = "{}";
  }
  const agent::ToolOffer& offer() const noexcept override { return offer_; }
  const agent::ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view) const override { return ""; }
  Task<agent::ToolAnswer> run(agent::ToolContext, std::string arguments) override {
    agent::ToolAnswer answer(arguments + std::string(bytes, 'x'));
    answer.canvas = Unreal::state("1");
    co_return answer;
  }
  std::size_t bytes = 200;

 private:
  agent::ToolOffer offer_;
  agent::ToolTraits traits_;
};

struct World {
  World() : services(model, repositories) {
    services.tools.add(tool);
    agent::add_agent(types, services);
  }
  static agent::Instruction instruction() {
    agent::Instruction ask;
    ask.instruction = "Change it.";
    ask.repository = "/srv/shop";
    return ask;
  }
  Tireless model;
  Unreal repositories;
  std::shared_ptr<Answering> tool = std::make_shared<Answering>();
  agent::AgentServices services;
  Registry types;
};

Task<void> until_it_asks(Host* host, Uuid id) {
  for (;;) {
    const AgentView view = co_await host->ask(id, agent::kAgentView);
    if (view.question) co_return;
    co_await sleep(std::chrono::milliseconds(1));
  }
}

double run_agents(const std::function<Task<double>(World*, std::string)>& measure) {
  const durable_rows::Scratch scratch;
  World world;
  double value = 0;
  const auto whole = [&]() -> Task<void> {
    value = co_await measure(&world, scratch.path() + "/wal");
  };
  bench::check(tiffany::run(whole()) == 0, "agents run");
  return value;
}

struct Turns {
  double syncs = 0;
  double cpu_us = 0;
};

Task<Turns> measure_turns(World* world, std::string log) {
  Host host(world->types, wal::LogOptions(std::move(log)));
  co_await host.open();
  const agent::Instruction ask = World::instruction();
  const std::uint64_t before = host.store().counters().syncs;
  const double cpu = bench::thread_cpu_ns();
  const Uuid id = co_await host.start(agent::kAgentType, ask);
  co_await until_it_asks(&host, id);
  Turns turns;
  const auto count = static_cast<double>(world->model.turns + 1);
  turns.cpu_us = (bench::thread_cpu_ns() - cpu) / count / 1e3;
  turns.syncs = static_cast<double>(host.store().counters().syncs - before) / count;
  co_await host.close();
  co_return turns;
}

// Bar: 2. The reply of the model, and the answer of its tool.
double turn_syncs(const bench::Suite&) {
  return run_agents([](World* world, std::string log) -> Task<double> {
    const Turns turns = co_await measure_turns(world, std::move(log));
    co_return turns.syncs;
  });
}
double turn_cpu(const bench::Suite&) {
  return run_agents([](World* world, std::string log) -> Task<double> {
    const Turns turns = co_await measure_turns(world, std::move(log));
    co_return turns.cpu_us;
  });
}

// Bar: 64 KiB. A thousand agents wait for an approval of a patch of 4 KiB.
Task<double> measure_waiting(World* world, std::string log) {
  constexpr std::size_t kAgents = 1000;
  world->model.turns = 3;
  Host host(world->types, wal::LogOptions(std::move(log)));
  co_await host.open();
  const agent::Instruction ask = World::instruction();
  const Uuid first = co_await host.start(agent::kAgentType, ask);
  co_await until_it_asks(&host, first);
  const std::size_t before = bench::rss_bytes();
  std::vector<Uuid> all;
  for (std::size_t i = 0; i < kAgents; ++i) {
    const Uuid id = co_await host.start(agent::kAgentType, ask);
    all.push_back(id);
  }
  for (const Uuid& each : all) co_await until_it_asks(&host, each);
  const std::size_t after = bench::rss_bytes();
  co_await host.close();
  co_return static_cast<double>(after - before) / static_cast<double>(kAgents) / 1024;
}
double waiting_rss(const bench::Suite&) { return run_agents(measure_waiting); }

// 100 questions over a conversation of 200,000 tokens: 800 KB of text.
constexpr std::size_t kAnswer = 8000;
constexpr std::size_t kArguments = 2 * 11;  // of a call, and the answer begins with them

Task<double> talk(World* world, std::string log, Uuid id) {
  world->tool->bytes = kAnswer;
  Host host(world->types, wal::LogOptions(log));
  co_await host.open();
  const agent::Instruction ask = World::instruction();
  co_await host.start_json(agent::kAgentType, "[" + to_json(ask) + "]", id);
  co_await until_it_asks(&host, id);
  const auto bytes = static_cast<double>(host.store().counters().bytes);
  co_await host.close();
  co_return bytes;
}

// Bar: 1.2 times the bytes that are different.
Task<double> measure_log(World* world, std::string log) {
  const Uuid id = Uuid::derived(Uuid(), "long");
  const double bytes = co_await talk(world, log, id);
  const std::size_t said = std::string_view("I look at it.").size() + kArguments;
  co_return bytes / static_cast<double>((kAnswer + said) * world->model.turns);
}
double long_log(const bench::Suite&) { return run_agents(measure_log); }

// Bar: a second. From an open of the log until the agent asks what it asked before.
Task<double> measure_resume(World* world, std::string log) {
  const Uuid id = Uuid::derived(Uuid(), "long");
  static_cast<void>(co_await talk(world, log, id));
  const durable_rows::Stopwatch watch;
  Host host(world->types, wal::LogOptions(log));
  co_await host.open();
  co_await until_it_asks(&host, id);
  const double took = watch.seconds() * 1e3;
  co_await host.close();
  co_return took;
}
double long_resume(const bench::Suite&) { return run_agents(measure_resume); }

const bench::Row syncs_row("turn_syncs", "syncs", bench::Weight::light, turn_syncs);
const bench::Row cpu_row("turn_cpu", "us", bench::Weight::light, turn_cpu);
const bench::Row waiting_row("waiting_rss", "KiB", bench::Weight::heavy, waiting_rss);
const bench::Row log_row("long_log", "x", bench::Weight::heavy, long_log);
const bench::Row resume_row("long_resume", "ms", bench::Weight::light, long_resume);

}  // namespace
