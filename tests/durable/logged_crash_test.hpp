// A CrashTest that also shows what is in the log.
#pragma once

#include <string>
#include <vector>

#include "durable/stores.hpp"
#include "tiffany/durable/crash_test.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany {

using wal::MemoryDisk;

class LoggedCrashTest : public CrashTest {
 public:
  explicit LoggedCrashTest(wal::Layout how = wal::Layout::journal) : CrashTest({}, how) {}

  // What the log says of one task, and of all.
  std::vector<std::string> lines(const Uuid& id) const {
    if (provider != nullptr) return database_lines(disk, id);
    const wal::LogIndex index = wal::scan(*disk, "wal", layout);
    const wal::TaskLog* const task = index.find(id);
    if (task == nullptr) return {};
    return wal::LineReader(*disk, "wal").read_all(*task);
  }

  template <class F>
  void each_line(F visit) const {
    const wal::LogIndex index = wal::scan(*disk, "wal", layout);
    for (const auto& task : index.tasks) {
      if (task->id.nil()) continue;  // of the log itself
      for (const std::string& line : wal::LineReader(*disk, "wal").read_all(*task)) {
        visit(task->id, line);
      }
    }
  }
};

}  // namespace tiffany
