// A disk of the system that takes its time, on the clock of the scheduler, and can be full.
#pragma once

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/io/io_error.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany {

class WaitingDisk final : public wal::Disk {
 public:
  std::vector<std::string> list(const std::string& directory) override {
    return disk_->list(directory);
  }
  void make_directory(const std::string& path) override { disk_->make_directory(path); }
  std::unique_ptr<wal::DiskFile> open(const std::string& path) override {
    count("open", path);
    return std::make_unique<File>(*this, disk_->open(path));
  }
  std::unique_ptr<wal::DiskContent> read(const std::string& path) override {
    return disk_->read(path);
  }
  bool exists(const std::string& path) override { return disk_->exists(path); }
  Task<void> rename(std::string from, std::string to) override {
    co_await wait(directory_time);
    count("rename", from);
    co_await disk_->rename(std::move(from), std::move(to));
  }
  Task<void> remove(std::string path) override {
    co_await wait(directory_time);
    count("remove", path);
    co_await disk_->remove(std::move(path));
  }
  Task<void> write_files(std::string directory, std::vector<wal::WholeFile> files) override {
    co_await wait(directory_time);
    count("write", directory);
    ++syncs;
    co_await disk_->write_files(std::move(directory), std::move(files));
  }
  Task<void> sync_directory(std::string path) override {
    ++syncs;
    co_await wait(directory_time);
    count("sync", path);
    co_await disk_->sync_directory(std::move(path));
  }
  std::unique_ptr<wal::DiskLock> lock(const std::string& path, const std::string& about,
                                      std::string& holder) override {
    return disk_->lock(path, about, holder);
  }
  int file_time = 0;
  int directory_time = 0;
  int syncs = 0;
  int left = -1;  // so many operations work, and all after them find the disk full; -1: all do

 private:
  class File final : public wal::DiskFile {
   public:
    File(WaitingDisk& disk, std::unique_ptr<wal::DiskFile> file)
        : disk_(disk), file_(std::move(file)) {}
    Task<void> write(std::uint64_t at, std::string_view bytes) override {
      co_await disk_.wait(disk_.file_time);
      disk_.count("write", "a file");
      co_await file_->write(at, bytes);
    }
    Task<void> sync() override {
      ++disk_.syncs;
      co_await disk_.wait(disk_.file_time);
      disk_.count("sync", "a file");
      co_await file_->sync();
    }
    void note(std::uint64_t at, std::string_view bytes) noexcept override {
      file_->note(at, bytes);
    }

   private:
    WaitingDisk& disk_;
    std::unique_ptr<wal::DiskFile> file_;
  };
  void count(const char* verb, const std::string& path) {
    if (left < 0) return;
    if (left == 0) throw IoError(ENOSPC, verb, path);
    --left;
  }
  static Task<void> wait(int time) { co_await sleep(std::chrono::milliseconds(time)); }
  std::unique_ptr<wal::Disk> disk_ = wal::system_disk();
};

}  // namespace tiffany
