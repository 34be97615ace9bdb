// A disk in memory, for tests of what lies in a log when a process dies: bytes that were not synced
// then are lost, and what the dead process still tries has no effect and never returns, until
// another has taken the lock. Nothing takes time, but everything lets other tasks run first. Files
// that were made, renamed or removed stay so, and no write is torn: for these there are other
// tests.
//
//   auto disk = std::make_shared<wal::MemoryDisk>();
//   wal::LogOptions options("wal");
//   options.disk = disk;
//
// For durable tasks there is more: tiffany/durable/crash_test.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {

class MemoryDisk final : public Disk {
 public:
  MemoryDisk();
  ~MemoryDisk() override;
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  // The process is gone. The next one is there when it has the lock.
  void crash();
  // From now on nothing can be synced, until it is mended.
  void fail() noexcept;
  void mend() noexcept;
  // Files have so many bytes in all at most. A write that needs more finds the disk full.
  void limit(std::uint64_t bytes) noexcept;
  std::uint64_t used() const noexcept;
  // The lock file is removed under its owner: another can take it.
  void remove_lock() noexcept;
  // Changes what is in the files, as no process would.
  void edit_each(const std::function<void(const std::string& path, std::string& bytes)>& edit);

  std::vector<std::string> list(const std::string& directory) override;
  void make_directory(const std::string& path) override;
  std::unique_ptr<DiskFile> open(const std::string& path) override;
  std::unique_ptr<DiskContent> read(const std::string& path) override;
  bool exists(const std::string& path) override;
  Task<void> rename(std::string from, std::string to) override;
  Task<void> remove(std::string path) override;
  Task<void> shorten(std::string path, std::uint64_t size) override;
  Task<void> sync_directory(std::string path) override;
  std::unique_ptr<DiskLock> lock(const std::string& path, const std::string& about,
                                 std::string& holder) override;

 private:
  Task<void> live();

  struct Bytes;
  struct Power;
  class File;
  class Content;
  class Lock;

  std::map<std::string, std::shared_ptr<Bytes>> files_;
  std::shared_ptr<Power> power_;
  std::weak_ptr<int> lock_;
};

}  // namespace tiffany::wal
