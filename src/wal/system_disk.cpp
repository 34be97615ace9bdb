#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {
namespace {

// A scheduler on a virtual clock has no reactor for files, and its time stands still meanwhile anyway.
bool inline_calls() { return Scheduler::require("the log").reactor().virtual_time(); }

[[noreturn]] void refuse(const char* verb, const std::string& what, int error) {
  throw IoError(error, verb, what);
}

void sync_now(const std::string& directory) {
  const Descriptor open(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.fd() < 0 || ::fsync(open.fd()) != 0) refuse("sync", directory, errno);
}

class SystemFile final : public DiskFile {
 public:
  SystemFile(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Task<void> write(std::uint64_t at, std::string_view bytes) override {
    const bool plain = inline_calls();
    while (!bytes.empty()) {
      std::size_t n = 0;
      if (plain) {
        const ssize_t done = ::pwrite(fd(), bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) refuse("write to", path_, errno);
        n = static_cast<std::size_t>(done);
      } else {
        n = co_await file_.write_at(at, bytes);
      }
      if (n == 0) refuse("write to", path_, EIO);
      at += n;
      bytes.remove_prefix(n);
    }
  }
  Task<void> sync() override {
    if (!inline_calls()) {
      co_await file_.sync_data();
    } else if (::fdatasync(fd()) != 0) {
      refuse("sync", path_, errno);
    }
  }
  Task<void> write_synced(std::uint64_t at, std::string_view bytes) override {
    Scheduler& scheduler = Scheduler::require("the log");
    if (scheduler.reactor().virtual_time()) return DiskFile::write_synced(at, bytes);
    const bool alone = scheduler.ready_len() == 0 && scheduler.reactor().in_flight() == 0;
    return write_synced_there(at, bytes, alone && bytes.size() <= kMostHere);
  }
  void note(std::uint64_t at, std::string_view bytes) noexcept override {
    [[maybe_unused]] const ssize_t ignored =
        ::pwrite(fd(), bytes.data(), bytes.size(), static_cast<off_t>(at));
  }

 private:
  int fd() const noexcept { return file_.descriptor().fd(); }
  // One operation: of a write and a sync that are two, each would be handed to a thread and back. `alone`: there
  // is nothing else that this thread could do meanwhile, so it need not be handed to another at all, which takes as
  // long again as a quick disk does. A disk that is not quick is left to others for a while.
  Task<void> write_synced_there(std::uint64_t at, std::string_view bytes, bool alone) {
    const bool here = alone && (slow_ == 0 || --slow_ == 0);
    const auto start = std::chrono::steady_clock::now();
    while (!bytes.empty()) {
      const std::size_t n = here ? write_here(at, bytes) : co_await file_.write_synced(at, bytes);
      if (n == 0) refuse("write to", path_, EIO);
      at += n;
      bytes.remove_prefix(n);
    }
    if (here && std::chrono::steady_clock::now() - start > kQuick) slow_ = kLeftToOthers;
  }
  std::size_t write_here(std::uint64_t at, std::string_view bytes) {
    const iovec all{const_cast<char*>(bytes.data()), bytes.size()};  // only read from
    for (;;) {
      const ssize_t done = ::pwritev2(fd(), &all, 1, static_cast<off_t>(at), RWF_DSYNC);
      if (done >= 0) return static_cast<std::size_t>(done);
      if (errno != EINTR) refuse("write to", path_, errno);
    }
  }
  static constexpr std::size_t kMostHere = std::size_t{256} << 10;
  static constexpr std::chrono::milliseconds kQuick{2};
  static constexpr int kLeftToOthers = 64;

  int slow_ = 0;  // so many syncs are left to others
  File file_;
  std::string path_;
};

class Mapped final : public DiskContent {
 public:
  explicit Mapped(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) refuse("open", path, errno);
    struct stat about{};
    if (::fstat(fd, &about) != 0) {
      const int error = errno;
      ::close(fd);
      refuse("read the size of", path, error);
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ > 0) memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    ::close(fd);
    if (memory_ == MAP_FAILED) {
      memory_ = nullptr;
      refuse("map", path, error);
    }
    if (memory_ != nullptr) ::madvise(memory_, size_, MADV_SEQUENTIAL);
  }
  ~Mapped() override {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  std::string_view bytes() const noexcept override {
    return {static_cast<const char*>(memory_), size_};
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

class SystemLock final : public DiskLock {
 public:
  explicit SystemLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  Descriptor descriptor_;
};

class SystemDisk final : public Disk {
 public:
  std::vector<std::string> list(const std::string& directory) override {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      names.push_back(entry.path().filename().string());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      refuse("list", directory, error.value());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void make_directory(const std::string& path) override {
    std::vector<std::filesystem::path> made;
    std::error_code error;
    for (std::filesystem::path at = std::filesystem::absolute(path, error);
         !at.empty() && !std::filesystem::exists(at, error) && at != at.parent_path();
         at = at.parent_path()) {
      made.push_back(at);
    }
    std::filesystem::create_directories(path, error);
    if (error) refuse("make the directory", path, error.value());
    for (const auto& directory : made) sync_now(directory.parent_path().string());
  }
  std::unique_ptr<DiskFile> open(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) refuse("open", path, errno);
    return std::make_unique<SystemFile>(File(Descriptor(fd)), path);
  }
  std::unique_ptr<DiskContent> read(const std::string& path) override {
    return std::make_unique<Mapped>(path);
  }
  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }
  Task<void> rename(std::string from, std::string to) override {
    if (!inline_calls()) {
      co_await rename_file(std::move(from), std::move(to));
    } else if (::rename(from.c_str(), to.c_str()) != 0) {
      refuse("rename", from, errno);
    }
  }
  Task<void> remove(std::string path) override {
    if (!inline_calls()) {
      co_await remove_file(std::move(path));
    } else if (::unlink(path.c_str()) != 0) {
      refuse("remove", path, errno);
    }
  }
  Task<void> sync_directory(std::string path) override {
    if (!inline_calls()) {
      co_await tiffany::sync_directory(std::move(path));
      co_return;
    }
    sync_now(path);
  }
  std::unique_ptr<DiskLock> lock(const std::string& path, const std::string& about,
                                 std::string& holder) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) refuse("open", path, errno);
    Descriptor descriptor(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) refuse("lock", path, errno);
      std::array<char, 200> text;
      const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
      holder.assign(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
      return nullptr;
    }
    if (::ftruncate(fd, 0) != 0 ||
        ::pwrite(fd, about.data(), about.size(), 0) != static_cast<ssize_t>(about.size())) {
      refuse("write to", path, errno);
    }
    return std::make_unique<SystemLock>(std::move(descriptor));
  }
};

}  // namespace

Task<void> DiskFile::write_synced(std::uint64_t at, std::string_view bytes) {
  co_await write(at, bytes);
  co_await sync();
}

std::unique_ptr<Disk> system_disk() { return std::make_unique<SystemDisk>(); }

}  // namespace tiffany::wal
