// The API of the daemon: what the command line, a browser and curl ask. Internal.
//
// The table of routes (api_routes.cpp) is all there is: the router, the check of roles, the audit
// and the OpenAPI document are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/access.hpp"
#include "app/agents.hpp"
#include "app/audit.hpp"
#include "app/settings.hpp"
#include "tiffany/app/app.hpp"
#include "tiffany/durable/schedule.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/observe/lints.hpp"
#include "tiffany/observe/metrics.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/plan/locks.hpp"
#include "tiffany/plan/plan.hpp"
#include "tiffany/serve/observe_pages.hpp"

namespace tiffany::app {

inline constexpr std::string_view kApi = "/api/v1";

class Agents;
class Api;

// One request of the API.
class ApiCall {
 public:
  ApiCall(Api& of, http::Exchange& exchange, Principal who) noexcept
      : api(of), request_(exchange.request()), exchange_(&exchange), who_(std::move(who)) {}
  // Of the daemon itself, for somebody whose request came in another way.
  ApiCall(Api& of, const http::Request& request, Principal who) noexcept
      : api(of), request_(request), who_(std::move(who)) {}
  Api& api;
  const http::Request& request() const noexcept { return request_; }
  http::Exchange& exchange() noexcept { return *exchange_; }
  const Principal& who() const noexcept { return who_; }

  // What stood in the place of {name} in the path.
  const std::string& path(std::string_view name) const;
  // The task of {task}: by its id, or by a beginning of its id that only one task of the log has.
  // HttpError 404 or 409.
  Uuid task() const;
  std::optional<std::string> query(std::string_view name) const {
    return request().parameter(name);
  }
  std::uint64_t query_number(std::string_view name, std::uint64_t fallback,
                             std::uint64_t most) const;

  std::vector<std::pair<std::string_view, std::string>> captured;
  // Who asks, and the reason that was given: for the records of the log.
  Actor actor() const { return Actor(who_.name, reason); }

  std::string reason;  // for the audit
  std::string about;   // for the audit, when the path does not say

 private:
  const http::Request& request_;
  http::Exchange* exchange_ = nullptr;
  Principal who_;
};

struct Route {
  std::string_view method;
  std::string_view path;  // below kApi; {name} is one segment
  Role role;
  bool changes;  // is written to the audit
  std::string_view summary;
  std::string_view query;   // names of parameters, with commas
  std::string_view body;    // a schema of schemas.json; empty: none
  std::string_view answer;  // the same
  // One of the two.
  Task<http::Response> (*call)(ApiCall&) = nullptr;
  Task<void> (*stream)(ApiCall&) = nullptr;
};
std::span<const Route> routes() noexcept;
std::string openapi_document(const App& app);
// The schemas that routes name: schemas.json, embedded by CMake.
std::string_view embedded_schemas() noexcept;

// The JSON object of a body, whose members must be among those that are known. HttpError 400.
class Body {
 public:
  Body(const http::Request& request, std::initializer_list<std::string_view> known);
  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  // As it is written; `fallback` when it is not there.
  std::string raw(std::string_view name, std::string_view fallback) const;
  std::string text(std::string_view name) const;  // must be there
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t most) const;

 private:
  const std::string* find(std::string_view name) const noexcept;
  std::vector<std::pair<std::string, std::string>> members_;
};

http::Response json_answer(int status, std::string json);
// Answers are for machines: no cache keeps them, and no browser shows them as a page.
void guard_answer(http::Response& response);
template <class F>
std::string json_text(const F& write) {
  std::string text;
  JsonWriter out(text);
  write(out);
  return text;
}
void write_time(JsonWriter& out, std::string_view name, std::int64_t microseconds);

class Api : public http::Handler {
 public:
  enum class Phase : std::uint8_t { starting, ready, draining };
  struct Parts {
    const App& app;
    const Registry& types;
    const Settings& settings;
    Host& host;
    exec::Commands& commands;
    const plan::Locks& locks;
    wal::LogOptions log;
    observe::Pal& pal;
    observe::Metrics& metrics;
    observe::Linter& linter;
    Scheduler& scheduler;
    Tokens& tokens;
    Access& access;
    Audit& audit;
    Agents& agents;
    std::function<void(std::string)> shut_down;
  };
  explicit Api(Parts of)
      : parts(std::move(of)), pages_(parts.metrics, parts.scheduler), schedules(parts.host) {}

  Task<void> handle(http::Exchange& exchange) override;
  // Starts of tasks do not depend on one another, and share a sync.
  int beside(const http::Request& request) const override;
  // What everything but /healthz is answered while it is not ready.
  void set_phase(Phase phase, std::string words);
  Phase phase() const noexcept { return phase_; }
  // What a request of the API is answered with, for somebody who is known already: by the same
  // routes and roles, and with the same audit. The request outlives the call.
  Task<http::Response> ask(const http::Request& request, Principal who);

  Parts parts;

 private:
  http::ObservePages pages_;

 public:
  Schedules schedules;
  std::int64_t started_us = 0;
  std::string recovery;  // the report of the start

 private:
  Task<void> handle_refusing(http::Exchange& exchange);
  Task<void> handle_known(http::Exchange& exchange);
  // The route, for those who may ask it now. HttpError.
  const Route& admitted(ApiCall& call) const;
  Task<void> run(const Route& route, ApiCall& call);
  Task<void> answer(const Route& route, ApiCall& call);
  Task<http::Response> audited_answer(const Route& route, ApiCall& call);
  Task<std::string> audited(AuditLine line);
  Task<http::Response> answer_of(const Route& route, ApiCall& call);
  Phase phase_ = Phase::starting;
  std::string words_ = "The daemon is starting.";
};

// What a task is, as the API tells it.
void write_task(JsonWriter& out, const DurableInfo& task);

// What a body says of a start, besides type and arguments.
// An id that the client chose, in the body or as Idempotency-Key: a UUID, or any text.
std::optional<Uuid> chosen_id(const ApiCall& call, const Body& body);
StartOptions start_options_of(const ApiCall& call, const Body& body);
// The plan of a task, from its first record; nothing when it is no plan.
std::optional<plan::Plan> plan_of(const Host& host, const Uuid& id);
void write_counts(JsonWriter& out, const StatusCounts& counts);
http::Response task_answer(int status, const Host& host, const Uuid& id);

// What a plan that waits for that promise is answered with; empty: no plan does.
Task<std::string> answer_to_plan(ApiCall& call, Uuid promise, std::string value);
// And the same of agents.
Task<std::string> answer_to_agent(ApiCall& call, Uuid promise, std::string value);
bool is_agent(const Host& host, const Uuid& task);
Task<http::Response> decide_agent(ApiCall& call, Uuid task);

// Handlers, by what they are about.
// A sentence of the library without the function that it names first.
std::string without_function(std::string_view what);

namespace calls {
Task<http::Response> info(ApiCall& call);
Task<http::Response> types(ApiCall& call);
Task<http::Response> openapi(ApiCall& call);
Task<http::Response> list_tasks(ApiCall& call);
Task<http::Response> start_task(ApiCall& call);
Task<http::Response> show_task(ApiCall& call);
Task<http::Response> task_records(ApiCall& call);
Task<http::Response> task_transcript(ApiCall& call);
Task<http::Response> task_result(ApiCall& call);
Task<http::Response> signal_task(ApiCall& call);
Task<http::Response> update_task(ApiCall& call);
Task<http::Response> query_task(ApiCall& call);
Task<http::Response> cancel_task(ApiCall& call);
Task<http::Response> kill_task(ApiCall& call);
Task<http::Response> pause_task(ApiCall& call);
Task<http::Response> resume_task(ApiCall& call);
Task<http::Response> retry_task(ApiCall& call);
Task<http::Response> fork_task(ApiCall& call);
Task<http::Response> inspect_task(ApiCall& call);
Task<http::Response> replay_task(ApiCall& call);
Task<http::Response> list_promises(ApiCall& call);
Task<http::Response> keep_promise(ApiCall& call);
Task<http::Response> list_schedules(ApiCall& call);
Task<http::Response> create_schedule(ApiCall& call);
Task<http::Response> show_schedule(ApiCall& call);
Task<http::Response> tell_schedule(ApiCall& call);
Task<http::Response> remove_schedule(ApiCall& call);
Task<http::Response> make_prompt(ApiCall& call);
Task<http::Response> read_resource(ApiCall& call);
Task<http::Response> list_skills(ApiCall& call);
Task<http::Response> list_servers(ApiCall& call);
Task<http::Response> compare_server(ApiCall& call);
Task<http::Response> accept_server(ApiCall& call);
Task<http::Response> list_memory(ApiCall& call);
Task<http::Response> show_note(ApiCall& call);
Task<http::Response> forget_note(ApiCall& call);
Task<http::Response> embed_notes(ApiCall& call);
Task<http::Response> problems(ApiCall& call);
Task<http::Response> dump(ApiCall& call);
Task<http::Response> step_figures(ApiCall& call);
Task<http::Response> trace(ApiCall& call);
Task<http::Response> audit(ApiCall& call);
Task<http::Response> settings(ApiCall& call);
Task<http::Response> set_levels(ApiCall& call);
Task<http::Response> list_tokens(ApiCall& call);
Task<http::Response> create_token(ApiCall& call);
Task<http::Response> remove_token(ApiCall& call);
Task<http::Response> compact(ApiCall& call);
Task<http::Response> backup(ApiCall& call);
Task<http::Response> shut_down(ApiCall& call);
Task<http::Response> check_plan(ApiCall& call);
Task<http::Response> run_plan(ApiCall& call);
Task<http::Response> list_plans(ApiCall& call);
Task<http::Response> show_plan(ApiCall& call);
Task<http::Response> run_known_plan(ApiCall& call);
Task<http::Response> schedule_known_plan(ApiCall& call);
Task<http::Response> task_plan(ApiCall& call);
Task<http::Response> task_output(ApiCall& call);
Task<http::Response> task_artifacts(ApiCall& call);
Task<http::Response> task_artifact(ApiCall& call);
Task<http::Response> decide_plan(ApiCall& call);
Task<http::Response> list_rules(ApiCall& call);
Task<http::Response> remove_rule(ApiCall& call);
Task<void> pal_events(ApiCall& call);
Task<void> pal_socket(ApiCall& call);
}  // namespace calls

}  // namespace tiffany::app
