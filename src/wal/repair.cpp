#include "tiffany/wal/repair.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "tiffany/base/crc32c.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/record.hpp"
#include "wal/salvage.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kSegment = std::size_t{16} << 20;  // a new one is begun when one is longer

// A repair is made by people and in their time, whatever world the tasks have.
std::int64_t microseconds_now() { return os_world().wall_clock_us().value_or(0); }

std::unique_ptr<DiskLock> lock_log(Disk& disk, const std::string& directory) {
  std::string holder;
  const std::string about = "process " + std::to_string(os_world().process_id()) + " (a repair)\n";
  std::unique_ptr<DiskLock> lock = disk.lock(directory + "/lock", about, holder);
  if (lock != nullptr) return lock;
  throw Error(Errc::log_busy, "The log in " + directory + " is being written by " +
                                  (holder.empty() ? "another process" : holder) +
                                  ". Stop that process first: a log is repaired while nobody "
                                  "writes it.");
}

// The file that says where a journal begins may be what is damaged.
LogIndex scan_leniently(Disk& disk, const std::string& directory, Layout layout) {
  try {
    return scan(disk, directory, layout);
  } catch (const Error& e) {
    if (e.code() != Errc::log_damaged) throw;
    LogIndex index = scan(disk, directory, layout, true);
    index.damage.push_back(
        {directory + "/base", 0, 0, "the number of the first segment", e.what(), std::nullopt});
    return index;
  }
}

std::string quarantine_payload(const std::string& why) {
  std::string payload = R"("op":"quarantine","why":)";
  JsonWriter(payload).value(why.substr(0, 2000));
  return payload;
}

// The records of one task as lines of a file of its own.
std::string lines_of(const Uuid& id, const Salvage::OfTask& own, std::size_t& records) {
  std::string all;
  for (const auto& [seq, line] : own.lines) all += line;
  records += own.lines.size();
  if (own.why.empty()) return all;
  const std::uint64_t last = own.lines.empty() ? 0 : own.lines.rbegin()->first;
  const std::string text = id.text();
  const std::string payload = quarantine_payload(own.why);
  Entry entry{RecordType::Command, text, payload};
  entry.seq = last + 1;
  append_line(all, entry, text_of_time(microseconds_now()), 0, false);
  ++records;
  return all;
}

class JournalWriter {
 public:
  JournalWriter(Disk& disk, std::string directory, LogIndex& index)
      : disk_(disk), directory_(std::move(directory)), index_(index) {
    for (const Segment& segment : index.segments) {
      last_ = segment.number;
      size_ = segment.size;
    }
    for (const std::string& name : disk.list(directory_)) {
      last_ = std::max(last_, number_of_segment(name));
    }
    first_ = last_ + 1;
    if (const TaskLog* own = index.find(Uuid())) seq_ = own->last_seq;
    begin();
  }
  std::uint32_t first() const noexcept { return first_; }

  Task<void> add(std::string lines) {
    std::string_view rest = lines;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      bytes_ += reseeded(rest.substr(0, end), seed_of_segment(last_));
      rest.remove_prefix(end + 1);
      if (bytes_.size() < kSegment) continue;
      co_await write();
      begin();
    }
  }
  // Behind all that is there: until `base` says so, they only repeat it.
  Task<void> end() { co_await write(); }
  Task<void> switch_over() {
    co_await replace_file(&disk_, directory_, "base", base_text(first_));
    co_await replace_file(&disk_, directory_, "synced", mark_text(last_, size_));
  }

 private:
  void begin() {
    ++last_;
    const std::string nil = Uuid().text();
    const std::string payload = "\"epoch\":" + std::to_string(index_.epoch + 1) +
                                ",\"pid\":" + std::to_string(os_world().process_id()) +
                                ",\"segment\":" + std::to_string(last_) +
                                ",\"after\":" + std::to_string(size_);
    Entry entry{RecordType::Owner, nil, payload};
    entry.seq = ++seq_;
    bytes_.clear();
    append_line(bytes_, entry, text_of_time(microseconds_now()), 0, true);
  }
  Task<void> write() {
    size_ = bytes_.size();
    std::string bytes = std::exchange(bytes_, std::string());
    co_await replace_file(&disk_, directory_, segment_name(last_), std::move(bytes));
  }

  Disk& disk_;
  std::string directory_;
  LogIndex& index_;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t seq_ = 0;
  std::string bytes_;
};

// Old segments that count no more, or files of tasks that are about to be written anew.
Task<void> put_aside(Disk* disk, std::string directory, std::string aside, std::string name) {
  if (!disk->exists(directory + "/" + name)) co_return;
  co_await disk->rename(directory + "/" + name, aside + "/" + name);
}

Task<void> repair_journal(Disk* disk, std::string directory, LogIndex* index, Salvage* salvage,
                          RepairReport* report) {
  JournalWriter writer(*disk, directory, *index);
  for (const Uuid& id : salvage->order) {
    std::string lines = lines_of(id, salvage->tasks.at(id), report->records);
    co_await writer.add(std::move(lines));
  }
  co_await writer.end();
  co_await replace_file(disk, directory, report->path, report->text());
  co_await writer.switch_over();
  for (const std::string& name : disk->list(directory)) {
    const std::string segment = name.substr(0, name.find(".aside"));
    const std::uint32_t number = number_of_segment(segment);
    if (number != 0 && (number < writer.first() || name != segment)) {
      co_await put_aside(disk, directory, report->aside, name);
    }
  }
}

Task<void> repair_files(Disk* disk, std::string directory, LogIndex* index, Salvage* salvage,
                        RepairReport* report) {
  std::vector<std::pair<std::string, std::string>> files;
  std::unordered_set<Uuid, UuidHash> hurt;
  for (const Damage& damage : index->damage) {
    if (damage.task) hurt.insert(*damage.task);
  }
  for (const Uuid& id : salvage->order) {
    const Salvage::OfTask& own = salvage->tasks.at(id);
    std::string lines = lines_of(id, own, report->records);
    if (!own.why.empty() || hurt.contains(id)) {
      files.emplace_back(id.text() + ".wal", std::move(lines));
    }
  }
  if (hurt.contains(Uuid())) {  // the log's own: who owned it
    const std::string nil = Uuid().text();
    const std::string payload = "\"epoch\":" + std::to_string(index->epoch + 1) +
                                ",\"pid\":" + std::to_string(os_world().process_id());
    Entry entry{RecordType::Owner, nil, payload};
    const TaskLog* const log = index->find(Uuid());
    entry.seq = (log == nullptr ? 0 : log->last_seq) + 1;
    std::string line;
    append_line(line, entry, text_of_time(microseconds_now()), 0, true);
    files.emplace_back(nil + ".wal", std::move(line));
  }
  co_await replace_file(disk, directory, report->path, report->text());
  // Without it no file is expected to be longer than it is; the next owner begins it anew.
  co_await put_aside(disk, directory, report->aside, "sizes");
  for (auto& [name, bytes] : files) {
    if (disk->exists(directory + "/" + name)) {
      std::string before(disk->read(directory + "/" + name)->bytes());
      co_await replace_file(disk, report->aside, name, std::move(before));
    }
    std::string now = std::move(bytes);
    co_await replace_file(disk, directory, name, std::move(now));
  }
}

// Which segment a file was, by its first line; zero when that tells nothing.
std::uint32_t segment_in(Disk& disk, const std::string& path) {
  constexpr std::string_view kMember = "\"segment\":";
  std::string begin;
  try {
    begin = disk.read_part(path, 0, std::size_t{64} << 10);
  } catch (const Error&) {
    return 0;  // it cannot be read: what is in it is damaged, whatever its name
  }
  RecordView view;
  const std::string_view line = std::string_view(begin).substr(0, begin.find('\n'));
  if (read_line(line, 0, view) != LineFault::none || view.type != RecordType::Owner) return 0;
  const std::size_t at = view.payload.find(kMember);
  if (at == std::string_view::npos) return 0;
  std::uint32_t number = 0;
  const std::string_view rest = view.payload.substr(at + kMember.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number;
}

// Segments whose names were changed get them back: their first lines say which they are. A crash on
// the way leaves files that end with `.restored`, which the next repair finishes with.
Task<void> restore_names(Disk* disk, std::string directory, std::uint32_t base) {
  const std::string suffix = ".restored";
  std::map<std::uint32_t, std::string> right;  // by their numbers: the names that they have
  std::map<std::uint32_t, std::string> wrong;
  for (const std::string& name : disk->list(directory)) {
    const bool begun = name.ends_with(suffix);
    const std::uint32_t number =
        number_of_segment(begun ? name.substr(0, name.size() - suffix.size()) : name);
    if (number == 0) continue;
    const std::uint32_t inside = segment_in(*disk, directory + "/" + name);
    if (inside == number && !begun) right[number] = name;
    if ((inside != number || begun) && inside >= std::max<std::uint32_t>(base, 1)) {
      wrong.emplace(inside, name);
    }
  }
  std::erase_if(wrong, [&](const auto& file) { return right.contains(file.first); });
  if (wrong.empty()) co_return;
  for (const auto& [number, name] : wrong) {
    const std::string to = segment_name(number) + suffix;
    if (name != to) co_await disk->rename(directory + "/" + name, directory + "/" + to);
  }
  for (const auto& [number, name] : wrong) {
    const std::string to = directory + "/" + segment_name(number);
    if (disk->exists(to)) co_await disk->rename(to, to + ".aside");
    co_await disk->rename(to + suffix, to);
  }
  co_await disk->sync_directory(directory);
}

std::string free_name(Disk& disk, const std::string& directory) {
  for (int number = 1;; ++number) {
    std::string name = "repair-" + std::to_string(number);
    if (!disk.exists(directory + "/" + name + ".txt") && !disk.exists(directory + "/" + name)) {
      return name;
    }
  }
}

}  // namespace

std::string RepairReport::text() const {
  if (damage.empty()) return "Nothing is damaged; nothing was changed.\n";
  std::string text = "Repair of a log, " + text_of_time(microseconds_now()) + "\n\n" +
                     std::to_string(damage.size()) + " damaged places:\n";
  for (const Damage& each : damage) text += "  " + each.text() + "\n";
  text += "\n" + std::to_string(records) + " records are in the log now";
  if (mended > 0) text += ", " + std::to_string(mended) + " of them with one bit mended";
  text += ".\n\n" + std::to_string(quarantined.size()) +
          " tasks may have lost records. They are quarantined: `task show` prints what is left of "
          "one, `task kill` ends it. Those that had ended keep their end, and cannot be retried or "
          "forked.\n";
  for (const auto& [id, why] : quarantined) text += "  " + id.text() + ": " + why + "\n";
  text += unnamed ? "\nThe damage may have held all records of tasks that are not named here. The "
                    "log knows nothing of those any more: a start with such an id runs the task "
                    "from its beginning.\n"
                  : "\nEvery task that the damage can have hurt is named above.\n";
  text += "\nThe files as they were are in " + aside + ".\n";
  return text;
}

Task<RepairReport> repair(Disk& disk, std::string directory, Layout layout) {
  const std::unique_ptr<DiskLock> lock = lock_log(disk, directory);
  LogIndex index = scan_leniently(disk, directory, layout);
  RepairReport report;
  report.damage = index.damage;
  if (index.damage.empty()) co_return report;
  if (layout == Layout::journal) {
    co_await restore_names(&disk, directory, index.base);
    index = scan_leniently(disk, directory, layout);
  }
  Salvage salvage(disk, directory, index);
  salvage.collect();
  report.mended = salvage.mended;
  report.unnamed = salvage.unnamed();
  for (const Uuid& id : salvage.order) {
    const Salvage::OfTask& own = salvage.tasks.at(id);
    if (!own.why.empty()) report.quarantined.emplace_back(id, own.why);
  }
  const std::string name = free_name(disk, directory);
  report.path = name + ".txt";
  report.aside = directory + "/" + name;
  disk.make_directory(report.aside);
  if (index.damage.empty()) {  // the names were all that was wrong
    report.records = index.records;
    co_await replace_file(&disk, directory, report.path, report.text());
  } else if (layout == Layout::journal) {
    co_await repair_journal(&disk, directory, &index, &salvage, &report);
  } else {
    co_await repair_files(&disk, directory, &index, &salvage, &report);
  }
  co_await disk.sync_directory(report.aside);
  co_await disk.sync_directory(directory);
  report.path = directory + "/" + report.path;
  co_return report;
}

Task<std::vector<Damage>> accept_loss(Disk& disk, std::string directory, Layout layout,
                                      std::string why) {
  const std::unique_ptr<DiskLock> lock = lock_log(disk, directory);
  const LogIndex index = scan(disk, directory, layout);
  if (index.damage.empty()) co_return index.damage;
  std::string text;
  if (disk.exists(directory + "/accepted")) {
    text = disk.read(directory + "/accepted")->bytes();
  }
  std::replace(why.begin(), why.end(), '\n', ' ');
  text += text_of_time(microseconds_now()) + ": " + why + "\n";
  for (const Damage& damage : index.damage) {
    if (!damage.accepted) text += damage.text() + accepted_line(damage);
  }
  co_await replace_file(&disk, directory, "accepted", std::move(text));
  co_return index.damage;
}

}  // namespace tiffany::wal
