#include "app/signal_wait.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "app/cli_json.hpp"

namespace tiffany::app {
namespace {

constexpr std::string_view kSignal = "signal ";

// Of a record behind the wait: whether the code may have gone on.
bool ends_wait(const Json& record, const std::string& name) {
  const std::string& type = record["type"].text();
  if (type == "Resumed" || type == "Approval") {
    return record.has("signal") && record["signal"].text() == name.substr(0, name.rfind('#'));
  }
  if (type != "Command") return true;
  const std::string& op = record["op"].text();
  return op != "answer" && op != "pause" && op != "resume";
}

}  // namespace

std::optional<DurableWait> awaited_signal(const Host& host, const DurableInfo& task) {
  constexpr std::uint64_t kLast = 50;
  if (task.status != DurableStatus::running) return std::nullopt;
  const auto records = static_cast<std::uint64_t>(task.records);
  std::optional<DurableWait> wait;
  for (const std::string& line : host.records(task.id, records > kLast ? records - kLast : 0)) {
    const Json record = Json::parse(line);
    const std::string& id = record["id"].text();
    if (record["type"].text() == "Command" && record["op"].text() == "signal" &&
        id.starts_with(kSignal)) {
      wait.emplace();
      wait->kind = "signal";
      wait->name = id.substr(kSignal.size());
    } else if (wait && ends_wait(record, wait->name)) {
      wait.reset();
    }
  }
  return wait;
}

}  // namespace tiffany::app
