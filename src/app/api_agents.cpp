// The API of agents: what they ask is answered by the digest of the question.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/api.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/what_if.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

// An answer that does not fit is refused here, before the promise is touched.
Task<std::string> answer_checked(ApiCall& call, Uuid task, agent::Answer answer) {
  Host& host = call.api.parts.host;
  const std::optional<DurableInfo> info = host.info(task);
  if (!info || info->status != DurableStatus::running) {
    throw HttpError(409, "The agent does not run, and waits for no approval.");
  }
  const agent::AgentView view = co_await host.ask(task, agent::kAgentView);
  const WallTime now{std::chrono::microseconds(World::current().wall_clock_us().value_or(0))};
  try {
    co_return agent::require_question(view, answer, now).promise;
  } catch (const Error& error) {
    if (error.code() != Errc::approval_refused) throw;
    throw HttpError(409, error.what());
  }
}

agent::AnswerScope scope_of(const std::string& text) {
  for (const agent::AnswerScope each :
       {agent::AnswerScope::once, agent::AnswerScope::task, agent::AnswerScope::rule}) {
    if (text == name_of(each)) return each;
  }
  throw HttpError(400, "scope is once, task or rule.");
}

void write_rule(JsonWriter& out, const agent::StandingRule& rule) {
  out.begin_object();
  out.member("id", rule.id);
  out.member("tool", rule.tool);
  out.member("pin", rule.pin);
  out.key("arguments");
  out.raw_value(rule.arguments);
  out.member("repository", rule.repository);
  out.member("who", rule.who);
  out.member("comment", rule.comment);
  out.member("since", wal::text_of_time(rule.since_us));
  out.end_object();
}

}  // namespace

bool is_agent(const Host& host, const Uuid& task) {
  const std::optional<DurableInfo> info = host.info(task);
  return info && info->type == agent::kAgentType;
}

// Whoever knows the id of a promise has seen the question that it is of.
Task<std::string> answer_to_agent(ApiCall& call, Uuid promise, std::string value) {
  Host& host = call.api.parts.host;
  const std::optional<OpenPromise> found = host.promise(promise);
  if (!found || !is_agent(host, found->task)) co_return "";
  if (value != "true" && value != "false") {
    throw HttpError(400, "This promise is the question of an agent: its value is true or false.");
  }
  const agent::AgentView view = co_await host.ask(found->task, agent::kAgentView);
  if (!view.question || view.question->promise != promise.text()) {
    throw HttpError(409, "The agent does not ask that any more: look again.");
  }
  agent::Answer answer;
  answer.digest = view.question->digest;
  answer.verdict = value == "true" ? agent::Verdict::approve : agent::Verdict::reject;
  answer.who = call.who().name;
  answer.comment = call.reason;
  co_return to_json(answer);
}

Task<Response> decide_agent(ApiCall& call, Uuid task) {
  const Body body(call.request(), {"unit", "approved", "digest", "note", "scope"});
  const std::string approved = body.raw("approved", "");
  if (approved != "true" && approved != "false") {
    throw HttpError(400, "Say whether it is approved: `\"approved\": true` or false.");
  }
  agent::Answer answer;
  answer.digest = body.text("digest");
  answer.verdict = approved == "true" ? agent::Verdict::approve : agent::Verdict::reject;
  answer.who = call.who().name;
  answer.comment = call.reason = body.text("note", "");
  answer.scope = scope_of(body.text("scope", "once"));
  const std::string promise = co_await answer_checked(call, task, answer);
  const bool first = co_await call.api.parts.host.complete_json(
      Uuid::parse(promise).value_or(Uuid()), to_json(answer), true, call.actor());
  if (!first) throw HttpError(409, "Somebody else has answered before.");
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("task", task.text());
                          out.member("name", "agent");
                          out.member("done", approved == "true" ? "approved" : "rejected");
                          out.end_object();
                        }));
}

namespace calls {

// Of agents that have ended, too: from the log.
Task<Response> task_transcript(ApiCall& call) {
  constexpr std::size_t kPage = 1000;
  constexpr std::size_t kMostRecords = 100'000;
  Host& host = call.api.parts.host;
  const Uuid id = call.task();
  if (!is_agent(host, id)) throw HttpError(404, "Task " + id.text() + " is no agent.");
  std::vector<std::string> lines;
  std::uint64_t after = 0;
  while (lines.size() < kMostRecords) {
    std::vector<std::string> page = host.records(id, after, kPage);
    if (page.empty()) break;
    after = wal::view_of(page.back()).seq;
    for (std::string& line : page) lines.push_back(std::move(line));
  }
  const agent::RecordedRun run = agent::recorded_run(
      lines, [&](std::string_view value) { return host.store().value_of(value); });
  co_return json_answer(200, to_json(run));
}

Task<Response> list_rules(ApiCall& call) {
  co_return json_answer(
      200, json_text([&](JsonWriter& out) {
        out.begin_object();
        out.key("rules");
        out.begin_array();
        for (const agent::StandingRule& each : call.api.parts.agents.rules().all())
          write_rule(out, each);
        out.end_array();
        out.end_object();
      }));
}

Task<Response> remove_rule(ApiCall& call) {
  const std::string& id = call.path("rule");
  if (!call.api.parts.agents.rules().remove(id)) {
    throw HttpError(404, "There is no rule \"" + id + "\".");
  }
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", id);
                          out.member("done", "remove");
                          out.end_object();
                        }));
}

}  // namespace calls

}  // namespace tiffany::app
