// Compaction: tasks that have ended leave the log for the archive. Those that have not are written
// again behind all others, so that what is before them can go.
#pragma once

#include <cstdint>
#include <vector>

#include "durable/hosted_task.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany {

class Compactor {
 public:
  explicit Compactor(HostCore& host) noexcept : host_(host) {}
  Task<Compaction> compact(Retention keep);
  // Nothing leaves the log while it is copied.
  Task<wal::BackupReport> backup(std::string directory);
  // Compacts the log when HostOptions say that it is worth it.
  void consider();

  Mutex alone;  // held by whoever opens, compacts or closes the log

 private:
  using Copied = wal::RecordStore::Copied;
  Task<void> by_itself();
  Task<Compaction> compact_now(Retention keep, bool only_completed);
  Task<std::vector<Copied>> archive_ended(bool drop, bool only_completed);
  std::vector<Uuid> take_archived(const std::vector<Copied>& copied);
  Task<void> keep_only(Retention keep, Compaction* done);
  bool may_archive(const HostedTask& entry) const noexcept;

  HostCore& host_;
  bool under_way_ = false;        // by itself
  std::uint64_t look_again_ = 0;  // with so many bytes compaction is considered next
};

}  // namespace tiffany
