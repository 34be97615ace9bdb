#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {
namespace {

// Of the world that the tasks are in; of a thread of offload(), the operating system's.
WorldFiles& files() noexcept { return World::current().files(); }

// A reactor that knows only a clock performs no operations.
bool inline_calls() { return !Scheduler::require("the log").reactor().performs_operations(); }

[[noreturn]] void refuse(const char* verb, const std::string& what, int error) {
  throw IoError(error, verb, what);
}

void sync_now(const std::string& directory) {
  const Descriptor open(files().open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.fd() < 0 || files().sync(open.fd()) != 0) refuse("sync", directory, errno);
}

const char* kind_of(mode_t mode) noexcept {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISDIR(mode)) return "a directory";
  return "a device";
}

// Opens a file. What stands in its place and is none is refused: a FIFO would be waited for, a
// device would be written to.
Descriptor open_file(const std::string& path, int flags) {
  Descriptor file(files().open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  const int error = errno;
  struct stat about{};
  const bool known = file.fd() >= 0
                         ? files().status(file.fd(), about) == 0
                         : files().status(path.c_str(), about) == 0 && !S_ISREG(about.st_mode);
  if (!known && file.fd() < 0) refuse("open", path, error);
  if (!known) refuse("read the size of", path, errno);
  if (!S_ISREG(about.st_mode)) {
    throw Error(Errc::not_a_log, path + " is " + kind_of(about.st_mode) +
                                     ", and a log has a file of that name. Move " +
                                     "what is there away, and put the file back if there was one.");
  }
  // On a file that is waited for through a ring the flag would mean something else.
  if (files().set_blocking(file.fd(), true) != 0) refuse("open", path, errno);
  return file;
}

void write_whole(int fd, std::string_view bytes, const std::string& path) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = files().write_at(fd, bytes.data() + at, bytes.size() - at, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse("write to", path, n < 0 ? errno : EIO);
    at += static_cast<std::size_t>(n);
  }
}

// On any thread.
void write_files_now(const std::string& directory, const std::vector<WholeFile>& all_files) {
  const bool one_sync = files().syncs_report();
  // Opened before anything is written: what fails from here on is reported to this descriptor.
  const Descriptor all(files().open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (all.fd() < 0) refuse("open", directory, errno);
  for (const WholeFile& each : all_files) {
    const std::string path = directory + "/" + each.name;
    const Descriptor file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    write_whole(file.fd(), each.bytes, path);
    if (!one_sync && files().sync(file.fd()) != 0) refuse("sync", path, errno);
  }
  if ((one_sync ? files().sync_file_system(all.fd()) : files().sync(all.fd())) != 0)
    refuse("sync", directory, errno);
}

class SystemFile final : public DiskFile {
 public:
  SystemFile(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Task<void> write(std::uint64_t at, std::string_view bytes) override {
    const bool plain = inline_calls();
    while (!bytes.empty()) {
      std::size_t n = 0;
      if (plain) {
        const ssize_t done = files().write_at(fd(), bytes.data(), bytes.size(), at);
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
    } else if (files().sync_data(fd()) != 0) {
      refuse("sync", path_, errno);
    }
  }
  Task<void> write_synced(std::uint64_t at, std::string_view bytes) override {
    Scheduler& scheduler = Scheduler::require("the log");
    if (!scheduler.reactor().performs_operations()) return DiskFile::write_synced(at, bytes);
    const bool alone = scheduler.ready_len() == 0 && scheduler.reactor().in_flight() == 0;
    return write_synced_there(at, bytes, alone && bytes.size() <= kMostHere);
  }
  void note(std::uint64_t at, std::string_view bytes) noexcept override {
    [[maybe_unused]] const ssize_t ignored = files().write_at(fd(), bytes.data(), bytes.size(), at);
  }

 private:
  int fd() const noexcept { return file_.descriptor().fd(); }
  // One operation: of a write and a sync that are two, each would be handed to a thread and back.
  // `alone`: there is nothing else that this thread could do meanwhile, so it need not be handed to
  // another at all, which takes as long again as a quick disk does. A disk that is not quick is
  // left to others for a while.
  Task<void> write_synced_there(std::uint64_t at, std::string_view bytes, bool alone) {
    const bool here = alone && (slow_ == 0 || --slow_ == 0);
    Reactor& clock = Scheduler::current()->reactor();
    const Time start = clock.now();
    while (!bytes.empty()) {
      const std::size_t n = here ? write_here(at, bytes) : co_await file_.write_synced(at, bytes);
      if (n == 0) refuse("write to", path_, EIO);
      at += n;
      bytes.remove_prefix(n);
    }
    if (here && clock.now() - start > kQuick) slow_ = kLeftToOthers;
  }
  std::size_t write_here(std::uint64_t at, std::string_view bytes) {
    for (;;) {
      const ssize_t done = files().write_synced_at(fd(), bytes.data(), bytes.size(), at);
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

// A copy, not a mapping: a page of a mapped file that cannot be read, or that was cut off
// meanwhile, ends the process with a signal. What the disk cannot read is filled with zeros, and
// said.
class Copied final : public DiskContent {
 public:
  explicit Copied(const std::string& path) {
    const Descriptor file = open_file(path, O_RDONLY);
    struct stat about{};
    if (files().status(file.fd(), about) != 0) refuse("read the size of", path, errno);
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ == 0) return;
    // Without the zeros that std::string would begin with: most of what is read at an opening is
    // this.
    bytes_.reset(new char[size_]);
    std::size_t at = 0;
    while (at < size_) {
      const ssize_t n = files().read_at(file.fd(), bytes_.get() + at, size_ - at, at);
      if (n > 0) {
        at += static_cast<std::size_t>(n);
      } else if (n == 0) {
        size_ = at;  // it was cut off meanwhile
      } else if (errno != EINTR) {
        at = read_around(file.fd(), path, at, errno);
      }
    }
  }
  std::string_view bytes() const noexcept override { return {bytes_.get(), size_}; }
  const std::vector<Unreadable>& unreadable() const noexcept override { return unreadable_; }

 private:
  static constexpr std::size_t kBlock = 4096;  // what a disk loses at a time, at most

  // Up to the end of the block; gives where that is.
  std::size_t read_around(int fd, const std::string& path, std::size_t at, int error) {
    if (error != EIO) refuse("read", path, error);
    const std::size_t end = std::min(at / kBlock * kBlock + kBlock, size_);
    const ssize_t n = files().read_at(fd, bytes_.get() + at, end - at, at);
    if (n > 0) return at + static_cast<std::size_t>(n);
    std::fill(bytes_.get() + at, bytes_.get() + end, '\0');
    if (!unreadable_.empty() && unreadable_.back().offset + unreadable_.back().size == at) {
      unreadable_.back().size += end - at;
    } else {
      unreadable_.push_back({at, end - at, IoError(error, "read", path).what()});
    }
    return end;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::vector<Unreadable> unreadable_;
};

// The lock is of a file, not of its name: another process can lock another file of the same name.
// So the owner looks whether the name still means its file; and whether its own words are in it,
// for file systems that lock nothing.
class SystemLock final : public DiskLock {
 public:
  SystemLock(Descriptor descriptor, std::string path, std::string text)
      : descriptor_(std::move(descriptor)), path_(std::move(path)), text_(std::move(text)) {
    if (files().status(descriptor_.fd(), about_) != 0) refuse("read the size of", path_, errno);
  }
  bool held() noexcept override {
    struct stat now{};
    if (files().status(path_.c_str(), now) != 0) return false;
    if (now.st_ino != about_.st_ino || now.st_dev != about_.st_dev) return false;
    std::array<char, 200> found;
    const ssize_t n = files().read_at(descriptor_.fd(), found.data(), found.size(), 0);
    return n >= 0 && std::string_view(found.data(), static_cast<std::size_t>(n)) == text_;
  }

 private:
  Descriptor descriptor_;
  std::string path_;
  std::string text_;
  struct stat about_{};
};

// Different for each owner, also in containers, where every process is the first.
std::string token() {
  std::uint64_t number = 0;
  os_world().entropy(&number, sizeof number);  // also where the tasks have a repeatable world
  return std::to_string(number);
}

class Names final : public WorldFiles::EntryVisitor {
 public:
  bool on_entry(const char* name, mode_t) override {
    names.emplace_back(name);
    return true;
  }
  std::vector<std::string> names;
};

class SystemDisk final : public Disk {
 public:
  std::vector<std::string> list(const std::string& directory) override {
    Names found;
    const WorldFiles::Listed how = files().list(directory.c_str(), found);
    if (how != WorldFiles::Listed::all && errno != ENOENT) refuse("list", directory, errno);
    std::sort(found.names.begin(), found.names.end());
    return std::move(found.names);
  }
  void make_directory(const std::string& path) override {
    std::vector<std::string> missing;  // the innermost first
    for (std::filesystem::path at = path; !at.empty() && !exists(at.string());) {
      missing.push_back(at.string());
      const std::filesystem::path above = at.parent_path();
      if (above == at) break;
      at = above;
    }
    for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
      if (files().make_directory(each->c_str()) != 0 && errno != EEXIST) {
        refuse("make the directory", path, errno);
      }
    }
    struct stat about{};
    if (files().status(path.c_str(), about) != 0) refuse("make the directory", path, errno);
    if (!S_ISDIR(about.st_mode)) refuse("make the directory", path, ENOTDIR);
    for (const std::string& each : missing) {
      const std::string above = std::filesystem::path(each).parent_path().string();
      sync_now(above.empty() ? "." : above);
    }
  }
  std::unique_ptr<DiskFile> open(const std::string& path) override {
    return std::make_unique<SystemFile>(File(open_file(path, O_RDWR | O_CREAT)), path);
  }
  std::unique_ptr<DiskContent> read(const std::string& path) override {
    return std::make_unique<Copied>(path);
  }
  bool exists(const std::string& path) override { return files().access(path.c_str(), F_OK) == 0; }
  std::uint64_t size(const std::string& path) override {
    struct stat about{};
    if (files().status(path.c_str(), about) != 0) refuse("read the size of", path, errno);
    return static_cast<std::uint64_t>(about.st_size);
  }
  std::string read_part(const std::string& path, std::uint64_t at, std::size_t size) override {
    const Descriptor file = open_file(path, O_RDONLY);
    std::string bytes(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const ssize_t n = files().read_at(file.fd(), bytes.data() + got, size - got, at + got);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) refuse("read", path, errno);
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    bytes.resize(got);
    return bytes;
  }
  Task<void> shorten(std::string path, std::uint64_t size) override {
    if (files().truncate(path.c_str(), size) != 0) refuse("shorten", path, errno);
    co_return;
  }
  Task<void> write_files(std::string directory, std::vector<WholeFile> files) override {
    if (inline_calls()) {
      write_files_now(directory, files);
    } else {
      co_await offload(write_files_now, std::move(directory), std::move(files));
    }
  }
  Task<void> rename(std::string from, std::string to) override {
    if (!inline_calls()) {
      co_await rename_file(std::move(from), std::move(to));
    } else if (files().rename(from.c_str(), to.c_str()) != 0) {
      refuse("rename", from, errno);
    }
  }
  // Once for a segment, and short: it need not go through the reactor.
  Task<void> rename_new(std::string from, std::string to) override {
    if (files().rename_new(from.c_str(), to.c_str()) != 0) refuse("rename to", to, errno);
    co_return;
  }
  Task<void> remove(std::string path) override {
    if (!inline_calls()) {
      co_await remove_file(std::move(path));
    } else if (files().remove(path.c_str()) != 0) {
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
    Descriptor descriptor = open_file(path, O_RDWR | O_CREAT);
    const int fd = descriptor.fd();
    if (files().lock(fd) != 0) {
      if (errno != EWOULDBLOCK) refuse("lock", path, errno);
      std::array<char, 200> text;
      const ssize_t n = files().read_at(fd, text.data(), text.size(), 0);
      holder.assign(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
      holder.resize(std::min(holder.find('\n'), holder.size()));  // behind it is the token
      return nullptr;
    }
    const std::string said = about + token() + "\n";
    // Written over what is there: that needs no room, which a full disk does not have.
    if (files().write_at(fd, said.data(), said.size(), 0) != static_cast<ssize_t>(said.size()) ||
        files().truncate(fd, said.size()) != 0) {
      refuse("write to", path, errno);
    }
    auto lock = std::make_unique<SystemLock>(std::move(descriptor), path, said);
    // It may have been removed between the two: then another process has locked its successor.
    if (!lock->held()) return nullptr;
    return lock;
  }
};

}  // namespace

std::unique_ptr<Disk> system_disk() { return std::make_unique<SystemDisk>(); }

}  // namespace tiffany::wal
