#include "tiffany/agent/meters.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tiffany/base/json.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/durable/span_interceptor.hpp"

namespace tiffany::agent {
namespace {

std::int64_t wall_us() { return World::current().wall_clock_us().value_or(0); }

double seconds_since(std::int64_t began_us) {
  constexpr double kMicroseconds = 1e6;
  return static_cast<double>(std::max<std::int64_t>(wall_us() - began_us, 0)) / kMicroseconds;
}

std::string json_of(const std::string& text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

// The names of tools are the operator's, those of models too; but a name that a model made up is
// not, and a label must not grow with it.
constexpr std::size_t kMostNames = 100;

}  // namespace

AgentMeters::Attempted::Attempted(const Uuid& of, std::string step_key, int count)
    : task(of), key(std::move(step_key)), number(count), began_us(wall_us()) {}

AgentMeters::AgentMeters(observe::Metrics& metrics, observe::Tracer* tracer)
    : tracer_(tracer),
      tokens_(metrics.histograms("gen_ai_client_token_usage", "Tokens of one reply, by kind.",
                                 {"model", "token_type"}, observe::buckets::exponential(1, 4, 14),
                                 kMostNames)),
      seconds_(metrics.histograms("gen_ai_client_operation_duration_seconds",
                                  "How long a model took for a reply.", {"model", "outcome"},
                                  observe::buckets::exponential(0.01, 2, 14), kMostNames)),
      cost_(metrics.counters("tiffany_agent_micro_dollars_total",
                             "What replies cost, in millionths of a dollar.", {"model"},
                             kMostNames)),
      tools_(metrics.counters("tiffany_agent_tool_runs_total", "Calls of tools that were run.",
                              {"tool", "outcome"}, kMostNames)),
      tool_seconds_(metrics.histograms("tiffany_agent_tool_duration_seconds",
                                       "How long tools took.", {"tool"},
                                       observe::buckets::exponential(0.001, 2, 18), kMostNames)),
      answers_(metrics.counters("tiffany_agent_answers_total",
                                "What people said to questions of agents.", {"verdict"})) {}

void AgentMeters::asked(const Attempted& attempt, const std::string& model, const Usage& usage,
                        std::int64_t micro_dollars, bool failed) {
  seconds_.with(model, failed ? "failed" : "ok").observe(seconds_since(attempt.began_us));
  if (usage.known) {
    tokens_.with(model, "input").observe(static_cast<double>(usage.input));
    tokens_.with(model, "output").observe(static_cast<double>(usage.output));
  }
  if (micro_dollars > 0) cost_.with(model).add(static_cast<std::uint64_t>(micro_dollars));
  record(attempt, "chat " + model, failed,
         {{"gen_ai.operation.name", "\"chat\""},
          {"gen_ai.response.model", json_of(model)},
          {"gen_ai.usage.input_tokens", std::to_string(usage.input)},
          {"gen_ai.usage.output_tokens", std::to_string(usage.output)}});
}

void AgentMeters::ran_tool(const Attempted& attempt, const std::string& tool, int level,
                           bool failed) {
  tools_.with(tool, failed ? "failed" : "ok").add();
  tool_seconds_.with(tool).observe(seconds_since(attempt.began_us));
  record(attempt, "execute_tool " + tool, failed,
         {{"gen_ai.operation.name", "\"execute_tool\""},
          {"gen_ai.tool.name", json_of(tool)},
          {"tiffany.sandbox.level", std::to_string(level)}});
}

void AgentMeters::answered(std::string_view verdict) { answers_.with(verdict).add(); }

void AgentMeters::record(const Attempted& attempt, std::string name, bool failed,
                         std::vector<std::pair<std::string, std::string>> attributes) {
  if (tracer_ == nullptr) return;
  constexpr std::int64_t kNanoseconds = 1000;
  observe::EndedSpan span;
  const observe::SpanId parent =
      SpanInterceptor::span_of(attempt.task, attempt.key, attempt.number);
  span.id = SpanInterceptor::inside(parent, name);
  span.parent = parent.span;
  span.name = std::move(name);
  span.began = attempt.began_us * kNanoseconds;
  span.ended = wall_us() * kNanoseconds;
  span.failed = failed;
  span.attributes = std::move(attributes);
  tracer_->record(std::move(span));
}

}  // namespace tiffany::agent
