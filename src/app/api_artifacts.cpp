// The API about files that steps of plans left.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/api.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

struct KeptFile {
  std::string unit;
  int attempt = 1;
  Uuid command;
  std::size_t number = 0;
  exec::Artifact artifact;
};

// Those of the last attempt of a unit; false when the unit has never ended.
bool add_kept(const exec::CommandRunner& commands, const Uuid& task, const std::string& unit,
              std::vector<KeptFile>& into) {
  std::optional<exec::CommandResult> last;
  int attempt = 0;
  while (auto end = commands.end_of(plan::command_id(task, unit, attempt + 1))) {
    last = std::move(end);
    ++attempt;
  }
  if (!last) return false;
  for (std::size_t i = 0; i < last->artifacts.size(); ++i) {
    into.push_back({unit, attempt, plan::command_id(task, unit, attempt), i, last->artifacts[i]});
  }
  return true;
}

// By the steps of the plan and not by its view, which a plan that failed does not have.
std::vector<KeptFile> kept_files(const ApiCall& call, const Uuid& id) {
  constexpr int kMostMissing = 100;  // items of a foreach end in any order
  const std::optional<plan::Plan> found = plan_of(call.api.parts.host, id);
  if (!found) throw HttpError(404, "Task " + id.text() + " is no plan.");
  const exec::CommandRunner& commands = call.api.parts.commands;
  std::vector<KeptFile> all;
  for (const auto* const phase : {&found->steps, &found->on_failure, &found->finally}) {
    for (const plan::Step& step : *phase) {
      if (step.artifacts.empty()) continue;
      if (!step.each) add_kept(commands, id, step.name, all);
      for (int i = 0, missing = 0; step.each && missing < kMostMissing; ++i) {
        const std::string unit = step.name + "[" + std::to_string(i) + "]";
        missing = add_kept(commands, id, unit, all) ? 0 : missing + 1;
      }
    }
  }
  return all;
}

}  // namespace

namespace calls {

Task<Response> task_artifacts(ApiCall& call) {
  const Uuid id = call.task();
  const std::vector<KeptFile> all = kept_files(call, id);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("artifacts");
                          out.begin_array();
                          for (const KeptFile& each : all) {
                            out.begin_object();
                            out.member("unit", each.unit);
                            out.member("attempt", each.attempt);
                            out.member("name", each.artifact.name);
                            out.member("size", each.artifact.size);
                            out.member("sha256", each.artifact.sha256);
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

// The name is looked for among those that were kept, and no path is made of it.
Task<Response> task_artifact(ApiCall& call) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  const Uuid id = call.task();
  const std::optional<std::string> unit = call.query("unit");
  const std::string& name = call.path("name");
  const std::vector<KeptFile> all = kept_files(call, id);
  const auto found = std::ranges::find_if(all, [&](const KeptFile& each) {
    return each.artifact.name == name && (!unit || each.unit == *unit);
  });
  if (found == all.end()) {
    throw HttpError(404, "The plan " + id.text() + " has kept no artifact \"" + name + "\".");
  }
  const std::string path = call.api.parts.commands.artifact_path(found->command, found->number);
  std::string bytes = co_await read_file(path, kMostBytes);
  Response answer(200, "application/octet-stream", std::move(bytes));
  answer.headers.set("content-disposition", "attachment");
  answer.headers.set("etag", "\"" + found->artifact.sha256 + "\"");
  co_return answer;
}

}  // namespace calls

}  // namespace tiffany::app
