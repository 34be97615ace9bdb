// check: logs that are kept as fixtures, replayed by the code of today.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/small_files.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/plan_file.hpp"
#include "tiffany/agent/router.hpp"
#include "tiffany/agent/what_if.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/wal/log_view.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

constexpr int kDiffers = 10;
constexpr std::size_t kLongestScript = std::size_t{16} << 20;

// Whom the agents of the logs are compared with; none: the code alone is.
struct Other {
  std::unique_ptr<agent::Model> model;
  std::string name{};
  std::string prompt{};
};

std::string file_text(const std::string& path) {
  if (std::optional<std::string> text = read_small_file(path, kLongestScript)) return *text;
  throw Refused{"there is no file " + path};
}

Task<Other> other_of(Words* words) {
  const std::string script = words->option_value("--script");
  const std::string models = words->option_value("--models");
  const std::string prompt = words->option_value("--prompt");
  Other other;
  other.name = words->option_value("--model");
  if (!script.empty() && !models.empty()) throw Refused{"check takes --script or --models"};
  if (!script.empty()) {
    other.model =
        std::make_unique<agent::PlanFile>(agent::Script::parse(file_text(script), script));
  } else if (!models.empty()) {
    other.model = co_await agent::read_models(models);
  } else if (!other.name.empty() || !prompt.empty()) {
    throw Refused{"--model and --prompt need --models or --script: whom to ask"};
  }
  if (!prompt.empty()) other.prompt = file_text(prompt);
  co_return other;
}

// A sentence on what is different; empty: nothing is.
std::string difference_of(const Inspection& seen) {
  if (!seen.agrees) return seen.difference.empty() ? seen.text() : seen.difference;
  const bool ended =
      seen.task.status == DurableStatus::completed || seen.task.status == DurableStatus::failed;
  return ended && !seen.same_result ? "the code ends with another result" : "";
}

Task<std::string> agent_difference(const wal::LogOptions* log, Uuid id, const Other* other) {
  wal::LogView view(*log->disk, log->directory, log->layout);
  std::vector<std::string> lines;
  for (const std::string& line : view.lines(id)) {
    lines.push_back(wal::decoded_line(log->codec.get(), line));
  }
  const agent::RecordedRun run = agent::recorded_run(lines, [&](std::string_view value) {
    return wal::value_of(*log->disk, log->directory, value);
  });
  const agent::WhatIf found =
      co_await agent::what_if(run, *other->model, other->prompt, other->name);
  if (!found.difference) co_return "";
  std::string text = "turn " + std::to_string(found.difference->turn) + " differs: ";
  if (!found.difference->problem.empty()) co_return text + found.difference->problem;
  const auto calls = [](const agent::Message& said) {
    std::string all;
    for (const agent::ToolCall& call : said.calls) all += " " + call.name + " " + call.arguments;
    return all.empty() ? std::string(" no tool") : all;
  };
  co_return text + "recorded" + calls(found.difference->recorded) + ", now" +
      calls(found.difference->other);
}

}  // namespace

Task<int> check_command(const Registry* types, Words words) {
  const Other other = co_await other_of(&words);
  std::size_t checked = 0;
  std::size_t differ = 0;
  do {
    const std::string directory = words.take("directory");
    const wal::LogOptions log = log_at(directory);
    const wal::LogView view(*log.disk, directory, log.layout);
    for (const Uuid& id : view.tasks()) {
      const Inspection seen = co_await replay(*types, log, id);
      std::string difference = difference_of(seen);
      if (difference.empty() && other.model != nullptr && seen.task.type == agent::kAgentType) {
        difference = co_await agent_difference(&log, id, &other);
      }
      ++checked;
      if (!difference.empty()) ++differ;
      print(id.text() + "  " + shown(seen.task.type) + "  " +
            (difference.empty() ? "ok" : "DIFFERS: " + shown(difference)) + "\n");
    }
  } while (words.more());
  print(std::to_string(checked) + " tasks, " + std::to_string(differ) + " differ\n");
  co_return differ == 0 ? 0 : kDiffers;
}

}  // namespace tiffany::app
