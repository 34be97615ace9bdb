// task: commands about one durable task.
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "base/shown_text.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/wal/log_view.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

// Nobody runs tasks here: those that have not ended are all paused, for want of their types.
std::string line_of(const DurableInfo& task) {
  const bool open = task.status == DurableStatus::paused;
  std::string text = task.id.text() + "  " +
                     (open ? std::string("unfinished") : std::string(name_of(task.status))) + "  " +
                     shown(task.type) + " " + std::to_string(task.version);
  if (!open && !task.detail.empty()) text += "  " + shown(task.detail);
  return text + "\n";
}

Task<int> list(std::string directory) {
  const Registry none;
  const UpgradeCheck check = co_await check_upgrade(none, log_at(directory));
  for (const DurableInfo& task : check.all) print(line_of(task));
  print(std::to_string(check.all.size()) + " tasks\n");
  co_return 0;
}

int show(const std::string& directory, const Uuid& id) {
  const wal::LogOptions options = log_at(directory);
  wal::LogView log(*options.disk, directory, options.layout);
  for (const std::string& line : log.lines(id)) {
    print(wal::decoded_line(options.codec.get(), line));
  }
  const wal::TaskLog* const task = log.index().find(id);
  if (task != nullptr && !task->quarantine.empty()) {
    print("quarantined: " + shown(task->quarantine.string()) + "\n");
  }
  return 0;
}

// To a log that no process has open: the task itself is not run.
Task<int> change(const Registry* types, std::string verb, std::string directory, Words words) {
  const bool known = verb == "pause" || verb == "resume" || verb == "cancel" || verb == "kill" ||
                     verb == "retry" || verb == "fork" || verb == "signal" || verb == "complete";
  if (!known) throw Refused{"there is no task " + verb};
  Host host(*types, log_at(directory), records_only());
  const Uuid id = words.take_id(verb == "complete" ? "promise" : "task");
  std::vector<std::string> rest;
  while (words.more()) rest.push_back(words.take("argument"));
  const auto want = [&](std::size_t least, std::size_t most) {
    if (rest.size() < least || rest.size() > most) {
      throw Refused{"task " + verb + " has " + std::to_string(rest.size()) +
                    " arguments after the id"};
    }
  };
  const std::string why = rest.empty() ? "by an operator" : rest[0];
  co_await host.open();
  if (verb == "pause") {
    want(0, 0);
    co_await host.pause(id);
  } else if (verb == "resume") {
    want(0, 0);
    co_await host.resume(id);
  } else if (verb == "cancel") {
    want(0, 1);
    co_await host.cancel(id, why);
  } else if (verb == "kill") {
    want(0, 1);
    co_await host.kill(id, why);
  } else if (verb == "retry") {
    want(1, 1);
    co_await host.retry(id, rest[0]);
  } else if (verb == "fork") {
    want(1, 1);
    const Uuid made = co_await host.fork(id, rest[0]);
    print(made.text() + "\n");
  } else if (verb == "signal") {
    want(2, 2);
    co_await host.signal_json(id, rest[0], rest[1]);
  } else {
    want(1, 1);
    const bool first = co_await host.complete_json(id, rest[0], true);
    if (!first) print("it was kept before; nothing has changed\n");
  }
  co_await host.close();
  print("done\n");
  co_return 0;
}

}  // namespace

Task<int> task_command(const Registry* types, Words words) {
  const std::string verb = words.take("command after task");
  const std::string directory = words.take("directory");
  if (verb == "list") {
    words.end();
    co_return co_await list(directory);
  }
  if (verb == "show" || verb == "inspect" || verb == "replay") {
    const Uuid id = words.take_id("task");
    words.end();
    if (verb == "show") co_return show(directory, id);
    const Inspection seen = co_await inspect(*types, log_at(directory), id);
    print(seen.text());
    if (verb == "replay") {
      for (const std::string& event : seen.events) print("  " + shown(event) + "\n");
    }
    co_return seen.agrees ? 0 : 1;
  }
  co_return co_await change(types, verb, directory, words);
}

}  // namespace tiffany::app
