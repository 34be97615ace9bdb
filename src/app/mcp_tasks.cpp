#include "app/mcp_tasks.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "app/api.hpp"
#include "app/mcp_app_tools.hpp"
#include "app/mcp_tools.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

// How often a client is to look.
constexpr int kPollMs = 1000;

// "taskId", "status", and times. The API does not say when a task changed last: not after it was
// looked at.
std::string handle_members(const Json& task, std::string_view status, const std::string& message,
                           std::optional<std::int64_t> looked_us) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("taskId", task["id"].text());
  out.member("status", status);
  if (!message.empty()) out.member("statusMessage", message);
  out.member("createdAt", task["began"].text());
  if (looked_us) {
    write_time(out, "lastUpdatedAt", *looked_us);
  } else {
    out.member("lastUpdatedAt", task["began"].text());
  }
  out.key("ttlMs");
  out.null();
  out.member("pollIntervalMs", kPollMs);
  out.end_object();
  return text.substr(1, text.size() - 2);
}

RpcFailure protocol_failure(const CliFailure& failure) {
  const bool unknown = failure.status == ends::kNoTask || failure.status == ends::kUsage;
  return {unknown ? rpc::kBadParams : rpc::kInternal, failure.sentence};
}

Task<Json> task_named_in(McpDoor& door, RawObject params) {
  const std::optional<Uuid> id = Uuid::parse(params.text("taskId"));
  if (!id) throw RpcFailure{rpc::kBadParams, "\"taskId\" is no id of a task."};
  RpcFailure failed;
  try {
    co_return co_await door.get("/tasks/" + id->text());
  } catch (const CliFailure& failure) {
    failed = protocol_failure(failure);
  }
  throw RpcFailure(failed);
}

std::string what_is_waited_for(const McpDoor& door, const Json& task) {
  const std::string text = mcp_waits_of(door, task);
  return text.empty() ? task["detail"].text() : text;
}

// Of a wait for a yes or a no; empty: it is none.
std::string promise_in(const Json& wait) {
  return wait["kind"].text() == "promise" ? wait["id"].text() : std::string();
}

// What a person is shown: the question of a plan or an agent, with what its digest covers, and of
// other tasks what they wait for. Empty: a plan or an agent that does not ask that any more.
std::string question_text(const Json& task, const Json& wait, const Json& view) {
  const std::string promise = wait["id"].text();
  const Json& asked = view["answer"]["question"];
  if (asked["promise"].text() == promise) {
    return asked["why"].text() + "\n" + asked["action"].text() + "\n" + asked["diff"].text();
  }
  for (const Json& unit : view["units"].elements()) {
    if (unit["promise"].text() != promise) continue;
    return unit["name"].text() + ": " + unit["text"].text();
  }
  const std::string& type = task["type"].text();
  if (type == agent::kAgentType || type == plan::kPlanType) return "";
  return "The task " + type + " " + task["id"].text() + " waits for " + wait["name"].text() +
         ". Is the answer yes?";
}

// The type of the exception that ended a task; the record is among the last.
Task<std::string> thrown_by(McpDoor& door, Json task) {
  constexpr std::int64_t kLast = 100;
  const std::int64_t after = std::max<std::int64_t>(0, task["records"].number() - kLast);
  std::string path = "/tasks/" + task["id"].text() +
                     "/records?type=TaskAbort&limit=" + std::to_string(kLast) +
                     "&after=" + std::to_string(after);
  const Json page = co_await door.get(std::move(path));
  const auto& records = page["records"].elements();
  co_return records.empty() ? "" : records.back()["thrown"].text();
}

Task<Json> view_for_questions(McpDoor& door, Json task) {
  RpcFailure failed;
  try {
    co_return co_await mcp_task_view(door, std::move(task));
  } catch (const CliFailure& failure) {
    failed = protocol_failure(failure);
  }
  throw RpcFailure(failed);
}

// Why a task can give no result although nobody refused one: its program has a mistake, does not
// agree with its log, or its log is damaged. Empty: it can, or has failed as tools do.
Task<std::string> what_is_broken(McpDoor& door, Json task) {
  const std::string& status = task["status"].text();
  if (status == "diverged" || status == "quarantined") {
    co_return "The task is " + status + ": " + task["detail"].text();
  }
  if (status != "failed") co_return "";
  RpcFailure failed;
  try {
    const std::string thrown = co_await thrown_by(door, task);
    co_return tells_of_mistake(thrown) ? task["detail"].text() : "";
  } catch (const CliFailure& failure) {
    failed = protocol_failure(failure);
  }
  throw RpcFailure(failed);
}

// The members of `inputRequests`: a form with one box for each promise.
Task<std::string> questions_of(McpDoor& door, Json task) {
  constexpr std::string_view kForm =
      R"("requestedSchema":{"type":"object","properties":{"confirm":{"type":"boolean",)"
      R"("title":"Yes","default":false}},"required":["confirm"]})";
  if (promises_of(task).empty()) co_return "";
  const Json view = co_await view_for_questions(door, task);
  std::string out;
  for (const Json& wait : task["waits"].elements()) {
    const std::string promise = promise_in(wait);
    const std::string text = promise.empty() ? promise : question_text(task, wait, view);
    if (text.empty()) continue;
    out += (out.empty() ? "" : ",") + quoted_json(promise) +
           ":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":" +
           quoted_json(text) + ",";
    out.append(kForm).append("}}");
  }
  co_return out;
}

// Nothing: the person has not decided.
std::optional<bool> answer_in(const RawObject& response) {
  const std::string action = response.text("action");
  if (action == "cancel") return std::nullopt;
  if (action == "decline") return false;
  const std::string confirm = response.object("content").raw("confirm");
  if (action != "accept" || (confirm != "true" && confirm != "false")) {
    throw RpcFailure{rpc::kBadParams,
                     "An answer has an \"action\" (accept, decline or cancel) and, to accept, "
                     "\"content\" with \"confirm\", which is true or false."};
  }
  return confirm == "true";
}

}  // namespace

std::string mcp_waits_of(const McpDoor& door, const Json& task) {
  std::string text;
  for (const std::string& name : promises_of(task)) {
    text += (text.empty() ? "" : " ") + ("Waits for " + name) + ": a person says `" +
            door.command("approve " + task["id"].text()) + "`.";
  }
  return text;
}

std::string mcp_task_handle(const Json& task) {
  return handle_members(task, "working", "", std::nullopt);
}

Task<std::string> get_mcp_task(McpDoor& door, RawObject params, bool asks) {
  const Json task = co_await task_named_in(door, std::move(params));
  const std::optional<std::int64_t> now = World::current().wall_clock_us();
  const std::string& status = task["status"].text();
  if (status == "cancelled") {
    co_return handle_members(task, "cancelled", task["detail"].text(), now);
  }
  const std::string broken = co_await what_is_broken(door, task);
  if (!broken.empty()) {
    co_return handle_members(task, "failed", broken, now) +
        ",\"error\":{\"code\":" + std::to_string(rpc::kInternal) +
        ",\"message\":" + quoted_json(broken) + "}";
  }
  if (status != "completed" && status != "failed") {
    std::string questions;
    if (asks) questions = co_await questions_of(door, task);
    const std::string message = what_is_waited_for(door, task);
    if (questions.empty()) co_return handle_members(task, "working", message, now);
    co_return handle_members(task, "input_required", message, now) + ",\"inputRequests\":{" +
        questions + "}";
  }
  const bool of_app = tool_of_app(door.app(), task["type"].text()) != nullptr;
  const std::string result =
      of_app ? app_tool_result(door.app(), task) : mcp_tool_result(task.raw(), status == "failed");
  co_return handle_members(task, "completed", "", now) +
      ",\"result\":{\"resultType\":\"complete\"," + result + "}";
}

Task<std::string> cancel_mcp_task(McpDoor& door, RawObject params) {
  const Json task = co_await task_named_in(door, std::move(params));
  const std::string& status = task["status"].text();
  if (status == "completed" || status == "failed" || status == "cancelled") co_return "";
  std::optional<RpcFailure> failed;
  try {
    co_await door.post("/tasks/" + task["id"].text() + "/cancel", "{}");
  } catch (const CliFailure& failure) {
    failed = protocol_failure(failure);
  }
  if (failed) throw RpcFailure(*failed);
  co_return "";
}

Task<std::string> update_mcp_task(McpDoor& door, RawObject params, bool asks) {
  if (params.has("inputResponses") && !params.is_object("inputResponses")) {
    throw RpcFailure{rpc::kBadParams, "\"inputResponses\" is an object."};
  }
  const RawObject responses = params.object("inputResponses");
  const Json task = co_await task_named_in(door, std::move(params));
  if (!asks) co_return "";
  // All are read before the first is given.
  std::vector<std::pair<std::string, bool>> answers;
  for (const Json& wait : task["waits"].elements()) {
    const std::string promise = promise_in(wait);
    if (promise.empty() || !responses.has(promise)) continue;
    const std::optional<bool> said = answer_in(responses.object(promise));
    if (said) answers.emplace_back(promise, *said);
  }
  for (const auto& [promise, yes] : answers) {
    std::optional<RpcFailure> failed;
    try {
      const std::string value = yes ? "true" : "false";
      std::string body = "{\"value\":" + value + ",\"reason\":\"answered over MCP\"}";
      (void)co_await door.post("/promises/" + promise, std::move(body));
    } catch (const CliFailure& failure) {
      failed = protocol_failure(failure);
    }
    if (failed) throw RpcFailure(*failed);
  }
  co_return "";
}

}  // namespace tiffany::app
