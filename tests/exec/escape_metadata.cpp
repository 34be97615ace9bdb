// Owners, modes, times and attributes of files that may not be written, and files that lend their
// owner to others.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <fstream>

#include "escape.hpp"

namespace tiffany::escape {
namespace {

std::string file() { return target().of("file"); }
std::string book() { return target().shelf + "/book"; }

bool chmod_path() { return chmod(file().c_str(), 0640) == 0; }
bool chmod_shelf() { return chmod(book().c_str(), 0640) == 0; }
bool chmod_directory() { return chmod(target().outside.c_str(), 0750) == 0; }
bool chmod_by_descriptor_link() {
  const int fd = open(file().c_str(), O_PATH);
  return fd >= 0 && chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), 0600) == 0;
}
bool chmod_by_symlink() {
  return symlink(file().c_str(), "to-chmod") == 0 && chmod("to-chmod", 0640) == 0;
}
bool chmod_at() { return fchmodat(AT_FDCWD, "../outside/file", 0640, 0) == 0; }
bool chmod_at_directory() {
  const int fd = open(target().outside.c_str(), O_PATH | O_DIRECTORY);
  return fd >= 0 && fchmodat(fd, "file", 0640, 0) == 0;
}
bool chmod_newer() { return syscall(452, AT_FDCWD, file().c_str(), 0640, 0) == 0; }
bool chmod_open_file() {
  const int fd = open(book().c_str(), O_RDONLY);
  return fd >= 0 && fchmod(fd, 0640) == 0;
}
bool chown_path() { return chown(file().c_str(), getuid(), getgid()) == 0; }
bool chown_link() { return lchown(file().c_str(), getuid(), getgid()) == 0; }
bool chown_open_file() {
  const int fd = open(book().c_str(), O_RDONLY);
  return fd >= 0 && fchown(fd, getuid(), getgid()) == 0;
}
bool chown_empty_path() {
  const int fd = open(file().c_str(), O_PATH);
  return fd >= 0 && fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH) == 0;
}
bool set_times() {
  const std::array<timeval, 2> times{};
  return utimes(file().c_str(), times.data()) == 0;
}
bool set_times_at() { return utimensat(AT_FDCWD, file().c_str(), nullptr, 0) == 0; }
bool set_times_of_open_file() {
  const int fd = open(book().c_str(), O_RDONLY);
  return fd >= 0 && futimens(fd, nullptr) == 0;
}
bool set_attribute() { return setxattr(file().c_str(), "user.tiffany", "x", 1, 0) == 0; }
bool set_attribute_of_open_file() {
  const int fd = open(book().c_str(), O_RDONLY);
  return fd >= 0 && fsetxattr(fd, "user.tiffany", "x", 1, 0) == 0;
}
bool set_flags_of_open_file() {
  const int fd = open(book().c_str(), O_RDONLY);
  unsigned flags = 0x40;  // FS_NODUMP_FL
  return fd >= 0 && reached(ioctl(fd, 0x40086602, &flags));
}

void put_own(const char* name) { std::ofstream(name) << "mine\n"; }
bool lends_owner(const char* name) {
  struct stat about{};
  return stat(name, &about) == 0 && (about.st_mode & (S_ISUID | S_ISGID)) != 0;
}
bool make_setuid_file() {
  put_own("setuid");
  return chmod("setuid", 04755) == 0 && lends_owner("setuid");
}
bool create_setuid_file() {
  return open("setuid-new", O_WRONLY | O_CREAT, 04755) >= 0 && lends_owner("setuid-new");
}
bool make_setuid_node() {
  return mknod("setuid-node", S_IFREG | 02755, 0) == 0 && lends_owner("setuid-node");
}
// cap_setuid, effective and permitted.
bool lend_capability() {
  put_own("capable");
  const unsigned char value[] = {1, 0, 0, 2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return setxattr("capable", "security.capability", value, sizeof value, 0) == 0;
}

}  // namespace

std::vector<Attempt> metadata_attempts() {
  constexpr Proof kAll = Proof::everybody;
  return {{"chmod_path", kAll, chmod_path},
          {"chmod_shelf", kAll, chmod_shelf},
          {"chmod_directory", kAll, chmod_directory},
          {"chmod_by_descriptor_link", kAll, chmod_by_descriptor_link},
          {"chmod_by_symlink", kAll, chmod_by_symlink},
          {"chmod_at", kAll, chmod_at},
          {"chmod_at_directory", kAll, chmod_at_directory},
          {"chmod_newer", Proof::none, chmod_newer},
          {"chmod_open_file", kAll, chmod_open_file},
          {"chown_path", kAll, chown_path},
          {"chown_link", kAll, chown_link},
          {"chown_open_file", kAll, chown_open_file},
          {"chown_empty_path", kAll, chown_empty_path},
          {"set_times", kAll, set_times},
          {"set_times_at", kAll, set_times_at},
          {"set_times_of_open_file", kAll, set_times_of_open_file},
          {"set_attribute", Proof::none, set_attribute},
          {"set_attribute_of_open_file", Proof::none, set_attribute_of_open_file},
          {"set_flags_of_open_file", Proof::none, set_flags_of_open_file},
          {"make_setuid_file", kAll, make_setuid_file},
          {"create_setuid_file", kAll, create_setuid_file},
          {"make_setuid_node", kAll, make_setuid_node},
          {"lend_capability", Proof::none, lend_capability}};
}

}  // namespace tiffany::escape
