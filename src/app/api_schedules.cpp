// The API about schedules. A schedule is a durable task, found by its type.
#include <string>
#include <utility>

#include "app/api.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

void write_schedule(JsonWriter& out, const std::string& name, const ScheduleState& state) {
  out.begin_object();
  out.member("name", name);
  out.member("paused", state.paused);
  write_time(out, "next", state.next);
  write_time(out, "created", state.start);
  out.member("runs", state.runs);
  out.member("asked", state.asked);
  out.member("skipped", state.skipped);
  if (state.last != Uuid()) out.member("last", state.last.text());
  if (!state.problem.empty()) out.member("problem", state.problem);
  out.end_object();
}

Overlap overlap_of(const std::string& word) {
  if (word == "skip") return Overlap::skip;
  if (word == "queue") return Overlap::queue;
  if (word == "cancel") return Overlap::cancel;
  throw HttpError(400, "overlap is \"" + word + "\": say skip, queue or cancel.");
}

Schedule schedule_of(const Body& body) {
  Schedule::Data data;
  data.type = body.text("type");
  data.arguments = body.raw("arguments", "[]");
  data.cron = body.text("cron", "");
  data.zone = body.text("zone", "");
  if (body.has("every")) data.every = parse_duration(body.text("every"), "every");
  data.overlap = static_cast<int>(overlap_of(body.text("overlap", "skip")));
  if (const auto most = body.number("catch_up", 10'000)) {
    data.catch_up = static_cast<std::uint32_t>(*most);
  }
  return Schedule::of(std::move(data));
}

}  // namespace

namespace calls {

Task<Response> create_schedule(ApiCall& call) {
  const Body body(call.request(),
                  {"name", "type", "arguments", "cron", "every", "zone", "overlap", "catch_up"});
  const std::string name = body.text("name");
  call.about = name;
  const std::string type = body.text("type");
  if (call.api.parts.types.find(type) == nullptr) {
    throw HttpError(404, "There is no type \"" + type + "\": a schedule could start nothing.");
  }
  const Uuid id = co_await call.api.schedules.create(name, schedule_of(body));
  co_return json_answer(201, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", name);
                          out.member("task", id.text());
                          out.end_object();
                        }));
}

Task<Response> list_schedules(ApiCall& call) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("schedules");
  out.begin_array();
  for (const std::string& name : call.api.schedules.list()) {
    std::optional<ScheduleState> state;
    std::string problem;
    try {
      state = co_await call.api.schedules.look(name);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (state) {
      write_schedule(out, name, *state);
    } else {
      out.begin_object();
      out.member("name", name);
      out.member("problem", problem);
      out.end_object();
    }
  }
  out.end_array();
  out.end_object();
  co_return json_answer(200, std::move(text));
}

Task<Response> show_schedule(ApiCall& call) {
  const std::string name = call.path("name");
  const ScheduleState state = co_await call.api.schedules.look(name);
  co_return json_answer(200, json_text([&](JsonWriter& out) { write_schedule(out, name, state); }));
}

Task<Response> tell_schedule(ApiCall& call) {
  const std::string name = call.path("name");
  const std::string& what = call.path("verb");
  Schedules& all = call.api.schedules;
  if (what == "pause") {
    co_await all.pause(name);
  } else if (what == "resume") {
    co_await all.resume(name);
  } else if (what == "run") {
    co_await all.run_now(name);
  } else {
    throw HttpError(404, "A schedule can be told pause, resume or run, and not \"" + what + "\".");
  }
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", name);
                          out.member("done", what);
                          out.end_object();
                        }));
}

Task<Response> remove_schedule(ApiCall& call) {
  const std::string name = call.path("name");
  co_await call.api.schedules.remove(name);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", name);
                          out.member("done", "remove");
                          out.end_object();
                        }));
}

}  // namespace calls

}  // namespace tiffany::app
