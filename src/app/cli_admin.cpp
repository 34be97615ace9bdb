// Commands about the daemon itself.
#include <utility>

#include "app/api.hpp"
#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "base/shown_text.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

int print_problems(const Cli& cli, const Json& found) {
  int status = ends::kDone;
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : found["problems"].elements()) {
    if (each["kind"].text() == "deadlock") status = ends::kDeadlock;
    rows.push_back({{each["kind"].text(), Paint::bad}, each["tid"].text(), each["text"].text()});
  }
  if (cli.out.json()) {
    cli.out.json_list(found, "problems");
  } else if (rows.empty()) {
    cli.out.note("No task is in trouble.");
  } else {
    cli.out.table({{"KIND"}, {"TID"}, {"PROBLEM"}}, rows);
  }
  return status;
}

// "POST /tasks" of "POST /api/v1/tasks": where the API is says nothing.
std::string action_text(std::string action) {
  const std::size_t at = action.find(kApi);
  if (at != std::string::npos) action.erase(at, std::string_view(kApi).size());
  return action;
}

void print_audit(const Cli& cli, const Json& found) {
  if (cli.out.json()) return cli.out.json_list(found, "lines");
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : found["lines"].elements()) {
    const std::string& status = each["status"].text();
    rows.push_back({cli.out.moment(each["time"].number()),
                    each["actor"].text(),
                    each["role"].text(),
                    {status, status.starts_with('2') ? Paint::plain : Paint::bad},
                    action_text(each["action"].text()),
                    each["target"].text(),
                    each["reason"].text()});
  }
  cli.out.table(
      {{"TIME", false, true}, {"WHO"}, {"ROLE", true}, {"STATUS"}, {"ACTION"}, {"TARGET"}, {"WHY"}},
      rows);
}

void print_tokens(const Cli& cli, const Json& found) {
  if (cli.out.json()) return cli.out.json_list(found, "tokens");
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : found["tokens"].elements()) {
    if (cli.out.format() == Format::name) cli.out.text(each["name"].text() + "\n");
    rows.push_back(
        {each["name"].text(), each["role"].text(), cli.out.moment(each["created"].text())});
  }
  if (cli.out.format() != Format::name) {
    cli.out.table({{"NAME"}, {"ROLE"}, {"CREATED"}}, rows);
  }
}

}  // namespace

namespace verb {

Task<int> metrics(Cli& cli) {
  const std::string text = co_await cli.client.page("/metrics");
  const std::string wanted = cli.given.text("--grep");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.find(wanted) != std::string_view::npos) cli.out.text(std::string(line) + "\n");
  }
  co_return ends::kDone;
}

Task<int> problems(Cli& cli) {
  const Json found = co_await cli.client.get("/problems");
  co_return print_problems(cli, found);
}

Task<int> dump(Cli& cli) {
  const std::string format = cli.out.json() ? "json" : "text";
  cli.out.text(co_await cli.client.page(std::string(kApi) + "/dump?format=" + format));
  co_return ends::kDone;
}

Task<int> audit(Cli& cli) {
  const Json found =
      co_await cli.client.get("/audit?limit=" + std::to_string(limit_of(cli.given, 100)));
  print_audit(cli, found);
  co_return ends::kDone;
}

Task<int> tokens_create(Cli& cli) {
  const std::string body = "{\"name\":" + quoted_json(cli.given.text("NAME")) +
                           ",\"role\":" + quoted_json(cli.given.text("--role", "viewer")) + "}";
  const Json made = co_await cli.client.post("/tokens", body);
  cli.out.text((cli.out.json() ? made.raw() : made["token"].text()) + "\n");
  cli.out.note("The token is shown this once: put it into a file that only its user can read.");
  co_return ends::kDone;
}

Task<int> tokens_ls(Cli& cli) {
  const Json found = co_await cli.client.get("/tokens");
  print_tokens(cli, found);
  co_return ends::kDone;
}

Task<int> tokens_rm(Cli& cli) {
  const std::string name = cli.given.text("NAME");
  const Json answer = co_await cli.client.remove("/tokens/" + segment_of(name));
  cli.out.done(answer, name + "  rm");
  co_return ends::kDone;
}

Task<int> levels(Cli& cli) {
  const std::string body = "{\"levels\":" + quoted_json(cli.given.text("LEVELS")) + "}";
  const Json answer = co_await cli.client.post("/levels", body);
  cli.out.done(answer, "levels  " + answer["levels"].text());
  co_return ends::kDone;
}

Task<int> compact(Cli& cli) {
  const Json done = co_await cli.client.post("/compact", "", std::chrono::minutes(30));
  cli.out.done(done, done["archived"].text() + " tasks went into the archive, " +
                         done["kept"].text() + " stayed in the log, " + done["removed"].text() +
                         " left the archive.");
  if (done.has("skipped")) cli.out.note(done["skipped"].text());
  co_return ends::kDone;
}

Task<int> backup(Cli& cli) {
  const std::string body = "{\"to\":" + quoted_json(cli.given.text("DIR")) + "}";
  const Json done = co_await cli.client.post("/backup", body, std::chrono::hours(24));
  cli.out.done(done, done["files"].text() + " files, " + done["bytes"].text() + " bytes, in " +
                         done["to"].text());
  co_return ends::kDone;
}

Task<int> shutdown(Cli& cli) {
  std::string body = "{}";
  if (cli.given.has("--message")) {
    body = "{\"reason\":" + quoted_json(cli.given.text("--message")) + "}";
  }
  const Json done = co_await cli.client.post("/shutdown", body);
  cli.out.done(done, "The daemon ends; its tasks go on at its next start.");
  co_return ends::kDone;
}

Task<int> version(Cli& cli) {
  const std::string own = cli.program() + " " + cli.app.version();
  if (cli.given.has("--client")) {
    cli.out.text(cli.out.json() ? "{\"client\":" + quoted_json(own) + "}\n" : own + "\n");
    co_return ends::kDone;
  }
  std::optional<Json> info;
  std::string why;
  try {
    info = co_await cli.client.get("/info");
  } catch (const CliFailure& failure) {
    why = failure.sentence;
  }
  if (cli.out.json()) {
    cli.out.text("{\"client\":" + quoted_json(own) +
                 ",\"daemon\":" + (info ? info->raw() : "null") + "}\n");
    co_return ends::kDone;
  }
  cli.out.text(own + "\n");
  if (info) {
    cli.out.text("daemon: " + shown((*info)["name"].text()) + " " +
                 shown((*info)["version"].text()) + ", " + (*info)["phase"].text() + ", pid " +
                 (*info)["pid"].text() + "\n");
  } else {
    cli.out.note(why);
  }
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
