// Files and directories in memory. Internal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tiffany/detail/world/memory_bytes.hpp"
#include "world/memory/state.hpp"

namespace tiffany::world::memory {

// A file, a directory or the name of a unix socket.
struct Inode {
  mode_t type = S_IFREG;
  ino_t number = 0;
  std::int64_t changed_us = 0;
  MemoryBytes bytes;
  std::map<std::string, std::shared_ptr<Inode>, std::less<>> entries;
  const Object* locked_by = nullptr;
};
using InodePtr = std::shared_ptr<Inode>;

class OpenFile final : public Object {
 public:
  OpenFile(State& of, InodePtr inode, std::string path, int flags) noexcept
      : Object(of), inode_(std::move(inode)), path_(std::move(path)), flags_(flags) {}
  int attempt(Operation& op) override;
  int ready() const noexcept override;
  void closed() override;

  // Each as the system call, or a negative errno.
  ssize_t read(void* to, std::size_t size, std::int64_t at);
  ssize_t write(const void* from, std::size_t size, std::int64_t at, bool synced);
  int truncate(std::uint64_t size);
  Inode& inode() const noexcept { return *inode_; }
  const std::string& path() const noexcept { return path_; }

 private:
  bool reads() const noexcept;
  bool writes() const noexcept;

  InodePtr inode_;
  std::string path_;
  int flags_;
  std::uint64_t place_ = 0;
};

class Files final : public WorldFiles {
 public:
  explicit Files(State& state);

  // As the system calls, or a negative errno.
  int open_path(const char* path, int flags, mode_t mode);
  int rename_path(const char* from, const char* to, bool replace);
  int unlink_path(const char* path, bool directory);
  // For unix sockets: makes a name, or gives -EADDRINUSE.
  int make_socket_name(const std::string& path, InodePtr& made);
  InodePtr find(std::string_view path, int& error) const;
  void lose_unsynced();

  void close(int fd) noexcept override { state_.close(fd); }
  int duplicate(int fd) noexcept override;
  int set_blocking(int fd, bool on) noexcept override;
  ssize_t read(int fd, void* to, std::size_t size) noexcept override;
  int pipe(int (&ends)[2]) noexcept override;
  std::size_t pipe_capacity(int fd) noexcept override;
  int status(int fd, struct stat& found) noexcept override;
  int truncate(int fd, std::uint64_t size) noexcept override;
  int lock(int fd) noexcept override;
  ssize_t send_file(int to, int from, std::uint64_t at, std::size_t count) noexcept override;
  ssize_t read_at(int fd, void* to, std::size_t size, std::uint64_t at) noexcept override;
  ssize_t write_at(int fd, const void* from, std::size_t size, std::uint64_t at) noexcept override;
  ssize_t write_synced_at(int fd, const void* from, std::size_t size,
                          std::uint64_t at) noexcept override;
  int sync(int fd) noexcept override;
  int sync_data(int fd) noexcept override { return sync(fd); }
  int sync_file_system(int fd) noexcept override;
  bool syncs_report() noexcept override { return true; }
  std::string path_of(int fd) override;
  int open(const char* path, int flags, mode_t mode) noexcept override;
  int status(const char* path, struct stat& found) noexcept override;
  int status_of_link(const char* path, struct stat& found) noexcept override {
    return status(path, found);
  }
  int access(const char* path, int how) noexcept override;
  int remove(const char* path) noexcept override;
  int rename(const char* from, const char* to) noexcept override;
  int rename_new(const char* from, const char* to) noexcept override;
  int truncate(const char* path, std::uint64_t size) noexcept override;
  int make_directory(const char* path) noexcept override;
  int change_mode(const char* path, mode_t mode) noexcept override;
  Listed list(const char* path, EntryVisitor& visitor) override;
  int make_watch() noexcept override { return with_errno(-ENOSYS); }
  int add_watch(int, const char*, std::uint32_t) noexcept override { return with_errno(-ENOSYS); }
  void remove_watch(int, int) noexcept override {}
  int make_terminal(std::string&) override { return with_errno(-ENOSYS); }
  int resize_terminal(int, std::uint16_t, std::uint16_t) noexcept override {
    return with_errno(-ENOSYS);
  }

 private:
  // Where a name is or would be: its directory, and the last part of the path.
  struct Place {
    InodePtr directory;
    std::string name;  // empty: the root
    int error = 0;
  };
  Place place_of(std::string_view path) const;
  InodePtr make(mode_t type);
  void about(const Inode& inode, struct stat& found) const noexcept;

  State& state_;
  ino_t numbers_ = 0;  // before what is made with it
  InodePtr root_;
};

}  // namespace tiffany::world::memory
