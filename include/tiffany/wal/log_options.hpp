// Which store the records of a host are in, and how it is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tiffany/engine/task.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany {
class Pressure;
}

namespace tiffany::wal {

enum class Layout : std::uint8_t {
  journal,  // segments that all tasks share: <number>.journal
  files,    // a file for each task: <uuid>.wal
};

class LogOptions {
 public:
  explicit LogOptions(std::string where = "wal") : directory(std::move(where)) {}

  std::string directory;
  Layout layout = Layout::journal;
  // Of the journal: how large its segments become. An owner begins with a small one, and each is
  // four times as large as the one before. At least 4 KiB; a record that is longer than a segment
  // makes its segment longer.
  std::size_t segment_size = std::size_t{16} << 20;
  // Whoever wants to append more than this without any of it being synced has to wait.
  std::size_t most_queued = std::size_t{1} << 20;
  // Back-pressure: the bytes that are appended and not synced yet are added to this gate
  // (io/pressure.hpp), so that a slow disk holds the reads and accepts of descriptors that are
  // tagged with it, and tasks in `co_await gate.pass()`. Other tasks go on. Null: none. The gate
  // outlives the log, and is of the same scheduler. Of a store of one's own (`provider`): nothing
  // is added.
  Pressure* pressure = nullptr;
  std::shared_ptr<Disk> disk{};  // default: system_disk()
  // Time of the first moment of the scheduler's clock, in microseconds since 1970. Default: by the
  // clock of the system; under a virtual clock, the time of the youngest record.
  std::int64_t epoch_time = -1;
  std::int64_t process = -1;  // what the log says of its owner. Default: the number of this process
  std::shared_ptr<StoreProvider> provider{};  // default: the files of `directory`
  // What the values of tasks pass: encryption, compression. Default: they are recorded as they are.
  std::shared_ptr<const PayloadCodec> codec{};
};

// The store of a host: that of `options.provider`, or the log in `options.directory`, which is
// locked and read.
Task<std::shared_ptr<RecordStore>> claim_store(LogOptions options);
// The same to read only, beside the process that writes it.
std::shared_ptr<RecordStore> look_at_store(LogOptions options);

}  // namespace tiffany::wal
