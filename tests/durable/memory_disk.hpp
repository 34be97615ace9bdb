// A disk in memory, for logs of processes that die: what was not synced when one dies is lost, and what it does
// afterwards has no effect. Nothing takes time, but everything lets others run first.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/tiffany.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany {

class MemoryDisk final : public wal::Disk {
 public:
  // The process is gone.
  void crash() {
    ++*life_;
    for (auto& [path, file] : files_) {
      for (; !file->unsynced.empty(); file->unsynced.pop_back()) {
        const auto& [at, before] = file->unsynced.back();
        file->bytes.replace(at, before.size(), before);
      }
      file->bytes.resize(file->synced_size);
    }
  }
  // From now on nothing can be synced.
  void fail() { *failing_ = true; }
  void mend() { *failing_ = false; }
  // Changes what is in a file, as no process would.
  template <class F>
  void edit_each(F edit) {
    for (auto& [path, file] : files_) {
      edit(path, file->bytes);
      file->synced_size = file->bytes.size();
    }
  }

  std::vector<std::string> list(const std::string& directory) override {
    std::vector<std::string> names;
    for (const auto& [path, file] : files_) {
      if (path.starts_with(directory + "/")) names.push_back(path.substr(directory.size() + 1));
    }
    return names;
  }
  void make_directory(const std::string&) override {}
  std::unique_ptr<wal::DiskFile> open(const std::string& path) override {
    auto& file = files_[path];
    if (file == nullptr) file = std::make_shared<Bytes>();
    return std::make_unique<File>(file, life_, failing_);
  }
  std::unique_ptr<wal::DiskContent> read(const std::string& path) override {
    return std::make_unique<Content>(files_.at(path));
  }
  bool exists(const std::string& path) override { return files_.contains(path); }
  Task<void> rename(std::string from, std::string to) override {
    files_[to] = files_.at(from);
    files_.erase(from);
    co_return;
  }
  Task<void> remove(std::string path) override {
    files_.erase(path);
    co_return;
  }
  Task<void> sync_directory(std::string) override { co_return; }
  std::unique_ptr<wal::DiskLock> lock(const std::string&, const std::string&,
                                      std::string&) override {
    if (!lock_.expired()) return nullptr;
    auto held = std::make_unique<Lock>();
    lock_ = held->held;
    return held;
  }

 private:
  struct Bytes {
    std::string bytes;
    std::size_t synced_size = 0;
    std::vector<std::pair<std::size_t, std::string>> unsynced;  // what was there before
  };
  class File final : public wal::DiskFile {
   public:
    File(std::shared_ptr<Bytes> of, std::shared_ptr<int> life, std::shared_ptr<bool> failing)
        : file_(std::move(of)),
          life_(std::move(life)),
          born_(*life_),
          failing_(std::move(failing)) {}
    Task<void> write(std::uint64_t at, std::string_view text) override {
      if (*life_ == born_) {
        if (file_->bytes.size() < at + text.size()) file_->bytes.resize(at + text.size());
        const std::size_t old =
            at < file_->synced_size ? std::min(text.size(), file_->synced_size - at) : 0;
        if (old > 0) file_->unsynced.emplace_back(at, file_->bytes.substr(at, old));
        file_->bytes.replace(at, text.size(), text);
      }
      co_await yield();
      if (*life_ != born_) co_await never_.wait();
    }
    Task<void> sync() override {
      co_await yield();
      if (*failing_) throw Error(Errc::io_failed, "The disk of this test fails.");
      if (*life_ != born_) co_await never_.wait();
      file_->unsynced.clear();
      file_->synced_size = file_->bytes.size();
    }
    void note(std::uint64_t at, std::string_view text) noexcept override {
      if (*life_ != born_) return;
      if (file_->bytes.size() < at + text.size()) file_->bytes.resize(at + text.size());
      file_->bytes.replace(at, text.size(), text);
      file_->synced_size = file_->bytes.size();
    }

   private:
    std::shared_ptr<Bytes> file_;
    std::shared_ptr<int> life_;
    int born_;
    std::shared_ptr<bool> failing_;
    Event never_;
  };
  // Not a copy: what is read back is not written any more, and most of a segment is zeros.
  class Content final : public wal::DiskContent {
   public:
    explicit Content(std::shared_ptr<Bytes> of) : file_(std::move(of)) {}
    std::string_view bytes() const noexcept override { return file_->bytes; }

   private:
    std::shared_ptr<Bytes> file_;
  };
  struct Lock final : public wal::DiskLock {
    std::shared_ptr<int> held = std::make_shared<int>(0);
  };

  std::map<std::string, std::shared_ptr<Bytes>> files_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);
  std::shared_ptr<bool> failing_ = std::make_shared<bool>(false);
  std::weak_ptr<int> lock_;
};

}  // namespace tiffany
