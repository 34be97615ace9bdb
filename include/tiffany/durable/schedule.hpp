// Schedules: durable tasks that start other ones, every so often or as cron says.
//
//   add_schedules(types);                                  // beside the types that are started
//   Schedules schedules(host);
//   co_await schedules.create("nightly", Schedule("report", "all")
//                                            .cron("30 2 * * *")
//                                            .zone("Europe/Berlin"));
//   co_await schedules.pause("nightly");
//   const ScheduleState now = co_await schedules.look("nightly");
//
// A schedule is a task of the type "tiffany.schedule", and each run a task with an id that is
// derived from the schedule and the time of the run. Crash case: a run that was due is started
// once, however often the process dies; what became due while no process ran is decided by the
// catch-up policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/durable/host.hpp"

namespace tiffany {

// When the run before has not ended.
enum class Overlap : std::uint8_t {
  skip,    // this one is left out
  queue,   // it waits for the end of the one before; what is asked of the schedule waits, too
  cancel,  // the one before is cancelled, and awaited
};

// What a schedule starts, and when. Kept in the first record of the schedule.
class Schedule {
 public:
  // A type of tasks by its name, and its arguments.
  template <class... Args>
  explicit Schedule(std::string type, const Args&... args) {
    data_.type = std::move(type);
    data_.arguments = detail::arguments_json(args...);
  }
  Schedule() = default;
  // One of the two. As in base/cron.hpp; in UTC, unless a zone is given.
  Schedule&& cron(std::string text) && {
    data_.cron = std::move(text);
    return std::move(*this);
  }
  // At least a second. Counted from when the schedule was created.
  Schedule&& every(Duration interval) && {
    data_.every = interval;
    return std::move(*this);
  }
  // A name of the IANA database, which is read in /usr/share/zoneinfo where the schedule runs.
  // Where it cannot be read, that is a problem of the schedule (ScheduleState), and tried again.
  Schedule&& zone(std::string name) && {
    data_.zone = std::move(name);
    return std::move(*this);
  }
  Schedule&& overlap(Overlap how) && {
    data_.overlap = static_cast<int>(how);
    return std::move(*this);
  }
  // How many of the runs that became due while no process ran are made up for, the youngest of
  // them. Zero: none that is more than a minute late. Without it: one, the last.
  Schedule&& catch_up(std::uint32_t most) && {
    data_.catch_up = most;
    return std::move(*this);
  }

  struct Data {
    std::string type;
    std::string arguments = "[]";
    std::string cron;
    Duration every{};
    std::string zone;
    int overlap = 0;
    std::uint32_t catch_up = 1;
  };
  const Data& data() const noexcept { return data_; }
  // From what data() gives.
  static Schedule of(Data data) {
    Schedule made;
    made.data_ = std::move(data);
    return made;
  }
  // Throws Errc::bad_argument for what cannot be.
  void require_good() const;

 private:
  Data data_;
};
TIFFANY_JSON(Schedule::Data, type, arguments, cron, every, zone, overlap, catch_up);

// Times are microseconds since 1970; zero: none.
struct ScheduleState {
  std::int64_t start = 0;  // when it was created
  std::int64_t after = 0;  // what was due until then has been looked at
  std::int64_t next = 0;
  bool paused = false;
  Uuid last;                // the last run
  std::uint64_t runs = 0;   // that were started
  std::uint64_t asked = 0;  // of these by run_now
  std::uint64_t skipped = 0;
  std::string problem;  // why the last run could not be started, or the time of the next is not
                        // known; empty: it was
};
TIFFANY_JSON(ScheduleState, start, after, next, paused, last, runs, asked, skipped, problem);

// Registers "tiffany.schedule".
void add_schedules(Registry& types);

// The schedules of a host, by their names.
class Schedules {
 public:
  explicit Schedules(Host& host) noexcept : host_(&host) {}
  // The same again is the same schedule. Errc::start_conflict for another one of that name that has
  // not been removed, Errc::bad_argument for a time zone that cannot be read here. Gives the id of
  // its task.
  Task<Uuid> create(std::string name, Schedule schedule);
  // Nothing is due until `resume`, and what would have been is left out.
  Task<void> pause(std::string name) { return tell(std::move(name), "pause"); }
  Task<void> resume(std::string name) { return tell(std::move(name), "resume"); }
  // Once more, now, by the overlap policy. Also while it is paused.
  Task<void> run_now(std::string name) { return tell(std::move(name), "run"); }
  // Runs that are under way go on.
  Task<void> remove(std::string name) { return tell(std::move(name), "remove"); }
  // Errc::unknown_durable when there is none of that name, here and above.
  Task<ScheduleState> look(std::string name);
  // The names of those that have not been removed, in the order in which they were created.
  std::vector<std::string> list() const;

 private:
  Task<void> tell(std::string name, std::string what);

  Host* host_;
};

}  // namespace tiffany
