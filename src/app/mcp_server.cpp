#include "app/mcp_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "app/mcp_tasks.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

constexpr std::string_view kModern = "2026-07-28";
// Those with a handshake, the newest first.
constexpr std::array<std::string_view, 4> kHandshakes{"2025-11-25", "2025-06-18", "2025-03-26",
                                                      "2024-11-05"};
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kTasksKey = "io.modelcontextprotocol/tasks";
constexpr Duration kLastAnswers = std::chrono::seconds(5);
constexpr std::string_view kCached = "\"ttlMs\":3600000,\"cacheScope\":\"public\"";
constexpr std::string_view kInstructions =
    "Long work as durable tasks: submit starts one and gives its id, wait and get look at it, also "
    "after this server, the client or the machine was restarted. Keep the id.";

bool known_to_handshake_era(std::string_view method) noexcept {
  constexpr std::array<std::string_view, 4> kMethods{"initialize", "ping", "tools/list",
                                                     "tools/call"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}
bool known_to_modern_era(std::string_view method) noexcept {
  constexpr std::array<std::string_view, 6> kMethods{
      "server/discover", "tools/list", "tools/call", "tasks/get", "tasks/update", "tasks/cancel"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

// Batches came with JSON-RPC and left with 2025-06-18.
bool has_batches(std::string_view version) noexcept {
  return version == "2025-03-26" || version == "2024-11-05";
}

bool declares_tasks(const RawObject& capabilities) {
  return capabilities.object("extensions").has(kTasksKey);
}

}  // namespace

// ---- Reading ----

Task<void> McpServer::run() {
  try {
    co_await scope(report_failures, [&](Scope& calls) -> Task<void> {
      calls_ = &calls;
      co_await read_all(calls);
    });
  } catch (const ScopeCancelled&) {
    // Nobody is left to hear the answers that were under way.
  }
}

Task<void> McpServer::read_all(Scope& calls) {
  std::string line;
  for (;;) {
    const McpLines::Came came = co_await lines_.next(&line);
    if (came == McpLines::Came::end) break;
    if (came == McpLines::Came::too_long) {
      const RpcFailure failure{rpc::kNoRequest, "A message has at most " +
                                                    std::to_string(kLongestMessage) +
                                                    " bytes; this one was skipped."};
      co_await say(rpc_error("", failure));
      continue;
    }
    co_await take_line(calls, std::move(line));
    line.clear();
  }
  end_waits();
  calls.set_timeout(kLastAnswers);
}

void McpServer::end_waits() {
  for (auto each = running_.begin(); each != running_.end();) {
    const McpTool* const tool = each->second.call->tool;
    if (tool == nullptr || tool->name != "wait") {
      ++each;
      continue;
    }
    each->second.task.cancel("the input has ended");
    each = running_.erase(each);
  }
}

Task<void> McpServer::take_line(Scope& calls, std::string line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) co_return;
  std::string refused;
  try {
    if (is_rpc_batch(line)) {
      co_await take_batch(calls, std::move(line));
    } else {
      RpcMessage message = read_rpc_message(line);
      line = std::string();
      co_await take(calls, std::move(message), nullptr);
    }
    co_return;
  } catch (const RpcFailure& failure) {
    refused = rpc_error(failure.id, failure);
  }
  co_await say(std::move(refused));
}

Task<void> McpServer::take_batch(Scope& calls, std::string text) {
  const std::vector<std::string> all = read_rpc_batch(text, kMostCalls);
  text = std::string();
  if (!has_batches(version_)) {
    throw RpcFailure{rpc::kNoRequest,
                     "Batches are of the versions 2024-11-05 and 2025-03-26: send one message a "
                     "line."};
  }
  const BatchPtr batch = std::make_shared<Batch>();
  batch->open = 1;  // until all were taken
  for (const std::string& each : all) {
    std::string refused;
    try {
      RpcMessage message = read_rpc_message(each);
      if (message.method == "initialize") {
        throw RpcFailure{rpc::kNoRequest, "initialize is no part of a batch.", "", message.id};
      }
      if (!message.id.empty() && !message.method.empty()) ++batch->open;
      co_await take(calls, std::move(message), batch);
    } catch (const RpcFailure& failure) {
      refused = rpc_error(failure.id, failure);
    }
    if (refused.empty()) continue;
    ++batch->open;
    co_await reply(batch, std::move(refused));
  }
  co_await reply(batch, "");
}

Task<void> McpServer::take(Scope& calls, RpcMessage message, BatchPtr batch) {
  if (message.method.empty()) co_return;  // an answer, and nothing was asked
  if (message.id.empty()) {
    const CallPtr dropped = cancelled_by(message);
    if (dropped && dropped->batch) co_await reply(dropped->batch, "");
    co_return;
  }
  const std::string id = message.id;
  std::string answer;
  try {
    const Asker asker = asker_of(message);
    require_method(message, asker);
    const std::optional<std::string> result = answer_at_once(message, asker);
    if (!result) {
      start(calls, std::move(message), asker, batch);
      co_return;
    }
    answer = rpc_result(id, *result);
  } catch (const RpcFailure& failure) {
    answer = rpc_error(id, failure);
  } catch (const Error& error) {
    answer = rpc_error(id, RpcFailure{rpc::kBadParams, error.what()});
  }
  co_await reply(std::move(batch), std::move(answer));
}

McpServer::CallPtr McpServer::cancelled_by(const RpcMessage& message) {
  if (message.method != "notifications/cancelled" || !message.params.has("requestId")) return {};
  std::string id;
  try {
    id = rpc_id_in(message.params, "requestId");
  } catch (const RpcFailure&) {
    return {};  // a notification has no answer, and this one names no request
  }
  const auto found = running_.find(id);
  if (found == running_.end()) return {};  // answered meanwhile
  const CallPtr call = found->second.call;
  found->second.task.cancel("the client has cancelled the request");
  running_.erase(found);
  return call;
}

// ---- Requests ----

McpServer::Asker McpServer::asker_of(const RpcMessage& message) const {
  Asker asker;
  if (message.method == "initialize") return asker;
  const RawObject meta = message.params.object("_meta");
  if (!meta.has(kVersionKey)) {
    const bool known =
        known_to_handshake_era(message.method) || known_to_modern_era(message.method);
    if (!version_.empty() || message.method == "ping" || !known) return asker;
    throw RpcFailure{rpc::kBadParams,
                     "Nothing says which version of MCP this is: send initialize "
                     "first, or \"" +
                         std::string(kVersionKey) + "\" and \"" + std::string(kCapabilitiesKey) +
                         "\" in params._meta."};
  }
  asker.modern = true;
  if (meta.text(kVersionKey) != kModern) {
    throw RpcFailure{rpc::kNoVersion,
                     "Version " + meta.raw(kVersionKey) + " is not known here without initialize.",
                     "{\"supported\":[" + quoted_json(kModern) +
                         "],\"requested\":" + quoted_json(meta.text(kVersionKey)) + "}"};
  }
  if (!meta.is_object(kCapabilitiesKey)) {
    throw RpcFailure{rpc::kBadParams, "params._meta has an object \"" +
                                          std::string(kCapabilitiesKey) +
                                          "\", which may be empty."};
  }
  asker.tasks = declares_tasks(meta.object(kCapabilitiesKey));
  return asker;
}

void McpServer::require_method(const RpcMessage& message, const Asker& asker) const {
  const bool known =
      asker.modern ? known_to_modern_era(message.method) : known_to_handshake_era(message.method);
  if (known && message.method.starts_with("tasks/") && !asker.tasks) {
    throw RpcFailure{
        rpc::kNoCapability,
        quoted_json(message.method) + " is for clients that declare the extension " +
            std::string(kTasksKey) + ".",
        "{\"requiredCapabilities\":{\"extensions\":{" + quoted_json(kTasksKey) + ":{}}}}"};
  }
  if (known) return;
  const std::string in = asker.modern ? std::string(kModern) : version_;
  throw RpcFailure{rpc::kNoMethod, "There is no method " + quoted_json(message.method) +
                                       (in.empty() ? "" : " in version " + in) + " here."};
}

std::optional<std::string> McpServer::answer_at_once(const RpcMessage& message,
                                                     const Asker& asker) {
  if (message.method == "initialize") return initialize(message);
  if (message.method == "ping") return "{}";
  if (message.method == "server/discover") {
    return result_text(asker, "\"supportedVersions\":[" + quoted_json(kModern) +
                                  "],\"capabilities\":{\"tools\":{},\"extensions\":{" +
                                  quoted_json(kTasksKey) + ":{}}},\"instructions\":" +
                                  quoted_json(kInstructions) + "," + std::string(kCached));
  }
  if (message.method == "tools/list") {
    if (message.params.has("cursor")) {
      throw RpcFailure{rpc::kBadParams, "All tools are on the first page: there is no cursor."};
    }
    const std::string cached = asker.modern ? "," + std::string(kCached) : "";
    return result_text(asker, "\"tools\":" + mcp_tool_list(with_approvals_) + cached);
  }
  return std::nullopt;
}

std::string McpServer::initialize(const RpcMessage& message) {
  const std::string wanted = message.params.text("protocolVersion");
  if (wanted.empty()) {
    throw RpcFailure{rpc::kBadParams, "initialize has a string protocolVersion."};
  }
  const bool known = std::ranges::find(kHandshakes, wanted) != kHandshakes.end();
  version_ = known ? wanted : std::string(kHandshakes.front());
  return "{\"protocolVersion\":" + quoted_json(version_) +
         ",\"capabilities\":{\"tools\":{}},\"serverInfo\":" + server_info() +
         ",\"instructions\":" + quoted_json(kInstructions) + "}";
}

void McpServer::start(Scope& calls, RpcMessage message, const Asker& asker, BatchPtr batch) {
  const std::string id = message.id;
  if (running_.contains(id)) {
    throw RpcFailure{rpc::kNoRequest,
                     "The id " + id + " is of a request that is not answered yet."};
  }
  if (running_.size() == kMostCalls) {
    throw RpcFailure{rpc::kTooMany, "At most " + std::to_string(kMostCalls) +
                                        " calls are answered at a time: try again later."};
  }
  const CallPtr call = std::make_shared<Call>();
  if (message.method == "tools/call") {
    const std::string name = message.params.text("name");
    call->tool = mcp_tool(name, with_approvals_);
    if (call->tool == nullptr) {
      throw RpcFailure{rpc::kBadParams, "There is no tool " + quoted_json(name) + "."};
    }
    if (message.params.has("arguments") && !message.params.is_object("arguments")) {
      throw RpcFailure{rpc::kBadParams, "\"arguments\" of a tool is an object."};
    }
  }
  call->message = std::move(message);
  call->asker = asker;
  call->batch = std::move(batch);
  Running running;
  running.call = call;
  running.task = calls.spawn(run_call, this, call);
  running_[id] = std::move(running);
}

Task<void> McpServer::run_call(McpServer* server, CallPtr call) {
  std::string answer = co_await server->answer(call);
  // From here on nothing cancels it: half a message would spoil those behind it.
  const auto found = server->running_.find(call->message.id);
  if (found == server->running_.end() || found->second.call != call) co_return;
  server->running_.erase(found);
  co_await server->reply(call->batch, std::move(answer));
}

Task<std::string> McpServer::answer(CallPtr call) {
  RpcFailure failed;
  try {
    const std::string result = co_await result_of(call);
    co_return rpc_result(call->message.id, result);
  } catch (const RpcFailure& failure) {
    failed = failure;
  }
  co_return rpc_error(call->message.id, failed);
}

Task<std::string> McpServer::result_of(CallPtr call) {
  const RawObject& params = call->message.params;
  const std::string& method = call->message.method;
  if (method.starts_with("tasks/")) {
    std::string said;
    if (method == "tasks/get") {
      said = co_await get_mcp_task(cli_, params);
    } else if (method == "tasks/cancel") {
      said = co_await cancel_mcp_task(cli_, params);
    } else {
      said = co_await update_mcp_task(cli_, params);
    }
    co_return result_text(call->asker, std::move(said));
  }
  std::string arguments = params.raw("arguments", "{}");
  if (call->asker.tasks && call->tool->name == "submit") {
    co_return co_await submit_as_task(call, std::move(arguments));
  }
  std::string members = co_await call_mcp_tool(cli_, *call->tool, std::move(arguments));
  co_return result_text(call->asker, std::move(members));
}

// A client that knows tasks gets a handle, which is on disk by then.
Task<std::string> McpServer::submit_as_task(CallPtr call, std::string arguments) {
  std::string why = mcp_misfits(*call->tool, arguments);
  if (why.empty()) {
    try {
      const Json task = co_await mcp_start(cli_, RawObject::parse(arguments));
      co_return result_text(call->asker, mcp_task_handle(task), "task");
    } catch (const CliFailure& failure) {
      why = failure.sentence;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  co_return result_text(call->asker, mcp_tool_failure(why));
}

// ---- Writing ----

Task<void> McpServer::reply(BatchPtr batch, std::string answer) {
  if (batch) {
    if (!answer.empty()) batch->answers += (batch->answers.empty() ? "" : ",") + answer;
    if (--batch->open > 0 || batch->answers.empty()) co_return;
    answer = "[" + batch->answers + "]";
  }
  co_await say(std::move(answer));
}

Task<void> McpServer::say(std::string message) {
  if (gone_) co_return;
  message += '\n';
  const Mutex::Guard guard = co_await writing_.lock();
  try {
    co_await out_.write(message);
  } catch (const IoError&) {
    gone_ = true;  // whoever read has gone: that is how clients end a server, too
    calls_->cancel("nobody reads the output");
  }
}

std::string McpServer::server_info() const {
  return "{\"name\":" + quoted_json(cli_.program()) +
         ",\"version\":" + quoted_json(cli_.app.version()) + "}";
}

std::string McpServer::result_text(const Asker& asker, std::string members,
                                   std::string_view type) const {
  if (!asker.modern) return "{" + members + "}";
  return "{\"resultType\":" + quoted_json(type) + "," + members + (members.empty() ? "" : ",") +
         "\"_meta\":{" + quoted_json(kServerKey) + ":" + server_info() + "}}";
}

}  // namespace tiffany::app
