// Commands about plans.
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "app/cli.hpp"
#include "app/plans.hpp"
#include "app/settings.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/plan/command_retention.hpp"
#include "tiffany/plan/graph.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

constexpr std::size_t kLongestPlanFile = std::size_t{1} << 20;

// Of --param target=production.
plan::Values params_of(const Given& given) {
  plan::Values values;
  for (const std::string& each : given.all("--param")) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw CliFailure{ends::kUsage, "--param is \"" + each + "\": say name=value."};
    }
    values[each.substr(0, equals)] = each.substr(equals + 1);
  }
  return values;
}

Task<std::string> text_of_file(std::string path) {
  std::string failed;
  try {
    co_return co_await read_file(path, kLongestPlanFile);
  } catch (const IoError& error) {
    failed = error.number() == ENOENT ? "There is no file " + path + "." : error.what();
  }
  throw CliFailure{ends::kFailed, failed};
}

bool is_there(const std::string& path) {
  return World::current().files().access(path.c_str(), 0) == 0;
}

// All of them, a line for each.
struct PlanMistakes {
  std::string lines;
};

struct PlanFile {
  std::string text;
  plan::Files files;  // of its sub-plans
  plan::Checked checked;
};
Task<PlanFile> read_plan(std::string path) {
  PlanFile read;
  read.text = co_await text_of_file(path);
  read.files = co_await sub_plan_files(read.text, path, "");
  read.checked = plan::check(read.text, std::move(path), read.files);
  co_return read;
}

// The plan of a file, or its mistakes.
Task<plan::Plan> plan_of_file(std::string path) {
  const PlanFile read = co_await read_plan(std::move(path));
  if (!read.checked.plan) throw PlanMistakes{read.checked.text()};
  co_return *read.checked.plan;
}

void complain_of_all(const Cli& cli, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (end > 0) cli.out.complain(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

std::string start_body(const Given& given, std::string members) {
  members += (members.empty() ? "" : ",") + std::string("\"params\":") + to_json(params_of(given));
  if (given.has("--id")) members += ",\"id\":" + quoted_json(given.text("--id"));
  return "{" + members + "}";
}

// In this process, with a log of its own: what a crash has left is gone on with by the same --id.
Task<int> run_here(Cli& cli, std::string file) {
  const plan::Plan wanted = co_await plan_of_file(std::move(file));
  const plan::Values values = plan::with_defaults(wanted, params_of(cli.given));
  const Settings settings = Settings::read({});
  const std::string data = cli.given.text("--data", settings.text("data") + "/local");
  exec::Commands commands(data + "/commands", find_runner());
  plan::PlanServices services(commands, data + "/locks");
  Registry types;
  plan::add_plans(types, services);
  Host host(types, wal::LogOptions(data + "/wal"));
  co_await host.open();
  co_await plan::stop_orphans(commands, host);
  const std::string chosen = cli.given.text("--id", "");
  const Uuid id = chosen.empty() ? host.new_id() : id_of_text(chosen);
  co_await host.start_json(plan::kPlanType, "[" + to_json(wanted) + "," + to_json(values) + "]",
                           StartOptions().id(id));
  std::string failed;
  try {
    const plan::PlanEnd end = co_await host.result<plan::PlanEnd>(id);
    for (const plan::UnitView& each : end.units) {
      cli.out.text(each.state + "  " + each.name + (each.text.empty() ? "" : "  " + each.text) +
                   "\n");
    }
  } catch (const Error& error) {
    failed = error.what();
  }
  co_await host.close();
  if (failed.empty()) co_return ends::kDone;
  throw CliFailure{ends::kFailed, failed};
}

}  // namespace

namespace verb {

Task<int> run(Cli& cli) {
  const std::string file = cli.given.text("PLAN");
  if (cli.given.has("--local")) {
    std::string mistakes;
    try {
      co_return co_await run_here(cli, file);
    } catch (const PlanMistakes& found) {
      mistakes = found.lines;
    }
    complain_of_all(cli, mistakes);
    co_return ends::kFailed;
  }
  std::string path = "/plans/run";
  std::string members;
  if (is_there(file)) {
    const PlanFile read = co_await read_plan(file);
    // Not sent: a plan of somebody else may name any file as its sub-plan.
    if (!read.checked.plan) {
      complain_of_all(cli, read.checked.text());
      co_return ends::kUsage;
    }
    members = "\"text\":" + quoted_json(read.text) + ",\"file\":" + quoted_json(file) +
              ",\"files\":" + to_json(read.files);
  } else {
    if (file.find('/') != std::string::npos) {
      throw CliFailure{ends::kFailed, "There is no file " + file + "."};
    }
    path = "/plans/" + segment_of(file) + "/run";
  }
  const Json task = co_await cli.client.post(path, start_body(cli.given, std::move(members)));
  const std::string id = task["id"].text();
  if (cli.given.has("--detach")) {
    cli.out.text((cli.out.json() ? task.raw() : id) + "\n");
    co_return ends::kDone;
  }
  if (cli.out.format() != Format::table) co_return co_await wait_for_task(cli, id);
  co_return co_await follow_plan(cli, id);
}

// As the API answers it.
Json json_of_check(const std::string& file, const plan::Checked& checked) {
  std::string mistakes;
  for (const plan::Mistake& each : checked.mistakes) {
    mistakes += (mistakes.empty() ? "" : ",") + std::string("{\"line\":") +
                std::to_string(each.line) + ",\"column\":" + std::to_string(each.column) +
                ",\"sentence\":" + quoted_json(each.sentence) + "}";
  }
  return Json::parse("{\"file\":" + quoted_json(file) + ",\"good\":" +
                     (checked.plan ? "true" : "false") + ",\"mistakes\":[" + mistakes + "]}");
}

Task<int> plan_check(Cli& cli) {
  int worst = ends::kDone;
  std::vector<Json> found;
  for (const std::string& file : cli.given.all("PLAN")) {
    const PlanFile read = co_await read_plan(file);
    if (!read.checked.plan) worst = ends::kFailed;
    if (cli.out.json()) {
      found.push_back(json_of_check(file, read.checked));
    } else if (read.checked.plan) {
      const std::size_t steps = read.checked.plan->steps.size();
      cli.out.text(file + ": good, " + std::to_string(steps) +
                   (steps == 1 ? " step\n" : " steps\n"));
    } else {
      complain_of_all(cli, read.checked.text());
    }
  }
  if (cli.out.json()) cli.out.json_lines(found);
  co_return worst;
}

Task<int> plan_graph(Cli& cli) {
  plan::Plan found;
  std::string mistakes;
  try {
    found = co_await plan_of_file(cli.given.text("PLAN"));
  } catch (const PlanMistakes& all) {
    mistakes = all.lines;
  }
  if (!mistakes.empty()) {
    complain_of_all(cli, mistakes);
    co_return ends::kFailed;
  }
  const std::string as = cli.given.text("--as", cli.out.json() ? "json" : "text");
  std::string text = as == "dot"    ? plan::graph_dot(found)
                     : as == "json" ? plan::graph_json(found)
                                    : plan::graph_text(found);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  cli.out.text(text + "\n");
  co_return ends::kDone;
}

Task<int> plan_ls(Cli& cli) {
  const Json all = co_await cli.client.get("/plans");
  if (cli.out.json()) {
    cli.out.json_list(all, "plans");
    co_return ends::kDone;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : all["plans"].elements()) {
    const bool good = each["good"].truth();
    if (cli.out.format() == Format::name) cli.out.text(each["name"].text() + "\n");
    rows.push_back({each["name"].text(),
                    {good ? "good" : "has mistakes", good ? Paint::plain : Paint::bad},
                    each["about"].text(),
                    each["file"].text()});
  }
  if (cli.out.format() != Format::name) {
    cli.out.table({{"PLAN"}, {"STATE"}, {"ABOUT"}, {"FILE", true}}, rows);
  }
  co_return ends::kDone;
}

Task<int> plan_output(Cli& cli) {
  const std::string which = cli.given.has("--errors") ? "err" : "out";
  const std::string text = co_await cli.client.page(
      "/api/v1/tasks/" + segment_of(cli.given.text("TASK")) + "/output?which=" + which +
      "&unit=" + segment_of(cli.given.text("UNIT")) +
      "&attempt=" + segment_of(cli.given.text("--attempt", "1")));
  cli.out.text(text);
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
