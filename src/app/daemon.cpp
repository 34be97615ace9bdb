#include "app/daemon.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "app/api.hpp"
#include "app/commands.hpp"
#include "app/durable_events.hpp"
#include "app/host_metrics.hpp"
#include "app/plans.hpp"
#include "app/small_files.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/tls.hpp"
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

// "a/b/c", with those above it.
void make_directories(const std::string& path) {
  WorldFiles& files = World::current().files();
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (files.make_directory(part.c_str()) != 0 && errno != EEXIST) {
      throw IoError(errno, "make the directory", part);
    }
    if (slash == std::string::npos) return;
  }
}

std::string host_of(const Address& address) {
  const std::string text = address.text();
  return text.substr(0, text.rfind(':'));
}

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "[::1]"; }

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

Task<std::optional<AnyStream>> shake_hands(Socket client, const TlsContext* context) {
  constexpr auto kLongest = std::chrono::seconds(10);
  std::optional<AnyStream> out;
  auto stream = co_await within(kLongest, tls_accept(std::move(client), *context));
  if (!stream.timed_out()) out.emplace(std::move(stream).value());
  co_return out;
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
        tokens_(data_ + "/tokens.json"),
        access_(tokens_),
        audit_(data_ + "/audit.jsonl"),
        pal_(pal_options()),
        events_(pal_),
        log_(log_of(app_, data_)),
        commands_(data_ + "/commands", runner_of(settings_)),
        services_(commands_, data_ + "/locks"),
        host_(with_own_types(app_, services_), log_, host_options_of(app_, settings_, events_)),
        linter_(*Scheduler::current()),
        api_(Api::Parts{app_, app_.types(), settings_, host_, commands_, log_, pal_, metrics_,
                        linter_, *Scheduler::current(), tokens_, access_, audit_,
                        [this](std::string why) { stop(std::move(why)); }}),
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
    listen();
    co_await listen_on_tcp();
    make_first_token();
    co_await scope([this](Scope& all) -> Task<void> {
      serve_all(all);
      co_await open(all);
      co_await stopping_.wait();
      co_await close();
      all.cancel("the daemon ends");
    });
    std::printf("%s\n", report_.c_str());
    co_return 0;
  }

 private:
  // What is there already is not touched: it may be somebody's, named by mistake.
  static std::string prepared(const std::string& path) {
    WorldFiles& files = World::current().files();
    struct stat found{};
    if (files.status(path.c_str(), found) == 0) {
      if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw Error(Errc::bad_argument,
                    "Others than its owner may look into the data directory " + path +
                        ": say `chmod 700` if it is one of this program's, or name another.");
      }
      return path;
    }
    make_directories(path);
    if (files.change_mode(path.c_str(), 0700) != 0) {
      throw IoError(errno, "change the mode of", path);
    }
    return path;
  }

  static std::string runner_of(const Settings& settings) {
    const std::string& named = settings.text("runner");
    return named.empty() ? find_runner() : named;
  }
  static const Registry& with_own_types(App& app, plan::PlanServices& services) {
    Registry& types = app.types();
    if (types.find(plan::kPlanType) == nullptr) plan::add_plans(types, services);
    if (types.find("tiffany.schedule") == nullptr) add_schedules(types);
    return types;
  }

  observe::PalOptions pal_options() {
    observe::PalOptions options;
    options.snapshot = [this](JsonWriter& out, const observe::PalFilter&) {
      const StatusCounts counts = host_.counts();
      out.key("counts");
      out.begin_object();
      for (std::size_t i = 0; i < StatusCounts::kStatuses; ++i) {
        const auto each = static_cast<DurableStatus>(i);
        out.member(tiffany::name_of(each), counts[each]);
      }
      out.end_object();
    };
    return options;
  }

  // Both before the log is opened: a second daemon fails here, and is told why.
  void listen() {
    const std::string& path = settings_.text("socket");
    unix_ = Listener::bind(Address::unix_path(path));
    if (World::current().files().change_mode(path.c_str(), 0600) != 0) {
      throw IoError(errno, "change the mode of", path);
    }
    const std::string& tcp = settings_.text("listen");
    if (tcp.empty()) return;
    const Address address = Address::parse(tcp);
    const bool secure = !settings_.text("tls_certificate").empty();
    if (!secure && !is_loopback(host_of(address))) {
      throw Error(Errc::bad_argument,
                  "The daemon does not listen on " + tcp +
                      " without TLS: whoever is between could read the tokens. Give "
                      "tls_certificate and tls_key, or listen on 127.0.0.1.");
    }
    if (secure) {
      TlsContext context =
          TlsContext::server(settings_.text("tls_certificate"), settings_.text("tls_key"));
      const std::string& clients = settings_.text("tls_clients");
      tls_ = clients.empty() ? std::move(context) : std::move(context).verify_clients(clients);
    }
    tcp_address_ = address;
  }
  // The kernel may need a moment to close what a daemon that was killed had open (seen with
  // io_uring), so that the port is asked for again for a while.
  Task<void> listen_on_tcp() {
    constexpr int kMostTries = 150;
    constexpr auto kBetween = std::chrono::milliseconds(20);
    for (int tries = 1; tcp_address_ && !tcp_; ++tries) {
      try {
        tcp_ = Listener::bind(*tcp_address_);
      } catch (const IoError& error) {
        if (error.number() != EADDRINUSE || tries == kMostTries) throw;
      }
      if (!tcp_) co_await sleep(kBetween);
    }
    if (tcp_) allow_hosts(host_of(tcp_.local()));
  }

  void allow_hosts(const std::string& own) {
    access_.allow_host(own);
    if (is_loopback(own)) access_.allow_host("localhost");
    std::string_view rest = settings_.text("hosts");
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      std::string_view name = rest.substr(0, end);
      name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
      if (!name.empty()) access_.allow_host(std::string(name.substr(0, name.find(' '))));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  void make_first_token() {
    if (!tcp_ || !tokens_.all().empty()) return;
    const std::string token = tokens_.create("first", Role::admin, api_.started_us);
    write_private_file(data_ + "/admin.token", token + "\n");
  }

  void serve_all(Scope& all) {
    all.spawn(serve_plain, &server_, &unix_).named("api on the unix socket");
    if (!tcp_) return;
    if (tls_) {
      all.spawn(serve_secure, &server_, &tcp_, &*tls_).named("api on TLS");
    } else {
      all.spawn(serve_plain, &server_, &tcp_).named("api on TCP");
    }
  }
  static Task<void> serve_plain(http::Server* server, Listener* listener) {
    co_await server->serve(*listener);
  }
  static Task<void> serve_secure(http::Server* server, Listener* listener,
                                 const TlsContext* context) {
    const http::Server::Greeting greeting = [context](Socket client) {
      return shake_hands(std::move(client), context);
    };
    co_await server->serve(*listener, greeting);
  }

  Task<void> open(Scope& all) {
    const Recovery recovery = co_await host_.open();
    api_.recovery = recovery.text();
    start_system_tasks(all);
    for (const App::Work& each : app_.work()) {
      all.spawn(run_work, &each, &host_).named(each.name);
    }
    api_.set_phase(Api::Phase::ready, "The daemon is ready.");
    std::printf("%s %s serves %s\n%s\n", app_.name().c_str(), app_.version().c_str(), data_.c_str(),
                api_.recovery.c_str());
    std::printf("listens on unix:%s\n", settings_.text("socket").c_str());
    if (tcp_) {
      std::printf("listens on %s://%s, token in %s/admin.token\n", tls_ ? "https" : "http",
                  tcp_.local().text().c_str(), data_.c_str());
    }
    std::fflush(stdout);
    co_await notify("READY=1\nSTATUS=serving");
    const std::uint64_t days = settings_.number("archive_days");
    all.spawn(plan::forget_old_commands_hourly, &commands_, &host_, days).named("old commands");
  }
  // Each waits for what it is there for: an idle daemon is not woken. What would have to look at
  // intervals is elsewhere: the log has a thread, metrics are made when somebody asks for them, and
  // the host sweeps when its log has grown.
  void start_system_tasks(Scope& all) {
    system_.always("events of durable tasks", [this] { return tell_events(&events_, &host_); });
    system_.always("signals", [this] { return hear_signals(this); });
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

  // A second time: whoever is waited for is not waited for any longer.
  void stop(std::string why) {
    if (stopping_.is_set()) hurry_.set();
    if (why_.empty()) why_ = std::move(why);
    stopping_.set();
  }

  Task<void> close() {
    api_.set_phase(Api::Phase::draining, "The daemon is ending (" + why_ + ").");
    log::info("the daemon ends", {{"reason", why_}});
    co_await notify("STOPPING=1\nSTATUS=ending");
    pal_.emit(
        observe::PalEvent(Uuid(), observe::stage::kShutdownBegin, why_, observe::PalKind::runtime));
    pal_.dismiss();
    server_.stop();
    const StatusCounts counts = host_.counts();
    co_await host_.close();
    report_ = "ended (" + why_ + "): " + std::to_string(counts[DurableStatus::running]) +
              " tasks go on at the next start, " +
              std::to_string(counts[DurableStatus::completed]) + " had completed, " +
              std::to_string(counts[DurableStatus::failed]) + " had failed, " +
              std::to_string(counts[DurableStatus::cancelled]) + " were cancelled.";
    // Answers that are under way, among them that to the one who asked for the end.
    (void)co_await within(settings_.duration("drain"), race(server_.drained(), hurry_.wait()));
  }

  App& app_;
  Settings settings_;
  std::string data_;
  Tokens tokens_;
  Access access_;
  Audit audit_;
  observe::Metrics metrics_;
  observe::Pal pal_;
  DurableEvents events_;
  wal::LogOptions log_;
  exec::Commands commands_;
  plan::PlanServices services_;
  Host host_;
  observe::Linter linter_;
  Api api_;
  http::Server server_;
  observe::Metrics::Collector of_scheduler_;
  observe::Metrics::Collector of_pal_;
  observe::Metrics::Collector of_process_;
  observe::Metrics::Collector of_lints_;
  observe::Metrics::Collector of_host_;
  Listener unix_;
  Listener tcp_;
  std::optional<Address> tcp_address_;
  std::optional<TlsContext> tls_;
  observe::SystemTasks system_;
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
