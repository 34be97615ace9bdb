#include "tiffany/durable/schedule.hpp"

#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "tiffany/base/cron.hpp"
#include "tiffany/base/time_zone.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany {

// Those that are due, and how many more there were.
struct ScheduledTimes {
  std::vector<std::int64_t> times;
  std::uint64_t left_out = 0;
};
// A task that was started for a schedule; nil: it was skipped, or could not be started.
struct ScheduledRun {
  Uuid id;
  std::string problem;
};
TIFFANY_JSON(ScheduledTimes, times, left_out);
TIFFANY_JSON(ScheduledRun, id, problem);

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kLate = 60 * kSecond;
constexpr const char* kScheduleType = "tiffany.schedule";
constexpr std::string_view kNameAttribute = "schedule";
constexpr SignalName<std::string> kTell{"tell"};
constexpr QueryName<ScheduleState> kLook{"state"};

// No way out of the directory of zones.
void require_zone_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '-' || c == '+';
  });
  if (plain && name.size() <= kLongestName && !name.starts_with('/')) return;
  throw Error(Errc::bad_argument,
              "\"" + name + "\" is no name of a time zone: these look like Europe/Berlin.");
}

TimeZone read_zone(World& world, const std::string& name) {
  if (name.empty()) return TimeZone();
  require_zone_name(name);
  const std::string path = "/usr/share/zoneinfo/" + name;
  WorldFiles& files = world.files();
  const int file = files.open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw Error(Errc::bad_argument, "The time zone \"" + name + "\" cannot be read: there is no " +
                                        path + ". Install the package tzdata.");
  }
  constexpr std::size_t kMost = std::size_t{1} << 20;  // the largest zone has four kilobytes
  std::string bytes(kMost, '\0');
  const ssize_t count = files.read_at(file, bytes.data(), bytes.size(), 0);
  files.close(file);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return TimeZone::parse(name, bytes);
}

// When a schedule is due.
class DueTimes {
 public:
  DueTimes(const Schedule::Data& of, std::int64_t start, TimeZone zone)
      : start_(start), every_(of.every.count() / 1000), zone_(std::move(zone)) {
    if (!of.cron.empty()) cron_ = Cron::parse(of.cron);
  }
  // The first time after that; zero: none.
  std::int64_t next(std::int64_t after) const {
    if (!cron_) return start_ + ((after - start_) / every_ + 1) * every_;
    const auto next = cron_->next_after(after / kSecond, zone_);
    return next ? *next * kSecond : 0;
  }
  // The last of those after that and until now, and how many there were before these.
  ScheduledTimes between(std::int64_t after, std::int64_t now, std::uint64_t most) const {
    return cron_ ? walked(after, now, most) : computed(after, now, most);
  }

 private:
  // However many were missed: a month has millions of seconds.
  ScheduledTimes computed(std::int64_t after, std::int64_t now, std::uint64_t most) const {
    ScheduledTimes due;
    const std::int64_t first = next(after);
    if (first > now) return due;
    const auto count = static_cast<std::uint64_t>((now - first) / every_) + 1;
    due.left_out = count - std::min(count, most);
    for (std::uint64_t i = due.left_out; i < count; ++i) {
      due.times.push_back(first + static_cast<std::int64_t>(i) * every_);
    }
    return due;
  }
  ScheduledTimes walked(std::int64_t after, std::int64_t now, std::uint64_t most) const {
    ScheduledTimes due;
    std::deque<std::int64_t> last;
    for (std::int64_t at = after; (at = next(at)) != 0 && at <= now;) {
      last.push_back(at);
      if (last.size() <= most) continue;
      last.pop_front();
      ++due.left_out;
    }
    due.times.assign(last.begin(), last.end());
    return due;
  }

  std::int64_t start_;
  std::int64_t every_;
  TimeZone zone_;
  std::optional<Cron> cron_;
};

ScheduledTimes due_times(const Schedule::Data& of, std::int64_t after, std::int64_t start,
                         std::int64_t now, TimeZone zone) {
  ScheduledTimes due = DueTimes(of, start, std::move(zone))
                           .between(after, now, std::max<std::uint64_t>(of.catch_up, 1));
  if (of.catch_up == 0 && !due.times.empty() && now - due.times.back() > kLate) {
    due.left_out += due.times.size();
    due.times.clear();
  }
  return due;
}

// In the place of a time in the log: the time zone could not be read.
constexpr std::int64_t kNoZone = -1;
constexpr std::int64_t kTryZoneAgain = 600 * kSecond;

std::string zone_problem(const Schedule::Data& of) {
  return "The time zone \"" + of.zone +
         "\" cannot be read where the schedule runs. It is tried again every ten minutes.";
}

// Nothing: it cannot be read now.
std::optional<TimeZone> zone_now(HostCore& host, const std::string& name) {
  try {
    return read_zone(host.scheduler->world(), name);
  } catch (const Error&) {  // the sentence for it is zone_problem
    return std::nullopt;
  }
}

bool goes_on(HostCore& host, const Uuid& id) {
  const HostedTask* const task = id.nil() ? nullptr : host.tasks.find(id);
  return task != nullptr && !task->log.ended;
}

Task<void> wait_for_end(std::shared_ptr<HostCore> host, Uuid task) {
  if (!goes_on(*host, task)) co_return;
  try {
    co_await host->results.wait(task);
  } catch (const Error&) {  // however it ended, it has
    if (goes_on(*host, task)) throw;
  }
}

// Whatever cannot be done is a problem of this run, and not the end of the schedule.
Task<ScheduledRun> start_run(std::shared_ptr<HostCore> host, const Schedule::Data* of, Uuid id,
                             Uuid before) {
  ScheduledRun run;
  const auto how = static_cast<Overlap>(of->overlap);
  if (goes_on(*host, before) && how == Overlap::skip) co_return run;
  try {
    if (goes_on(*host, before) && how == Overlap::cancel) {
      co_await host->messages.cancel(before, "the next run of its schedule is due");
    }
    co_await wait_for_end(host, before);
    run.id = co_await host->starts.start(of->type, of->arguments, id, StartOptions().id(id));
  } catch (const Error& error) {
    run.problem = error.what();
  }
  co_return run;
}

std::int64_t micros(Flow& flow) { return flow.now().time_since_epoch().count(); }

// What somebody says to the schedule; nothing: its next time has come.
Durable<std::optional<std::string>> told_until(Flow& flow, std::int64_t next) {
  const std::int64_t left = std::max<std::int64_t>(next - micros(flow), 0);
  const auto said = co_await flow.signal_within(std::chrono::microseconds(left), kTell);
  if (!said) co_return std::nullopt;
  co_return *said;
}
Durable<std::optional<std::string>> told(Flow& flow) { co_return co_await flow.signal(kTell); }

Durable<void> run_one(Flow& flow, const Schedule::Data& of, ScheduleState& state,
                      std::string what) {
  HostCore& host = detail::FlowAccess::of(flow).host;
  const Uuid id = Uuid::derived(flow.id(), what);
  const ScheduledRun run =
      co_await flow.step("run", StepOptions().arguments(what), [&]() -> Task<ScheduledRun> {
        return start_run(host.shared_from_this(), &of, id, state.last);
      });
  state.problem = run.problem;
  if (run.id.nil()) {
    ++state.skipped;
  } else {
    ++state.runs;
    state.last = run.id;
  }
}

void note_zone(const Schedule::Data& of, ScheduleState& state, bool there) {
  if (!there) state.problem = zone_problem(of);
  if (there && state.problem == zone_problem(of)) state.problem.clear();
}

// The time zone is read in steps: another database in the next process must not change what was
// decided before.
Durable<void> run_schedule(Flow& flow, Schedule::Data of) {
  constexpr int kRoundsOfALog = 32;
  HostCore& host = detail::FlowAccess::of(flow).host;
  ScheduleState state = flow.state(ScheduleState());
  if (state.start == 0) state.start = state.after = micros(flow);
  const auto guard = flow.on_query(kLook, [&] { return state; });
  for (int round = 0; round < kRoundsOfALog; ++round) {
    const std::int64_t next = co_await flow.step("next", [&] {
      const std::optional<TimeZone> zone = zone_now(host, of.zone);
      return zone ? DueTimes(of, state.start, *zone).next(state.after) : kNoZone;
    });
    note_zone(of, state, next != kNoZone);
    state.next = std::max<std::int64_t>(next, 0);
    std::optional<std::string> said;
    if (state.paused || next == 0) {
      said = co_await told(flow);
    } else {
      const std::int64_t until = next == kNoZone ? micros(flow) + kTryZoneAgain : next;
      said = co_await told_until(flow, until);
    }
    if (said == "remove") co_return;
    if (said == "pause") state.paused = true;
    if (said == "resume" && std::exchange(state.paused, false)) state.after = micros(flow);
    if (said == "run") {
      const std::string what = "asked for " + std::to_string(++state.asked);
      co_await run_one(flow, of, state, what);
    }
    if (said || next == kNoZone) continue;
    const std::int64_t now = micros(flow);
    const ScheduledTimes due = co_await flow.step("due", [&] {
      const std::optional<TimeZone> zone = zone_now(host, of.zone);
      return zone ? due_times(of, state.after, state.start, now, *zone)
                  : ScheduledTimes{{kNoZone}, 0};
    });
    if (due.times == std::vector<std::int64_t>{kNoZone}) continue;  // "next" says so
    state.after = now;
    state.skipped += due.left_out;
    for (const std::int64_t time : due.times) {
      const std::string what = "due at " + std::to_string(time);
      co_await run_one(flow, of, state, what);
    }
  }
  co_await flow.checkpoint(state);
}

}  // namespace

void Schedule::require_good() const {
  if (data_.cron.empty() == (data_.every == Duration())) {
    throw Error(Errc::bad_argument, "A schedule has either cron() or every().");
  }
  if (!data_.cron.empty()) {
    static_cast<void>(Cron::parse(data_.cron));
  } else if (data_.every < std::chrono::seconds(1)) {
    throw Error(Errc::bad_argument, "The interval of a schedule is at least a second.");
  }
  if (!data_.zone.empty()) require_zone_name(data_.zone);
  constexpr std::uint32_t kMostCatchUp = 1000;
  if (data_.catch_up > kMostCatchUp) {
    throw Error(Errc::bad_argument, "A schedule makes up for at most 1000 runs.");
  }
}

void add_schedules(Registry& types) { types.add(kScheduleType, 1, run_schedule); }

// ---- By name ----

namespace {

// Nil: none is there that has not ended.
Uuid schedule_named(Host& host, const std::string& name) {
  const TaskFilter named =
      TaskFilter().type(kScheduleType).attribute(std::string(kNameAttribute), name);
  PageOptions page(1000);
  for (;;) {
    const TaskPage found = host.tasks(named, page);
    for (const DurableInfo& each : found.tasks) {
      if (each.status < DurableStatus::completed) return each.id;
    }
    if (found.next.empty()) return Uuid();
    page.after = found.next;
  }
}

// The name of a schedule that was removed may be used again, by another task.
Uuid id_of_schedule(Host& host, const std::string& name, bool fresh) {
  detail::require_name(name, "The name of a schedule");
  if (const Uuid there = schedule_named(host, name); !there.nil()) return there;
  for (std::uint64_t number = 1;; ++number) {
    const Uuid id =
        Uuid::derived(Uuid(), "tiffany.schedule " + std::to_string(number) + " " + name);
    const std::optional<DurableInfo> info = host.info(id);
    if (info && info->status >= DurableStatus::completed) continue;
    if (!info && host.store().retired(id)) continue;
    if (info || fresh) return id;
    throw Error(Errc::unknown_durable, "There is no schedule \"" + name + "\".");
  }
}

Task<Uuid> create_schedule(Host* host, std::string name, Schedule schedule) {
  schedule.require_good();
  static_cast<void>(
      read_zone(Scheduler::require("Schedules::create").world(), schedule.data().zone));
  const Uuid id = id_of_schedule(*host, name, true);
  co_return co_await host->start_json(
      kScheduleType, detail::arguments_json(schedule.data()),
      StartOptions().id(id).attribute(std::string(kNameAttribute), name));
}
Task<void> tell_schedule(Host* host, std::string name, std::string what) {
  co_await host->signal(id_of_schedule(*host, name, false), kTell, what);
}
Task<ScheduleState> look_at_schedule(Host* host, std::string name) {
  co_return co_await host->ask(id_of_schedule(*host, name, false), kLook);
}

}  // namespace

Task<Uuid> Schedules::create(std::string name, Schedule schedule) {
  return create_schedule(host_, std::move(name), std::move(schedule));
}
Task<void> Schedules::tell(std::string name, std::string what) {
  return tell_schedule(host_, std::move(name), std::move(what));
}
std::vector<std::string> Schedules::list() const {
  std::vector<std::string> names;
  PageOptions page(1000);
  for (;;) {
    const TaskPage found = host_->tasks(TaskFilter().type(kScheduleType), page);
    for (const DurableInfo& each : found.tasks) {
      if (each.status >= DurableStatus::completed || each.attributes.empty()) continue;
      const Attributes attributes = Search::read(each.attributes);
      const auto name = attributes.find(kNameAttribute);
      if (name != attributes.end()) names.push_back(from_json<std::string>(name->second.json()));
    }
    if (found.next.empty()) return names;
    page.after = found.next;
  }
}
Task<ScheduleState> Schedules::look(std::string name) {
  return look_at_schedule(host_, std::move(name));
}

}  // namespace tiffany
