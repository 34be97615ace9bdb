// Commands about agents.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/cli.hpp"
#include "app/cli_models.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/what_if.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::app {
namespace {

std::int64_t amount_of(const Given& given, const char* option) {
  if (!given.has(option)) return 0;
  try {
    return from_json<std::int64_t>(given.text(option));
  } catch (const Error&) {
    throw CliFailure{ends::kUsage, std::string(option) + " is \"" + given.text(option) +
                                       "\", which is no whole number."};
  }
}

std::string json_of(const agent::WhatIf& found) {
  std::string text = "{\"turns\":" + std::to_string(found.turns) + ",\"difference\":";
  if (!found.difference) return text + "null}";
  const agent::WhatIf::Difference& at = *found.difference;
  text += "{\"turn\":" + std::to_string(at.turn) + ",\"recorded\":" + to_json(at.recorded);
  const bool replied = at.problem.empty();
  text += ",\"now\":" + (replied ? to_json(at.other) : std::string("null"));
  return text + ",\"problem\":" + quoted_json(at.problem) + "}}";
}

// "Then it said: ...", and what it called.
void print_decision(const Cli& cli, const std::string& who, const agent::Message& said) {
  cli.out.text(who + ": " + detail::shown(said.text) + "\n");
  for (const agent::ToolCall& call : said.calls) {
    cli.out.text("  " + detail::shown(call.name + " " + call.arguments) + "\n");
  }
  if (said.calls.empty()) cli.out.text("  calls no tool\n");
}

// The daemon may work in another directory than this program.
std::string whole_path(const std::string& path) {
  if (path.starts_with('/')) return path;
  WorldFiles& files = World::current().files();
  const int here = files.open(".", 0);
  if (here < 0) return path;
  const std::string directory = files.path_of(here);
  files.close(here);
  return path == "." ? directory : directory + "/" + path;
}

agent::BudgetLimits limits_given(const Given& given) {
  agent::BudgetLimits limits;
  if (given.has("--turns")) limits.turns = amount_of(given, "--turns");
  if (given.has("--tokens")) limits.tokens = amount_of(given, "--tokens");
  return limits;
}

// How an agent stands. Of one that has ended only what it spent, in the members that a view has.
Task<Json> view_of(Cli& cli, std::string task) {
  const Json info = co_await cli.client.get("/tasks/" + segment_of(task));
  const std::string& status = info["status"].text();
  if (info["type"].text() != agent::kAgentType) {
    throw CliFailure{ends::kNoTask, "Task " + info["id"].text() + " is no agent."};
  }
  if (status == "completed" || status == "failed" || status == "cancelled") {
    co_return Json::parse("{\"state\":" + quoted_json(status) +
                          ",\"about\":" + quoted_json(info["detail"].text()) +
                          ",\"spent\":" + info["result"]["spent"].raw() + "}");
  }
  const Json said = co_await cli.client.get("/tasks/" + info["id"].text() + "/query?name=agent");
  co_return said["answer"];
}

// "$1.50" of millionths.
std::string dollars(std::int64_t millionths) {
  constexpr std::int64_t kCent = 10'000;
  const std::int64_t cents = (millionths + kCent - 1) / kCent;  // rather too much than too little
  const std::string rest = std::to_string(cents % 100);
  return "$" + std::to_string(cents / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

// "5 of 20", of what was spent and what may be.
void print_amount(const Cli& cli, const Json& view, const char* member, const std::string& name) {
  const auto text_of = [&](const Json& amount) {
    return std::string_view(member) == "micro_dollars" ? dollars(amount.number()) : amount.text();
  };
  const Json& spent = view["spent"][member];
  const Json& limit = view["limits"][member];
  if (spent.null() && limit.null()) return;
  cli.out.field(name, text_of(spent) + (limit.null() ? "" : " of " + text_of(limit)));
}

template <class Each>
void for_each_line(const std::string& text, const Each& each) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    each(detail::shown(text.substr(at, end - at)));
    at = end + 1;
  }
}

void print_diff(const Cli& cli, const std::string& diff) {
  for_each_line(diff, [&](const std::string& line) { cli.out.text(line + "\n"); });
}
// What somebody is about to decide.
void note_lines(const Cli& cli, const std::string& text) {
  for_each_line(text, [&](const std::string& line) { cli.out.note(line); });
}

}  // namespace

Task<int> decide_agent_question(Cli& cli, Json promise, bool approved) {
  const std::string task = promise["task"].text();
  const Json view = co_await view_of(cli, task);
  const Json& question = view["question"];
  if (question["promise"].text() != promise["id"].text()) {
    throw CliFailure{ends::kFailed, "The agent " + task + " does not ask that any more."};
  }
  cli.out.note(question["why"].text());
  note_lines(cli, question["diff"].text());
  note_lines(cli, question["action"].text());
  cli.out.note("digest " + question["digest"].text());
  if (approved && cli.out.terminal()) cli.confirm("Is that approved?");
  std::string note = cli.given.text("--message", "");
  if (cli.given.has("--error")) note = cli.given.text("--error");
  const std::string body =
      std::string("{\"approved\":") + (approved ? "true" : "false") +
      ",\"digest\":" + quoted_json(cli.given.text("--digest", question["digest"].text())) +
      ",\"note\":" + quoted_json(note) +
      ",\"scope\":" + quoted_json(cli.given.text("--scope", "once")) + "}";
  const Json done = co_await cli.client.post("/tasks/" + task + "/decide", body);
  cli.out.done(done, task + "  " + (approved ? "approved" : "rejected"));
  co_return ends::kDone;
}

namespace verb {

Task<int> agent(Cli& cli) {
  agent::Instruction ask;
  ask.instruction = cli.given.text("INSTRUCTION");
  ask.repository = whole_path(cli.given.text("--repo", "."));
  ask.base = cli.given.text("--base", "");
  ask.onto = cli.given.text("--onto", "");
  ask.model = cli.given.text("--model", "");
  ask.script = script_of(cli.given);
  ask.budget = limits_given(cli.given);
  std::string body =
      "{\"type\":" + quoted_json(agent::kAgentType) + ",\"arguments\":[" + to_json(ask) + "]";
  if (cli.given.has("--id")) body += ",\"id\":" + quoted_json(cli.given.text("--id"));
  const Json task = co_await cli.client.post("/tasks", body + "}");
  const std::string id = task["id"].text();
  if (cli.given.has("--detach")) {
    cli.out.text((cli.out.json() ? task.raw() : id) + "\n");
    co_return ends::kDone;
  }
  if (cli.out.format() != Format::table) co_return co_await wait_for_task(cli, id);
  cli.out.note("agent " + id + "; Ctrl-C detaches, and `" +
               cli.command("watch " + id.substr(0, 8)) + "` comes back");
  co_return co_await watch_own_task(cli, id);
}

Task<int> diff(Cli& cli) {
  const Json view = co_await view_of(cli, cli.given.text("TASK"));
  if (cli.out.json()) {
    cli.out.json(view["question"]);
    co_return ends::kDone;
  }
  const std::string text = view["question"]["diff"].text();
  if (text.empty()) {
    throw CliFailure{ends::kFailed, "No patch of this agent waits for an approval: it is " +
                                        view["state"].text() + "."};
  }
  print_diff(cli, text);
  cli.out.note("digest " + view["question"]["digest"].text());
  co_return ends::kDone;
}

Task<int> budget(Cli& cli) {
  const std::string task = cli.given.text("TASK");
  agent::Amounts more;
  more.turns = amount_of(cli.given, "--turns");
  more.tokens = amount_of(cli.given, "--tokens");
  more.micro_dollars = amount_of(cli.given, "--micro-dollars");
  more.seconds = amount_of(cli.given, "--seconds");
  more.tool_runs = amount_of(cli.given, "--tool-runs");
  more.bytes = amount_of(cli.given, "--bytes");
  if (more != agent::Amounts()) {
    const std::string body = "{\"name\":\"budget\",\"value\":" + to_json(more) + "}";
    const Json done = co_await cli.client.post("/tasks/" + segment_of(task) + "/signal", body);
    if (cli.out.json()) cli.out.json(done);
    if (!cli.out.json() && !cli.out.quiet()) cli.out.text(task + "  the budget is raised\n");
    co_return ends::kDone;
  }
  const Json view = co_await view_of(cli, task);
  if (cli.out.json()) {
    cli.out.json(view);
    co_return ends::kDone;
  }
  cli.out.field("state", view["state"].text());
  cli.out.field("about", view["about"].text());
  print_amount(cli, view, "turns", "turns");
  print_amount(cli, view, "tokens", "tokens");
  print_amount(cli, view, "micro_dollars", "money");
  print_amount(cli, view, "seconds", "seconds");
  print_amount(cli, view, "tool_runs", "tool runs");
  print_amount(cli, view, "bytes", "bytes");
  co_return ends::kDone;
}

Task<int> what_if(Cli& cli) {
  const std::unique_ptr<agent::Model> model = co_await model_of(cli.given);
  const std::string prompt = file_of(cli.given, "--prompt");
  const Json said =
      co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")) + "/transcript");
  agent::RecordedRun run = from_json<agent::RecordedRun>(said.raw());
  const agent::WhatIf found =
      co_await agent::what_if(std::move(run), *model, prompt, cli.given.text("--model", ""));
  if (cli.out.json()) {
    cli.out.json(Json::parse(json_of(found)));
    co_return found.difference ? ends::kDiverged : ends::kDone;
  }
  if (!found.difference) {
    cli.out.text("No difference in " + std::to_string(found.turns) + " turns.\n");
    co_return ends::kDone;
  }
  const agent::WhatIf::Difference& at = *found.difference;
  cli.out.text("The first difference is in turn " + std::to_string(at.turn) + ".\n");
  print_decision(cli, "recorded", at.recorded);
  if (at.problem.empty()) {
    print_decision(cli, "now", at.other);
  } else {
    cli.out.text("now: no reply. " + detail::shown(at.problem) + "\n");
  }
  co_return ends::kDiverged;
}

Task<int> rules_ls(Cli& cli) {
  const Json found = co_await cli.client.get("/rules");
  if (cli.out.json()) {
    cli.out.json_list(found, "rules");
    co_return ends::kDone;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : found["rules"].elements()) {
    if (cli.out.format() == Format::name) cli.out.text(each["id"].text() + "\n");
    rows.push_back({each["id"].text(), each["tool"].text(), each["who"].text(),
                    cli.out.moment(each["since"].text()), each["repository"].text(),
                    each["arguments"].raw()});
  }
  if (cli.out.format() != Format::name) {
    cli.out.table(
        {{"ID", false, true}, {"TOOL"}, {"WHO"}, {"SINCE"}, {"REPOSITORY"}, {"ARGUMENTS"}}, rows);
  }
  co_return ends::kDone;
}

Task<int> rules_rm(Cli& cli) {
  const std::string id = cli.given.text("RULE");
  const Json answer = co_await cli.client.remove("/rules/" + segment_of(id));
  cli.out.done(answer, id + "  rm");
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
