#include "app/daemon.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/agents.hpp"
#include "app/api.hpp"
#include "app/commands.hpp"
#include "app/doors.hpp"
#include "app/durable_events.hpp"
#include "app/host_metrics.hpp"
#include "app/plans.hpp"
#include "app/small_files.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/observe/collectors.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/observe/system_tasks.hpp"
#include "tiffany/plan/command_retention.hpp"
#include "tiffany/plan/run.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/structure/combine.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::app {
namespace {

namespace log = observe::log;

HostOptions host_options_of(const App& app, const Settings& settings, HostWatcher& watcher) {
  HostOptions options;
  options.interceptors = app.interceptors();
  options.watcher = &watcher;
  options.hot_tasks = settings.number("hot_tasks");
  if (const std::uint64_t days = settings.number("archive_days"); days > 0) {
    options.keep.age = std::chrono::hours(24) * days;
  }
  if (const std::uint64_t bytes = settings.number("archive_bytes"); bytes > 0) {
    options.keep.bytes = bytes;
  }
  return options;
}

http::Limits limits_of(const Settings& settings) {
  http::Limits limits;
  limits.connections = settings.number("connections");
  limits.body = settings.number("body_bytes");
  limits.pipelined = 1024;  // starts behind one another share a sync
  return limits;
}

wal::LogOptions log_of(const App& app, const std::string& data) {
  wal::LogOptions options(data + "/wal");
  options.codec = app.codec();
  return options;
}

class Daemon {
 public:
  Daemon(App& app, Settings settings)
      : app_(app),
        settings_(std::move(settings)),
        data_(prepared(settings_.text("data"))),
        doors_(settings_),
        tokens_(data_ + "/tokens.json"),
        access_(tokens_),
        audit_(data_ + "/audit.jsonl"),
        pal_(pal_options()),
        events_(pal_),
        log_(log_of(app_, data_)),
        commands_(data_ + "/commands", runner_of(settings_)),
        services_(commands_, data_ + "/locks"),
        agents_(settings_.text("agents"), data_, commands_, pal_, metrics_),
        host_(with_own_types(app_, services_, agents_), log_,
              host_options_of(app_, settings_, events_)),
        linter_(*Scheduler::current()),
        api_(Api::Parts{app_, app_.types(), settings_, host_, commands_, services_.locks, log_,
                        pal_, metrics_, linter_, *Scheduler::current(), tokens_, access_, audit_,
                        agents_, [this](std::string why) { stop(std::move(why)); }}),
        server_(api_, limits_of(settings_)),
        of_scheduler_(observe::collect(metrics_, *Scheduler::current())),
        of_pal_(observe::collect(metrics_, pal_)),
        of_process_(observe::collect_process(metrics_)),
        of_lints_(linter_.collect(metrics_)),
        of_host_(collect(metrics_, api_, events_)) {}

  Task<int> run() {
    log::set_levels(settings_.text("log"));
    services_.locks.live = [this](const Uuid& task) {
      const std::optional<DurableInfo> info = host_.info(task);
      return info && info->status < DurableStatus::completed;
    };
    api_.started_us = World::current().wall_clock_us().value_or(0);
    co_await agents_.open();
    co_await doors_.open(access_);
    make_first_token();
    co_await scope([this](Scope& all) -> Task<void> {
      // Its first slice is behind the reading of the log, which is no task that could be cancelled:
      // a signal before that ends the process at once, as nothing has been begun.
      all.spawn.with_priority(kUrgent)(hear_signals, this).named("signals");
      doors_.serve(all, server_);
      opening_ = all.spawn(open, this, &all).named("recovery");
      co_await opening_.outcome();
      co_await stopping_.wait();
      co_await close(all);
      all.cancel("the daemon ends");
    });
    std::printf("%s\n", report_.c_str());
    co_return 0;
  }

 private:
  static constexpr std::uint8_t kUrgent = 0;

  static std::string prepared(const std::string& path) {
    make_private_directory(path);
    return path;
  }
  static std::string runner_of(const Settings& settings) {
    const std::string& named = settings.text("runner");
    return named.empty() ? find_runner() : named;
  }
  static const Registry& with_own_types(App& app, plan::PlanServices& services, Agents& agents) {
    Registry& types = app.types();
    agents.add(types);
    if (types.find(plan::kPlanType) == nullptr) plan::add_plans(types, services);
    if (types.find("tiffany.schedule") == nullptr) add_schedules(types);
    return types;
  }

  observe::PalOptions pal_options() {
    observe::PalOptions options;
    options.snapshot = [this](JsonWriter& out, const observe::PalFilter&) {
      write_counts(out, host_.counts());
    };
    return options;
  }

  void make_first_token() {
    if (!doors_.on_tcp() || !tokens_.all().empty()) return;
    const std::string token = tokens_.create("first", Role::admin, api_.started_us);
    write_private_file(data_ + "/admin.token", token + "\n");
  }

  static Task<void> open(Daemon* daemon, Scope* all) {
    const Recovery recovery = co_await daemon->host_.open();
    daemon->begin(recovery, *all);
    co_await notify("READY=1\nSTATUS=serving");
  }
  void begin(const Recovery& recovery, Scope& all) {
    api_.recovery = recovery.text();
    start_system_tasks(all);
    for (const App::Work& each : app_.work()) {
      all.spawn(run_work, &each, &host_).named(each.name);
    }
    const std::uint64_t days = settings_.number("archive_days");
    all.spawn(plan::forget_old_commands_hourly, &commands_, &host_, days).named("old commands");
    api_.set_phase(Api::Phase::ready, "The daemon is ready.");
    std::printf("%s %s serves %s\n%s\n%s", app_.name().c_str(), app_.version().c_str(),
                data_.c_str(), api_.recovery.c_str(), doors_.text(data_).c_str());
    std::fflush(stdout);
  }
  // Each waits for what it is there for: an idle daemon is not woken. What would have to look at
  // intervals is elsewhere: the log has a thread, metrics are made when somebody asks for them, and
  // the host sweeps when its log has grown.
  void start_system_tasks(Scope& all) {
    system_.always("events of durable tasks", [this] { return tell_events(&events_, &host_); });
    if (watchdog_wants_food()) system_.always("watchdog of systemd", feed_watchdog);
    system_.start(all);
  }
  static Task<void> tell_events(DurableEvents* events, Host* host) {
    co_await events->run(host->store());
  }
  static Task<void> run_work(const App::Work* work, Host* host) { co_await work->task(*host); }

  static Task<void> hear_signals(Daemon* daemon) {
    const Signals signals({SIGTERM, SIGINT, SIGHUP});
    for (;;) {
      const int number = co_await signals.next();
      if (number == SIGHUP) {
        daemon->reload();
      } else {
        daemon->stop(number == SIGTERM ? "SIGTERM" : "SIGINT");
      }
    }
  }

  void reload() {
    std::string failed;
    try {
      tokens_.reload();
      log::set_levels(settings_.read_again().text("log"));
    } catch (const Error& error) {
      failed = error.what();
    }
    if (failed.empty()) {
      log::info("levels and tokens were read again");
    } else {
      log::error("levels and tokens were not read again", {{"error", failed}});
    }
  }

  // A recovery is not waited for: what is not resumed now is at the next start. A second time:
  // nothing is waited for any longer.
  void stop(std::string why) {
    if (stopping_.is_set()) hurry_.set();
    if (why_.empty()) why_ = std::move(why);
    stopping_.set();
    if (opening_) opening_.cancel("the daemon ends");
  }

  Task<void> close(Scope& all) {
    api_.set_phase(Api::Phase::draining, "The daemon is ending (" + why_ + ").");
    log::info("the daemon ends", {{"reason", why_}});
    co_await notify("STOPPING=1\nSTATUS=ending");
    pal_.emit(
        observe::PalEvent(Uuid(), observe::stage::kShutdownBegin, why_, observe::PalKind::runtime));
    pal_.dismiss();
    report_ = report(host_.counts());
    const Duration longest = settings_.duration("drain");
    const Handle<void> closing = all.spawn(close_host, this).named("close");
    (void)co_await within(longest, race(closing, hurry_.wait()));
    if (!closing.done()) leave_at_once();
    // Until here others may look at what is still under way.
    server_.stop();
    // Answers that are under way, among them that to the one who asked for the end.
    (void)co_await within(longest, race(server_.drained(), hurry_.wait()));
  }
  static Task<void> close_host(Daemon* daemon) {
    co_await daemon->host_.close();
    co_await daemon->agents_.close();
  }

  std::string report(const StatusCounts& counts) const {
    return "ended (" + why_ + "): " + std::to_string(counts[DurableStatus::running]) +
           " tasks go on at the next start, " + std::to_string(counts[DurableStatus::completed]) +
           " had completed, " + std::to_string(counts[DurableStatus::failed]) + " had failed, " +
           std::to_string(counts[DurableStatus::cancelled]) + " were cancelled.";
  }

  // Steps that do not end when they are cancelled keep the host from closing. As in a crash: what
  // was answered is on the disk.
  [[noreturn]] void leave_at_once() const {
    std::printf(
        "%s The end of steps that were under way was not waited for; they are repeated, or "
        "unknown, by what they declare.\n",
        report_.c_str());
    std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }

  App& app_;
  Settings settings_;
  std::string data_;
  Doors doors_;
  Tokens tokens_;
  Access access_;
  Audit audit_;
  observe::Metrics metrics_;
  observe::Pal pal_;
  DurableEvents events_;
  wal::LogOptions log_;
  exec::Commands commands_;
  plan::PlanServices services_;
  Agents agents_;
  Host host_;
  observe::Linter linter_;
  Api api_;
  http::Server server_;
  observe::Metrics::Collector of_scheduler_;
  observe::Metrics::Collector of_pal_;
  observe::Metrics::Collector of_process_;
  observe::Metrics::Collector of_lints_;
  observe::Metrics::Collector of_host_;
  observe::SystemTasks system_;
  Handle<void> opening_;
  ManualResetEvent stopping_;
  ManualResetEvent hurry_;
  std::string why_;
  std::string report_;
};

}  // namespace

Task<int> serve(App& app, Settings settings) {
  Daemon daemon(app, std::move(settings));
  co_return co_await daemon.run();
}

}  // namespace tiffany::app
