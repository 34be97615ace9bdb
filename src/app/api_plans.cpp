// The API about plans: durable workflows of commands.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/api.hpp"
#include "app/plan_history.hpp"
#include "app/plans.hpp"
#include "tiffany/plan/graph.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

void write_mistakes(JsonWriter& out, const plan::Checked& checked) {
  out.key("mistakes");
  out.begin_array();
  for (const plan::Mistake& each : checked.mistakes) {
    out.begin_object();
    out.member("line", each.line);
    out.member("column", each.column);
    out.member("sentence", each.sentence);
    out.end_object();
  }
  out.end_array();
}

void write_params(JsonWriter& out, const plan::Plan& of) {
  out.key("params");
  write_json(out, of.params);
}

void write_schedule_of(JsonWriter& out, const plan::Plan& of) {
  if (!of.schedule) return;
  out.member("cron", of.schedule->cron);
  if (!of.schedule->zone.empty()) out.member("zone", of.schedule->zone);
}

// Texts by names. Numbers and truth values as they are written.
std::map<std::string, std::string> texts_in(const Body& body, const std::string& member) {
  std::map<std::string, std::string> texts;
  if (!body.has(member)) return texts;
  try {
    const std::string object = body.raw(member, "{}");
    JsonReader in(object);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      texts[name] = in.kind() == JsonKind::string ? in.string() : std::string(in.raw());
    }
    in.end();
    return texts;
  } catch (const HttpError&) {
    throw;
  } catch (const Error& error) {
    throw HttpError(400, "\"" + member + "\" must be an object: " + std::string(error.what()));
  }
}

plan::Values values_in(const Body& body) { return texts_in(body, "params"); }

// A plan that comes with the request, and so do its sub-plans: no file of the daemon is read.
plan::Checked checked_in(const Body& body) {
  return plan::check(body.text("text"), body.text("file", "plan"), texts_in(body, "files"));
}

plan::Plan require_plan(const plan::Checked& checked) {
  if (!checked.plan) throw HttpError(422, checked.text());
  return *checked.plan;
}

Task<Response> start_plan(ApiCall& call, const Body& body, plan::Plan wanted) {
  const plan::Values values = plan::with_defaults(wanted, values_in(body));
  std::string arguments = "[" + to_json(wanted) + "," + to_json(values) + "]";
  StartOptions options = start_options_of(call, body);
  if (!wanted.name.empty()) {
    static_cast<StartOptions&&>(options).attribute("plan", wanted.name);
  }
  const Uuid id = co_await call.api.parts.host.start_json(plan::kPlanType, std::move(arguments),
                                                          std::move(options));
  call.about = wanted.name + " " + id.text();
  co_return task_answer(201, call.api.parts.host, id);
}

// Nothing: the plan has not ended.
std::optional<std::string> units_at_end(const Host& host, const Uuid& id, const plan::Plan& plan) {
  const std::optional<DurableInfo> info = host.info(id);
  if (!info || info->status < DurableStatus::completed) return std::nullopt;
  if (info->status > DurableStatus::completed) {
    return to_json(units_by_log(host, id, plan, info->detail));
  }
  return to_json(from_json<plan::PlanEnd>(info->detail).units);
}

Task<std::string> units_of(ApiCall& call, const Uuid& id, const plan::Plan& plan) {
  Host& host = call.api.parts.host;
  std::optional<std::string> units = units_at_end(host, id, plan);
  if (units) co_return *units;
  try {
    units = to_json((co_await host.ask(id, plan::kPlanView)).units);
  } catch (const Error& error) {
    if (error.code() != Errc::unknown_durable) throw;
  }
  // Its code has ended meanwhile, or has not begun.
  if (!units) units = units_at_end(host, id, plan).value_or("[]");
  co_return *units;
}

// "test" and "test[2]" are units of the step "test".
bool has_unit(const plan::Plan& plan, const std::string& unit) {
  const std::string name = unit.substr(0, unit.find('['));
  const auto is_it = [&](const plan::Step& step) { return step.name == name; };
  return std::ranges::any_of(plan.steps, is_it) || std::ranges::any_of(plan.on_failure, is_it) ||
         std::ranges::any_of(plan.finally, is_it);
}

}  // namespace

std::optional<plan::Plan> plan_of(const Host& host, const Uuid& id) {
  const std::optional<DurableInfo> info = host.info(id);
  if (!info) throw HttpError(404, "There is no task " + id.text() + ".");
  if (info->type != plan::kPlanType) return std::nullopt;
  const std::vector<std::string> first = host.records(id, 0, 1);
  if (first.empty()) return std::nullopt;
  const wal::RecordView view = wal::view_of(first.front());
  const std::string object = "{" + std::string(view.payload) + "}";
  JsonReader in(object);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name != "args") {
      in.raw();
      continue;
    }
    const std::string arguments = const_cast<Host&>(host).store().value_of(in.raw());
    JsonReader array(arguments);
    array.begin_array();
    if (!array.next_element()) return std::nullopt;
    return from_json<plan::Plan>(array.raw());
  }
  return std::nullopt;
}

// A promise is that of one question, so that whoever knows its id has seen the question.
Task<std::string> answer_to_plan(ApiCall& call, Uuid promise, std::string value) {
  Host& host = call.api.parts.host;
  const std::optional<OpenPromise> found = host.promise(promise);
  if (!found) co_return "";
  const std::optional<DurableInfo> info = host.info(found->task);
  if (!info || info->type != plan::kPlanType) co_return "";
  if (value != "true" && value != "false") {
    throw HttpError(400, "This promise is the question of a plan: its value is true or false.");
  }
  const plan::PlanView view = co_await host.ask(found->task, plan::kPlanView);
  plan::Approval answer;
  answer.approved = value == "true";
  answer.by = call.who().name;
  answer.note = call.reason;
  for (const plan::UnitView& each : view.units) {
    if (each.promise == promise.text()) answer.digest = each.digest;
  }
  co_return to_json(answer);
}

namespace calls {

Task<Response> check_plan(ApiCall& call) {
  const Body body(call.request(), {"text", "file", "files"});
  const plan::Checked checked = checked_in(body);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("good", checked.plan.has_value());
                          write_mistakes(out, checked);
                          if (checked.plan) {
                            write_params(out, *checked.plan);
                            out.key("graph");
                            out.raw_value(plan::graph_json(*checked.plan));
                          }
                          out.end_object();
                        }));
}

Task<Response> run_plan(ApiCall& call) {
  const Body body(call.request(), {"text", "file", "files", "params", "id", "key", "priority",
                                   "timeout", "attributes"});
  const plan::Checked checked = checked_in(body);
  co_return co_await start_plan(call, body, require_plan(checked));
}

Task<Response> list_plans(ApiCall& call) {
  const std::vector<KnownPlan> all = co_await known_plans(call.api.parts.settings.text("plans"));
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("plans");
                          out.begin_array();
                          for (const KnownPlan& each : all) {
                            out.begin_object();
                            out.member("name", each.name);
                            out.member("file", each.file);
                            out.member("good", each.checked.plan.has_value());
                            write_mistakes(out, each.checked);
                            if (each.checked.plan) {
                              out.member("about", each.checked.plan->about);
                              write_params(out, *each.checked.plan);
                              write_schedule_of(out, *each.checked.plan);
                            }
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> show_plan(ApiCall& call) {
  const KnownPlan found =
      co_await known_plan(call.api.parts.settings.text("plans"), call.path("name"));
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", found.name);
                          out.member("text", found.text);
                          out.member("good", found.checked.plan.has_value());
                          write_mistakes(out, found.checked);
                          if (found.checked.plan) {
                            out.member("about", found.checked.plan->about);
                            write_params(out, *found.checked.plan);
                            write_schedule_of(out, *found.checked.plan);
                            out.key("graph");
                            out.raw_value(plan::graph_json(*found.checked.plan));
                          }
                          out.end_object();
                        }));
}

Task<Response> run_known_plan(ApiCall& call) {
  const Body body(call.request(), {"params", "id", "key", "priority", "timeout", "attributes"});
  const KnownPlan found =
      co_await known_plan(call.api.parts.settings.text("plans"), call.path("name"));
  co_return co_await start_plan(call, body, require_plan(found.checked));
}

// A schedule with the name of the plan, as the plan itself says.
Task<Response> schedule_known_plan(ApiCall& call) {
  const Body body(call.request(), {"params"});
  const KnownPlan found =
      co_await known_plan(call.api.parts.settings.text("plans"), call.path("name"));
  const plan::Plan wanted = require_plan(found.checked);
  if (!wanted.schedule) throw HttpError(422, "The plan " + found.name + " has no schedule.");
  const plan::Values values = plan::with_defaults(wanted, values_in(body));
  const Uuid id = co_await call.api.schedules.create(found.name, plan::schedule_of(wanted, values));
  co_return json_answer(201, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", found.name);
                          out.member("task", id.text());
                          out.end_object();
                        }));
}

Task<Response> task_plan(ApiCall& call) {
  const Uuid id = call.task();
  const std::optional<plan::Plan> found = plan_of(call.api.parts.host, id);
  if (!found) throw HttpError(404, "Task " + id.text() + " is no plan.");
  const std::string units = co_await units_of(call, id, *found);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("task", id.text());
                          out.member("name", found->name);
                          out.key("graph");
                          out.raw_value(plan::graph_json(*found));
                          out.key("units");
                          out.raw_value(units);
                          out.end_object();
                        }));
}

Task<Response> task_output(ApiCall& call) {
  constexpr std::size_t kMostOutput = std::size_t{4} << 20;
  const Uuid id = call.task();
  const auto unit = call.query("unit");
  if (!unit) throw HttpError(400, "Say which unit: ?unit=build");
  const std::string which = call.query("which").value_or("out");
  if (which != "out" && which != "err") throw HttpError(400, "which is out or err.");
  const auto attempt = static_cast<int>(call.query_number("attempt", 1, 1'000'000));
  const std::optional<plan::Plan> of = plan_of(call.api.parts.host, id);
  if (!of) throw HttpError(404, "Task " + id.text() + " is no plan.");
  if (!has_unit(*of, *unit)) {
    throw HttpError(404, "The plan of task " + id.text() + " has no step \"" + *unit + "\".");
  }
  const Uuid command = plan::command_id(id, *unit, attempt);
  std::string text = co_await call.api.parts.commands.read(
      command, which == "out" ? exec::CommandFile::out : exec::CommandFile::err, kMostOutput);
  co_return Response(200, "text/plain; charset=utf-8", std::move(text));
}

// An approval of a plan: bound to what was asked, with who answers.
Task<Response> decide_plan(ApiCall& call) {
  const Uuid id = call.task();
  if (is_agent(call.api.parts.host, id)) co_return co_await decide_agent(call, id);
  const Body body(call.request(), {"unit", "approved", "digest", "note"});
  const plan::PlanView view = co_await call.api.parts.host.ask(id, plan::kPlanView);
  const std::string approved = body.raw("approved", "");
  if (approved != "true" && approved != "false") {
    throw HttpError(400, "Say whether it is approved: `\"approved\": true` or false.");
  }
  plan::Approval answer;
  answer.approved = approved == "true";
  answer.digest = body.text("digest");
  answer.by = call.who().name;
  answer.note = call.reason = body.text("note", "");
  const std::string unit = body.text("unit", "");
  const auto found = std::ranges::find_if(view.units, [&](const plan::UnitView& each) {
    return !each.promise.empty() && each.digest == answer.digest &&
           (unit.empty() || each.name == unit);
  });
  if (found == view.units.end()) {
    throw HttpError(409,
                    "Nothing of this plan waits for an approval with this digest: look again.");
  }
  const std::optional<Uuid> promise = Uuid::parse(found->promise);
  const bool first = promise && co_await call.api.parts.host.complete_json(
                                    *promise, to_json(answer), true, call.actor());
  if (!first) throw HttpError(409, "Somebody else has answered before.");
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("task", id.text());
                          out.member("name", found->name);
                          out.member("done", answer.approved ? "approved" : "rejected");
                          out.end_object();
                        }));
}

}  // namespace calls

}  // namespace tiffany::app
