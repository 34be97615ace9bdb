// Commands that follow a task: watch, result --wait, start --wait, run.
//
// What has happened is read from the log of the task, record after record; events of PAL say when
// to look. So nothing is missed or shown twice when the daemon is killed and comes back, although
// the numbers of its events begin anew.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "app/settings.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/durable/rejected.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/structure/combine.hpp"

namespace tiffany::app {
namespace {

bool has_ended(const Json& task) {
  const std::string& status = task["status"].text();
  return status != "running" && status != "queued" && status != "paused";
}

void show_record(const Cli& cli, const Json& record) {
  if (cli.out.json()) {
    cli.out.json(record);
  } else {
    cli.out.text(record_line(cli.out, record) + "\n");
  }
}

// What is shown of a task on the way to its end.
enum class Showing {
  nothing,  // its result, at the end
  records,
  own_records,  // of a task that this command has started
  units,        // of a plan
};

bool shows_records(Showing what) {
  return what == Showing::records || what == Showing::own_records;
}

// Of a task that the daemon has spoken of: when it does not answer any more, it was lost.
class Follower {
 public:
  Follower(Cli& cli, std::string id, Showing what) : cli_(cli), id_(std::move(id)), showing_(what) {
    patience_ = parse_duration(cli.given.text("--reconnect", "30s"), "--reconnect");
    if (cli.given.has("--since")) seen_ = number_of(cli.given, "--since", 0);
  }

  Task<int> run() {
    for (;;) {
      std::string lost;
      int status = ends::kNoDaemon;
      try {
        const std::optional<int> end = co_await follow();
        if (end) co_return *end;
        lost = "the stream of events has ended";
      } catch (const CliFailure& failure) {
        if (failure.status != ends::kNoDaemon) throw;
        lost = failure.sentence;
        status = failure.status;
      } catch (const Error& error) {
        lost = error.what();
      }
      co_await pause_before_retry(lost, status);
    }
  }

 private:
  // Until the task has ended; nothing when the connection has.
  Task<std::optional<int>> follow() {
    if (showing_ == Showing::units) co_return co_await follow_units();
    std::string query = "task=" + id_;
    if (cli_.given.has("--kind")) query += "&kind=" + segment_of(cli_.given.text("--kind"));
    PalStream events = co_await PalStream::open(cli_.client, query, last_event_);
    meet();
    if (const auto end = co_await look()) co_return end;
    while (std::optional<PalLine> line = co_await events.next()) {
      if (!line->id.empty()) last_event_ = line->id;
      const Json event = Json::parse(line->data);
      if (line->event == "pal" && !event["data"].has("wal_seq")) show_event(event);
      if (const auto end = co_await look()) co_return end;
    }
    co_return std::nullopt;
  }

  // By looks at intervals: a plan of a thousand steps makes many more events than a person reads.
  Task<std::optional<int>> follow_units() {
    constexpr int kLongestMs = 500;
    for (int pause_ms = 20;; pause_ms = std::min(2 * pause_ms, kLongestMs)) {
      const std::optional<int> end = co_await look();
      if (end) co_return end;
      meet();
      co_await cli_.client.get("/tasks/" + id_ + "/result?wait=" + std::to_string(pause_ms) + "ms");
    }
  }

  // The daemon has answered.
  void meet() {
    if (tried_ > Duration{}) cli_.out.note("The daemon is back.");
    tried_ = Duration{};
  }

  // What is new in the log, and whether the task has ended.
  Task<std::optional<int>> look() {
    const Json task = co_await cli_.client.get("/tasks/" + id_);
    if (shows_records(showing_)) co_await show_records();
    std::vector<std::string> below;
    if (showing_ == Showing::units) below = co_await show_new_units(cli_, id_, units_);
    if (cli_.out.gone()) co_return ends::kDone;  // whoever read has gone
    if (has_ended(task)) {
      if (showing_ == Showing::nothing) show_result(cli_, task);
      if (showing_ == Showing::units && task["status"].text() != "completed") {
        cli_.out.complain(task["detail"].text());
      }
      co_return co_await end_by_log(cli_, task);
    }
    tell_promises(id_, task);
    for (const std::string& id : below) {
      const Json sub_plan = co_await cli_.client.get("/tasks/" + id);
      tell_promises(id, sub_plan);
    }
    co_return std::nullopt;
  }

  void tell_promises(const std::string& id, const Json& task) {
    for (const std::string& name : promises_of(task)) {
      if (!told_.insert(id + name).second) continue;
      const std::string how = cli_.command("approve " + id.substr(0, 8));
      const bool only_looks = showing_ == Showing::records;
      if (!only_looks && !cli_.out.asks() && !cli_.given.has("--through-approvals")) {
        throw CliFailure{ends::kApproval, "Task " + id + " waits for " + name +
                                              ", and there is no terminal to ask on: " + how +
                                              ", or wait on with --through-approvals."};
      }
      cli_.out.note("Waits for " + name + ": " + how);
    }
  }

  Task<void> show_records() {
    const std::string path =
        "/tasks/" + id_ + "/records?limit=1000" +
        (cli_.given.has("--type") ? "&type=" + segment_of(cli_.given.text("--type")) : "");
    for (;;) {
      const Json page = co_await cli_.client.get(path + "&after=" + std::to_string(seen_));
      for (const Json& record : page["records"].elements()) {
        show_record(cli_, record);
        seen_ = std::max(seen_, record["seq"].number());
      }
      if (!page.has("next")) break;
      seen_ = std::max(seen_, page["next"].number());
    }
    std::fflush(stdout);
  }

  void show_event(const Json& event) {
    if (!shows_records(showing_)) return;
    if (cli_.out.json()) {
      cli_.out.json(event);
    } else if (event["stage"].text() != observe::stage::kWaitingForLlm) {  // pieces of replies
      cli_.out.text(event_line(cli_.out, event) + "\n");
    }
    std::fflush(stdout);
  }

  Task<void> pause_before_retry(const std::string& lost, int status) {
    if (tried_ >= patience_) {
      throw CliFailure{status, "Task " + id_ + " is not followed any longer: " + lost};
    }
    if (tried_ == Duration{}) {
      back_off_ = std::chrono::milliseconds(50);
      cli_.out.note("Lost the daemon (" + lost + "); trying again for " +
                    cli_.given.text("--reconnect", "30s") + ".");
    }
    co_await sleep(back_off_);
    tried_ += back_off_;
    back_off_ = std::min<Duration>(back_off_ * 2, std::chrono::seconds(2));
  }

  Cli& cli_;
  std::string id_;
  Showing showing_;
  std::int64_t seen_ = 0;
  std::string last_event_;
  std::set<std::string> told_;  // promises that were spoken of
  UnitStates units_;            // that were shown
  Duration patience_{};
  Duration tried_{};
  Duration back_off_{};
};

Task<int> until_interrupted(std::string how_to_come_back, Cli* cli) {
  const Signals signals({SIGINT});
  co_await signals.next();
  cli->out.note("");
  cli->out.note("Detached; the task goes on. To come back: " + how_to_come_back);
  co_return ends::kInterrupted;
}

Task<int> follow_task(Cli* cli, std::string id, Showing what) {
  Follower follower(*cli, std::move(id), what);
  co_return co_await follower.run();
}

Task<int> timed_follow(Cli* cli, std::string id, Showing what) {
  if (!cli->given.has("--timeout")) co_return co_await follow_task(cli, id, what);
  const Duration most = parse_duration(cli->given.text("--timeout"), "--timeout");
  auto end = co_await within(most, follow_task(cli, id, what));
  if (!end.timed_out()) co_return std::move(end).value();
  throw CliFailure{ends::kTimeout, "Task " + id + " has not ended within " +
                                       cli->given.text("--timeout") + "; it goes on. " +
                                       cli->command("result --wait " + id.substr(0, 8)) +
                                       " waits again."};
}

Task<int> follow_or_detach(Cli& cli, std::string id, Showing what) {
  const std::string back = cli.command((cli.given.has("--follow")  ? "logs -f "
                                        : what == Showing::nothing ? "result --wait "
                                                                   : "watch ") +
                                       id.substr(0, 8));
  Task<int> follow = timed_follow(&cli, id, what);
  Task<int> interrupt = until_interrupted(back, &cli);
  auto first = co_await race(std::move(follow), std::move(interrupt));
  co_return first.value;
}

}  // namespace

Task<int> watch_task(Cli& cli, std::string id) {
  co_return co_await follow_or_detach(cli, std::move(id), Showing::records);
}
Task<int> watch_own_task(Cli& cli, std::string id) {
  co_return co_await follow_or_detach(cli, std::move(id), Showing::own_records);
}
Task<int> wait_for_task(Cli& cli, std::string id) {
  co_return co_await follow_or_detach(cli, std::move(id), Showing::nothing);
}

Task<int> follow_plan(Cli& cli, std::string id) {
  cli.out.note("plan " + id + "; Ctrl-C detaches, and `" + cli.command("watch " + id.substr(0, 8)) +
               "` comes back");
  co_return co_await follow_or_detach(cli, std::move(id), Showing::units);
}

static int end_of_task(const Json& task) {
  const std::string& status = task["status"].text();
  if (status == "completed") return ends::kDone;
  if (status == "cancelled") return ends::kCancelled;
  if (status == "diverged") return ends::kDiverged;
  if (status == "quarantined") return ends::kDamaged;
  return ends::kFailed;
}

bool tells_of_mistake(const std::string& type) {
  constexpr std::array<std::string_view, 6> kMistakes{"std::logic_error",  "std::invalid_argument",
                                                      "std::domain_error", "std::length_error",
                                                      "std::out_of_range", "std::future_error"};
  return type.starts_with("std::bad_") || std::ranges::find(kMistakes, type) != kMistakes.end();
}

// The record of the end is among the last: somebody may have spoken to the task afterwards.
Task<int> end_by_log(Cli& cli, Json task) {
  constexpr std::int64_t kLast = 100;
  const int end = end_of_task(task);
  if (end != ends::kFailed) co_return end;
  const std::int64_t after = std::max<std::int64_t>(0, task["records"].number() - kLast);
  const Json page =
      co_await cli.client.get("/tasks/" + task["id"].text() +
                              "/records?type=TaskAbort&limit=1000&after=" + std::to_string(after));
  const auto& records = page["records"].elements();
  if (records.empty()) co_return end;
  const std::string& thrown = records.back()["thrown"].text();
  if (thrown == kRejectedType) co_return ends::kRejected;
  co_return tells_of_mistake(thrown) ? ends::kMistake : end;
}

std::vector<std::string> promises_of(const Json& task) {
  std::vector<std::string> names;
  for (const Json& wait : task["waits"].elements()) {
    if (wait["kind"].text() == "promise") names.push_back("promise " + wait["name"].text());
  }
  return names;
}

void show_result(const Cli& cli, const Json& task) {
  if (cli.out.json()) {
    cli.out.json(task);
  } else if (task["status"].text() == "completed") {
    cli.out.text(task["result"].raw() + "\n");
  } else {
    const std::string& status = task["status"].text();
    cli.out.complain("Task " + task["id"].text() +
                     (status == "cancelled"     ? " was "
                      : status == "quarantined" ? " is "
                                                : " ") +
                     status + (task.has("detail") ? ": " + why_ended(task) : "."));
  }
}

namespace verb {

Task<int> watch(Cli& cli) {
  const Json task = co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")));
  co_return co_await watch_task(cli, task["id"].text());
}

Task<int> result(Cli& cli) {
  const Json task = co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")));
  if (cli.given.has("--wait")) co_return co_await wait_for_task(cli, task["id"].text());
  if (!has_ended(task)) {
    throw CliFailure{ends::kTimeout, "Task " + task["id"].text() + " is " + task["status"].text() +
                                         " and has no result yet; --wait waits for it."};
  }
  show_result(cli, task);
  co_return co_await end_by_log(cli, task);
}

Task<int> logs(Cli& cli) {
  const Given& given = cli.given;
  const std::string path = "/tasks/" + segment_of(given.text("TASK")) + "/records?limit=1000" +
                           (given.has("--type") ? "&type=" + segment_of(given.text("--type")) : "");
  std::string after = given.has("--since") ? std::to_string(number_of(given, "--since", 0)) : "0";
  std::vector<Json> records;
  do {
    const Json page = co_await cli.client.get(path + "&after=" + segment_of(after));
    for (const Json& record : page["records"].elements()) records.push_back(record);
    after = page["next"].text();
  } while (!after.empty());
  const std::size_t most = limit_of(given, records.size());
  records.erase(records.begin(), records.end() - std::ptrdiff_t(std::min(most, records.size())));
  if (cli.out.format() == Format::json && !given.has("--follow")) {
    cli.out.json_lines(records);
    co_return ends::kDone;
  }
  for (const Json& record : records) show_record(cli, record);
  if (!given.has("--follow")) co_return ends::kDone;
  std::fflush(stdout);
  if (!records.empty()) {
    std::vector<std::string> since;
    since.push_back(records.back()["seq"].raw());
    cli.given.values["--since"] = std::move(since);
  }
  const Json task = co_await cli.client.get("/tasks/" + segment_of(given.text("TASK")));
  const int end = co_await watch_task(cli, task["id"].text());
  // How the task ended is not how reading its records ended.
  const bool lost = end == ends::kNoDaemon || end == ends::kInterrupted;
  co_return lost ? end : ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
