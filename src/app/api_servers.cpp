// Servers of others whose tools agents have: the lists that are kept, and what is offered by now.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/agents.hpp"
#include "app/api.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

std::shared_ptr<agent::McpServer> server_of(const ApiCall& call) {
  const std::string& name = call.path("server");
  for (const auto& each : call.api.parts.agents.servers()) {
    if (each->options().name == name) return each;
  }
  throw HttpError(404,
                  "There is no MCP server \"" + name + "\" in the file of the setting `agents`.");
}

// Arguments of a command may be what nobody is to see.
std::string where_it_is(const agent::McpOptions& options) {
  return options.url.empty() ? options.command.front() : options.url;
}

// What the server could not say is no fault of this daemon.
[[noreturn]] void refuse_server(const Error& error) {
  const bool asked = error.code() == Errc::bad_argument;
  throw HttpError(asked ? 409 : 502, error.what());
}

}  // namespace

namespace calls {

Task<Response> list_servers(ApiCall& call) {
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("servers");
                          out.begin_array();
                          for (const auto& each : call.api.parts.agents.servers()) {
                            out.begin_object();
                            out.member("name", each->options().name);
                            out.member("place", where_it_is(each->options()));
                            out.member("known", each->known());
                            out.member("digest", each->known() ? each->list_digest() : "");
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> compare_server(ApiCall& call) {
  const std::shared_ptr<agent::McpServer> server = server_of(call);
  agent::McpDifference found;
  std::optional<Error> failed;
  try {
    found = co_await server->compare();
  } catch (const Error& error) {
    failed = error;
  }
  if (failed) refuse_server(*failed);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", server->options().name);
                          out.member("place", where_it_is(server->options()));
                          out.member("digest", found.kept);
                          out.member("now", found.now);
                          out.key("changes");
                          out.begin_array();
                          for (const agent::McpChange& each : found.changes) {
                            out.begin_object();
                            out.member("tool", each.tool);
                            out.member("change", each.change);
                            out.member("text", each.text);
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> accept_server(ApiCall& call) {
  const Body body(call.request(), {"digest", "reason"});
  const std::shared_ptr<agent::McpServer> server = server_of(call);
  call.reason = body.text("reason", "");
  std::string digest = body.text("digest");
  std::optional<Error> failed;
  try {
    co_await call.api.parts.agents.accept_list(*server, std::move(digest));
  } catch (const Error& error) {
    failed = error;
  }
  if (failed) refuse_server(*failed);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", server->options().name);
                          out.member("done", "accept");
                          out.end_object();
                        }));
}

}  // namespace calls

}  // namespace tiffany::app
