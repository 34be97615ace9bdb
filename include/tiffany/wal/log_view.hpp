// Reads a log beside the process that writes it: for tools and reports. Takes no lock and changes
// nothing.
//
//   wal::LogView log(disk, "wal", wal::Layout::journal);
//   for (const Uuid& task : log.tasks()) print(log.lines(task));
//
// The writer may compact the log meanwhile. Then the log is read anew, and a task that has left for
// the archive is read there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany::wal {

class LogView {
 public:
  LogView(Disk& disk, std::string directory, Layout layout);

  // As last read.
  const LogIndex& index() const noexcept { return index_; }
  LogIndex take_index() && noexcept { return std::move(index_); }
  // Those in the log and, with `archived`, those that only the archive has.
  std::vector<Uuid> tasks(bool archived = false) const;
  bool has(const Uuid& task) const;
  // The records of a task, as lines of a file of that task. Errc::unknown_durable when there is no
  // such task, Errc::log_damaged when they cannot be read.
  std::vector<std::string> lines(const Uuid& task);
  // Closes the files that were read for that.
  void forget() noexcept { reader_.forget(); }

 private:
  std::vector<std::string> archived_lines(const Uuid& task) const;
  std::string archive_path(const Uuid& task) const;

  Disk& disk_;
  std::string directory_;
  Layout layout_;
  std::string
      mark_;  // as it was before the log was read: another one says that the log has to be read
              // anew
  LogIndex index_;
  LineReader reader_;
};

}  // namespace tiffany::wal
