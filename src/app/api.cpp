#include "app/api.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <utility>

#include "app/mcp_http.hpp"
#include "app/web.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/serve/gzip.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

// The beginning of an id that several have: clients tell this from other conflicts.
class Ambiguous : public HttpError {
 public:
  explicit Ambiguous(const std::string& sentence) : HttpError(409, sentence) {}
};

Response problem(int status, std::string_view code, std::string_view sentence) {
  Response response(status, "application/problem+json", json_text([&](JsonWriter& out) {
                      out.begin_object();
                      out.member("title", http::reason_of(status));
                      out.member("status", status);
                      out.member("detail", sentence);
                      out.member("code", code);
                      out.end_object();
                    }));
  response.body += '\n';
  if (status == 401) response.headers.set("www-authenticate", "Bearer realm=\"tiffany\"");
  return response;
}

int status_of(Errc code) noexcept {
  switch (code) {
    case Errc::unknown_durable:
    case Errc::unknown_type:
    case Errc::unknown_promise:
      return 404;
    case Errc::call_refused:
      return 403;
    case Errc::id_retired:
      return 410;
    case Errc::start_conflict:
    case Errc::durable_stopped:
    case Errc::durable_misuse:
    case Errc::durable_cancelled:
    case Errc::self_join:
      return 409;
    case Errc::bad_argument:
    case Errc::bad_json:
    case Errc::bad_plan:
      return 400;
    case Errc::update_refused:
    case Errc::durable_failed:  // of an update: its handler threw
      return 422;
    case Errc::log_sealed:
    case Errc::log_busy:
    case Errc::log_fenced:
    case Errc::log_uncertain:
    case Errc::io_failed:
      return 503;
    default:
      return 500;
  }
}

std::string_view code_of_status(int status) noexcept {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 409:
      return "conflict";
    case 503:
      return "unavailable";
    default:
      return "bad_request";
  }
}

// The segments of a path behind its first slash.
bool next_segment(std::string_view& rest, std::string_view& segment) noexcept {
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return true;
}

bool matches(std::string_view pattern, std::string_view path, ApiCall& call) {
  call.captured.clear();
  std::string_view wanted;
  std::string_view given;
  for (;;) {
    const bool more = next_segment(pattern, wanted);
    if (more != next_segment(path, given)) return false;
    if (!more) return true;
    if (wanted.starts_with('{')) {
      std::optional<std::string> value = http::percent_decoded(given, false);
      if (!value || value->empty()) return false;
      call.captured.emplace_back(wanted.substr(1, wanted.size() - 2), std::move(*value));
    } else if (wanted != given) {
      return false;
    }
  }
}

// The route, or why there is none.
const Route& find_route(ApiCall& call) {
  const http::Request& request = call.request();
  const std::string_view path = request.path().substr(kApi.size());
  const bool head = request.method == "HEAD";
  const std::string_view method = head ? std::string_view("GET") : std::string_view(request.method);
  std::string allowed;
  for (const Route& route : routes()) {
    if (!matches(route.path, path, call)) continue;
    if (route.method == method) return route;
    if (!allowed.empty()) allowed += ", ";
    allowed += route.method;
  }
  call.captured.clear();
  if (!allowed.empty()) {
    throw HttpError(405, std::string(request.path()) + " takes " + allowed + ".");
  }
  throw HttpError(404, "There is no " + std::string(request.path()) +
                           "; /api/v1/openapi.json has all that there is.");
}

}  // namespace

void guard_answer(http::Response& response) {
  response.headers.set("cache-control", "no-store");
  response.headers.set("x-content-type-options", "nosniff");
}

http::Response json_answer(int status, std::string json) {
  json += '\n';
  return Response(status, "application/json", std::move(json));
}

void write_time(JsonWriter& out, std::string_view name, std::int64_t microseconds) {
  if (microseconds > 0) out.member(name, wal::text_of_time(microseconds));
}

// ---- One request ----

const std::string& ApiCall::path(std::string_view name) const {
  const auto found =
      std::ranges::find_if(captured, [&](const auto& each) { return each.first == name; });
  if (found == captured.end()) throw HttpError(500, "The route has no such part.");
  return found->second;
}

Uuid ApiCall::task() const {
  const std::string& text = path("task");
  if (const std::optional<Uuid> whole = Uuid::parse(text)) return *whole;
  constexpr std::size_t kShortest = 4;
  if (text.size() >= kShortest) {
    const std::vector<Uuid> found = api.parts.host.beginning_with(text, 2);
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      throw Ambiguous("Several tasks have ids that begin with " + text + ": say more of it.");
    }
  }
  throw HttpError(404, "No task of the log has an id that begins with " + text +
                           ". A task that has left the log is found by its whole id.");
}

std::uint64_t ApiCall::query_number(std::string_view name, std::uint64_t fallback,
                                    std::uint64_t most) const {
  const std::optional<std::string> text = query(name);
  if (!text) return fallback;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number > most) {
    throw HttpError(400, std::string(name) + " is \"" + *text + "\": say a number up to " +
                             std::to_string(most) + ".");
  }
  return number;
}

Body::Body(const http::Request& request, std::initializer_list<std::string_view> known) {
  if (request.body.empty()) return;
  try {
    JsonReader in(request.body);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      if (std::ranges::find(known, name) == known.end()) {
        std::string all;
        for (const std::string_view each : known)
          all += (all.empty() ? "" : ", ") + std::string(each);
        throw HttpError(400, "The body has a member \"" + name + "\", which is unknown here. " +
                                 (all.empty() ? "It has no members." : "Known are: " + all + "."));
      }
      members_.emplace_back(name, std::string(in.raw()));
    }
    in.end();
  } catch (const HttpError&) {
    throw;
  } catch (const Error& error) {
    throw HttpError(400, "The body is not a JSON object: " + std::string(error.what()));
  }
}

const std::string* Body::find(std::string_view name) const noexcept {
  const auto found =
      std::ranges::find_if(members_, [&](const auto& each) { return each.first == name; });
  return found == members_.end() ? nullptr : &found->second;
}
std::string Body::raw(std::string_view name, std::string_view fallback) const {
  const std::string* const found = find(name);
  return found != nullptr ? *found : std::string(fallback);
}
std::string Body::text(std::string_view name) const {
  if (!has(name)) throw HttpError(400, "The body needs a member \"" + std::string(name) + "\".");
  return text(name, "");
}
std::string Body::text(std::string_view name, std::string_view fallback) const {
  const std::string* const found = find(name);
  if (found == nullptr) return std::string(fallback);
  try {
    return from_json<std::string>(*found);
  } catch (const Error&) {
    throw HttpError(400, "\"" + std::string(name) + "\" in the body must be a string.");
  }
}
std::optional<std::uint64_t> Body::number(std::string_view name, std::uint64_t most) const {
  const std::string* const found = find(name);
  if (found == nullptr) return std::nullopt;
  try {
    const auto number = from_json<std::uint64_t>(*found);
    if (number <= most) return number;
  } catch (const Error&) {
    // said below
  }
  throw HttpError(400, "\"" + std::string(name) + "\" in the body must be a whole number up to " +
                           std::to_string(most) + ".");
}

// ---- The router ----

void Api::set_phase(Phase phase, std::string words) {
  phase_ = phase;
  words_ = std::move(words);
  pages_.set_ready(phase == Phase::ready, words_);
}

// Asked for at intervals by whoever watches the daemon: no frame but that of the page.
Task<void> Api::handle(http::Exchange& exchange) {
  const std::string_view path = exchange.request().path();
  if (path == "/healthz" || path == "/readyz") return pages_.handle(exchange);
  return handle_refusing(exchange);
}

Task<void> Api::handle_refusing(http::Exchange& exchange) {
  std::optional<Response> refusal;
  try {
    co_await handle_known(exchange);
  } catch (const HttpError& error) {
    if (exchange.begun()) throw;
    refusal = problem(error.status(), code_of_status(error.status()), error.what());
  }
  if (!refusal) co_return;
  guard_answer(*refusal);
  co_await exchange.respond(std::move(*refusal));
}

int Api::beside(const http::Request& request) const {
  constexpr int kStarts = 2;
  if (request.method == "POST" && request.path() == std::string(kApi) + "/tasks") return kStarts;
  return Handler::beside(request);
}

Task<void> Api::handle_known(http::Exchange& exchange) {
  const std::string_view path = exchange.request().path();
  const bool page = http::ObservePages::knows(exchange.request());
  const Principal who = parts.access.who(exchange);
  if (page && path == "/metrics") {
    if (who.role < Role::viewer) throw HttpError(401, "Metrics need the token of a viewer.");
    co_return co_await pages_.handle(exchange);
  }
  if (path == kMcpPath) co_return co_await serve_mcp(*this, exchange, who);
  if (auto file = web_answer(exchange.request(), parts.settings.text("web_root"))) {
    co_return co_await exchange.respond(std::move(*file));
  }
  if (path != kApi && !path.starts_with(std::string(kApi) + "/")) {
    throw HttpError(404, "There is no " + std::string(path) +
                             " here; the dashboard is at /, the API below /api/v1.");
  }
  ApiCall call(*this, exchange, who);
  co_await run(admitted(call), call);
}

const Route& Api::admitted(ApiCall& call) const {
  const Route& route = find_route(call);
  const Principal& who = call.who();
  if (who.role == Role::nobody) {
    throw HttpError(401, "Say who you are: `authorization: Bearer` and a token.");
  }
  if (who.role < route.role) {
    throw HttpError(403, who.name + " is " + std::string(name_of(who.role)) + ", and this needs " +
                             std::string(name_of(route.role)) + ".");
  }
  // A stream that begins now would end at once.
  const bool refused_at_end = route.changes || route.stream != nullptr;
  if (phase_ == Phase::starting || (phase_ == Phase::draining && refused_at_end)) {
    throw HttpError(503, words_);
  }
  return route;
}

Task<Response> Api::ask(const http::Request& request, Principal who) {
  ApiCall call(*this, request, std::move(who));
  std::optional<Response> refusal;
  try {
    const Route& route = admitted(call);
    if (route.call == nullptr) throw HttpError(405, "A stream is no answer.");
    co_return co_await audited_answer(route, call);
  } catch (const HttpError& error) {
    refusal = problem(error.status(), code_of_status(error.status()), error.what());
  }
  co_return std::move(*refusal);
}

// A stream may be there for long: without the frame of an answer.
Task<void> Api::run(const Route& route, ApiCall& call) {
  if (route.stream == nullptr) return answer(route, call);
  if (call.request().method == "HEAD") throw HttpError(405, "A stream has no end: ask with GET.");
  return route.stream(call);
}

Task<void> Api::answer(const Route& route, ApiCall& call) {
  Response response = co_await audited_answer(route, call);
  guard_answer(response);
  http::compress_for(call.request(), response);
  co_await call.exchange().respond(std::move(response));
}

Task<Response> Api::audited_answer(const Route& route, ApiCall& call) {
  Response response = co_await answer_of(route, call);
  if (route.changes) {
    AuditLine line;
    line.time = World::current().wall_clock_us().value_or(0);
    line.actor = call.who().name;
    line.role = name_of(call.who().role);
    line.action = std::string(route.method) + " " + std::string(kApi) + std::string(route.path);
    for (const auto& each : call.captured) {
      line.target += (line.target.empty() ? "" : "/") + each.second;
    }
    if (line.target.empty()) line.target = call.about;
    line.reason = call.reason;
    line.status = response.status;
    if (const std::string failed = co_await audited(std::move(line)); !failed.empty()) {
      response = problem(503, "audit_failed",
                         "The request was carried out (" + std::to_string(response.status) +
                             "), and could not be written to the audit: " + failed);
    }
  }
  co_return response;
}

// Why it could not be; empty: it was.
Task<std::string> Api::audited(AuditLine line) {
  std::string failed;
  try {
    co_await parts.audit.add(std::move(line));
  } catch (const Error& error) {
    failed = error.what();
  }
  co_return failed;
}

// What was refused is an answer, too, and is written to the audit like every other.
Task<Response> Api::answer_of(const Route& route, ApiCall& call) {
  std::optional<Response> refusal;
  try {
    co_return co_await route.call(call);
  } catch (const Ambiguous& error) {
    refusal = problem(error.status(), "ambiguous", error.what());
  } catch (const HttpError& error) {
    refusal = problem(error.status(), code_of_status(error.status()), error.what());
  } catch (const Error& error) {
    const int status = status_of(error.code());
    // A host that is being closed answers some questions no more.
    if (phase_ == Phase::draining && error.code() == Errc::durable_misuse) {
      co_return problem(503, code_of_status(503), words_);
    }
    if (status == 500) {
      observe::log::error("a call of the API failed",
                          {{"route", route.path}, {"error", std::string_view(error.what())}});
    }
    refusal = problem(status, tiffany::name_of(error.code()), without_function(error.what()));
  }
  co_return std::move(*refusal);
}

}  // namespace tiffany::app
