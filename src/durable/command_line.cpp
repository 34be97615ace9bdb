#include "tiffany/durable/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/engine/run.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/log_view.hpp"
#include "tiffany/wal/repair.hpp"
#include "tiffany/wal/scan.hpp"
#include "tiffany/wal/values.hpp"
#include "tiffany/wal/verify.hpp"

namespace tiffany {
namespace {

using detail::shown;

constexpr std::string_view kHelp = R"(usage: tiffany <command> <directory> ...

Reading, while the log is in use or not:
  wal verify DIR                 check every line and every value; 1 when anything is damaged or
                                 missing
  wal repair --dry-run DIR       what cannot be read, and which tasks that touches
  wal export DIR [TASK] --to D   write <task>.wal and its long values into directory D, for one task
                                 or all, also from the archive
  wal tail DIR [COUNT]           the last records (20), in the order of the log
  task list DIR                  every task and how it stands
  task show DIR TASK             the records of one task
  task inspect DIR TASK          what it would do next        (needs its code)
  task replay DIR TASK           does the code do what the log says? (needs its code)
  upgrade --check DIR            inspect everything unfinished (needs the code)

Writing, while no process has the log open:
  wal compact DIR [--keep-bytes N] [--keep-days N]
                                 ended tasks go into the archive, which keeps so much; needs no room
                                 on the disk with --keep-bytes 0, which drops them
  wal repair DIR                 write every good record anew, quarantine the tasks that may have
                                 lost some, and put the damaged files aside; the report says what
                                 was given up
  wal accept-loss DIR WHY        leave the damage, and let unknown ids be started again
  task pause DIR TASK            it is not resumed at the next start
  task resume DIR TASK
  task cancel DIR TASK [WHY]     it unwinds when it is resumed
  task kill DIR TASK [WHY]       it has ended
  task retry DIR TASK STEP       forget its failure, and everything from that step on
  task fork DIR TASK STEP        another task with its history up to that step
  task signal DIR TASK NAME JSON
  task complete DIR PROMISE JSON keep a promise
)";

struct Refused {
  std::string why;
};

class Words {
 public:
  Words(int count, char** arguments) : words_(arguments + 1, arguments + count) {}
  bool option(std::string_view name) {
    for (auto word = words_.begin(); word != words_.end(); ++word) {
      if (*word != name) continue;
      words_.erase(word);
      return true;
    }
    return false;
  }
  std::string option_value(std::string_view name) {
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      if (words_[i] != name) continue;
      std::string value = words_[i + 1];
      words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i),
                   words_.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      return value;
    }
    return {};
  }
  bool more() const noexcept { return next_ < words_.size(); }
  std::string take(std::string_view what) {
    if (!more()) throw Refused{"a " + std::string(what) + " is missing"};
    return words_[next_++];
  }
  Uuid take_id(std::string_view what) {
    const std::string text = take(what);
    const std::optional<Uuid> id = Uuid::parse(text);
    if (!id) throw Refused{"\"" + text + "\" is no UUID of a " + std::string(what)};
    return *id;
  }
  // Digits alone.
  std::size_t take_number_or(std::size_t otherwise, std::string_view what) {
    if (!more()) return otherwise;
    const std::string text = take(what);
    std::size_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc() || end != last) {
      throw Refused{"\"" + text + "\" is no number of " + std::string(what)};
    }
    return number;
  }
  void end() const {
    if (more()) throw Refused{"\"" + words_[next_] + "\" is more than I understand"};
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

// Lines, always made harmless: standard output may be a terminal, or be shown in one later. Text of
// users is given to shown() before, which takes its line breaks, too.
void print(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    out += shown(lines.substr(0, end));
    if (end != std::string_view::npos) out += '\n';
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

bool same_file(const std::string& one, const std::string& other) {
  struct stat a{};
  struct stat b{};
  WorldFiles& files = os_world().files();
  return files.status(one.c_str(), a) == 0 && files.status(other.c_str(), b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

wal::LogOptions log_at(const std::string& directory) {
  struct stat about{};
  if (os_world().files().status(directory.c_str(), about) != 0 || !S_ISDIR(about.st_mode)) {
    throw Error(Errc::bad_argument, "There is no directory " + directory + ".");
  }
  wal::LogOptions options(directory);
  options.segment_size = 0;  // the smallest: little is written from here
  options.disk = wal::system_disk();
  const std::optional<wal::Layout> layout = wal::layout_of(*options.disk, directory);
  if (!layout) {
    throw Error(Errc::not_a_log,
                directory +
                    " holds no log: neither a segment (00000001.journal) nor the file of a task "
                    "(<uuid>.wal) is there. If there was a log, its files are gone.");
  }
  options.layout = *layout;
  return options;
}

// ---- wal ----

int verify(const std::string& directory) {
  const wal::LogOptions options = log_at(directory);
  const wal::Verification found = wal::verify(*options.disk, directory);
  const wal::LogIndex& index = found.index;
  std::size_t tasks = 0;
  std::size_t ended = 0;
  for (const auto& task : index.tasks) {
    if (task->id.nil()) continue;
    ++tasks;
    if (task->ended) ++ended;
  }
  for (const std::string& fault : found.faults) print(fault + "\n");
  print(std::to_string(index.records) + " records of " + std::to_string(tasks) + " tasks (" +
        std::to_string(ended) + " ended), " + std::to_string(index.bytes) + " bytes, epoch " +
        std::to_string(index.epoch) + ", " +
        (index.shut_down ? "closed in good order" : "not closed") + "\n");
  print(std::to_string(found.archived) + " tasks in the archive, " + std::to_string(found.values) +
        " values beside the log\n");
  if (index.cut > 0)
    print(std::to_string(index.cut) + " bytes of an unfinished write at the end\n");
  print(std::to_string(index.damage.size()) + " damaged places\n");
  return found.sound() ? 0 : 1;
}

Task<void> write_file(wal::Disk* disk, std::string path, std::string bytes) {
  if (disk->exists(path)) throw Error(Errc::bad_argument, path + " exists already.");
  std::unique_ptr<wal::DiskFile> file = disk->open(path);
  co_await file->write(0, bytes);
  co_await file->sync();
}

// The values that a task names, beside its file as they are beside the log.
Task<std::size_t> export_values(wal::Disk* disk, std::string from, std::string to,
                                std::unordered_set<std::string> names) {
  std::size_t count = 0;
  if (!names.empty()) disk->make_directory(to + "/values");
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    std::string bytes = wal::value_of(*disk, from, wal::value_reference(name, 0));
    co_await write_file(disk, to + "/values/" + name + ".json", std::move(bytes));
    ++count;
  }
  if (count > 0) co_await disk->sync_directory(to + "/values");
  co_return count;
}

Task<int> export_tasks(std::string directory, std::optional<Uuid> only, std::string to) {
  const wal::LogOptions options = log_at(directory);
  wal::Disk& disk = *options.disk;
  wal::LogView log(disk, directory, options.layout);
  if (only && !log.has(*only)) {
    throw Error(Errc::unknown_durable, "The log has no task " + only->text() + ".");
  }
  disk.make_directory(to);
  if (same_file(directory, to)) {
    throw Error(Errc::bad_argument, "A log cannot be exported into its own directory " + to + ".");
  }
  std::unordered_set<std::string> values;
  std::size_t count = 0;
  for (const Uuid& task : only ? std::vector<Uuid>{*only} : log.tasks(true)) {
    std::string bytes;
    for (const std::string& line : log.lines(task)) {
      bytes += line;
      wal::find_references(wal::view_of(line).payload, values);
    }
    co_await write_file(&disk, to + "/" + task.text() + ".wal", std::move(bytes));
    ++count;
  }
  const std::size_t aside = co_await export_values(&disk, directory, to, std::move(values));
  co_await disk.sync_directory(to);
  print(std::to_string(count) + " tasks written to " + to +
        (aside > 0 ? ", with " + std::to_string(aside) + " values" : "") + "\n");
  co_return 0;
}

int tail(const std::string& directory, std::size_t count) {
  const wal::LogOptions options = log_at(directory);
  std::vector<std::tuple<std::string, std::size_t, std::string>> lines;  // by time, then as found
  wal::LogView log(*options.disk, directory, options.layout);
  for (const Uuid& task : log.tasks()) {
    for (std::string& line : log.lines(task)) {
      const wal::RecordView view = wal::view_of(line);
      lines.emplace_back(std::string(view.ts), lines.size(), std::move(line));
    }
  }
  std::sort(lines.begin(), lines.end());
  const std::size_t from = lines.size() > count ? lines.size() - count : 0;
  for (std::size_t i = from; i < lines.size(); ++i) print(std::get<2>(lines[i]));
  return 0;
}

// A whole number of that option; none when the option is not there.
std::optional<std::uint64_t> number_option(Words& words, const std::string& name) {
  const std::string text = words.option_value(name);
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto got = std::from_chars(text.data(), text.data() + text.size(), number);
  if (got.ec != std::errc() || got.ptr != text.data() + text.size()) {
    throw Refused{name + " needs a whole number, and \"" + text + "\" is none"};
  }
  return number;
}

// Of a log that no process has open.
Task<int> compact(std::string directory, Retention keep) {
  HostOptions options;
  options.start_paused = true;
  options.records_only = true;
  options.compact_above = 0;
  const Registry none;
  Host host(none, log_at(directory), options);
  co_await host.open();
  const Compaction done = co_await host.compact(keep);
  co_await host.close();
  if (!done.skipped.empty()) {
    print("nothing was done: " + done.skipped + "\n");
    co_return 1;
  }
  print(std::to_string(done.archived) + " tasks left the log, " + std::to_string(done.kept) +
        " were kept, " + std::to_string(done.removed) + " left the archive, " +
        std::to_string(done.values) + " values were removed\n");
  co_return 0;
}

Task<int> wal_command(Words words) {
  const std::string verb = words.take("command after wal");
  const bool dry = words.option("--dry-run");
  const std::string to = words.option_value("--to");
  Retention keep;
  keep.bytes = number_option(words, "--keep-bytes");
  if (const auto days = number_option(words, "--keep-days")) {
    keep.age =
        std::chrono::hours(24 * static_cast<std::int64_t>(std::min<std::uint64_t>(*days, 100'000)));
  }
  const std::string directory = words.take("directory");
  if (verb == "verify") {
    words.end();
    co_return verify(directory);
  }
  if (verb == "repair") {
    words.end();
    if (dry) co_return verify(directory);
    const wal::LogOptions options = log_at(directory);
    const wal::RepairReport report = co_await wal::repair(*options.disk, directory, options.layout);
    print(report.text());
    if (!report.path.empty()) print("This report is in " + report.path + ".\n");
    co_return 0;
  }
  if (verb == "accept-loss") {
    const std::string why = words.take("reason");
    words.end();
    const wal::LogOptions options = log_at(directory);
    const std::vector<wal::Damage> places =
        co_await wal::accept_loss(*options.disk, directory, options.layout, why);
    for (const wal::Damage& damage : places) print("accepted: " + damage.text() + "\n");
    print(std::to_string(places.size()) + " damaged places\n");
    co_return 0;
  }
  if (verb == "tail") {
    const std::size_t count = words.take_number_or(20, "records");
    words.end();
    co_return tail(directory, count);
  }
  if (verb == "compact") {
    words.end();
    co_return co_await compact(directory, keep);
  }
  if (verb != "export") throw Refused{"there is no wal " + verb};
  std::optional<Uuid> only;
  if (words.more()) only = words.take_id("task");
  words.end();
  if (to.empty()) throw Refused{"export needs --to and a directory"};
  co_return co_await export_tasks(directory, only, to);
}

// ---- task ----

std::string line_of(const DurableInfo& task) {
  std::string text = task.id.text() + "  " + std::string(name_of(task.status)) + "  " +
                     shown(task.type) + " " + std::to_string(task.version);
  if (!task.detail.empty()) text += "  " + shown(task.detail);
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
  for (const std::string& line : log.lines(id)) print(line);
  const wal::TaskLog* const task = log.index().find(id);
  if (task != nullptr && !task->quarantine.empty()) {
    print("quarantined: " + shown(task->quarantine) + "\n");
  }
  return 0;
}

// To a log that no process has open: the task itself is not run.
Task<int> change(const Registry* types, std::string verb, std::string directory, Words words) {
  const bool known = verb == "pause" || verb == "resume" || verb == "cancel" || verb == "kill" ||
                     verb == "retry" || verb == "fork" || verb == "signal" || verb == "complete";
  if (!known) throw Refused{"there is no task " + verb};
  HostOptions options;
  options.start_paused = true;
  options.records_only = true;
  options.compact_above = 0;
  Host host(*types, log_at(directory), options);
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

Task<int> command(const Registry* types, Words words) {
  const std::string what = words.take("command");
  if (what == "wal") co_return co_await wal_command(words);
  if (what == "task") co_return co_await task_command(types, words);
  if (what != "upgrade") throw Refused{"there is no command " + what};
  const bool only_look = words.option("--check");
  const std::string directory = words.take("directory");
  words.end();
  if (!only_look) throw Refused{"upgrade only checks, so say --check"};
  const UpgradeCheck check = co_await check_upgrade(*types, log_at(directory));
  print(check.text());
  co_return check.diverge == 0 ? 0 : 1;
}

Task<void> run_command(const Registry* types, Words words, int* status) {
  std::string refused;
  std::string failed;
  try {
    *status = co_await command(types, words);
  } catch (const Refused& refusal) {
    refused = shown(refusal.why);
  } catch (const std::exception& error) {
    failed = shown(error.what());
  }
  if (!refused.empty()) {
    std::fprintf(stderr, "tiffany: %s. `tiffany help` says what there is.\n", refused.c_str());
    *status = 2;
  }
  if (!failed.empty()) {
    std::fprintf(stderr, "tiffany: %s\n", failed.c_str());
    *status = 1;
  }
}

}  // namespace

int durable_main(int count, char** arguments, const Registry& types) {
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first.empty() || first == "help" || first == "--help" || first == "-h") {
    print(kHelp);
    return first.empty() ? 2 : 0;
  }
  int status = 1;
  const int ran = run(run_command(&types, Words(count, arguments), &status));
  return ran != 0 ? ran : status;
}

}  // namespace tiffany
