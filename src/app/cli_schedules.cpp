// Commands about schedules.
#include <utility>

#include "app/cli.hpp"
#include "app/cli_records.hpp"

namespace tiffany::app {
namespace {

std::string path_of_schedule(const Cli& cli) {
  return "/schedules/" + segment_of(cli.given.text("NAME"));
}

void print_schedules(const Cli& cli, const std::vector<Json>& all) {
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : all) {
    const bool paused = each["paused"].truth();
    rows.push_back({each["name"].text(),
                    {paused ? "paused" : "active", paused ? Paint::notice : Paint::plain},
                    paused ? "" : cli.out.moment(each["next"].text()),
                    each["runs"].text(),
                    each["skipped"].text(),
                    {each["problem"].text(), Paint::bad}});
  }
  cli.out.table({{"NAME"}, {"STATE"}, {"NEXT"}, {"RUNS"}, {"SKIPPED"}, {"PROBLEM"}}, rows);
}

Task<int> tell(Cli& cli, std::string what) {
  const Json answer = co_await cli.client.post(path_of_schedule(cli) + "/" + what, "");
  if (cli.out.json()) {
    cli.out.json(answer);
  } else if (!cli.out.quiet()) {
    cli.out.text(cli.given.text("NAME") + "  " + what + "\n");
  }
  co_return ends::kDone;
}

}  // namespace

namespace verb {

Task<int> schedule_create(Cli& cli) {
  const Given& given = cli.given;
  if (given.has("--cron") == given.has("--every")) {
    throw CliFailure{ends::kUsage, "Say when: --cron or --every, and not both."};
  }
  const std::string type = given.text("TYPE");
  const std::string arguments = co_await arguments_of(cli, type);
  if (arguments.starts_with('{')) {
    throw CliFailure{ends::kUsage, "A schedule has its arguments in their order, without names."};
  }
  std::string body = "{\"name\":" + quoted_json(given.text("NAME")) +
                     ",\"type\":" + quoted_json(type) + ",\"arguments\":" + arguments;
  for (const char* name : {"cron", "every", "zone", "overlap"}) {
    const std::string flag = std::string("--") + name;
    if (given.has(flag)) body += ",\"" + std::string(name) + "\":" + quoted_json(given.text(flag));
  }
  if (given.has("--catch-up")) {
    body += ",\"catch_up\":" + Json::parse(given.text("--catch-up")).raw();
  }
  const Json answer = co_await cli.client.post("/schedules", body + "}");
  cli.out.text(cli.out.json() ? answer.raw() + "\n" : answer["name"].text() + "\n");
  co_return ends::kDone;
}

Task<int> schedule_ls(Cli& cli) {
  const Json answer = co_await cli.client.get("/schedules");
  if (cli.out.json()) {
    cli.out.json_list(answer, "schedules");
  } else if (cli.out.format() == Format::name) {
    for (const Json& each : answer["schedules"].elements())
      cli.out.text(each["name"].text() + "\n");
  } else {
    print_schedules(cli, answer["schedules"].elements());
  }
  co_return ends::kDone;
}

Task<int> schedule_show(Cli& cli) {
  const Json answer = co_await cli.client.get(path_of_schedule(cli));
  if (cli.out.json()) {
    cli.out.json(answer);
    co_return ends::kDone;
  }
  cli.out.field("name", answer["name"].text());
  cli.out.field("state", answer["paused"].truth() ? "paused" : "active");
  cli.out.field("created", cli.out.moment(answer["created"].text()));
  cli.out.field("next", cli.out.moment(answer["next"].text()));
  cli.out.field("runs", answer["runs"].text());
  cli.out.field("asked", answer["asked"].text());
  cli.out.field("skipped", answer["skipped"].text());
  cli.out.field("last", answer["last"].text());
  cli.out.field("problem", answer["problem"].text(), Paint::bad);
  co_return ends::kDone;
}

Task<int> schedule_pause(Cli& cli) { co_return co_await tell(cli, "pause"); }
Task<int> schedule_resume(Cli& cli) { co_return co_await tell(cli, "resume"); }
Task<int> schedule_run(Cli& cli) { co_return co_await tell(cli, "run"); }
Task<int> schedule_rm(Cli& cli) {
  const Json answer = co_await cli.client.remove(path_of_schedule(cli));
  if (cli.out.json()) {
    cli.out.json(answer);
  } else if (!cli.out.quiet()) {
    cli.out.text(cli.given.text("NAME") + "  rm\n");
  }
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
