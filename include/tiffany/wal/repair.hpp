// What to do with a log that is damaged: repair it, or accept what is lost.
//
//   const RepairReport report = co_await repair(*system_disk(), "wal", Layout::journal);
//   std::puts(report.text().c_str());
//
// While a log has damage that may have hurt tasks which nobody can name, an id that the log does
// not know cannot be started (Errc::log_uncertain): the task may have run. Both ways out are
// decisions of a person, and are kept in the directory.
//
// Both lock the log: no process may have it open.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany::wal {

struct RepairReport {
  std::string path;   // the file that holds text(); empty when nothing was damaged
  std::string aside;  // the directory that holds the files as they were
  std::vector<Damage> damage;
  std::size_t records = 0;  // that are in the log now
  std::size_t mended = 0;   // of these, lines of which one bit was wrong
  // Tasks that may have lost records, and why: they are quarantined. Those that had ended keep
  // their end, and cannot be retried or forked.
  std::vector<std::pair<Uuid, std::string>> quarantined;
  // Some damage may have hurt tasks that cannot be named: what those did is forgotten, and their
  // ids can be used again.
  bool unnamed = false;
  std::string text() const;
};

// Writes every good record once more, marks the tasks that may have lost some, and puts the damaged
// files aside, into a directory beside them. The report is on the disk before the log changes. A
// crash on the way leaves a log that is damaged as before, or repaired. Errc::log_busy when a
// process has the log open. Nothing is done when nothing is damaged.
Task<RepairReport> repair(Disk& disk, std::string directory, Layout layout);

// Notes in the file `accepted` that whatever was at the damaged places is given up, with the
// reason: ids that the log does not know can be started again. The log stays as it is, and so do
// its quarantined tasks. Damage that comes later is not accepted by that. Gives the places.
Task<std::vector<Damage>> accept_loss(Disk& disk, std::string directory, Layout layout,
                                      std::string why);

}  // namespace tiffany::wal
