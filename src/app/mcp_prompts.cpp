#include "app/mcp_prompts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/mcp_tools.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::app {
namespace {

std::string prompt_entry(const App::Prompt& prompt) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("name", prompt.name);
  out.member("description", prompt.about);
  if (!prompt.arguments.empty()) {
    out.key("arguments");
    out.begin_array();
    for (const App::PromptArgument& each : prompt.arguments) {
      out.begin_object();
      out.member("name", each.name);
      out.member("description", each.about);
      out.member("required", each.required);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
  return text;
}

}  // namespace

Task<std::string> list_mcp_prompts(McpDoor& door) {
  const auto& own = door.app().prompts();
  std::string all;
  for (const App::Prompt& each : own) all += (all.empty() ? "" : ",") + prompt_entry(each);
  Json skills;
  std::optional<RpcFailure> failed;
  try {
    skills = co_await door.get("/skills");
  } catch (const CliFailure& failure) {
    // Without a daemon there are no skills; a client asks when it begins, and is not to fail then.
    if (failure.status != ends::kNoDaemon) failed = RpcFailure{rpc::kInternal, failure.sentence};
  }
  if (failed) throw RpcFailure(*failed);
  for (const Json& each : skills["skills"].elements()) {
    if (std::ranges::find(own, each["name"].text(), &App::Prompt::name) != own.end()) continue;
    all += (all.empty() ? "" : ",") + ("{\"name\":" + each["name"].raw()) +
           ",\"description\":" + each["description"].raw() + "}";
  }
  co_return "\"prompts\":[" + all + "]";
}

Task<std::string> get_mcp_prompt(McpDoor& door, RawObject params) {
  const std::string name = params.text("name");
  if (name.empty()) throw RpcFailure{rpc::kBadParams, "prompts/get has a string name."};
  RpcFailure failed;
  try {
    std::string body = "{\"arguments\":" + params.raw("arguments", "{}") + "}";
    const Json made = co_await door.post("/prompts/" + segment_of(name), std::move(body));
    co_return "\"description\":" + made["description"].raw() +
        ",\"messages\":" + one_line(made["messages"].raw());
  } catch (const CliFailure& failure) {
    const bool theirs = failure.status == ends::kNoTask || failure.status == ends::kUsage;
    failed = RpcFailure{theirs ? rpc::kBadParams : rpc::kInternal, failure.sentence};
  }
  throw RpcFailure(failed);
}

}  // namespace tiffany::app
