#include "app/mcp_engine.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/mcp_app_tools.hpp"
#include "app/mcp_prompts.hpp"
#include "app/mcp_resources.hpp"
#include "app/mcp_tasks.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::app {
namespace {

// Those with a handshake, the newest first.
constexpr std::array<std::string_view, 4> kHandshakes{"2025-11-25", "2025-06-18", "2025-03-26",
                                                      "2024-11-05"};
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kTasksKey = "io.modelcontextprotocol/tasks";
constexpr std::string_view kCached = "\"ttlMs\":3600000,\"cacheScope\":\"public\"";
// Of what tasks do, and of what only those may see who may ask.
constexpr std::string_view kFresh = "\"ttlMs\":1000,\"cacheScope\":\"private\"";
constexpr std::string_view kOwn = "\"ttlMs\":60000,\"cacheScope\":\"private\"";
constexpr std::string_view kInstructions =
    "Long work as durable tasks: submit starts one and gives its id, wait and get look at it, also "
    "after this server, the client or the machine was restarted. Keep the id.";

enum class Era { both, handshake, modern };
struct KnownMethod {
  std::string_view name;
  Era era;
  bool watches = false;  // only where there are subscriptions
};
constexpr std::array kMethods{KnownMethod{"initialize", Era::handshake},
                              KnownMethod{"ping", Era::handshake},
                              KnownMethod{"server/discover", Era::modern},
                              KnownMethod{"tools/list", Era::both},
                              KnownMethod{"tools/call", Era::both},
                              KnownMethod{"resources/list", Era::both},
                              KnownMethod{"resources/templates/list", Era::both},
                              KnownMethod{"resources/read", Era::both},
                              KnownMethod{"resources/subscribe", Era::handshake, true},
                              KnownMethod{"resources/unsubscribe", Era::handshake, true},
                              KnownMethod{"prompts/list", Era::both},
                              KnownMethod{"prompts/get", Era::both},
                              KnownMethod{"completion/complete", Era::both},
                              KnownMethod{"tasks/get", Era::modern},
                              KnownMethod{"tasks/update", Era::modern},
                              KnownMethod{"tasks/cancel", Era::modern}};

// For caches, of which the handshake era knows nothing.
std::string hints(const McpAsker& asker, std::string_view members) {
  return asker.modern ? "," + std::string(members) : "";
}

// As JSON; empty for everything that is no token, which is no reason to refuse the request.
std::string progress_token_of(const RpcMessage& message) {
  const RawObject meta = message.params.object("_meta");
  if (!meta.has("progressToken")) return "";
  try {
    return rpc_id_in(meta, "progressToken");
  } catch (const RpcFailure&) {
    return "";
  }
}

[[noreturn]] void refuse_without_tasks(const std::string& what) {
  throw RpcFailure{
      rpc::kNoCapability,
      what + " is for clients that declare the extension " + std::string(kTasksKey) + ".",
      "{\"requiredCapabilities\":{\"extensions\":{" + quoted_json(kTasksKey) + ":{}}}}"};
}

}  // namespace

bool has_handshake(std::string_view version) noexcept {
  return std::ranges::find(kHandshakes, version) != kHandshakes.end();
}

bool has_batches(std::string_view version) noexcept {
  return version == "2025-03-26" || version == "2024-11-05";
}

void refuse_mcp_version(const std::string& version) {
  throw RpcFailure{rpc::kNoVersion,
                   "Version " + quoted_json(version) + " is not known here without initialize.",
                   "{\"supported\":[" + quoted_json(kModernMcp) +
                       "],\"requested\":" + quoted_json(version) + "}"};
}

std::string version_in_meta(const RpcMessage& message) {
  return message.params.object("_meta").text(kVersionKey);
}

// ---- Who asks for what ----

McpAsker McpEngine::asker_of(const RpcMessage& message, const std::string& version) const {
  McpAsker asker;
  asker.version = version;
  const RawObject meta = message.params.object("_meta");
  if (!meta.has(kVersionKey)) {
    if (message.method == "initialize" || message.method == "ping" || !version.empty()) {
      return asker;
    }
    if (!knows(message.method, false) && !knows(message.method, true)) return asker;
    throw RpcFailure{rpc::kBadParams,
                     "Nothing says which version of MCP this is: send initialize "
                     "first, or \"" +
                         std::string(kVersionKey) + "\" and \"" + std::string(kCapabilitiesKey) +
                         "\" in params._meta."};
  }
  asker.modern = true;
  if (meta.text(kVersionKey) != kModernMcp) refuse_mcp_version(meta.text(kVersionKey));
  if (!meta.is_object(kCapabilitiesKey)) {
    throw RpcFailure{rpc::kBadParams, "params._meta has an object \"" +
                                          std::string(kCapabilitiesKey) +
                                          "\", which may be empty."};
  }
  const RawObject capabilities = meta.object(kCapabilitiesKey);
  asker.tasks = capabilities.object("extensions").has(kTasksKey);
  asker.elicits = capabilities.is_object("elicitation");
  return asker;
}

bool McpEngine::knows(std::string_view method, bool modern) const noexcept {
  const auto* const found = std::ranges::find(kMethods, method, &KnownMethod::name);
  if (found == kMethods.end() || (found->watches && watched_ == nullptr)) return false;
  return found->era == Era::both || (found->era == Era::modern) == modern;
}

void McpEngine::require_method(const RpcMessage& message, const McpAsker& asker) const {
  const bool known = knows(message.method, asker.modern);
  if (known && message.method.starts_with("tasks/") && !asker.tasks) {
    refuse_without_tasks(quoted_json(message.method));
  }
  if (known) return;
  const std::string in = asker.modern ? std::string(kModernMcp) : asker.version;
  throw RpcFailure{rpc::kNoMethod, "There is no method " + quoted_json(message.method) +
                                       (in.empty() ? "" : " in version " + in) + " here."};
}

std::string McpEngine::version_for(const RpcMessage& initialize) {
  const std::string wanted = initialize.params.text("protocolVersion");
  if (wanted.empty()) {
    throw RpcFailure{rpc::kBadParams, "initialize has a string protocolVersion."};
  }
  return has_handshake(wanted) ? wanted : std::string(kHandshakes.front());
}

std::optional<std::string> McpEngine::answer_at_once(const RpcMessage& message,
                                                     const McpAsker& asker) const {
  if (message.method == "initialize") {
    return "{\"protocolVersion\":" + quoted_json(version_for(message)) +
           ",\"capabilities\":" + capabilities(false) + ",\"serverInfo\":" + server_info() +
           ",\"instructions\":" + quoted_json(kInstructions) + "}";
  }
  if (message.method == "ping") return "{}";
  if (message.method == "server/discover") {
    return result_text(asker, "\"supportedVersions\":[" + quoted_json(kModernMcp) +
                                  "],\"capabilities\":" + capabilities(true) +
                                  ",\"instructions\":" + quoted_json(kInstructions) + "," +
                                  std::string(kCached));
  }
  if (message.method == "tools/list") {
    if (message.params.has("cursor")) {
      throw RpcFailure{rpc::kBadParams, "All tools are on the first page: there is no cursor."};
    }
    return result_text(
        asker, "\"tools\":" + mcp_tool_list(door_.app(), with_approvals_) + hints(asker, kCached));
  }
  if (message.method == "resources/templates/list") {
    return result_text(asker, mcp_resource_templates(door_.app()) + hints(asker, kCached));
  }
  return std::nullopt;
}

// ---- Calls ----

McpCall McpEngine::call_of(RpcMessage message, const McpAsker& asker) const {
  McpCall call;
  if (message.method == "tools/call") {
    const std::string name = message.params.text("name");
    call.tool = mcp_tool(name, with_approvals_);
    if (call.tool == nullptr) call.of_app = tool_of_app(door_.app(), name);
    if (call.tool == nullptr && call.of_app == nullptr) {
      throw RpcFailure{rpc::kBadParams, "There is no tool " + quoted_json(name) + "."};
    }
    if (message.params.has("arguments") && !message.params.is_object("arguments")) {
      throw RpcFailure{rpc::kBadParams, "\"arguments\" of a tool is an object."};
    }
    if (call.of_app != nullptr && call.of_app->gives == App::ToolGives::handle && !asker.tasks) {
      refuse_without_tasks("The tool " + quoted_json(name));
    }
  }
  call.progress_token = progress_token_of(message);
  call.message = std::move(message);
  call.asker = asker;
  return call;
}

Task<std::string> McpEngine::answer(const McpCall* call, McpListener* listener) const {
  RpcFailure failed;
  try {
    const std::string result = co_await result_of(call, listener);
    co_return rpc_result(call->message.id, result);
  } catch (const RpcFailure& failure) {
    failed = failure;
  } catch (const Error& error) {
    failed = RpcFailure{rpc::kBadParams, error.what()};
  }
  co_return rpc_error(call->message.id, failed);
}

Task<std::string> McpEngine::result_of(const McpCall* call, McpListener* listener) const {
  const std::string& method = call->message.method;
  const RawObject& params = call->message.params;
  if (method.starts_with("tasks/")) co_return co_await about_task(call);
  if (method.starts_with("resources/")) co_return co_await about_resources(call);
  if (method == "prompts/list") {
    const std::string prompts = co_await list_mcp_prompts(door_);
    co_return result_text(call->asker, prompts + hints(call->asker, kOwn));
  }
  if (method == "prompts/get") {
    std::string prompt = co_await get_mcp_prompt(door_, params);
    co_return result_text(call->asker, std::move(prompt));
  }
  if (method == "completion/complete") {
    std::string values = co_await complete_for_mcp(door_, params);
    co_return result_text(call->asker, std::move(values));
  }
  std::string arguments = call->message.params.raw("arguments", "{}");
  if (call->of_app != nullptr) co_return co_await call_of_app(call, std::move(arguments), listener);
  if (call->asker.tasks && call->tool->name == "submit") {
    co_return co_await submit_as_task(call, std::move(arguments));
  }
  McpProgress progress(door_, listener, call->progress_token);
  std::string members = co_await call_mcp_tool(door_, *call->tool, std::move(arguments), progress);
  co_return result_text(call->asker, std::move(members));
}

Task<std::string> McpEngine::about_task(const McpCall* call) const {
  const RawObject& params = call->message.params;
  const std::string& method = call->message.method;
  const bool asks = with_approvals_ && call->asker.elicits;
  std::string said;
  if (method == "tasks/get") {
    said = co_await get_mcp_task(door_, params, asks);
  } else if (method == "tasks/cancel") {
    said = co_await cancel_mcp_task(door_, params);
  } else {
    said = co_await update_mcp_task(door_, params, asks);
  }
  co_return result_text(call->asker, std::move(said));
}

Task<std::string> McpEngine::about_resources(const McpCall* call) const {
  const RawObject& params = call->message.params;
  if (call->message.method == "resources/list") {
    const std::string page = co_await list_mcp_resources(door_, params);
    co_return result_text(call->asker, page + hints(call->asker, kFresh));
  }
  constexpr std::size_t kLongestUri = 4096;  // an address is part of the head of a request, too
  const std::string uri = params.text("uri");
  if (uri.empty() || uri.size() > kLongestUri) {
    throw RpcFailure{rpc::kBadParams, call->message.method + " has a string uri, of at most " +
                                          std::to_string(kLongestUri) + " bytes."};
  }
  if (call->message.method != "resources/read") co_return co_await watch(call);
  const std::string contents = co_await read_mcp_resource(door_, uri, call->asker.modern);
  co_return result_text(call->asker, contents + hints(call->asker, kFresh));
}

Task<std::string> McpEngine::watch(const McpCall* call) const {
  std::string uri = call->message.params.text("uri");
  if (call->message.method == "resources/subscribe") {
    co_await watched_->add(std::move(uri));
  } else {
    watched_->remove(uri);
  }
  co_return "{}";
}

// A client that knows tasks gets a handle, which is on disk by then.
Task<std::string> McpEngine::submit_as_task(const McpCall* call, std::string arguments) const {
  std::string why = mcp_misfits(call->tool->name, call->tool->input, arguments);
  if (why.empty()) {
    try {
      const Json task = co_await mcp_start(door_, RawObject::parse(arguments));
      co_return result_text(call->asker, mcp_task_handle(task), "task");
    } catch (const CliFailure& failure) {
      why = failure.sentence;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  co_return result_text(call->asker, mcp_tool_failure(why));
}

// The API looks at the arguments: it knows their types.
Task<std::string> McpEngine::call_of_app(const McpCall* call, std::string arguments,
                                         McpListener* listener) const {
  const App::Tool& tool = *call->of_app;
  std::string why;
  try {
    const Json task = co_await start_app_tool(door_, tool, std::move(arguments));
    if (call->asker.tasks && tool.gives != App::ToolGives::result) {
      co_return result_text(call->asker, mcp_task_handle(task), "task");
    }
    McpProgress progress(door_, listener, call->progress_token);
    std::string members = co_await wait_for_app_tool(door_, progress, task);
    co_return result_text(call->asker, std::move(members));
  } catch (const CliFailure& failure) {
    why = failure.sentence;
  }
  co_return result_text(call->asker, mcp_tool_failure(why));
}

// ---- Texts ----

std::string McpEngine::capabilities(bool modern) const {
  std::string text = "{\"tools\":{},\"resources\":{";
  if (watched_ != nullptr && !modern) text += "\"subscribe\":true";
  text += "},\"prompts\":{},\"completions\":{}";
  if (modern) text += ",\"extensions\":{" + quoted_json(kTasksKey) + ":{}}";
  return text + "}";
}

std::string McpEngine::server_info() const {
  return "{\"name\":" + quoted_json(door_.app().name()) +
         ",\"version\":" + quoted_json(door_.app().version()) + "}";
}

std::string McpEngine::result_text(const McpAsker& asker, std::string members,
                                   std::string_view type) const {
  if (!asker.modern) return "{" + members + "}";
  return "{\"resultType\":" + quoted_json(type) + "," + members + (members.empty() ? "" : ",") +
         "\"_meta\":{" + quoted_json(kServerKey) + ":" + server_info() + "}}";
}

}  // namespace tiffany::app
