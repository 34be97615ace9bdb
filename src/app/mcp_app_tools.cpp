#include "app/mcp_app_tools.hpp"

#include <algorithm>
#include <utility>

#include "app/mcp_tools.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/serve/http.hpp"

namespace tiffany::app {
namespace {

const App::Type* described_type(const App& app, std::string_view name) noexcept {
  const auto found = std::ranges::find(app.described(), name, &App::Type::name);
  return found == app.described().end() ? nullptr : &*found;
}

// Contents are in the answer once: with the task they would be there twice.
std::string shown_result(const Json& task) {
  const Json& result = task["result"];
  if (result.raw().size() > kLongestMcpAnswer) return mcp_tool_result(task.raw(), false);
  const std::string contents = one_line(result.raw());
  return "\"content\":" + (result.kind() == JsonKind::array ? contents : "[" + contents + "]") +
         ",\"structuredContent\":{\"id\":" + task["id"].raw() + ",\"type\":" + task["type"].raw() +
         ",\"status\":" + task["status"].raw() + "},\"isError\":false";
}

bool is_header_name(std::string_view name) noexcept {
  constexpr std::size_t kLongest = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, fits);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> headers_in_schema(std::string_view schema) {
  const Json whole = Json::parse(schema);
  if (whole["type"].text() != "object") {
    throw Error(Errc::bad_argument, "the arguments of a tool have \"type\": \"object\".");
  }
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, of] : whole["properties"].members()) {
    if (!of.has("x-mcp-header")) continue;
    const std::string& header = of["x-mcp-header"].text();
    const bool taken = std::ranges::any_of(
        found, [&](const auto& each) { return http::same_name(each.second, header); });
    const std::string& type = of["type"].text();
    if (!is_header_name(header) || taken ||
        (type != "string" && type != "integer" && type != "boolean")) {
      throw Error(Errc::bad_argument,
                  "the x-mcp-header of \"" + name +
                      "\" is no name of a header, is there twice, or is of an argument that is no "
                      "string, integer or boolean.");
    }
    found.emplace_back(name, header);
  }
  return found;
}

const App::Tool* tool_of_app(const App& app, std::string_view name) noexcept {
  const auto found = std::ranges::find(app.tools(), name, &App::Tool::type);
  return found == app.tools().end() ? nullptr : &*found;
}

std::string input_of_app_tool(const App& app, const App::Tool& tool) {
  if (!tool.schema.empty()) return one_line(tool.schema);
  std::string members;
  std::string required;
  if (const App::Type* const type = described_type(app, tool.type)) {
    for (const App::Argument& each : type->arguments) {
      const std::string comma = members.empty() ? "" : ",";
      members += comma + quoted_json(each.name) + ":" + each.schema;
      required += comma + quoted_json(each.name);
    }
  }
  return "{\"type\":\"object\",\"properties\":{" + members + "}" +
         (required.empty() ? "" : ",\"required\":[" + required + "]") +
         ",\"additionalProperties\":false}";
}

std::string app_tool_text(const App& app, const App::Tool& tool) {
  return "{\"name\":" + quoted_json(tool.type) + ",\"description\":" + quoted_json(tool.about) +
         ",\"inputSchema\":" + input_of_app_tool(app, tool) + "}";
}

Task<Json> start_app_tool(McpDoor& door, const App::Tool& tool, std::string arguments) {
  // By names, which a type without arguments has none of.
  const App::Type* const type = described_type(door.app(), tool.type);
  if (type == nullptr || type->arguments.empty()) arguments = "[]";
  std::string body = "{\"type\":" + quoted_json(tool.type) + ",\"arguments\":" + arguments + "}";
  co_return co_await door.post("/tasks", std::move(body));
}

Task<std::string> wait_for_app_tool(McpDoor& door, McpProgress& progress, Json task) {
  const std::string id = task["id"].text();
  const Json ended = co_await progress.wait(id, kLongestMcpWaitSeconds);
  if (!mcp_task_goes_on(ended)) co_return app_tool_result(door.app(), ended);
  co_return "\"content\":[{\"type\":\"text\",\"text\":" +
      quoted_json("The task " + id + " goes on. Call wait with this id, or get.") +
      "}],\"structuredContent\":" + one_line(ended.raw()) + ",\"isError\":false";
}

std::string app_tool_result(const App& app, const Json& task) {
  const bool failed = task["status"].text() != "completed";
  const App::Type* const type = described_type(app, task["type"].text());
  if (!failed && type != nullptr && type->shown) return shown_result(task);
  const Json& said = failed ? task["detail"] : task["result"];
  const std::string& text = said.null() ? task["status"].text() : said.text();
  if (task.raw().size() > kLongestMcpAnswer) return mcp_tool_result(task.raw(), failed);
  return "\"content\":[{\"type\":\"text\",\"text\":" + quoted_json(text) +
         "}],\"structuredContent\":" + one_line(task.raw()) +
         ",\"isError\":" + (failed ? "true" : "false");
}

}  // namespace tiffany::app
