// The API about the daemon itself.
#include <string>
#include <utility>

#include "app/api.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/observe/log.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

void write_token(JsonWriter& out, const TokenInfo& token) {
  out.member("name", token.name);
  out.member("role", token.role);
  write_time(out, "created", token.created);
}

std::string_view name_of_phase(Api::Phase phase) noexcept {
  switch (phase) {
    case Api::Phase::starting:
      return "starting";
    case Api::Phase::ready:
      return "ready";
    case Api::Phase::draining:
      return "draining";
  }
  return "";
}

}  // namespace

// The library names its function first ("Host::signal: task ..."), which says nothing to somebody
// who has not called it.
std::string without_function(std::string_view what) {
  const std::size_t colon = what.find(": ");
  const std::string_view function = what.substr(0, colon);
  const bool named = function.starts_with("Host::") || function == "inspect";
  if (colon == std::string_view::npos || !named || function.find(' ') != std::string_view::npos) {
    return std::string(what);
  }
  std::string sentence(what.substr(colon + 2));
  const char first = sentence.empty() ? '\0' : sentence[0];
  if (first >= 'a' && first <= 'z') sentence[0] = static_cast<char>(first - 'a' + 'A');
  return sentence;
}

namespace calls {

Task<Response> info(ApiCall& call) {
  const Api& api = call.api;
  const std::int64_t now = World::current().wall_clock_us().value_or(0);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", api.parts.app.name());
                          out.member("version", api.parts.app.version());
                          out.member("phase", name_of_phase(api.phase()));
                          out.member("pid", World::current().process_id());
                          write_time(out, "started", api.started_us);
                          out.member("uptime_seconds", (now - api.started_us) / 1'000'000);
                          out.member("data", api.parts.settings.text("data"));
                          out.member("you", call.who().name);
                          out.member("role", name_of(call.who().role));
                          out.member("recovery", api.recovery);
                          write_counts(out, api.parts.host.counts());
                          out.end_object();
                        }));
}

Task<Response> types(ApiCall& call) {
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("types");
                          out.begin_array();
                          for (const App::Type& each : call.api.parts.app.described()) {
                            out.begin_object();
                            out.member("name", each.name);
                            out.key("arguments");
                            out.begin_array();
                            for (const App::Argument& argument : each.arguments) {
                              out.begin_object();
                              out.member("name", argument.name);
                              out.member("type", argument.type);
                              out.key("schema");
                              out.raw_value(argument.schema);
                              out.end_object();
                            }
                            out.end_array();
                            out.key("result");
                            out.raw_value(each.result);
                            out.key("calls");
                            out.begin_array();
                            for (const App::Call& one : each.calls) {
                              out.begin_object();
                              out.member("kind", one.kind);
                              out.member("name", one.name);
                              out.key("schema");
                              out.raw_value(one.schema);
                              out.end_object();
                            }
                            out.end_array();
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> openapi(ApiCall& call) {
  co_return json_answer(200, openapi_document(call.api.parts.app));
}

Task<Response> problems(ApiCall& call) {
  const std::vector<observe::Lint> lints = call.api.parts.linter.scan();
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("summary", observe::Linter::summary(lints));
                          out.key("problems");
                          out.begin_array();
                          for (const observe::Lint& each : lints) {
                            out.begin_object();
                            out.member("kind", observe::name_of(each.kind));
                            out.member("tid", each.task.value());
                            out.member("text", each.text);
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> dump(ApiCall& call) {
  const auto format = call.query("format").value_or("json");
  const Scheduler& scheduler = call.api.parts.scheduler;
  if (format == "text") {
    co_return Response(200, "text/plain; charset=utf-8", scheduler.dump_text());
  }
  if (format != "json") throw HttpError(400, "format is \"" + format + "\": say text or json.");
  co_return json_answer(200, scheduler.dump_json());
}

Task<Response> audit(ApiCall& call) {
  const std::size_t limit = call.query_number("limit", 100, 10'000);
  const std::vector<std::string> lines = co_await call.api.parts.audit.last(limit);
  std::string out = "{\"lines\":[";
  for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? "" : ",\n") + lines[i];
  co_return json_answer(200, out + "]}");
}

Task<Response> settings(ApiCall& call) {
  co_return json_answer(200, "{\"settings\":" + call.api.parts.settings.json() + "}");
}

Task<Response> set_levels(ApiCall& call) {
  const Body body(call.request(), {"levels"});
  call.about = body.text("levels");
  observe::log::set_levels(call.about);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("levels", call.about);
                          out.end_object();
                        }));
}

// ---- Tokens ----

Task<Response> list_tokens(ApiCall& call) {
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("tokens");
                          out.begin_array();
                          for (const TokenInfo& each : call.api.parts.tokens.all()) {
                            out.begin_object();
                            write_token(out, each);
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> create_token(ApiCall& call) {
  const Body body(call.request(), {"name", "role"});
  const std::string name = body.text("name");
  const std::string word = body.text("role");
  const std::optional<Role> role = role_of(word);
  if (!role) throw HttpError(400, "There is no role \"" + word + "\": viewer, operator or admin.");
  call.about = name + " " + word;
  const std::int64_t now = World::current().wall_clock_us().value_or(0);
  const std::string token = call.api.parts.tokens.create(name, *role, now);
  co_return json_answer(201, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", name);
                          out.member("role", word);
                          out.member("token", token);
                          out.end_object();
                        }));
}

Task<Response> remove_token(ApiCall& call) {
  const std::string& name = call.path("name");
  if (!call.api.parts.tokens.remove(name)) {
    throw HttpError(404, "There is no token \"" + name + "\".");
  }
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", name);
                          out.member("done", "remove");
                          out.end_object();
                        }));
}

// ---- The log, and the end ----

Task<Response> compact(ApiCall& call) {
  const Settings& settings = call.api.parts.settings;
  Retention keep;
  if (const std::uint64_t days = settings.number("archive_days"); days > 0) {
    keep.age = std::chrono::hours(24) * days;
  }
  if (const std::uint64_t bytes = settings.number("archive_bytes"); bytes > 0) keep.bytes = bytes;
  const Compaction done = co_await call.api.parts.host.compact(keep);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("archived", done.archived);
                          out.member("kept", done.kept);
                          out.member("removed", done.removed);
                          out.member("values", done.values);
                          if (!done.skipped.empty()) out.member("skipped", done.skipped);
                          out.end_object();
                        }));
}

Task<Response> backup(ApiCall& call) {
  const Body body(call.request(), {"to"});
  const std::string to = body.text("to");
  call.about = to;
  if (!to.starts_with('/')) throw HttpError(400, "\"to\" is a path that begins with a slash.");
  const wal::BackupReport done = co_await call.api.parts.host.backup(to + "/wal");
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("to", to);
                          out.member("files", done.files);
                          out.member("bytes", done.bytes);
                          out.end_object();
                        }));
}

Task<Response> shut_down(ApiCall& call) {
  const Body body(call.request(), {"reason"});
  call.reason = body.text("reason", "");
  call.api.parts.shut_down(call.reason.empty() ? call.who().name + " asked for it" : call.reason);
  co_return json_answer(202, R"({"done":"shutdown"})");
}

}  // namespace calls

}  // namespace tiffany::app
