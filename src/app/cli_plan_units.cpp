// The steps of a plan that runs: how they stand, and what they ask a person.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "base/shown_text.hpp"

namespace tiffany::app {
namespace {

Paint paint_of_unit(std::string_view state) noexcept {
  if (state == "done") return Paint::good;
  if (state == "failed") return Paint::bad;
  return state == "awaiting approval" ? Paint::notice : Paint::plain;
}

// Of a sub-plan also its task, which can be looked at, approved and cancelled by itself.
std::string text_of_unit(const Json& unit) {
  const std::string& task = unit["task"].text();
  const std::string& text = unit["text"].text();
  if (task.empty()) return text;
  return "task " + task.substr(0, 8) + (text.empty() ? "" : "  " + text);
}

std::string unit_line(const Output& out, const Json& unit, const std::string& before) {
  const std::string& state = unit["state"].text();
  const std::int64_t begun = unit["begun_us"].number();
  const std::int64_t ended = unit["ended_us"].number();
  std::string text = out.painted(state, paint_of_unit(state));
  text += std::string(state.size() < 18 ? 18 - state.size() : 1, ' ') +
          detail::shown(before + unit["name"].text());
  if (begun > 0 && ended > begun) text += "  " + short_duration(ended - begun);
  if (unit["attempts"].number() > 1) {
    text += "  attempt " + std::to_string(unit["attempts"].number());
  }
  const std::string more = text_of_unit(unit);
  if (!more.empty()) text += "  " + detail::shown(more);
  return text + "\n";
}

void print_units(const Cli& cli, const Json& plan) {
  if (cli.out.json()) return cli.out.json_list(plan, "units");
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : plan["units"].elements()) {
    const std::string& state = each["state"].text();
    const std::int64_t begun = each["begun_us"].number();
    const std::int64_t ended = each["ended_us"].number();
    rows.push_back({each["name"].text(),
                    {state, paint_of_unit(state)},
                    each["attempts"].text(),
                    begun > 0 && ended >= begun ? short_duration(ended - begun) : std::string(),
                    text_of_unit(each)});
  }
  cli.out.table({{"UNIT"}, {"STATE"}, {"ATTEMPTS"}, {"TOOK"}, {"TEXT"}}, rows);
}

}  // namespace

Task<std::vector<std::string>> show_new_units(Cli& cli, std::string id, UnitStates& known) {
  constexpr std::size_t kMostSubPlans = 20;               // of which steps are shown, at a time
  std::vector<std::pair<std::string, std::string>> open;  // tasks, and what stands before names
  open.emplace_back(id, "");
  for (std::size_t i = 0; i < open.size() && i <= kMostSubPlans; ++i) {
    const std::string before = open[i].second;
    const Json plan = co_await cli.client.get("/tasks/" + open[i].first + "/plan");
    for (const Json& unit : plan["units"].elements()) {
      const std::string& state = unit["state"].text();
      const std::string name = before + unit["name"].text();
      const bool runs = state == "running" && !unit["task"].text().empty();
      if (runs) open.emplace_back(unit["task"].text(), name + "/");
      std::string& shown = known[name];
      if (shown == state || state == "waiting") continue;
      shown = state;
      cli.out.raw(unit_line(cli.out, unit, before));
    }
  }
  std::fflush(stdout);
  std::vector<std::string> below;
  for (std::size_t i = 1; i < open.size(); ++i) below.push_back(open[i].first);
  co_return below;
}

// An approval of a plan is bound to what was shown: its text is printed, and its digest sent.
Task<int> decide_plan_unit(Cli& cli, Json promise, bool approved) {
  const std::string id = promise["task"].text();
  const Json plan = co_await cli.client.get("/tasks/" + id + "/plan");
  for (const Json& unit : plan["units"].elements()) {
    if (unit["promise"].text() != promise["id"].text()) continue;
    cli.out.note(unit["name"].text() + ": " + unit["text"].text());
    cli.out.note("digest " + unit["digest"].text());
    std::string body = "{\"unit\":" + quoted_json(unit["name"].text());
    body += std::string(",\"approved\":") + (approved ? "true" : "false");
    body += ",\"digest\":" + quoted_json(cli.given.text("--digest", unit["digest"].text()));
    std::string note = cli.given.text("--message");
    if (cli.given.has("--error")) note = cli.given.text("--error");
    body += ",\"note\":" + quoted_json(note) + "}";
    const Json done = co_await cli.client.post("/tasks/" + id + "/decide", body);
    if (cli.out.json()) {
      cli.out.json(done);
    } else if (!cli.out.quiet()) {
      const std::string what = approved ? "approve" : "reject";
      cli.out.text(id + "  " + what + " " + detail::shown(unit["name"].text()) + "\n");
    }
    co_return ends::kDone;
  }
  throw CliFailure{ends::kFailed, "The plan " + id + " does not ask that any more."};
}

namespace verb {

Task<int> plan_status(Cli& cli) {
  const std::string path = "/tasks/" + segment_of(cli.given.text("TASK")) + "/plan";
  const Json plan = co_await cli.client.get(path);
  print_units(cli, plan);
  co_return ends::kDone;
}

Task<int> plan_artifacts(Cli& cli) {
  const std::string path = "/tasks/" + segment_of(cli.given.text("TASK")) + "/artifacts";
  const std::string name = cli.given.text("NAME", "");
  if (!name.empty()) {
    std::string one = "/api/v1" + path + "/" + segment_of(name);
    if (cli.given.has("--unit")) one += "?unit=" + segment_of(cli.given.text("--unit"));
    if (cli.out.terminal()) {
      throw CliFailure{ends::kUsage, "A terminal may not show what is in a file: send it to one, " +
                                         cli.command("artifacts TASK NAME > FILE") + "."};
    }
    const std::string bytes = co_await cli.client.page(one);
    cli.out.raw(bytes);
    co_return ends::kDone;
  }
  const Json all = co_await cli.client.get(path);
  if (cli.out.json()) {
    cli.out.json_list(all, "artifacts");
    co_return ends::kDone;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : all["artifacts"].elements()) {
    rows.push_back(
        {each["name"].text(), each["unit"].text(), each["size"].text(), each["sha256"].text()});
  }
  cli.out.table({{"NAME"}, {"UNIT"}, {"SIZE"}, {"SHA256"}}, rows);
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
