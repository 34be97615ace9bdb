#include "app/cli_records.hpp"

#include <algorithm>

#include "base/shown_text.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/plan/plan.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

std::string line_of_time(const Output& out, const std::string& time, std::string_view what,
                         const std::string& about) {
  constexpr std::size_t kWhat = 10;
  std::string line = out.clock(time) + "  " + std::string(what);
  if (!about.empty() && what.size() < kWhat) line += std::string(kWhat - what.size(), ' ');
  return line + (about.empty() ? "" : " " + shown(about));
}

std::string value_text(const Json& record, std::string_view member) {
  const Json& value = record[member];
  return value.null() ? std::string() : " = " + value.raw();
}

std::string command_text(const Output& out, const Json& record) {
  const std::string& op = record["op"].text();
  const std::string& id = record["id"].text();  // of some it begins with what they are
  std::string text = id.starts_with(op) ? id : op + " " + id;
  if (record.has("until")) text += " until " + out.moment(record["until"].text());
  if (record.has("reason")) text += ": " + record["reason"].text();
  if (record.has("by")) text += "by " + record["by"].text();
  if (record.has("why")) text += ": " + record["why"].text();
  return text;
}

std::string came_text(const Json& record) {
  if (record.has("signal")) {
    return "signal " + record["signal"].text() + value_text(record, "value");
  }
  if (record.has("update")) {
    return "update " + record["update"].text() + value_text(record, "value");
  }
  if (record.has("cancel")) return "cancel: " + record["cancel"].text();
  const std::string& of = record.has("of") ? record["of"].text() : record["name"].text();
  if (record.has("error")) return of + " failed: " + record["error"].text();
  return of + value_text(record, record.has("result") ? "result" : "value");
}

// The first line of a text, and not more of it than fits.
std::string brief(const std::string& text) {
  constexpr std::size_t kMost = 100;
  const std::size_t end = text.find('\n');
  std::string line = text.substr(0, end);
  const bool cut = end != std::string::npos || line.size() > kMost;
  if (line.size() > kMost) line.resize(kMost);
  return cut ? line + " ..." : line;
}

// The plan and its parameters, and not the text of each of its steps.
std::string plan_text(const Json& arguments) {
  const std::vector<Json>& both = arguments.elements();
  if (both.size() != 2) return arguments.raw();
  const std::string& name = both[0]["name"].text();
  const std::size_t steps = both[0]["steps"].elements().size();
  return "a plan" + (name.empty() ? "" : " " + name) + " of " + std::to_string(steps) +
         (steps == 1 ? " step" : " steps") +
         (both[1].members().empty() ? "" : " with " + both[1].raw());
}

// "exit code 0", of what a command of a plan gave; its output is not in the log. Empty: it is none.
std::string command_end(const Json& given) {
  const Json& result = given["result"];
  if (!result.has("end") || !result.has("code")) return "";
  const std::string& end = result["end"].text();
  const std::string& why = result["why"].text();
  std::string text = end == "exited"      ? "exit code " + result["code"].text()
                     : !why.empty()       ? why
                     : end == "signalled" ? "killed by signal " + result["signal"].text()
                                          : end;
  if (!given["outputs"].members().empty()) text += ", gave " + given["outputs"].raw();
  if (!given["problem"].text().empty()) text += ", " + given["problem"].text();
  return text;
}

// What an agent did, without what only programs need. Empty: the record is none of an agent.
std::string agent_line(const Output& out, const Json& record) {
  using wal::RecordType;
  const Json& result = record["result"];
  const std::string& time = record["ts"].text();
  switch (wal::record_type(record["type"].text())) {
    case RecordType::InstructionStart:
      return line_of_time(out, time, "told", brief(result["instruction"].text()));
    case RecordType::LLMPlan: {
      std::string text = brief(result["plan"].text());
      for (const Json& call : result["calls"].elements()) {
        text += (text.empty() ? "" : "; ") + call["name"].text() + " " +
                brief(call["arguments"].text());
      }
      return line_of_time(out, time, "thinks", text);
    }
    case RecordType::ToolResult: {
      const std::string output = brief(result["output"].text());
      std::string failed = result["error"].null() ? "" : result["error"].text();
      if (!failed.empty() && !output.empty()) failed += ", ";
      return line_of_time(out, time, "tool", result["tool"].text() + ": " + failed + output);
    }
    case RecordType::PatchPreview:
      return line_of_time(out, time, "patch", "digest " + result["digest"].text());
    case RecordType::Commit:
      return line_of_time(out, time, "commit",
                          result["sha"].text() + " on " + result["ref"].text());
    case RecordType::TaskComplete:
      return line_of_time(out, time, "done", "");
    default:
      return "";
  }
}

}  // namespace

std::string result_text(const Json& result) {
  const Json& units = result["units"];
  const std::vector<Json>& all = units.elements();
  if (!all.empty() && all[0].has("phase") && result.has("outputs")) {  // of a plan
    const auto done =
        std::ranges::count_if(all, [](const Json& unit) { return unit["state"].text() == "done"; });
    return std::to_string(done) + " of " + std::to_string(all.size()) + " steps ok";
  }
  if (result["spent"].has("micro_dollars")) {  // of an agent
    const std::string& text = result["text"].text();
    const std::string& commit = result["commit"].text();
    return text.substr(0, text.find('\n')) +
           (commit.empty() ? "" : "  (commit " + commit.substr(0, 12) + ")");
  }
  return result.raw();
}

std::string record_line(const Output& out, const Json& record) {
  const std::string& time = record["ts"].text();
  const std::string& type = record["type"].text();
  if (type == "Spawn" && record["name"].text() == agent::kAgentType) {
    return line_of_time(out, time, "started", "an agent");
  }
  if (type == "Spawn" && record["name"].text() == plan::kPlanType) {
    return line_of_time(out, time, "started", plan_text(record["args"]));
  }
  if (type == "Spawn") {
    return line_of_time(out, time, "started", record["name"].text() + " " + record["args"].raw());
  }
  if (type == "StepStart") return line_of_time(out, time, "begins", record["step"].text());
  if (wal::ends_step(wal::record_type(type))) {
    if (record.has("error")) {
      return line_of_time(out, time, "failed",
                          record["step"].text() + ": " + record["error"].text());
    }
    std::string of_agent = agent_line(out, record);
    if (!of_agent.empty()) return of_agent;
    const std::string end = command_end(record["result"]);
    return line_of_time(
        out, time, "step",
        record["step"].text() + (end.empty() ? value_text(record, "result") : ": " + end));
  }
  if (type == "Command") {
    const char* const does = record["op"].text() == "timer" ? "waits" : "asks";
    return line_of_time(out, time, does, command_text(out, record));
  }
  if (type == "Approval") return line_of_time(out, time, "decided", came_text(record));
  if (type == "Resumed") return line_of_time(out, time, "came", came_text(record));
  if (type == "TaskExit") {
    return line_of_time(out, time, "completed", result_text(record["result"]));
  }
  if (type == "TaskAbort") {
    const std::string& error = record["error"].text();
    const std::string again = "Durable task " + record["task_id"].text() + " was cancelled: ";
    return line_of_time(out, time, record["reason"].text(),
                        error.starts_with(again) ? error.substr(again.size()) : error);
  }
  return line_of_time(out, time, type, "");
}

std::string event_line(const Output& out, const Json& event) {
  return line_of_time(out, event["ts"].text(), shown(event["stage"].text()),
                      event["message"].text());
}

}  // namespace tiffany::app
