// doctor: what an operator would look at first.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "app/cli.hpp"
#include "app/plans.hpp"
#include "base/shown_text.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/detail/world/disk_room.hpp"
#include "tiffany/exec/commands.hpp"

namespace tiffany::app {
namespace {

class Doctor {
 public:
  explicit Doctor(Cli& cli) : cli_(cli) {}

  // A line, and whether all is well.
  void say(const std::string& what, bool well, const std::string& words) {
    if (!well) ++wrong_;
    found_ += (found_.empty() ? "" : ",\n") + std::string("{\"check\":") + quoted_json(what) +
              ",\"ok\":" + (well ? "true" : "false") + ",\"text\":" + quoted_json(words) + "}";
    if (cli_.out.json()) return;
    cli_.out.field(what, (well ? "ok    " : "WRONG ") + words, well ? Paint::plain : Paint::bad);
  }
  int finish() const {
    if (cli_.out.json()) cli_.out.text("[" + found_ + "]\n");
    if (wrong_ > 0) {
      cli_.out.note(std::to_string(wrong_) + " of these need" + (wrong_ == 1 ? "s" : "") +
                    " somebody.");
    }
    return wrong_ > 0 ? ends::kFailed : ends::kDone;
  }

 private:
  Cli& cli_;
  int wrong_ = 0;
  std::string found_;
};

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 10 * 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + std::string(kUnits[unit]);
}

void look_at_disk(Doctor& doctor, const std::string& data) {
  const std::optional<detail::DiskRoom> room = detail::disk_room(data.c_str());
  if (!room) {
    doctor.say("disk", true, "the data of the daemon is not on this machine");
    return;
  }
  const bool enough = room->free > room->all / 20 && room->free > (std::uint64_t{256} << 20);
  doctor.say("disk", enough,
             bytes_text(room->free) + " of " + bytes_text(room->all) + " free at " + data);
}

// Five small writes that are synced, in a file beside the log.
void look_at_syncs(Doctor& doctor, const std::string& data) {
  World& world = World::current();
  WorldFiles& files = world.files();
  const std::string path = data + "/doctor." + std::to_string(world.process_id());
  const int fd = files.open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    doctor.say("sync", true, "not measured: files at " + data + " cannot be made from here");
    return;
  }
  std::array<std::int64_t, 5> took{};
  const std::string block(4096, 'x');
  bool written = true;
  for (std::size_t i = 0; i < took.size(); ++i) {
    const std::int64_t before = world.wall_clock_us().value_or(0);
    written = written && files.write_synced_at(fd, block.data(), block.size(), i * block.size()) ==
                             static_cast<ssize_t>(block.size());
    took[i] = world.wall_clock_us().value_or(0) - before;
  }
  files.close(fd);
  files.remove(path.c_str());
  std::ranges::sort(took);
  constexpr std::int64_t kSlow = 50'000;
  doctor.say("sync", written && took[2] < kSlow,
             written ? "a synced write takes " + std::to_string(took[2]) + " us (median of 5)"
                     : "a synced write at " + data + " failed");
}

void look_at_tasks(Doctor& doctor, const Json& info) {
  const Json& counts = info["counts"];
  const std::int64_t bad = counts["diverged"].number() + counts["quarantined"].number();
  std::string text = counts["running"].text() + " running, " + counts["paused"].text() +
                     " paused, " + counts["failed"].text() + " failed, " +
                     counts["diverged"].text() + " diverged, " + counts["quarantined"].text() +
                     " quarantined";
  doctor.say("tasks", bad == 0, text);
}

// Of this machine. A level that is missing is nobody's trouble before a command asks for it.
Task<void> look_at_sandbox(Doctor& doctor) {
  const std::string runner = find_runner();
  if (runner.empty()) {
    doctor.say("sandbox", true, "not looked at: tiffany-run is not beside this program");
    co_return;
  }
  std::string words;
  bool well = true;
  try {
    exec::Commands commands("", runner);
    const exec::SandboxProbe probe = co_await commands.probe_sandbox();
    words = "level " + std::to_string(probe.level) + " for commands, Landlock " +
            std::to_string(probe.landlock_abi);
    if (!probe.missing.empty()) words += ". " + probe.missing;
  } catch (const Error& error) {
    words = error.what();
    well = false;
  }
  doctor.say("sandbox", well, words);
}

// A large frame costs memory and harms nobody: a program without optimisation has many.
void look_at_problems(Doctor& doctor, const Json& problems) {
  bool trouble = false;
  for (const Json& each : problems["problems"].elements()) {
    trouble = trouble || each["kind"].text() != "fat-frame";
  }
  const bool any = !problems["problems"].elements().empty();
  doctor.say("problems", !trouble, any ? problems["summary"].text() : "none");
}

}  // namespace

namespace verb {

Task<int> doctor(Cli& cli) {
  Doctor doctor(cli);
  std::optional<Json> info;
  std::string why;
  try {
    info = co_await cli.client.get("/info");
  } catch (const CliFailure& failure) {
    why = failure.sentence;
  }
  if (!info) {
    doctor.say("daemon", false, why);
    doctor.finish();
    co_return ends::kNoDaemon;
  }
  doctor.say("daemon", (*info)["phase"].text() == "ready",
             (*info)["phase"].text() + " at " + cli.client.where().text() + ", pid " +
                 (*info)["pid"].text() + ", up " +
                 short_duration((*info)["uptime_seconds"].number() * 1'000'000));
  // Of another program the version says nothing.
  const std::string daemon = (*info)["name"].text() + " " + (*info)["version"].text();
  const std::string own = cli.program() + " " + cli.app.version();
  doctor.say("version", (*info)["name"].text() != cli.program() || daemon == own,
             "daemon " + daemon + ", this program " + own);
  doctor.say("you", true, (*info)["you"].text() + ", " + (*info)["role"].text());
  doctor.say("recovery", true, (*info)["recovery"].text());
  look_at_tasks(doctor, *info);
  const std::string data = (*info)["data"].text();
  look_at_disk(doctor, data);
  look_at_syncs(doctor, data);
  co_await look_at_sandbox(doctor);
  const Json problems = co_await cli.client.get("/problems");
  look_at_problems(doctor, problems);
  co_return doctor.finish();
}

}  // namespace verb

}  // namespace tiffany::app
