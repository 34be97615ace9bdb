#include "app/mcp_resources.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "app/mcp_tools.hpp"
#include "app/uri_template.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

constexpr int kTasksOfAPage = 50;
constexpr std::int64_t kLastRecords = 200;
constexpr std::string_view kJson = "application/json";

// The path of the task in the API. A beginning of an id is none here, as for the tools.
std::string path_of_task(const App::Texts& in) {
  const std::optional<Uuid> id = Uuid::parse(in.at("task"));
  if (!id) throw CliFailure{ends::kNoTask, "\"" + in.at("task") + "\" is no id of a task."};
  return "/tasks/" + id->text();
}

Content json_content(std::string json) { return Content(std::move(json), std::string(kJson)); }

Task<Content> read_task(McpDoor& door, App::Texts in) {
  const std::string path = path_of_task(in);
  std::string id = path.substr(path.rfind('/') + 1);
  std::string json = co_await mcp_task(door, std::move(id));
  co_return json_content(std::move(json));
}

Task<Content> read_log(McpDoor& door, App::Texts in) {
  const std::string path = path_of_task(in);
  const Json task = co_await door.get(path);
  const std::int64_t after = std::max<std::int64_t>(0, task["records"].number() - kLastRecords);
  std::string records =
      path + "/records?limit=" + std::to_string(kLastRecords) + "&after=" + std::to_string(after);
  const Json page = co_await door.get(std::move(records));
  co_return json_content(page.raw());
}

Task<Content> read_plan(McpDoor& door, App::Texts in) {
  const Json plan = co_await door.get(path_of_task(in) + "/plan");
  co_return json_content(plan.raw());
}

// Of the last attempt.
Task<Content> read_output(McpDoor& door, App::Texts in) {
  const std::string path = path_of_task(in);
  const std::string& name = in.at("unit");
  const Json plan = co_await door.get(path + "/plan");
  const auto& units = plan["units"].elements();
  const auto unit =
      std::ranges::find_if(units, [&](const Json& each) { return each["name"].text() == name; });
  const std::int64_t attempts = unit == units.end() ? 1 : (*unit)["attempts"].number();
  std::string output = path + "/output?unit=" + segment_of(name) +
                       "&attempt=" + std::to_string(std::max<std::int64_t>(1, attempts));
  std::string text = co_await door.bytes(std::move(output));
  co_return Content(std::move(text));
}

Task<Content> read_artifacts(McpDoor& door, App::Texts in) {
  const Json all = co_await door.get(path_of_task(in) + "/artifacts");
  co_return json_content(all.raw());
}

Task<Content> read_artifact(McpDoor& door, App::Texts in) {
  const std::string path = path_of_task(in) + "/artifacts";
  const std::string& name = in.at("name");
  const Json all = co_await door.get(path);
  for (const Json& each : all["artifacts"].elements()) {
    const std::int64_t size = each["size"].number();
    if (each["name"].text() != name || size <= std::int64_t{kLongestMcpAnswer}) continue;
    throw CliFailure{ends::kFailed, "The file " + name + " has " + std::to_string(size) +
                                        " bytes, and at most " + std::to_string(kLongestMcpAnswer) +
                                        " are read here: use the command line."};
  }
  std::string bytes = co_await door.bytes(path + "/" + segment_of(name));
  const bool text = detail::is_utf8(bytes) && bytes.find('\0') == std::string::npos;
  if (text) co_return Content(std::move(bytes));
  co_return Content::image(std::move(bytes), "application/octet-stream");
}

Task<Content> read_transcript(McpDoor& door, App::Texts in) {
  const Json run = co_await door.get(path_of_task(in) + "/transcript");
  co_return json_content(run.raw());
}

Task<Content> read_diff(McpDoor& door, App::Texts in) {
  const Json view = co_await door.get(path_of_task(in) + "/query?name=agent");
  std::string diff = view["answer"]["question"]["diff"].text();
  if (diff.empty()) {
    throw CliFailure{ends::kNoTask, "No patch of this agent waits for an approval: it is " +
                                        view["answer"]["state"].text() + "."};
  }
  co_return Content(std::move(diff), "text/x-diff");
}

constexpr std::string_view kOfPlans = "tiffany.plan";
constexpr std::string_view kOfAgents = "tiffany.agent";

constexpr std::array kTaskResources{
    McpTaskResource{"tiffany://tasks/{task}", "task",
                    "A task: its status, its result or error, what it waits for, and how its plan "
                    "or agent stands.",
                    kJson, "", read_task},
    McpTaskResource{"tiffany://tasks/{task}/log", "log", "The last 200 records of its log.", kJson,
                    "", read_log},
    McpTaskResource{"tiffany://tasks/{task}/plan", "plan",
                    "Of a plan: its graph, and how each unit stands.", kJson, kOfPlans, read_plan},
    McpTaskResource{"tiffany://tasks/{task}/output/{unit}", "output",
                    "Of a plan: what the command of a unit wrote, in its last attempt.",
                    "text/plain", kOfPlans, read_output},
    McpTaskResource{"tiffany://tasks/{task}/artifacts", "artifacts",
                    "Of a plan: the files that its steps left.", kJson, kOfPlans, read_artifacts},
    McpTaskResource{"tiffany://tasks/{task}/artifacts/{name}", "artifact",
                    "Of a plan: one of these files.", "", kOfPlans, read_artifact},
    McpTaskResource{"tiffany://tasks/{task}/transcript", "transcript",
                    "Of an agent: what it was told and what it decided.", kJson, kOfAgents,
                    read_transcript},
    McpTaskResource{"tiffany://tasks/{task}/diff", "diff",
                    "Of an agent: the patch that waits for an approval.", "text/x-diff", kOfAgents,
                    read_diff}};

std::string resource_entry(std::string_view uri_name, std::string_view uri, std::string_view name,
                           std::string_view about, std::string_view mime) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member(uri_name, uri);
  out.member("name", name);
  out.member("description", about);
  if (!mime.empty()) out.member("mimeType", mime);
  out.end_object();
  return text;
}

// "greet 1a2b3c4d".
std::string task_entry(const Json& task) {
  const std::string& id = task["id"].text();
  return resource_entry("uri", mcp_task_uri(id), task["type"].text() + " " + id.substr(0, 8),
                        task["status"].text() + ", began " + task["began"].text(), kJson);
}

RpcFailure resource_failure(const CliFailure& failure, const std::string& uri, bool modern) {
  RpcFailure failed{rpc::kInternal, failure.sentence};
  if (failure.status != ends::kNoTask && failure.status != ends::kUsage) return failed;
  failed.code = modern ? rpc::kBadParams : rpc::kNoResource;
  failed.data = "{\"uri\":" + quoted_json(uri) + "}";
  return failed;
}

std::string contents_of(const std::string& uri, const Content& content) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("uri", uri);
  out.member("mimeType", content.mime());
  if (content.is_text()) {
    out.member("text", content.bytes());
  } else {
    out.member("blob", to_base64(content.bytes()));
  }
  out.end_object();
  return text;
}

// The array `contents`. CliFailure.
Task<std::string> contents_at(McpDoor& door, std::string uri) {
  for (const McpTaskResource& each : kTaskResources) {
    std::optional<App::Texts> in = match_uri(each.uri, uri);
    if (!in) continue;
    const Content content = co_await each.read(door, std::move(*in));
    if (content.bytes().size() > kLongestMcpAnswer) {
      throw CliFailure{ends::kFailed, uri + " has " + std::to_string(content.bytes().size()) +
                                          " bytes, and at most " +
                                          std::to_string(kLongestMcpAnswer) +
                                          " are read here: use the command line."};
    }
    co_return "[" + contents_of(uri, content) + "]";
  }
  const Json made = co_await door.get("/resource?uri=" + segment_of(uri));
  co_return one_line(made["contents"].raw());
}

}  // namespace

std::span<const McpTaskResource> mcp_task_resources() noexcept { return kTaskResources; }

std::string mcp_task_uri(const std::string& id) { return "tiffany://tasks/" + id; }

std::string mcp_resource_templates(const App& app) {
  std::string all;
  for (const McpTaskResource& each : kTaskResources) {
    all += (all.empty() ? "" : ",") +
           resource_entry("uriTemplate", each.uri, each.name, each.about, each.mime);
  }
  for (const App::Resource& each : app.resources()) {
    if (!is_uri_template(each.uri)) continue;
    all += "," + resource_entry("uriTemplate", each.uri, each.uri, each.about, "");
  }
  return "\"resourceTemplates\":[" + all + "]";
}

Task<std::string> list_mcp_resources(McpDoor& door, RawObject params) {
  const std::string cursor = params.text("cursor");
  std::string all;
  if (cursor.empty()) {
    for (const App::Resource& each : door.app().resources()) {
      if (is_uri_template(each.uri)) continue;
      all += (all.empty() ? "" : ",") + resource_entry("uri", each.uri, each.uri, each.about, "");
    }
  }
  std::string path = "/tasks?order=newest&limit=" + std::to_string(kTasksOfAPage);
  if (!cursor.empty()) path += "&after=" + segment_of(cursor);
  Json page;
  std::optional<RpcFailure> failed;
  try {
    page = co_await door.get(std::move(path));
  } catch (const CliFailure& failure) {
    // Without a daemon there are no tasks; a client asks when it begins, and is not to fail then.
    const bool asked = failure.status == ends::kUsage;
    if (failure.status != ends::kNoDaemon || !cursor.empty()) {
      failed = RpcFailure{asked ? rpc::kBadParams : rpc::kInternal, failure.sentence};
    }
  }
  if (failed) throw RpcFailure(*failed);
  for (const Json& each : page["tasks"].elements()) {
    all += (all.empty() ? "" : ",") + task_entry(each);
  }
  std::string next;
  if (page.has("next")) next = ",\"nextCursor\":" + quoted_json(page["next"].text());
  co_return "\"resources\":[" + all + "]" + next;
}

Task<std::string> read_mcp_resource(McpDoor& door, std::string uri, bool modern) {
  RpcFailure failed;
  try {
    const std::string contents = co_await contents_at(door, uri);
    co_return "\"contents\":" + contents;
  } catch (const CliFailure& failure) {
    failed = resource_failure(failure, uri, modern);
  }
  throw RpcFailure(failed);
}

// A task changes with each record of its log.
Task<std::string> mcp_resource_mark(McpDoor& door, std::string uri) {
  RpcFailure failed;
  try {
    for (const McpTaskResource& each : kTaskResources) {
      const std::optional<App::Texts> in = match_uri(each.uri, uri);
      if (!in) continue;
      const Json task = co_await door.get(path_of_task(*in));
      co_return task["status"].text() + " " + task["records"].raw();
    }
    const std::string contents = co_await contents_at(door, uri);
    co_return std::to_string(std::hash<std::string>()(contents));
  } catch (const CliFailure& failure) {
    failed = resource_failure(failure, uri, false);
  }
  throw RpcFailure(failed);
}

}  // namespace tiffany::app
