// A copy of a log while it is written to.
//
//   const BackupReport report = co_await copy_log(&disk, "wal", "/backup/2026-11-17");
//
// Everything that was on the disk when the call began is in the copy, and nothing is in it in part:
// what was appended meanwhile is there, or is cut off as an unfinished write when the copy is
// opened. The copy is a log of its own: opening it, in its place or in another, is restoring it.
//
// Nobody may remove files of the log meanwhile: Host::backup sees to that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/engine/task.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {

struct BackupReport {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

// `to` is made, and must be empty: Errc::bad_argument otherwise. When the call returns, the copy is
// on the disk. Cancel: what is there by then is no copy; remove it. A crash: the same.
Task<BackupReport> copy_log(Disk* disk, std::string from, std::string to);

}  // namespace tiffany::wal
