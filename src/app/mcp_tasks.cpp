#include "app/mcp_tasks.hpp"

#include <optional>
#include <utility>

#include "app/api.hpp"
#include "app/mcp_tools.hpp"
#include "tiffany/core/world.hpp"

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

Task<Json> task_named_in(Cli& cli, RawObject params) {
  const std::optional<Uuid> id = Uuid::parse(params.text("taskId"));
  if (!id) throw RpcFailure{rpc::kBadParams, "\"taskId\" is no id of a task."};
  RpcFailure failed;
  try {
    co_return co_await cli.client.get("/tasks/" + id->text());
  } catch (const CliFailure& failure) {
    failed = protocol_failure(failure);
  }
  throw RpcFailure(failed);
}

std::string what_is_waited_for(const Cli& cli, const Json& task) {
  std::string text;
  for (const std::string& name : promises_of(task)) {
    text += (text.empty() ? "" : " ") + ("Waits for " + name) + ": a person says `" +
            cli.command("approve " + task["id"].text()) + "`.";
  }
  return text.empty() ? task["detail"].text() : text;
}

}  // namespace

std::string mcp_task_handle(const Json& task) {
  return handle_members(task, "working", "", std::nullopt);
}

Task<std::string> get_mcp_task(Cli& cli, RawObject params) {
  const Json task = co_await task_named_in(cli, std::move(params));
  const std::optional<std::int64_t> now = World::current().wall_clock_us();
  const std::string& status = task["status"].text();
  if (status == "cancelled") {
    co_return handle_members(task, "cancelled", task["detail"].text(), now);
  }
  if (status != "completed" && status != "failed") {
    co_return handle_members(task, "working", what_is_waited_for(cli, task), now);
  }
  const std::string result = mcp_tool_result(task.raw(), status == "failed");
  co_return handle_members(task, "completed", "", now) + ",\"result\":{" + result + "}";
}

Task<std::string> cancel_mcp_task(Cli& cli, RawObject params) {
  const Json task = co_await task_named_in(cli, std::move(params));
  const std::string& status = task["status"].text();
  if (status == "completed" || status == "failed" || status == "cancelled") co_return "";
  std::optional<RpcFailure> failed;
  try {
    co_await cli.client.post("/tasks/" + task["id"].text() + "/cancel", "{}");
  } catch (const CliFailure& failure) {
    failed = protocol_failure(failure);
  }
  if (failed) throw RpcFailure(*failed);
  co_return "";
}

Task<std::string> update_mcp_task(Cli& cli, RawObject params) {
  co_await task_named_in(cli, std::move(params));
  co_return "";
}

}  // namespace tiffany::app
