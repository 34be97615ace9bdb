// wal: commands that read and mend a log, whatever tasks are in it.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "app/commands.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/log_view.hpp"
#include "tiffany/wal/repair.hpp"
#include "tiffany/wal/scan.hpp"
#include "tiffany/wal/values.hpp"
#include "tiffany/wal/verify.hpp"

namespace tiffany::app {
namespace {

bool same_file(const std::string& one, const std::string& other) {
  struct stat a{};
  struct stat b{};
  WorldFiles& files = os_world().files();
  return files.status(one.c_str(), a) == 0 && files.status(other.c_str(), b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

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
  constexpr int kDamaged = 12;  // as of the commands on a daemon
  return found.sound() ? 0 : kDamaged;
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
  for (std::size_t i = from; i < lines.size(); ++i) {
    print(wal::decoded_line(options.codec.get(), std::get<2>(lines[i])));
  }
  return 0;
}

// Of a log that no process has open.
Task<int> compact(std::string directory, Retention keep) {
  const Registry none;
  Host host(none, log_at(directory), records_only());
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

}  // namespace

Task<int> wal_command(Words words) {
  const std::string verb = words.take("command after wal");
  const bool dry = words.option("--dry-run");
  const std::string to = words.option_value("--to");
  Retention keep;
  keep.bytes = words.option_number("--keep-bytes");
  if (const auto days = words.option_number("--keep-days")) {
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

}  // namespace tiffany::app
