// A disk in memory that behaves as badly as a real one may, for tests of what lies in a log after a
// power failure. MemoryDisk is simpler, and loses what was not synced as a whole; for tests of
// durable tasks there is CrashTest::tear_everywhere (durable/crash_test.hpp), which uses this.
//
//   auto disk = std::make_shared<wal::FaultDisk>();
//   ...                                             // write a log
//   disk = disk->reboot(wal::Reboot::seeded(7));    // what the next process finds
//
// What is written to a file is in a cache until the file is synced; what is created, renamed or
// removed is in a cache until the directory is. The world can be stopped before or after any
// operation: from then on every operation throws WorldEnded. reboot() is then the disk that the
// next process finds. Synced data is there, always. What was not synced is there, or is not, or is
// torn: at any byte, or page by page in any order. Where nothing arrived a file reads as zeros.
// note() is a write that nobody syncs.
//
// An operation can also fail: a write for lack of space, of nothing or in the middle; a sync with
// EIO, after which the data are still read, and no later sync saves them.
//
// The operations are those that change something: open (of a file that is not there), write, sync,
// note, rename, remove, sync_directory. Each awaited one gives way first, so that others append
// meanwhile. make_directory is on the disk when it returns, as its contract says.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {

// What operations of a FaultDisk throw that was stopped.
class WorldEnded final : public std::exception {
 public:
  const char* what() const noexcept override { return "The world has ended."; }
};

// What a reboot does with what was not synced.
class Reboot {
 public:
  // Nothing of it is there: the power went.
  static Reboot lost() { return Reboot(Kind::lost, 0); }
  // All of it is there, and still in the cache: the process was killed, and the system lives on.
  static Reboot kept() { return Reboot(Kind::kept, 0); }
  // All names; of the data the first so many bytes, in the order in which they were written.
  static Reboot torn_at(std::uint64_t bytes) { return Reboot(Kind::torn, bytes); }
  // By chance, for each name and each file.
  static Reboot seeded(std::uint64_t seed) { return Reboot(Kind::seeded, seed); }

  enum class Kind : std::uint8_t { lost, kept, torn, seeded };
  Kind kind;
  std::uint64_t number;

 private:
  Reboot(Kind what, std::uint64_t of) : kind(what), number(of) {}
};

class FaultDisk final : public Disk {
 public:
  static constexpr std::uint64_t kPage = 512;  // what a disk writes whole, or not at all

  FaultDisk();
  explicit FaultDisk(const std::map<std::string, std::string>& contents);
  ~FaultDisk() override;
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  // ---- Faults ----

  // Operations are counted from zero. Half of a point is the operation, the other half is before or
  // after.
  void stop_before(std::size_t operation) { stop_ = 2 * operation; }
  void stop_after(std::size_t operation) { stop_ = 2 * operation + 1; }
  bool ended() const noexcept { return ended_; }
  std::size_t operations() const noexcept { return did_.size(); }
  // What they were: "sync wal/00000001.journal".
  const std::vector<std::string>& did() const noexcept { return did_; }

  // That operation fails. A write does nothing, or half of it when `halfway`; a sync loses what it
  // should save.
  void fail(std::size_t operation, bool halfway = false) {
    fail_ = operation;
    halfway_ = halfway;
  }
  bool locks = true;  // some disks have none
  // Something that is no regular file has that name.
  void make_fifo(const std::string& path);
  // The block of 4 KiB around that byte cannot be read any more.
  void make_unreadable(const std::string& path, std::uint64_t at) {
    unreadable_[path] = at / 4096 * 4096;
  }
  // Somebody removes the lock file under its owner.
  void remove_lock(const std::string& path) { held_.erase(path); }
  std::size_t most_open = 0;  // how many files were open at a time

  // ---- What is there ----

  std::map<std::string, std::string> contents() const;
  void put(const std::string& path, std::string bytes);
  std::string& bytes_of(const std::string& path);
  // How many bytes of data are not synced.
  std::uint64_t unsynced() const;

  // The disk that the next process finds.
  std::shared_ptr<FaultDisk> reboot(const Reboot& how) const;

  // ---- Disk ----

  std::vector<std::string> list(const std::string& directory) override;
  void make_directory(const std::string&) override {}
  std::unique_ptr<DiskFile> open(const std::string& path) override;
  std::unique_ptr<DiskContent> read(const std::string& path) override;
  bool exists(const std::string& path) override { return names_.contains(path); }
  Task<void> rename(std::string from, std::string to) override;
  Task<void> remove(std::string path) override;
  Task<void> sync_directory(std::string path) override;
  std::unique_ptr<DiskLock> lock(const std::string& path, const std::string& about,
                                 std::string& holder) override;

 private:
  struct Write;
  struct Node;
  struct Change;
  class Handle;
  class Content;
  class Lock;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  struct Held {
    std::string about;
    std::size_t owner = 0;
  };

  std::shared_ptr<FaultDisk> next_process() const;
  void require_file(const std::string& path) const;
  // True when the operation is to fail.
  bool begin(std::string what);
  void end();
  [[noreturn]] void end_world();
  void change(std::string what, Change change);

  Names names_;
  Names synced_names_;
  std::vector<Change> cache_;
  std::map<std::string, Held> held_;
  std::size_t owners_ = 0;
  std::set<std::string> fifos_;
  std::map<std::string, std::uint64_t> unreadable_;
  std::vector<std::string> did_;
  std::optional<std::size_t> stop_;
  std::optional<std::size_t> fail_;
  bool halfway_ = false;
  std::size_t open_ = 0;
  bool ended_ = false;
};

}  // namespace tiffany::wal
