#include "tiffany/wal/backup.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tiffany/base/error.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{16} << 20;  // bytes in memory

// Nothing else that lies there belongs to the log: the lock, room that is kept free, what a repair
// has put aside, what is being written.
bool is_mark(const std::string& name) noexcept {
  return name == "synced" || name == "base" || name == "sizes" || name == "accepted";
}
bool holds_records(const std::string& name) noexcept {
  return name.ends_with(".journal") || name.ends_with(".wal");
}

class LogCopy {
 public:
  LogCopy(Disk& disk, std::string from, std::string to)
      : disk_(disk), from_(std::move(from)), to_(std::move(to)) {}

  Task<void> directory(std::string below, std::vector<std::string> names) {
    const std::string to = to_ + below;
    disk_.make_directory(to);
    std::vector<WholeFile> files;
    std::size_t size = 0;
    for (std::string& name : names) {
      const auto content = disk_.read(from_ + below + "/" + name);
      if (!content->unreadable().empty()) {
        throw Error(Errc::log_damaged, from_ + below + "/" + name +
                                           " cannot be read: " + content->unreadable().front().why);
      }
      files.push_back({std::move(name), std::string(content->bytes())});
      size += files.back().bytes.size();
      ++report.files;
      report.bytes += files.back().bytes.size();
      if (size < kMostAtOnce) continue;
      co_await disk_.write_files(to, std::exchange(files, {}));
      size = 0;
    }
    if (!files.empty()) co_await disk_.write_files(to, std::move(files));
  }

  BackupReport report;

 private:
  Disk& disk_;
  std::string from_;
  std::string to_;
};

}  // namespace

// The order is what makes it a copy. Marks of how far the log is synced come first: they must not
// promise more than the records that are copied after them. Values and the archive come last: a
// record is written after the value that it names, and leaves the log after it came to the archive.
Task<BackupReport> copy_log(Disk* disk, std::string from, std::string to) {
  if (!disk->list(to).empty()) {
    throw Error(Errc::bad_argument, "A log is copied into an empty directory, and " + to +
                                        " has files already. Choose another.");
  }
  std::vector<std::string> marks;
  std::vector<std::string> records;
  std::vector<std::string> last;
  for (std::string& name : disk->list(from)) {
    if (is_mark(name)) {
      marks.push_back(std::move(name));
    } else if (holds_records(name)) {
      records.push_back(std::move(name));
    } else if (name == "retired.ids") {
      last.push_back(std::move(name));
    }
  }
  LogCopy copy(*disk, from, to);
  co_await copy.directory("", std::move(marks));
  co_await copy.directory("", std::move(records));
  for (const char* const below : {"/values", "/archive"}) {
    std::vector<std::string> names = disk->list(from + below);
    std::erase_if(names, [](const std::string& name) { return name.ends_with(".new"); });
    if (!names.empty()) co_await copy.directory(below, std::move(names));
  }
  co_await copy.directory("", std::move(last));
  co_await disk->sync_directory(to);
  co_return copy.report;
}

}  // namespace tiffany::wal
