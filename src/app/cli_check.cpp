// Logs that are kept as fixtures, replayed by the code of today.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli_models.hpp"
#include "app/commands.hpp"
#include "app/types_of_logs.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/what_if.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/wal/log_view.hpp"
#include "tiffany/wal/payload_codec.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::app {
namespace {

// Whom the agents of the logs are compared with; none: the code alone is.
struct OtherModel {
  std::unique_ptr<agent::Model> model;
  std::string name{};
  std::string prompt{};
};

Task<OtherModel> other_model(const Given* given) {
  OtherModel other;
  other.name = given->text("--model", "");
  other.prompt = file_of(*given, "--prompt");
  if (given->has("--script") || given->has("--models") || given->has("--model") ||
      given->has("--prompt")) {
    other.model = co_await model_of(*given);
  }
  co_return other;
}

// A sentence on what is different; empty: nothing is.
std::string difference_of(const Inspection& seen) {
  if (!seen.agrees) return seen.difference.empty() ? seen.text() : seen.difference;
  const bool ended =
      seen.task.status == DurableStatus::completed || seen.task.status == DurableStatus::failed;
  return ended && !seen.same_result ? "The code ends with another result." : "";
}

std::string calls_of(const agent::Message& said) {
  std::string all;
  for (const agent::ToolCall& call : said.calls) all += " " + call.name + " " + call.arguments;
  return all.empty() ? " no tool" : all;
}

Task<std::string> agent_difference(const wal::LogOptions* log, Uuid id, const OtherModel* other) {
  wal::LogView view(*log->disk, log->directory, log->layout);
  std::vector<std::string> lines;
  for (const std::string& line : view.lines(id)) {
    lines.push_back(wal::decoded_line(log->codec.get(), line));
  }
  agent::RecordedRun run = agent::recorded_run(lines, [&](std::string_view value) {
    return wal::value_of(*log->disk, log->directory, value);
  });
  const agent::WhatIf found =
      co_await agent::what_if(std::move(run), *other->model, other->prompt, other->name);
  if (!found.difference) co_return "";
  const agent::WhatIf::Difference& at = *found.difference;
  const std::string turn = "Turn " + std::to_string(at.turn) + ": ";
  if (!at.problem.empty()) co_return turn + at.problem;
  co_return turn + "recorded" + calls_of(at.recorded) + ", now" + calls_of(at.other) + ".";
}

std::string json_of_check(const Inspection& seen, const std::string& difference) {
  return "{\"id\":" + quoted_json(seen.task.id.text()) +
         ",\"type\":" + quoted_json(seen.task.type) +
         ",\"difference\":" + (difference.empty() ? "null" : quoted_json(difference)) + "}";
}

}  // namespace

namespace verb {

Task<int> check(Cli& cli) {
  const OtherModel other = co_await other_model(&cli.given);
  const TypesOfLogs own(cli.app.types());
  codec_of_logs() = cli.app.codec();
  std::size_t checked = 0;
  std::size_t differ = 0;
  std::string json;
  for (const std::string& directory : cli.given.all("DIR")) {
    const wal::LogOptions log = log_at(directory);
    const wal::LogView view(*log.disk, directory, log.layout);
    for (const Uuid& id : view.tasks()) {
      const Inspection seen = co_await replay(cli.app.types(), log, id);
      std::string difference = difference_of(seen);
      if (difference.empty() && other.model != nullptr && seen.task.type == agent::kAgentType) {
        difference = co_await agent_difference(&log, id, &other);
      }
      ++checked;
      if (!difference.empty()) ++differ;
      json += (json.empty() ? "" : ",") + json_of_check(seen, difference);
      if (cli.out.json()) continue;
      cli.out.text(id.text() + "  " + detail::shown(seen.task.type) + "  " +
                   (difference.empty() ? "ok" : "differs. " + detail::shown(difference)) + "\n");
    }
  }
  if (cli.out.json()) cli.out.json_list(Json::parse("{\"tasks\":[" + json + "]}"), "tasks");
  cli.out.note(std::to_string(checked) + " tasks, " + std::to_string(differ) + " of them differ.");
  co_return differ == 0 ? ends::kDone : ends::kDiverged;
}

}  // namespace verb

}  // namespace tiffany::app
