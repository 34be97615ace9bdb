#include "tiffany/wal/scan.hpp"

#include <exception>

#include "tiffany/base/error.hpp"
#include "wal/log_reader.hpp"
#include "wal/side_files.hpp"

namespace tiffany::wal {

std::string compaction_mark(Disk& disk, const std::string& directory) {
  const std::string path = directory + "/base";
  return disk.exists(path) ? std::string(disk.read(path)->bytes()) : std::string();
}

LogIndex scan_beside_writer(Disk& disk, const std::string& directory, Layout layout) {
  // Each try has to be overtaken by a compaction, or by the writer in the middle of a line, to be
  // of no use.
  constexpr int kMostTries = 20;
  std::string last;  // what was wrong the last time
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::string wrong;
    std::exception_ptr thrown;
    try {
      const std::string before = compaction_mark(disk, directory);
      LogIndex index = scan(disk, directory, layout);
      if (compaction_mark(disk, directory) != before) continue;
      for (const Damage& damage : index.damage) wrong += damage.text() + "\n";
      // Real damage is the same the next time.
      if (wrong == last) return index;
      if (wrong.empty()) return index;
    } catch (const Error& error) {
      if (error.code() == Errc::log_layout) throw;
      wrong = error.what();
      thrown = std::current_exception();
    }
    if (thrown != nullptr && wrong == last) std::rethrow_exception(thrown);
    last = std::move(wrong);
  }
  throw Error(Errc::log_busy, "The log in " + directory + " changed each of the " +
                                  std::to_string(kMostTries) +
                                  " times that it was read, because another process writes it. "
                                  "Try again.");
}

LogIndex scan(Disk& disk, const std::string& directory, Layout layout, bool without_base) {
  require_layout(disk, directory, layout);
  LogIndex index;
  LogReader reader(disk, directory, index);
  layout == Layout::journal ? reader.read_journal(without_base) : reader.read_files();
  reader.quarantine();
  reader.read_accepted();
  // Most tasks of a large log wait for long: the room for records to come is taken when they come.
  for (const auto& task : index.tasks) task->records.shrink_to_fit();
  return index;
}

}  // namespace tiffany::wal
