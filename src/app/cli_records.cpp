#include "app/cli_records.hpp"

#include "base/shown_text.hpp"
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

std::string command_text(const Json& record) {
  const std::string& op = record["op"].text();
  std::string text = op + " " + record["id"].text();
  if (record.has("until")) text += " until " + record["until"].text();
  if (record.has("reason")) text += ": " + record["reason"].text();
  if (record.has("by")) text += "by " + record["by"].text();
  if (record.has("why")) text += ": " + record["why"].text();
  return text;
}

std::string came_text(const Json& record) {
  const std::string& of = record.has("of") ? record["of"].text() : record["name"].text();
  if (record.has("error")) return of + " failed: " + record["error"].text();
  return of + value_text(record, record.has("result") ? "result" : "value");
}

}  // namespace

std::string record_line(const Output& out, const Json& record) {
  const std::string& time = record["ts"].text();
  const std::string& type = record["type"].text();
  if (type == "Spawn") {
    return line_of_time(out, time, "started", record["name"].text() + " " + record["args"].raw());
  }
  if (type == "StepStart") return line_of_time(out, time, "begins", record["step"].text());
  if (wal::ends_step(wal::record_type(type))) {
    if (record.has("error")) {
      return line_of_time(out, time, "failed",
                          record["step"].text() + ": " + record["error"].text());
    }
    return line_of_time(out, time, "step", record["step"].text() + value_text(record, "result"));
  }
  if (type == "Command") return line_of_time(out, time, "asks", command_text(record));
  if (type == "Approval") return line_of_time(out, time, "decided", came_text(record));
  if (type == "Resumed") return line_of_time(out, time, "came", came_text(record));
  if (type == "TaskExit") return line_of_time(out, time, "completed", record["result"].raw());
  if (type == "TaskAbort") {
    return line_of_time(out, time, record["reason"].text(), record["error"].text());
  }
  return line_of_time(out, time, type, "");
}

std::string event_line(const Output& out, const Json& event) {
  return line_of_time(out, event["ts"].text(), shown(event["stage"].text()),
                      event["message"].text());
}

}  // namespace tiffany::app
