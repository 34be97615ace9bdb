#include "tiffany/wal/memory_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "tiffany/core/sleep.hpp"
#include "tiffany/detail/world/memory_bytes.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::wal {

struct MemoryDisk::Bytes : world::MemoryBytes {};

struct MemoryDisk::Power {
  int life = 0;  // how many processes there were before
  bool on = true;
  bool failing = false;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::function<std::uint64_t()> used;
  ManualResetEvent never;  // for those who are dead
};

class MemoryDisk::File final : public DiskFile {
 public:
  File(std::shared_ptr<Bytes> file, std::shared_ptr<Power> power) noexcept
      : file_(std::move(file)), power_(std::move(power)), born_(power_->life) {}

  Task<void> write(std::uint64_t at, std::string_view text) override {
    if (alive()) {
      const std::size_t end = std::max<std::size_t>(file_->size(), at + text.size());
      if (end > file_->size() && power_->used() + (end - file_->size()) > power_->limit) {
        throw IoError(ENOSPC, "write to", "a file of a disk in memory");
      }
      file_->write(at, text);
    }
    co_await yield();
    if (!alive()) co_await power_->never.wait();
  }
  Task<void> sync() override {
    co_await yield();
    if (power_->failing) throw IoError(EIO, "sync", "a file of a disk in memory");
    if (!alive()) co_await power_->never.wait();
    file_->sync();
  }
  void note(std::uint64_t at, std::string_view text) noexcept override {
    if (alive()) file_->write_kept(at, text);
  }

 private:
  bool alive() const noexcept { return power_->on && power_->life == born_; }

  std::shared_ptr<Bytes> file_;
  std::shared_ptr<Power> power_;
  int born_;
};

// Not a copy: what is read back is not written any more, and most of a segment is zeros.
class MemoryDisk::Content final : public DiskContent {
 public:
  explicit Content(std::shared_ptr<Bytes> file) noexcept : file_(std::move(file)) {}
  std::string_view bytes() const noexcept override { return file_->all(); }

 private:
  std::shared_ptr<Bytes> file_;
};

class MemoryDisk::Lock final : public DiskLock {
 public:
  explicit Lock(MemoryDisk& disk) noexcept : disk_(disk) { disk_.lock_ = own_; }
  bool held() noexcept override { return disk_.lock_.lock() == own_; }

 private:
  MemoryDisk& disk_;
  std::shared_ptr<int> own_ = std::make_shared<int>(0);
};

MemoryDisk::MemoryDisk() : power_(std::make_shared<Power>()) {
  power_->used = [this] { return used(); };
}
MemoryDisk::~MemoryDisk() {
  power_->used = [] { return std::uint64_t{0}; };
}

void MemoryDisk::crash() {
  power_->on = false;
  for (auto& [path, file] : files_) file->lose_unsynced();
}
void MemoryDisk::fail() noexcept { power_->failing = true; }
void MemoryDisk::mend() noexcept { power_->failing = false; }
void MemoryDisk::remove_lock() noexcept { lock_.reset(); }

void MemoryDisk::limit(std::uint64_t bytes) noexcept { power_->limit = bytes; }
std::uint64_t MemoryDisk::used() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [path, file] : files_) bytes += file->size();
  return bytes;
}

void MemoryDisk::edit_each(
    const std::function<void(const std::string& path, std::string& bytes)>& edit) {
  for (auto& [path, file] : files_) {
    file->edit([&](std::string& bytes) { edit(path, bytes); });
  }
}

std::vector<std::string> MemoryDisk::list(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& [path, file] : files_) {
    if (path.starts_with(directory + "/")) names.push_back(path.substr(directory.size() + 1));
  }
  return names;
}
void MemoryDisk::make_directory(const std::string&) {}

std::unique_ptr<DiskFile> MemoryDisk::open(const std::string& path) {
  if (!power_->on) return std::make_unique<File>(std::make_shared<Bytes>(), power_);
  std::shared_ptr<Bytes>& file = files_[path];
  if (file == nullptr) file = std::make_shared<Bytes>();
  return std::make_unique<File>(file, power_);
}
std::unique_ptr<DiskContent> MemoryDisk::read(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) throw IoError(ENOENT, "open", path);
  return std::make_unique<Content>(found->second);
}
bool MemoryDisk::exists(const std::string& path) { return files_.contains(path); }

// What is not a write is over at once, or never.
Task<void> MemoryDisk::live() {
  co_await yield();
  if (!power_->on) co_await power_->never.wait();
}

Task<void> MemoryDisk::rename(std::string from, std::string to) {
  co_await live();
  const auto found = files_.find(from);
  if (found == files_.end()) throw IoError(ENOENT, "rename", from);
  std::shared_ptr<Bytes> file = std::move(found->second);
  files_.erase(found);
  files_[to] = std::move(file);
}
Task<void> MemoryDisk::remove(std::string path) {
  co_await live();
  files_.erase(path);
}
Task<void> MemoryDisk::shorten(std::string path, std::uint64_t size) {
  co_await live();
  const auto found = files_.find(path);
  if (found == files_.end()) throw IoError(ENOENT, "shorten", path);
  found->second->shorten(size);
}
Task<void> MemoryDisk::sync_directory(std::string) { co_await live(); }

std::unique_ptr<DiskLock> MemoryDisk::lock(const std::string&, const std::string&, std::string&) {
  if (!lock_.expired()) return nullptr;
  auto held = std::make_unique<Lock>(*this);
  if (!std::exchange(power_->on, true)) ++power_->life;
  return held;
}

}  // namespace tiffany::wal
