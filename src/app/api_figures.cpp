// The API about where time goes: the steps of durable tasks, and a trace of the process.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/api.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/observe/event_trace.hpp"
#include "tiffany/observe/recorder.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;
using wal::RecordType;

// What all steps of one name in tasks of one type took.
struct StepFigures {
  std::uint64_t count = 0;  // that ended
  std::uint64_t failed = 0;
  std::uint64_t attempts = 0;
  std::uint64_t open = 0;               // that have begun and not ended
  std::vector<std::int64_t> took_us{};  // of those whose beginning is in the log
};
using AllFigures = std::map<std::pair<std::string, std::string>, StepFigures>;

struct StepRecord {
  std::string step{};  // "charge#1"
  std::uint64_t attempts = 1;
  bool failed = false;
};

StepRecord step_in(std::string_view payload) {
  StepRecord found;
  const std::string object = "{" + std::string(payload) + "}";
  JsonReader in(object);
  in.begin_object();
  for (std::string member; in.next_member(member);) {
    if (member == "step") {
      found.step = in.string();
      continue;
    }
    const std::string_view value = in.raw();
    if (member == "attempts") {
      std::from_chars(value.data(), value.data() + value.size(), found.attempts);
    }
    if (member == "error") found.failed = true;
  }
  return found;
}

// The newest records of a task; a step of a task with more than these may lack its beginning.
void add_task(AllFigures& all, const Host& host, const DurableInfo& task) {
  constexpr std::uint64_t kMostRecords = 1000;
  const std::uint64_t after = task.records > kMostRecords ? task.records - kMostRecords : 0;
  std::map<std::string, std::int64_t> begun;
  for (const std::string& line : host.records(task.id, after, kMostRecords)) {
    const wal::RecordView view = wal::view_of(line);
    if (view.type != RecordType::StepStart && !wal::ends_step(view.type)) continue;
    const StepRecord record = step_in(view.payload);
    const std::int64_t now = wal::parse_time(view.ts).value_or(0);
    if (view.type == RecordType::StepStart) {
      begun.emplace(record.step, now);
      continue;
    }
    StepFigures& of = all[{task.type, record.step.substr(0, record.step.rfind('#'))}];
    ++of.count;
    of.failed += record.failed ? 1 : 0;
    of.attempts += record.attempts;
    if (const auto found = begun.find(record.step); found != begun.end()) {
      of.took_us.push_back(now - found->second);
      begun.erase(found);
    }
  }
  for (const auto& [step, since] : begun) {
    ++all[{task.type, step.substr(0, step.rfind('#'))}].open;
  }
}

void write_figures(JsonWriter& out, const std::string& type, const std::string& step,
                   StepFigures& of) {
  std::ranges::sort(of.took_us);
  const auto at = [&](std::size_t percent) {
    return of.took_us[(of.took_us.size() - 1) * percent / 100];
  };
  out.begin_object();
  out.member("type", type);
  out.member("step", step);
  out.member("count", of.count);
  out.member("failed", of.failed);
  out.member("attempts", of.attempts);
  out.member("open", of.open);
  if (!of.took_us.empty()) {
    out.member("p50_us", at(50));
    out.member("p95_us", at(95));
    out.member("longest_us", of.took_us.back());
  }
  out.end_object();
}

}  // namespace

namespace calls {

Task<Response> step_figures(ApiCall& call) {
  const std::size_t limit = call.query_number("limit", 200, 1000);
  if (limit == 0) throw HttpError(400, "limit is 0: say a number from 1 to 1000.");
  const Host& host = call.api.parts.host;
  TaskFilter filter;
  if (const auto type = call.query("type")) filter = std::move(filter).type(*type);
  const TaskPage page = host.tasks(filter, PageOptions(limit, "").newest_first(true));
  AllFigures all;
  for (const DurableInfo& each : page.tasks) {
    add_task(all, host, each);
    co_await yield();
  }
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("tasks", page.tasks.size());
                          out.key("steps");
                          out.begin_array();
                          for (auto& [name, figures] : all) {
                            write_figures(out, name.first, name.second, figures);
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

// Records for some seconds; nothing is recorded otherwise.
Task<Response> trace(ApiCall& call) {
  constexpr std::uint64_t kMostSeconds = 60;
  Scheduler& scheduler = call.api.parts.scheduler;
  const std::uint64_t seconds = call.query_number("seconds", 2, kMostSeconds);
  observe::Recorder recorder(scheduler);
  try {
    recorder.start();
  } catch (const Error&) {
    throw HttpError(409, "Somebody else records the process at this moment. Ask again later.");
  }
  co_await sleep(std::chrono::seconds(seconds));
  recorder.stop();
  Response answer(200, "application/json", observe::trace_file(recorder));
  answer.headers.set("content-disposition", "attachment; filename=\"trace.json\"");
  co_return answer;
}

}  // namespace calls

}  // namespace tiffany::app
