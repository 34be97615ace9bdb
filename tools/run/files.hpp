// The directory of a command: small files that are written whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tiffany::supervisor {

// What goes to standard error, and to the program that began the command.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// "<what> <on>: <the text of errno>."
[[noreturn]] void refuse(const std::string& what, const std::string& on);

class Fd {
 public:
  explicit Fd(int number = -1) noexcept : number_(number) {}
  ~Fd() { close(); }
  Fd(Fd&& other) noexcept;
  Fd& operator=(Fd&& other) noexcept;
  int get() const noexcept { return number_; }
  void close() noexcept;

 private:
  int number_;
};

class CommandDirectory {
 public:
  // Makes it when it is missing, for the user alone.
  explicit CommandDirectory(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  // The last part of the path: the id of the command.
  std::string id() const;
  int fd() const noexcept { return directory_.get(); }

  // False: another process has it. Held until this process and those it forked have ended.
  bool lock();
  // After a lock() that gave false: until the other process has ended.
  void wait_for_lock();
  // The same, but for no longer than so many seconds. Whether the lock was got.
  bool wait_for_lock(unsigned seconds);
  bool has(const char* name) const;
  std::optional<std::string> read(const char* name) const;
  // In place of the old one, or not at all. `synced`: on the disk, with its name.
  void replace(const char* name, std::string_view bytes, bool synced) const;
  // Room for a file that replace() writes later, also when the disk is full by then.
  void reserve(const char* name) const;
  void make(const char* name, bool synced) const;
  // What replace() could not write over, because the command put a directory or a link there, goes
  // aside.
  void clear_way(const char* name) const noexcept;
  // Somebody has removed the directory.
  bool gone() const noexcept;
  void sync() const;

 private:
  std::string path_;
  Fd directory_;
  Fd lock_;
};

// Up to so many bytes of a file; none when there is no such file.
std::optional<std::string> read_all(int directory, const char* name, std::size_t most);
// Up to the end of a pipe or a socket: the text of a command, of a bounded size.
std::string read_to_end(int fd);
// With those above it, for the user alone.
void make_directory(const std::string& path);
bool write_all(int fd, std::string_view bytes) noexcept;
// Of this start of the machine.
const std::string& boot_id();
std::int64_t wall_us() noexcept;

}  // namespace tiffany::supervisor
