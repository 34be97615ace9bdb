// The API about tasks: finding, looking, starting.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "app/api.hpp"
#include "app/cli_json.hpp"
#include "app/plans.hpp"
#include "app/signal_wait.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

constexpr std::array kStatuses{DurableStatus::running,     DurableStatus::queued,
                               DurableStatus::paused,      DurableStatus::diverged,
                               DurableStatus::quarantined, DurableStatus::completed,
                               DurableStatus::failed,      DurableStatus::cancelled};

DurableStatus status_named(const std::string& name) {
  for (const DurableStatus each : kStatuses) {
    if (tiffany::name_of(each) == name) return each;
  }
  std::string all;
  for (const DurableStatus each : kStatuses) {
    all += (all.empty() ? "" : ", ") + std::string(tiffany::name_of(each));
  }
  throw HttpError(400, "There is no status \"" + name + "\". Known are: " + all + ".");
}

// "customer:Ada", "paid:true", "items:3".
std::pair<std::string, Attribute> attribute_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    throw HttpError(400, "attribute is \"" + text + "\": say name:value.");
  }
  const std::string value = text.substr(colon + 1);
  try {
    return {text.substr(0, colon), Attribute::from_json(value)};
  } catch (const Error&) {
    return {text.substr(0, colon), Attribute(value)};  // a text without quotes
  }
}

TaskFilter filter_of(const ApiCall& call) {
  TaskFilter filter;
  const auto set = [&]() -> TaskFilter&& { return static_cast<TaskFilter&&>(filter); };
  if (const auto type = call.query("type")) set().type(*type);
  if (const auto key = call.query("key")) set().key(*key);
  if (const auto status = call.query("status")) {
    set().status(status_named(*status));
  }
  if (const auto parent = call.query("parent")) {
    const std::optional<Uuid> id = Uuid::parse(*parent);
    if (!id) throw HttpError(400, "parent is \"" + *parent + "\", which is no whole UUID.");
    filter = std::move(filter).parent(*id);
  }
  if (const auto attribute = call.query("attribute")) {
    auto [name, value] = attribute_of(*attribute);
    set().attribute(std::move(name), std::move(value));
  }
  return filter;
}

void write_wait(JsonWriter& out, const DurableWait& wait) {
  out.begin_object();
  out.member("kind", wait.kind);
  out.member("name", wait.name);
  if (wait.id != Uuid()) out.member("id", wait.id.text());
  write_time(out, "due", wait.due);
  if (wait.attempts > 0) out.member("attempts", wait.attempts);
  if (wait.kind == "step") out.member("running", wait.awaited);
  out.member("at", wait.place);
  out.end_object();
}

// Of a plan: who waits for a lock, and who has it.
void write_lock_wait(JsonWriter& out, const plan::LockWait& wait) {
  out.begin_object();
  out.member("kind", "lock");
  out.member("name", wait.lock);
  out.member("unit", wait.unit);
  if (wait.holder) {
    out.member("holder", wait.holder->task.text());
    out.member("holder_unit", wait.holder->unit);
  }
  out.end_object();
}

// Of arguments that a type does not take, the sentence has the type of the compiler. For a person
// it has the names, and the types as JSON has them.
std::string with_names(const App& app, const std::string& type, std::string sentence) {
  const std::string takes = "are not what \"" + type + "\" takes, ";
  const std::size_t from = sentence.find(takes);
  const std::size_t end = sentence.rfind(": The ");
  const auto& all = app.described();
  const auto found = std::ranges::find(all, type, &App::Type::name);
  if (from == std::string::npos || end == std::string::npos || found == all.end()) return sentence;
  std::string names;
  for (const App::Argument& each : found->arguments) {
    const Json kind = Json::parse(each.schema.empty() ? "{}" : each.schema)["type"];
    const bool plain = kind.kind() == JsonKind::string && kind.text() != "object";
    names += (names.empty() ? "" : ", ") + each.name + ": " + (plain ? kind.text() : each.type);
  }
  const std::size_t begin = from + takes.size();
  return sentence.replace(begin, end - begin, names.empty() ? "nothing" : names);
}

// By name, in the order of the function.
std::string arguments_by_name(const App& app, const std::string& type, const std::string& object) {
  const auto& all = app.described();
  const auto found = std::ranges::find(all, type, &App::Type::name);
  if (found == all.end()) {
    throw HttpError(400, "The names of the arguments of \"" + type +
                             "\" are not known here: give them as an array, in their order.");
  }
  std::vector<std::optional<std::string>> given(found->arguments.size());
  JsonReader in(object);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    const auto which = std::ranges::find(found->arguments, name, &App::Argument::name);
    if (which == found->arguments.end()) {
      throw HttpError(400, "\"" + type + "\" has no argument \"" + name + "\".");
    }
    given[static_cast<std::size_t>(which - found->arguments.begin())] = std::string(in.raw());
  }
  in.end();
  std::string array = "[";
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      throw HttpError(400,
                      "\"" + type + "\" needs the argument \"" + found->arguments[i].name + "\".");
    }
    array += (i == 0 ? "" : ",") + *given[i];
  }
  return array + "]";
}

}  // namespace

void write_counts(JsonWriter& out, const StatusCounts& counts) {
  out.key("counts");
  out.begin_object();
  for (const DurableStatus each : kStatuses) out.member(tiffany::name_of(each), counts[each]);
  out.end_object();
}

// The same text is the same id.
std::optional<Uuid> chosen_id(const ApiCall& call, const Body& body) {
  std::string text = body.text("id", "");
  if (text.empty()) {
    text = std::string(call.request().headers.find("idempotency-key").value_or(""));
  }
  if (text.empty()) return std::nullopt;
  constexpr std::size_t kLongestKey = 255;
  if (text.size() > kLongestKey) throw HttpError(400, "An idempotency key has at most 255 bytes.");
  return id_of_text(text);
}

StartOptions start_options_of(const ApiCall& call, const Body& body) {
  StartOptions options;
  const auto set = [&]() -> StartOptions&& { return static_cast<StartOptions&&>(options); };
  if (const auto id = chosen_id(call, body)) set().id(*id);
  if (body.has("key")) set().key(body.text("key"));
  if (const auto priority = body.number("priority", 255)) {
    set().priority(static_cast<std::uint8_t>(*priority));
  }
  if (body.has("timeout")) {
    set().timeout(parse_duration(body.text("timeout"), "timeout"));
  }
  set().by(call.actor());
  if (body.has("attributes")) {
    const std::string attributes = body.raw("attributes", "{}");
    JsonReader in(attributes);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      set().attribute(name, Attribute::from_json(in.raw()));
    }
    in.end();
  }
  return options;
}

http::Response task_answer(int status, const Host& host, const Uuid& id) {
  const std::optional<DurableInfo> info = host.info(id);
  if (!info) throw HttpError(404, "There is no task " + id.text() + ".");
  return json_answer(status, json_text([&](JsonWriter& out) {
                       out.begin_object();
                       write_task(out, *info);
                       out.end_object();
                     }));
}

namespace {

// What those tasks of a page wait for that others have to keep, by task.
std::vector<OpenPromise> asked_by(const ApiCall& call, const TaskPage& page) {
  if (call.api.phase() == Api::Phase::draining) return {};
  std::vector<Uuid> under_way;
  for (const DurableInfo& each : page.tasks) {
    if (each.status == DurableStatus::running) under_way.push_back(each.id);
  }
  if (under_way.empty()) return {};
  return call.api.parts.host.promises_of(under_way);
}

void write_asks(JsonWriter& out, const std::vector<OpenPromise>& asked, const Uuid& task) {
  const auto of_task = std::ranges::equal_range(asked, task, {}, &OpenPromise::task);
  if (of_task.empty()) return;
  out.key("asks");
  out.begin_array();
  for (const OpenPromise& each : of_task) out.value(each.name);
  out.end_array();
}

// Of a log that is looked at beside the one who writes it, a task that goes on counts as paused:
// its status is what the host says.
Response inspection_answer(ApiCall& call, Inspection found) {
  if (const auto info = call.api.parts.host.info(found.task.id)) found.task.status = info->status;
  return json_answer(200, json_text([&](JsonWriter& out) {
                       out.begin_object();
                       write_task(out, found.task);
                       out.member("agrees", found.agrees);
                       out.member("same_result", found.same_result);
                       out.member("difference", found.difference);
                       out.member("commands", found.commands);
                       out.key("next");
                       write_json(out, found.next);
                       out.key("events");
                       write_json(out, found.events);
                       out.end_object();
                     }));
}

}  // namespace

void write_task(JsonWriter& out, const DurableInfo& task) {
  out.member("id", task.id.text());
  out.member("type", task.type);
  out.member("version", task.version);
  out.member("status", tiffany::name_of(task.status));
  write_time(out, "began", task.began);
  if (task.records > 0) out.member("records", task.records);
  if (!task.key.empty()) out.member("key", task.key);
  if (task.parent != Uuid()) out.member("parent", task.parent.text());
  if (!task.attributes.empty()) {
    out.key("attributes");
    out.raw_value(task.attributes);
  }
  if (task.status == DurableStatus::completed && !task.detail.empty()) {
    out.key("result");
    out.raw_value(task.detail);
  } else if (!task.detail.empty()) {
    out.member("detail", task.detail);
  }
}

namespace calls {

Task<Response> list_tasks(ApiCall& call) {
  const Host& host = call.api.parts.host;
  const std::size_t limit = call.query_number("limit", 100, 1000);
  if (limit == 0) throw HttpError(400, "limit is 0: say a number from 1 to 1000.");
  const std::string order = call.query("order").value_or("oldest");
  if (order != "oldest" && order != "newest") {
    throw HttpError(400, "order is \"" + order + "\": say oldest or newest.");
  }
  const TaskPage page = host.tasks(
      filter_of(call),
      PageOptions(limit, call.query("after").value_or("")).newest_first(order == "newest"));
  const std::vector<OpenPromise> asked = asked_by(call, page);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("tasks");
                          out.begin_array();
                          for (const DurableInfo& each : page.tasks) {
                            out.begin_object();
                            write_task(out, each);
                            write_asks(out, asked, each.id);
                            out.end_object();
                          }
                          out.end_array();
                          if (!page.next.empty()) out.member("next", page.next);
                          write_counts(out, host.counts());
                          out.end_object();
                        }));
}

Task<Response> start_task(ApiCall& call) {
  const Body body(call.request(),
                  {"type", "arguments", "id", "key", "priority", "timeout", "attributes"});
  const std::string type = body.text("type");
  std::string arguments = body.raw("arguments", "[]");
  if (arguments.starts_with('{')) {
    arguments = arguments_by_name(call.api.parts.app, type, arguments);
  }
  call.about = type;
  std::optional<Error> wrong;
  Uuid id;
  try {
    id = co_await call.api.parts.host.start_json(type, std::move(arguments),
                                                 start_options_of(call, body));
  } catch (const Error& error) {
    wrong.emplace(error.code(), with_names(call.api.parts.app, type, error.what()));
  }
  if (wrong) throw Error(*wrong);
  call.about += " " + id.text();
  co_return task_answer(201, call.api.parts.host, id);
}

Task<Response> show_task(ApiCall& call) {
  const Host& host = call.api.parts.host;
  const Uuid id = call.task();
  const std::optional<DurableInfo> info = host.info(id);
  if (!info) throw HttpError(404, "There is no task " + id.text() + ".");
  // Of a task in the archive, and of a host that is being closed, nothing is under way.
  std::vector<DurableWait> waits;
  const bool closing = call.api.phase() == Api::Phase::draining;
  if (!closing && info->status < DurableStatus::completed &&
      !host.beginning_with(id.text(), 1).empty()) {
    waits = host.waits(id);
    if (const auto signal = awaited_signal(host, *info)) waits.push_back(*signal);
  }
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          write_task(out, *info);
                          out.key("waits");
                          out.begin_array();
                          for (const DurableWait& each : waits) write_wait(out, each);
                          for (const plan::LockWait& each : call.api.parts.locks.waits_of(id)) {
                            write_lock_wait(out, each);
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> task_records(ApiCall& call) {
  const std::uint64_t after = call.query_number("after", 0, ~std::uint64_t{0});
  const std::size_t limit = call.query_number("limit", 200, 1000);
  const auto type = call.query("type");
  const std::vector<std::string> lines = call.api.parts.host.records(call.task(), after, limit);
  std::uint64_t last = 0;
  std::string out = "{\"records\":[";
  bool first = true;
  for (const std::string& line : lines) {
    const wal::RecordView view = wal::view_of(line);
    last = view.seq;
    if (type && view.type_name != *type) continue;
    if (!first) out += ",\n";
    first = false;
    out +=
        wal::decoded_line(call.api.parts.app.codec().get(), view.line.substr(view.line.find('{')));
  }
  out += "]";
  if (lines.size() == limit) out += ",\"next\":" + std::to_string(last);
  out += "}";
  co_return json_answer(200, std::move(out));
}

Task<Response> task_result(ApiCall& call) {
  constexpr Duration kLongestWait = std::chrono::minutes(10);
  Host& host = call.api.parts.host;
  const Uuid id = call.task();
  const Duration wait =
      std::min(parse_duration(call.query("wait").value_or("0"), "wait"), kLongestWait);
  std::optional<Error> failed;
  try {
    const auto waited = co_await within(wait, host.result_json(id));
    if (waited.timed_out()) co_return task_answer(202, host, id);
  } catch (const Error& error) {
    failed = error;
  }
  // How it failed is what was asked for; that there is no such task is not.
  const bool ended = failed && (failed->code() == Errc::durable_failed ||
                                failed->code() == Errc::durable_cancelled);
  if (failed && !ended) throw Error(*failed);
  co_return task_answer(200, host, id);
}

Task<Response> inspect_task(ApiCall& call) {
  Inspection found = co_await inspect(call.api.parts.types, call.api.parts.log, call.task());
  co_return inspection_answer(call, std::move(found));
}

Task<Response> replay_task(ApiCall& call) {
  Inspection found = co_await replay(call.api.parts.types, call.api.parts.log, call.task());
  co_return inspection_answer(call, std::move(found));
}

}  // namespace calls

}  // namespace tiffany::app
