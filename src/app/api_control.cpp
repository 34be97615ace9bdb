// The API that changes tasks: signals, promises, cancel, pause, retry, schedules.
#include <optional>
#include <string>
#include <utility>

#include "app/api.hpp"
#include "tiffany/plan/command_retention.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

Response done(const Uuid& task, std::string_view what) {
  return json_answer(200, json_text([&](JsonWriter& out) {
                       out.begin_object();
                       out.member("task", task.text());
                       out.member("done", what);
                       out.end_object();
                     }));
}

std::string reason_in(ApiCall& call, const Body& body) {
  call.reason = body.text("reason", "");
  return call.reason.empty() ? "by " + call.who().name : call.reason;
}

}  // namespace

namespace calls {

Task<Response> signal_task(ApiCall& call) {
  const Body body(call.request(), {"name", "value", "reason"});
  call.reason = body.text("reason", "");
  const Uuid task = call.task();
  co_await call.api.parts.host.signal_json(task, body.text("name"), body.raw("value", "null"),
                                           call.actor());
  co_return done(task, "signal");
}

// The same id is the same update: what was answered is answered again.
Task<Response> update_task(ApiCall& call) {
  const Body body(call.request(), {"value", "id", "reason"});
  call.reason = body.text("reason", "");
  const Uuid task = call.task();
  const std::string& name = call.path("name");
  Host& host = call.api.parts.host;
  const Uuid update = chosen_id(call, body).value_or(host.new_id());
  const std::string answer =
      co_await host.update_json(task, name, body.raw("value", "null"), update);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("task", task.text());
                          out.member("name", name);
                          out.member("update", update.text());
                          out.key("answer");
                          out.raw_value(answer);
                          out.end_object();
                        }));
}

Task<Response> query_task(ApiCall& call) {
  const auto name = call.query("name");
  if (!name) throw HttpError(400, "Say which query: ?name=...");
  const Uuid task = call.task();
  const std::string answer = co_await call.api.parts.host.ask_json(task, *name);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("task", task.text());
                          out.member("name", *name);
                          out.key("answer");
                          out.raw_value(answer);
                          out.end_object();
                        }));
}

Task<Response> cancel_task(ApiCall& call) {
  const Body body(call.request(), {"reason"});
  const Uuid task = call.task();
  std::string why = reason_in(call, body);
  co_await call.api.parts.host.cancel(task, std::move(why), call.actor());
  co_return done(task, "cancel");
}

Task<Response> kill_task(ApiCall& call) {
  const Body body(call.request(), {"reason"});
  const Uuid task = call.task();
  std::string why = reason_in(call, body);
  Host& host = call.api.parts.host;
  co_await host.kill(task, std::move(why), call.actor());
  const std::optional<DurableInfo> killed = host.info(task);
  if (killed && killed->type == plan::kPlanType) {
    co_await plan::stop_orphans(call.api.parts.commands, host);
  }
  co_return done(task, "kill");
}

Task<Response> pause_task(ApiCall& call) {
  const Body body(call.request(), {"reason"});
  const Uuid task = call.task();
  call.reason = body.text("reason", "");
  co_await call.api.parts.host.pause(task, call.actor());
  co_return done(task, "pause");
}

Task<Response> resume_task(ApiCall& call) {
  const Body body(call.request(), {"reason"});
  const Uuid task = call.task();
  call.reason = body.text("reason", "");
  co_await call.api.parts.host.resume(task, call.actor());
  co_return done(task, "resume");
}

Task<Response> retry_task(ApiCall& call) {
  const Body body(call.request(), {"from", "reason"});
  const Uuid task = call.task();
  call.reason = body.text("reason", "");
  co_await call.api.parts.host.retry(task, body.text("from"), call.actor());
  co_return done(task, "retry");
}

Task<Response> fork_task(ApiCall& call) {
  const Body body(call.request(), {"from", "reason"});
  const Uuid task = call.task();
  call.reason = body.text("reason", "");
  const Uuid made = co_await call.api.parts.host.fork(task, body.text("from"), call.actor());
  co_return json_answer(201, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("task", made.text());
                          out.member("fork_of", task.text());
                          out.end_object();
                        }));
}

// ---- Promises ----

Task<Response> list_promises(ApiCall& call) {
  const Host& host = call.api.parts.host;
  const std::size_t limit = call.query_number("limit", 100, 10'000);
  const std::vector<OpenPromise> all = host.promises(limit);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("promises");
                          out.begin_array();
                          for (const OpenPromise& each : all) {
                            out.begin_object();
                            out.member("id", each.id.text());
                            out.member("name", each.name);
                            out.member("task", each.task.text());
                            write_time(out, "since", each.since);
                            if (const auto info = host.info(each.task)) {
                              out.member("type", info->type);
                              if (!info->key.empty()) out.member("key", info->key);
                            }
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> keep_promise(ApiCall& call) {
  const Body body(call.request(), {"value", "error", "reason"});
  call.reason = body.text("reason", "");
  const std::optional<Uuid> id = Uuid::parse(call.path("promise"));
  if (!id) throw HttpError(400, "\"" + call.path("promise") + "\" is no UUID of a promise.");
  if (body.has("error") && body.has("value")) {
    throw HttpError(400, "A promise is kept with a value or broken with an error, not both.");
  }
  const bool breaks = body.has("error");
  std::string what = breaks ? body.text("error") : body.raw("value", "null");
  // The question of a plan or an agent: yes or no, and who says so.
  if (!breaks) {
    std::string answer = co_await answer_to_plan(call, *id, what);
    if (answer.empty()) answer = co_await answer_to_agent(call, *id, what);
    if (!answer.empty()) what = answer;
  }
  const bool first =
      co_await call.api.parts.host.complete_json(*id, std::move(what), !breaks, call.actor());
  if (!first) {
    throw HttpError(409, "Promise " + id->text() + " was kept before; this changes nothing.");
  }
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("promise", id->text());
                          out.member("done", breaks ? "broken" : "kept");
                          out.end_object();
                        }));
}

}  // namespace calls

}  // namespace tiffany::app
