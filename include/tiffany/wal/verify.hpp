// Everything that can be checked of a log without the code of its tasks: each line, each segment,
// each file of the archive, each value that lies beside the log. Changes nothing, and runs beside a
// writer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany::wal {

struct Verification {
  LogIndex index;
  std::size_t values = 0;    // that records name
  std::size_t archived = 0;  // tasks that only the archive has
  std::vector<std::string>
      faults;  // a sentence for each; none: everything that was written is there

  bool sound() const noexcept { return faults.empty(); }
};

// Errc::not_a_log when the directory holds no log.
Verification verify(Disk& disk, const std::string& directory);

}  // namespace tiffany::wal
