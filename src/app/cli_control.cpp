// Commands that change tasks.
#include <algorithm>
#include <optional>
#include <utility>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/plan/plan.hpp"

namespace tiffany::app {
namespace {

constexpr Duration kLong = std::chrono::minutes(10);

std::string reason_body(const Given& given, std::string members = "") {
  if (given.has("--message")) {
    members += (members.empty() ? "" : ",") + std::string("\"reason\":") +
               quoted_json(given.text("--message"));
  }
  return "{" + members + "}";
}

std::string json_word(const std::string& word) {
  try {
    return Json::parse(word).raw();
  } catch (const Error&) {
    throw CliFailure{ends::kUsage,
                     "\"" + word + "\" is no JSON; a text is written '\"like this\"'."};
  }
}

void print_done(const Cli& cli, const Json& answer, const std::string& id, std::string_view what) {
  if (cli.out.json()) {
    cli.out.json(answer);
  } else if (cli.out.format() == Format::name) {
    cli.out.text(id + "\n");
  } else if (!cli.out.quiet()) {
    cli.out.text(id + "  " + std::string(what) + "\n");
  }
}

// Each task by itself: what is wrong with one does not keep the others. The highest status counts.
Task<int> for_each_task(Cli& cli, std::string what) {
  int worst = ends::kDone;
  for (const std::string& task : cli.given.all("TASK")) {
    std::optional<CliFailure> failed;
    try {
      const Json answer = co_await cli.client.post("/tasks/" + segment_of(task) + "/" + what,
                                                   reason_body(cli.given));
      print_done(cli, answer, answer["task"].text(), what);
    } catch (const CliFailure& failure) {
      failed = failure;
    }
    if (!failed) continue;
    cli.out.complain(failed->sentence);
    worst = std::max(worst, failed->status);
    if (failed->status == ends::kNoDaemon) break;
  }
  co_return worst;
}

std::string line_of_promise(const Output& out, const Json& promise) {
  return promise["name"].text() + " of " + promise["type"].text() + " " +
         out.id(promise["task"].text());
}

// "approval" for "pay/approval#1".
bool has_name(const Json& promise, const std::string& name) {
  const std::string& whole = promise["name"].text();
  if (whole == name || whole.substr(0, whole.find('#')) == name) return true;
  const std::size_t slash = whole.rfind('/');
  if (slash == std::string::npos) return false;
  const std::string last = whole.substr(slash + 1);
  return last == name || last.substr(0, last.find('#')) == name;
}

// The promise that a person means: by its id or a beginning, by its task, or the only one there is.
Task<Json> promise_meant(Cli& cli, std::string verb) {
  const std::string word = cli.given.text("TASK");
  const Json all = co_await cli.client.get("/promises?limit=10000");
  std::vector<Json> meant;
  for (const Json& each : all["promises"].elements()) {
    const bool matches = word.empty() || each["id"].text().starts_with(word) ||
                         each["task"].text().starts_with(word);
    const bool named = !cli.given.has("--promise") || has_name(each, cli.given.text("--promise"));
    if (matches && named) meant.push_back(each);
  }
  if (meant.empty()) {
    // A task that is not there is another mistake than one that waits for nothing.
    if (!word.empty()) (void)co_await cli.client.get("/tasks/" + segment_of(word));
    throw CliFailure{word.empty() ? ends::kFailed : ends::kNoTask,
                     (word.empty() ? "No task waits" : "Task " + word + " does not wait") +
                         std::string(" for a promise") +
                         (cli.given.has("--promise") ? " of that name." : ".")};
  }
  if (meant.size() == 1) {
    if (word.empty())
      cli.confirm("About " + line_of_promise(cli.out, meant[0]) + ": " + verb + "?");
    co_return meant[0];
  }
  for (std::size_t i = 0; i < meant.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    cli.out.note(std::string(number.size() < 3 ? 3 - number.size() : 0, ' ') + number + "  " +
                 line_of_promise(cli.out, meant[i]) + "  " + cli.out.id(meant[i]["id"].text()));
  }
  const std::string answer =
      cli.answer_to("Which one shall I " + verb + " (1 to " + std::to_string(meant.size()) + ")?",
                    "Several promises wait, and there is no terminal to ask on which one is meant: "
                    "say --promise NAME, or the id of the promise.");
  std::size_t which = 0;
  for (const char c : answer) {
    which = c >= '0' && c <= '9' && which < 10'000 ? which * 10 + static_cast<std::size_t>(c - '0')
                                                   : 10'001;
  }
  if (which < 1 || which > meant.size()) {
    throw CliFailure{ends::kFailed, "\"" + answer + "\" is none of them. Nothing was changed."};
  }
  co_return meant[which - 1];
}

Task<int> decide(Cli& cli, std::string verb, std::string members) {
  const Json promise = co_await promise_meant(cli, verb);
  if (promise["type"].text() == plan::kPlanType) {
    co_return co_await decide_plan_unit(cli, promise, verb == "approve");
  }
  if (promise["type"].text() == agent::kAgentType) {
    co_return co_await decide_agent_question(cli, promise, verb == "approve");
  }
  const std::string id = promise["id"].text();
  const Json answer = co_await cli.client.post("/promises/" + id, reason_body(cli.given, members));
  print_done(cli, answer, promise["task"].text(), verb + " " + promise["name"].text());
  co_return ends::kDone;
}

Task<int> look_along(Cli& cli, std::string what) {
  const Json seen =
      co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")) + "/" + what, kLong);
  const bool agrees = seen["agrees"].truth();
  if (cli.out.json()) {
    cli.out.json(seen);
    co_return agrees ? ends::kDone : ends::kDiverged;
  }
  cli.out.field("task", seen["id"].text());
  cli.out.field("status", seen["status"].text(), paint_of_status(seen["status"].text()));
  cli.out.field("agrees", agrees ? "yes" : "no", agrees ? Paint::good : Paint::bad);
  cli.out.field("difference", seen["difference"].text());
  cli.out.field("commands", seen["commands"].raw());
  for (const Json& each : seen["next"].elements()) cli.out.field("next", each.text());
  if (what == "replay") {
    for (const Json& each : seen["events"].elements()) {
      cli.out.text("  " + detail::shown(each.text()) + "\n");
    }
  }
  co_return agrees ? ends::kDone : ends::kDiverged;
}

Task<int> from_step(Cli& cli, std::string what) {
  const std::string body = "\"from\":" + quoted_json(cli.given.text("STEP"));
  const Json answer = co_await cli.client.post(
      "/tasks/" + segment_of(cli.given.text("TASK")) + "/" + what, reason_body(cli.given, body));
  if (what == "fork" && !cli.out.json()) {
    cli.out.text(answer["task"].text() + "\n");
  } else {
    print_done(cli, answer, answer["task"].text(), what);
  }
  co_return ends::kDone;
}

void print_promises(const Cli& cli, const Json& all) {
  if (cli.out.json()) return cli.out.json_list(all, "promises");
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : all["promises"].elements()) {
    if (cli.out.format() == Format::name) cli.out.text(each["id"].text() + "\n");
    rows.push_back({cli.out.id(each["id"].text()), cli.out.id(each["task"].text()),
                    each["type"].text(), each["name"].text()});
  }
  if (cli.out.format() != Format::name) {
    cli.out.table({{"PROMISE"}, {"TASK"}, {"TYPE"}, {"NAME"}}, rows);
  }
}

}  // namespace

namespace verb {

Task<int> approve(Cli& cli) {
  co_return co_await decide(cli, "approve",
                            "\"value\":" + json_word(cli.given.text("--value", "true")));
}
Task<int> reject(Cli& cli) {
  if (cli.given.has("--error")) {
    co_return co_await decide(cli, "reject",
                              "\"error\":" + quoted_json("rejected: " + cli.given.text("--error")));
  }
  co_return co_await decide(cli, "reject",
                            "\"value\":" + json_word(cli.given.text("--value", "false")));
}
Task<int> complete(Cli& cli) {
  std::string id = cli.given.text("PROMISE");
  if (!Uuid::parse(id)) {
    const Json all = co_await cli.client.get("/promises?limit=10000");
    std::vector<std::string> found;
    for (const Json& each : all["promises"].elements()) {
      if (each["id"].text().starts_with(id)) found.push_back(each["id"].text());
    }
    if (found.size() != 1) {
      throw CliFailure{ends::kNoTask,
                       (found.empty() ? "No promise that waits has" : "Several have") +
                           std::string(" an id that begins with ") + id + "."};
    }
    id = found.front();
  }
  const std::string value = "\"value\":" + json_word(cli.given.text("JSON"));
  const Json answer = co_await cli.client.post("/promises/" + id, reason_body(cli.given, value));
  print_done(cli, answer, id, "complete");
  co_return ends::kDone;
}

Task<int> promises(Cli& cli) {
  const Json all =
      co_await cli.client.get("/promises?limit=" + std::to_string(limit_of(cli.given, 1000)));
  print_promises(cli, all);
  co_return ends::kDone;
}

Task<int> signal(Cli& cli) {
  const std::string body = "\"name\":" + quoted_json(cli.given.text("NAME")) +
                           ",\"value\":" + json_word(cli.given.text("JSON", "null"));
  const Json answer = co_await cli.client.post(
      "/tasks/" + segment_of(cli.given.text("TASK")) + "/signal", reason_body(cli.given, body));
  print_done(cli, answer, answer["task"].text(), "signal");
  co_return ends::kDone;
}

Task<int> update(Cli& cli) {
  std::string body = "\"value\":" + json_word(cli.given.text("JSON", "null"));
  if (cli.given.has("--id")) body += ",\"id\":" + quoted_json(cli.given.text("--id"));
  const std::string path = "/tasks/" + segment_of(cli.given.text("TASK")) + "/updates/" +
                           segment_of(cli.given.text("NAME"));
  const Json answer = co_await cli.client.post(path, reason_body(cli.given, body), kLong);
  cli.out.text((cli.out.json() ? answer.raw() : answer["answer"].raw()) + "\n");
  co_return ends::kDone;
}

Task<int> query(Cli& cli) {
  const Json answer = co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")) +
                                              "/query?name=" + segment_of(cli.given.text("NAME")));
  cli.out.text((cli.out.json() ? answer.raw() : answer["answer"].raw()) + "\n");
  co_return ends::kDone;
}

Task<int> cancel(Cli& cli) { co_return co_await for_each_task(cli, "cancel"); }
Task<int> pause(Cli& cli) { co_return co_await for_each_task(cli, "pause"); }
Task<int> resume(Cli& cli) { co_return co_await for_each_task(cli, "resume"); }
Task<int> kill(Cli& cli) {
  std::string all;
  for (const std::string& task : cli.given.all("TASK")) all += " " + task;
  cli.confirm("Killed tasks run no more of their code, not even to clean up. Kill" + all + "?");
  co_return co_await for_each_task(cli, "kill");
}
Task<int> retry(Cli& cli) { co_return co_await from_step(cli, "retry"); }
Task<int> fork(Cli& cli) { co_return co_await from_step(cli, "fork"); }
Task<int> inspect(Cli& cli) { co_return co_await look_along(cli, "inspect"); }
Task<int> replay(Cli& cli) { co_return co_await look_along(cli, "replay"); }

}  // namespace verb

}  // namespace tiffany::app
