// completion/complete: what a person may mean by the beginning that was typed.
#include <algorithm>
#include <utility>
#include <vector>

#include "app/mcp_prompts.hpp"
#include "app/mcp_resources.hpp"

namespace tiffany::app {
namespace {

constexpr std::size_t kMostValues = 100;  // of MCP
constexpr int kTasksLookedAt = 1000;      // the newest

std::string completion_of(const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), kMostValues); ++i) {
    text += (i == 0 ? "" : ",") + quoted_json(values[i]);
  }
  return "\"completion\":{\"values\":[" + text + "],\"total\":" + std::to_string(values.size()) +
         ",\"hasMore\":" + (values.size() > kMostValues ? "true" : "false") + "}";
}

// Those members `name` of an array that begin so, each once.
std::vector<std::string> names_in(const Json& array, std::string_view name,
                                  const std::string& begin) {
  std::vector<std::string> found;
  for (const Json& each : array.elements()) {
    const std::string& text = each[name].text();
    if (text.starts_with(begin) && std::ranges::find(found, text) == found.end()) {
      found.push_back(text);
    }
  }
  return found;
}

std::vector<std::string> values_of_prompt(const App& app, const std::string& prompt,
                                          const std::string& argument, const std::string& begin) {
  std::vector<std::string> found;
  const auto of = std::ranges::find(app.prompts(), prompt, &App::Prompt::name);
  if (of == app.prompts().end()) return found;  // a skill, perhaps, which has no arguments
  for (const App::PromptArgument& each : of->arguments) {
    if (each.name != argument) continue;
    std::ranges::copy_if(each.values, std::back_inserter(found),
                         [&](const std::string& value) { return value.starts_with(begin); });
  }
  return found;
}

Task<std::vector<std::string>> values_of_resource(McpDoor& door, const McpTaskResource* of,
                                                  RawObject params) {
  const RawObject argument = params.object("argument");
  const std::string begin = argument.text("value");
  const std::string name = argument.text("name");
  if (name == "task") {
    const std::string type = of->type.empty() ? "" : "&type=" + segment_of(of->type);
    std::string path = "/tasks?order=newest&limit=" + std::to_string(kTasksLookedAt) + type;
    const Json page = co_await door.get(std::move(path));
    co_return names_in(page["tasks"], "id", begin);
  }
  const std::string task = params.object("context").object("arguments").text("task");
  if (!Uuid::parse(task)) co_return std::vector<std::string>();
  const bool units = name == "unit";
  std::string path = "/tasks/" + task + (units ? "/plan" : "/artifacts");
  const Json found = co_await door.get(std::move(path));
  co_return names_in(found[units ? "units" : "artifacts"], "name", begin);
}

}  // namespace

Task<std::string> complete_for_mcp(McpDoor& door, RawObject params) {
  const RawObject ref = params.object("ref");
  const RawObject argument = params.object("argument");
  if (argument.text("name").empty()) {
    throw RpcFailure{rpc::kBadParams, "\"argument\" has a name, and a value that was typed."};
  }
  if (ref.text("type") == "ref/prompt") {
    co_return completion_of(values_of_prompt(door.app(), ref.text("name"), argument.text("name"),
                                             argument.text("value")));
  }
  if (ref.text("type") != "ref/resource") {
    throw RpcFailure{rpc::kBadParams, "\"ref\" has the type ref/prompt or ref/resource."};
  }
  const std::string uri = ref.text("uri");
  const auto all = mcp_task_resources();
  const auto of = std::ranges::find(all, uri, &McpTaskResource::uri);
  if (of == all.end()) co_return completion_of({});
  RpcFailure failed;
  try {
    const std::vector<std::string> values = co_await values_of_resource(door, &*of, params);
    co_return completion_of(values);
  } catch (const CliFailure& failure) {
    if (failure.status == ends::kNoTask) co_return completion_of({});
    failed = RpcFailure{rpc::kInternal, failure.sentence};
  }
  throw RpcFailure(failed);
}

}  // namespace tiffany::app
