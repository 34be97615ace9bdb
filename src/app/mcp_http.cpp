#include "app/mcp_http.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "app/mcp_app_tools.hpp"
#include "app/mcp_engine.hpp"
#include "serve/comma_list.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/structure/combine.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

constexpr std::size_t kMostInBatch = 64;

// Inside of the daemon: the functions of the API, as the one who asks.
class ApiDoor final : public McpDoor {
 public:
  ApiDoor(Api& api, Principal who) : api_(api), who_(std::move(who)) {}
  Task<Json> get(std::string path, Duration) override { return ask("GET", std::move(path), ""); }
  // A client that goes does not end what has begun: it is done, and in the audit.
  Task<Json> post(std::string path, std::string body) override {
    return shield(ask("POST", std::move(path), std::move(body)));
  }
  Task<std::string> bytes(std::string path) override {
    return ask_text("GET", std::move(path), "");
  }
  const App& app() const noexcept override { return api_.parts.app; }
  std::string command(const std::string& words) const override {
    return api_.parts.app.name() + " " + words;
  }

 private:
  Task<Json> ask(std::string method, std::string path, std::string body) {
    const std::string text = co_await ask_text(std::move(method), std::move(path), std::move(body));
    co_return Json::parse(text);
  }
  Task<std::string> ask_text(std::string method, std::string path, std::string body) {
    http::Request request(std::move(method), std::string(kApi) + path);
    request.body = std::move(body);
    Response answer = co_await api_.ask(request, who_);
    if (answer.status < 200 || answer.status > 299) throw failure_of(answer);
    co_return std::move(answer.body);
  }
  Api& api_;
  Principal who_;
};

// "application/json; charset=utf-8" is application/json.
std::string_view media_type(std::string_view text) noexcept {
  text = text.substr(0, text.find(';'));
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Whether the answer may be of that type, such as application/json. Who says nothing takes `else_`.
bool takes(const http::Request& request, std::string_view wanted, bool else_) {
  bool any = false;
  bool found = false;
  const std::string family = std::string(wanted.substr(0, wanted.find('/'))) + "/*";
  for (const auto& [name, value] : request.headers) {
    if (!http::same_name(name, "accept")) continue;
    any = true;
    for_each_listed(value, [&](std::string_view each) {
      const std::string_view type = media_type(each);
      found =
          found || http::same_name(type, wanted) || http::same_name(type, family) || type == "*/*";
    });
  }
  return any ? found : else_;
}

void require_message(const http::Request& request) {
  const auto type = request.headers.find("content-type");
  if (!type || !http::same_name(media_type(*type), "application/json")) {
    throw HttpError(415, "A message of MCP is sent with content-type: application/json.");
  }
  if (!takes(request, "application/json", true)) {
    throw HttpError(406, "Messages of MCP are answered with application/json: accept that.");
  }
}

Response message_answer(int status, std::string text) {
  Response response(status, "application/json", std::move(text));
  guard_answer(response);
  return response;
}

// A value as it is, or =?base64?...?=, which says what headers cannot.
std::string header_value(std::string_view text) {
  constexpr std::string_view kBegin = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  if (text.size() < kBegin.size() + kEnd.size() || !text.starts_with(kBegin) ||
      !text.ends_with(kEnd)) {
    return std::string(text);
  }
  text.remove_prefix(kBegin.size());
  text.remove_suffix(kEnd.size());
  const std::optional<std::string> decoded = from_base64(text);
  if (!decoded) throw RpcFailure{rpc::kBadHeader, "A header has a base64 text that is none."};
  return *decoded;
}

void require_same(const http::Request& request, std::string_view name, const std::string& wanted) {
  const auto given = request.headers.find(name);
  if (given && header_value(*given) == wanted) return;
  throw RpcFailure{rpc::kBadHeader, "The header " + std::string(name) +
                                        (given ? " is not what the message says (" + wanted + ")."
                                               : " is missing; it is " + wanted + ".")};
}

// What stands between a client and us may look at the headers alone: they say what the message
// says.
void require_headers(const http::Request& request, const RpcMessage& message) {
  require_same(request, "mcp-protocol-version", version_in_meta(message));
  require_same(request, "mcp-method", message.method);
  if (message.method == "tools/call" || message.method == "prompts/get") {
    require_same(request, "mcp-name", message.params.text("name"));
  } else if (message.method == "resources/read") {
    require_same(request, "mcp-name", message.params.text("uri"));
  } else if (message.method == "tasks/get" || message.method == "tasks/update" ||
             message.method == "tasks/cancel") {
    require_same(request, "mcp-name", message.params.text("taskId"));
  }
}

// Arguments that a tool wants in headers, too, are the same there, and not there when they are not
// in the message.
void require_argument_headers(const http::Request& request, const RpcMessage& message,
                              const App& app) {
  if (message.method != "tools/call") return;
  const App::Tool* const tool = tool_of_app(app, message.params.text("name"));
  if (tool == nullptr) return;
  const RawObject arguments = message.params.object("arguments");
  for (const auto& [argument, header] : tool->headers) {
    const std::string name = "mcp-param-" + header;
    const JsonKind kind = arguments.kind(argument).value_or(JsonKind::null);
    if (kind != JsonKind::null) {
      const bool text = kind == JsonKind::string;
      require_same(request, name, text ? arguments.text(argument) : arguments.raw(argument));
    } else if (request.headers.has(name)) {
      throw RpcFailure{rpc::kBadHeader,
                       "The header " + name + " is there, and the argument " + argument + " not."};
    }
  }
}

// Why a request is refused before it is carried out.
struct RefusedMessage {
  int status;
  RpcFailure failure;
};

// One request, with its answer: JSON, or a stream of events once there is something to tell before
// it.
class McpExchange final : public McpListener {
 public:
  McpExchange(Api& api, http::Exchange& exchange, Principal who)
      : exchange_(exchange),
        door_(api, std::move(who)),
        engine_(door_, api.parts.settings.truth("mcp_approve")) {}

  Task<void> serve() {
    Response response = co_await answer();
    if (!exchange_.begun()) co_return co_await exchange_.respond(std::move(response));
    co_await send(std::move(response.body));
  }

  Task<void> tell(std::string notification) override {
    if (!exchange_.begun()) {
      Response head(200);
      head.headers.set("content-type", "text/event-stream");
      guard_answer(head);
      co_await exchange_.begin(std::move(head));
    }
    co_await send(std::move(notification));
  }

 private:
  Task<void> send(std::string message) {
    const std::string event = "event: message\ndata: " + message + "\n\n";
    try {
      co_await exchange_.write(event);
    } catch (const IoError&) {
      // The client has left, perhaps before closed() tells.
    }
  }

  Task<Response> answer() {
    std::optional<RefusedMessage> refused;
    std::string id;
    try {
      if (is_rpc_batch(exchange_.request().body)) co_return co_await batch_answer();
      RpcMessage message = read_rpc_message(exchange_.request().body);
      id = message.id;
      require_version(message);
      if (message.id.empty() || message.method.empty()) co_return Response(202);
      const bool streams = takes(exchange_.request(), "text/event-stream", false);
      co_return co_await answer_to(std::move(message), streams ? this : nullptr);
    } catch (const RpcFailure& failure) {
      refused = RefusedMessage{400, failure};
    } catch (const RefusedMessage& failure) {
      refused = failure;
    } catch (const Error& error) {
      refused = RefusedMessage{400, RpcFailure{rpc::kBadParams, error.what(), "", id}};
    }
    co_return message_answer(refused->status, rpc_error(refused->failure.id, refused->failure));
  }

  // The version that the header names, of the handshake era; empty: it names that of the other.
  std::string header_version() const {
    const auto given = exchange_.request().headers.find("mcp-protocol-version");
    if (!given) return "2025-03-26";  // which did not know the header
    return *given == kModernMcp ? "" : std::string(*given);
  }
  void require_version(const RpcMessage& message) const {
    const std::string version = header_version();
    if (!version_in_meta(message).empty() || version.empty() || has_handshake(version)) return;
    RpcFailure failure;
    try {
      refuse_mcp_version(version);
    } catch (const RpcFailure& refused) {
      failure = refused;
    }
    failure.id = message.id;
    throw RpcFailure(failure);
  }

  McpAsker asker_of(const RpcMessage& message) const {
    bool modern = false;
    try {
      modern = !version_in_meta(message).empty();
      if (modern) {
        require_headers(exchange_.request(), message);
        require_argument_headers(exchange_.request(), message, door_.app());
      }
      McpAsker asker = engine_.asker_of(message, header_version());
      engine_.require_method(message, asker);
      return asker;
    } catch (const RpcFailure& failure) {
      RefusedMessage refused{400, failure};
      refused.failure.id = message.id;
      if (failure.code == rpc::kNoMethod) {
        // Of the era without a handshake; before, only the body said so.
        refused.status = modern || header_version().empty() ? 404 : 200;
      }
      throw RefusedMessage(refused);
    } catch (const Error& error) {
      throw RefusedMessage{400, RpcFailure{rpc::kBadParams, error.what(), "", message.id}};
    }
  }

  Task<Response> answer_to(RpcMessage message, McpListener* listener) {
    const std::string id = message.id;
    const McpAsker asker = asker_of(message);
    RpcFailure failed;
    try {
      const std::optional<std::string> result = engine_.answer_at_once(message, asker);
      if (result) co_return message_answer(200, rpc_result(id, *result));
      const McpCall call = engine_.call_of(std::move(message), asker);
      std::string text;
      if (call.takes_long()) {
        text = co_await waited(&call, listener);
      } else {
        text = co_await engine_.answer(&call, listener);
      }
      co_return message_answer(200, std::move(text));
    } catch (const RpcFailure& failure) {
      failed = failure;
    }
    const int status = failed.code == rpc::kNoCapability ? 400 : 200;
    co_return message_answer(status, rpc_error(id, failed));
  }

  // A client that goes is not waited for; one that has sent more behind this hears how things are.
  Task<std::string> waited(const McpCall* call, McpListener* listener) {
    {
      auto first = co_await race(engine_.answer(call, listener), exchange_.closed());
      if (first.index == 0) co_return std::move(std::get<0>(first.value));
    }
    co_return rpc_error(call->message.id,
                        RpcFailure{rpc::kTooMany, "The wait was given up: ask again."});
  }

  Task<Response> batch_answer() {
    const std::vector<std::string> all = read_rpc_batch(exchange_.request().body, kMostInBatch);
    if (!has_batches(header_version())) {
      throw RpcFailure{rpc::kNoRequest,
                       "Batches are of the version 2025-03-26: send one message a request."};
    }
    std::string answers;
    for (const std::string& each : all) {
      std::string text = co_await answer_in_batch(each);
      if (!text.empty()) answers += (answers.empty() ? "" : ",") + text;
    }
    if (answers.empty()) co_return Response(202);
    co_return message_answer(200, "[" + answers + "]");
  }
  Task<std::string> answer_in_batch(std::string text) {
    RpcFailure failed;
    try {
      RpcMessage message = read_rpc_message(text);
      if (message.id.empty() || message.method.empty()) co_return "";
      if (message.method == "initialize") {
        throw RpcFailure{rpc::kNoRequest, "initialize is no part of a batch.", "", message.id};
      }
      const Response answer = co_await answer_to(std::move(message), nullptr);
      co_return answer.body;
    } catch (const RpcFailure& failure) {
      failed = failure;
    } catch (const RefusedMessage& refused) {
      failed = refused.failure;
    }
    co_return rpc_error(failed.id, failed);
  }

  http::Exchange& exchange_;
  ApiDoor door_;
  McpEngine engine_;
};

}  // namespace

Task<void> serve_mcp(Api& api, http::Exchange& exchange, Principal who) {
  if (exchange.request().method != "POST") {
    Response refusal(405, "text/plain",
                     "A message of MCP is sent with POST. There is no stream.\n");
    refusal.headers.set("allow", "POST");
    guard_answer(refusal);
    co_return co_await exchange.respond(std::move(refusal));
  }
  if (who.role == Role::nobody) {
    throw HttpError(401, "Say who you are: `authorization: Bearer` and a token.");
  }
  if (api.phase() == Api::Phase::starting) throw HttpError(503, "The daemon is starting.");
  require_message(exchange.request());
  McpExchange of(api, exchange, std::move(who));
  co_await of.serve();
}

}  // namespace tiffany::app
