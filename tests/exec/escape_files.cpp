// Files outside of the directory of the command, and what leads there.
#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "escape.hpp"

namespace tiffany::escape {
namespace {

bool opens(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
bool reads(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  return fd >= 0 && read(fd, &byte, 1) == 1;
}
void put(const std::string& path) { std::ofstream(path) << "mine\n"; }
int ends_with(const char* program, char* const* words) {
  const pid_t child = vfork();
  if (child == 0) {
    execve(program, words, environ);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
bool runs(const std::string& program) {
  char* words[] = {const_cast<char*>(program.c_str()), nullptr};
  return ends_with(program.c_str(), words) == 0;
}

bool read_secret() { return reads(target().of("secret")); }
bool write_file() { return opens(target().of("file"), O_WRONLY); }
bool create_file() { return opens(target().of("new"), O_WRONLY | O_CREAT); }
bool make_directory() { return mkdir(target().of("made").c_str(), 0700) == 0; }
bool truncate_path() { return truncate(target().of("file").c_str(), 1) == 0; }
bool truncate_by_read() { return opens(target().of("file"), O_RDONLY | O_TRUNC); }
bool remove_file() { return unlink(target().of("removable").c_str()) == 0; }
bool remove_directory() { return rmdir(target().of("empty").c_str()) == 0; }
bool list() { return opendir(target().outside.c_str()) != nullptr; }
bool execute() { return runs(target().of("program")); }
bool execute_by_linker() {
  std::string program = target().of("program");
  char linker[] = "/lib64/ld-linux-x86-64.so.2";
  char* words[] = {linker, program.data(), nullptr};
  return ends_with(linker, words) == 0;
}
bool rename_out() {
  put("to-rename");
  return rename("to-rename", target().of("renamed").c_str()) == 0;
}
bool rename_in() { return rename(target().of("movable").c_str(), "moved") == 0 && reads("moved"); }
bool rename_exchange() {
  put("mine");
  return syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, target().of("exchanged").c_str(), 2) ==
         0;
}
bool link_in() { return link(target().of("secret").c_str(), "linked") == 0 && reads("linked"); }
bool link_out() {
  put("to-link");
  return link("to-link", target().of("linked").c_str()) == 0;
}
bool link_by_descriptor() {
  const int fd = open(target().of("secret").c_str(), O_PATH);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return fd >= 0 && linkat(AT_FDCWD, path.c_str(), AT_FDCWD, "linked-fd", AT_SYMLINK_FOLLOW) == 0 &&
         reads("linked-fd");
}
bool symlink_out() { return symlink("/", target().of("link").c_str()) == 0; }
bool read_by_symlink() {
  return symlink(target().of("secret").c_str(), "to-secret") == 0 && reads("to-secret");
}
bool write_by_symlink() {
  return symlink(target().of("file").c_str(), "to-file") == 0 && opens("to-file", O_WRONLY);
}
bool read_by_relative_path() { return reads("../outside/secret"); }
bool read_after_chdir() { return chdir(target().outside.c_str()) == 0 && reads("secret"); }
bool reopen_descriptor() {
  const int fd = open(target().of("secret").c_str(), O_PATH);
  return fd >= 0 && reads("/proc/self/fd/" + std::to_string(fd));
}
bool read_by_own_root() { return reads("/proc/self/root" + target().of("secret")); }
bool read_by_own_cwd() { return reads("/proc/self/cwd/../outside/secret"); }
bool read_by_handle() {
  alignas(file_handle) unsigned char room[sizeof(file_handle) + 128]{};
  auto* const handle = reinterpret_cast<file_handle*>(room);
  handle->handle_bytes = 128;
  int mount = 0;
  if (name_to_handle_at(AT_FDCWD, target().of("secret").c_str(), handle, &mount, 0) != 0) {
    return false;
  }
  const int fd = open_by_handle_at(open(".", O_RDONLY | O_DIRECTORY), handle, O_RDONLY);
  char byte = 0;
  return fd >= 0 && read(fd, &byte, 1) == 1;
}
bool write_shelf() { return opens(target().shelf + "/book", O_WRONLY); }
bool create_on_shelf() { return opens(target().shelf + "/new", O_WRONLY | O_CREAT); }
bool write_system() {
  const char* const path = "/usr/.tiffany-escape";
  const bool made = opens(path, O_WRONLY | O_CREAT | O_EXCL);
  if (made) unlink(path);  // a sandbox that fails is no reason to leave something there
  return made || opens("/etc/ld.so.cache", O_WRONLY);
}
bool read_home() { return opendir("/root") != nullptr || opendir("/home") != nullptr; }
// At level 3 these are directories of the sandbox: the test looks whether the files are outside.
bool write_shared_places() {
  opens("/dev/shm/" + target().name, O_RDWR | O_CREAT);
  opens("/tmp/" + target().name, O_WRONLY | O_CREAT);
  return false;
}
bool watch_directory() {
  return inotify_add_watch(inotify_init1(0), target().outside.c_str(), IN_CREATE) >= 0;
}
bool make_device() { return mknod("device", S_IFCHR | 0666, makedev(1, 3)) == 0; }
bool open_disk_or_memory() { return opens("/dev/mem", O_RDONLY) || opens("/dev/kmsg", O_RDONLY); }
bool write_core_pattern() { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }
bool write_sysrq() { return opens("/proc/sysrq-trigger", O_WRONLY); }
bool write_cgroup() {
  return opens("/sys/kernel/uevent_helper", O_WRONLY) ||
         opens("/sys/fs/cgroup/cgroup.procs", O_WRONLY);
}

// A path that is a link to the outside in one moment, and a plain file in the next.
bool flip(bool (*attempt)()) {
  put("plain");
  const std::string file = target().of("file");
  const pid_t other = fork();
  if (other == 0) {
    for (;;) {
      unlink("flipping");
      static_cast<void>(symlink(file.c_str(), "flipping"));
      static_cast<void>(link("plain", "flipping.next"));
      rename("flipping.next", "flipping");
    }
  }
  struct stat about{};
  while (lstat("flipping", &about) != 0) {
  }
  bool escaped = false;
  const int most = std::getenv("PROOF") != nullptr ? 1'000'000 : 2000;
  for (int round = 0; round < most && !escaped; ++round) escaped = attempt();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  return escaped;
}
bool write_by_race() {
  return flip([] {
    const int fd = open("flipping", O_WRONLY | O_CLOEXEC);
    struct stat here{};
    struct stat there{};
    const bool both = fd >= 0 && fstat(fd, &here) == 0 &&
                      stat(target().of("file").c_str(), &there) == 0 && here.st_ino == there.st_ino;
    if (fd >= 0) close(fd);
    return both;
  });
}
bool chmod_by_race() {
  return flip([] {
    static_cast<void>(chmod("flipping", 0611));
    struct stat there{};
    return stat(target().of("file").c_str(), &there) == 0 && (there.st_mode & 0777) == 0611;
  });
}

// A program in memory is still the same process, with the same rules.
bool read_by_memory_program() {
  std::ifstream self("escape", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(self), {}};
  const int fd = memfd_create("program", 0);
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  char name[] = "escape";
  char what[] = "read_secret";
  char* words[] = {name, what, nullptr};
  return ends_with(path.c_str(), words) == 0;
}

// The records of the command itself.
std::string records() {
  const std::string outputs = std::getenv("TIFFANY_OUTPUT");
  return outputs.substr(0, outputs.rfind('/'));
}
// At level 3 the path is one in the temporary directory of the sandbox, without the records.
bool has_records() { return access((records() + "/spec.json").c_str(), F_OK) == 0; }
bool forge_end() { return has_records() && opens(records() + "/exit.json", O_WRONLY | O_CREAT); }
bool forge_stop() {
  const std::string stop = records() + "/stop";
  return has_records() && opens(stop, O_WRONLY | O_CREAT | O_EXCL) && unlink(stop.c_str()) == 0;
}
bool read_spec() { return reads(records() + "/spec.json"); }
bool write_too_much() {
  std::signal(SIGXFSZ, SIG_IGN);
  const int fd = open(std::getenv("TIFFANY_OUTPUT"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string part(std::size_t{1} << 20, 'x');
  bool all = fd >= 0;
  for (int i = 0; i < 2 && all; ++i) {
    all = write(fd, part.data(), part.size()) == static_cast<ssize_t>(part.size());
  }
  static_cast<void>(ftruncate(fd, 0));
  return all;
}

}  // namespace

std::vector<Attempt> file_attempts() {
  constexpr Proof kAll = Proof::everybody;
  return {{"read_secret", kAll, read_secret},
          {"write_file", kAll, write_file},
          {"create_file", kAll, create_file},
          {"make_directory", kAll, make_directory},
          {"truncate_path", kAll, truncate_path},
          {"truncate_by_read", kAll, truncate_by_read},
          {"remove_file", kAll, remove_file},
          {"remove_directory", kAll, remove_directory},
          {"list", kAll, list},
          {"execute", kAll, execute},
          {"execute_by_linker", Proof::none, execute_by_linker},
          {"rename_out", kAll, rename_out},
          {"rename_in", kAll, rename_in},
          {"rename_exchange", kAll, rename_exchange},
          {"link_in", kAll, link_in},
          {"link_out", kAll, link_out},
          {"link_by_descriptor", kAll, link_by_descriptor},
          {"symlink_out", kAll, symlink_out},
          {"read_by_symlink", kAll, read_by_symlink},
          {"write_by_symlink", kAll, write_by_symlink},
          {"read_by_relative_path", kAll, read_by_relative_path},
          {"read_after_chdir", kAll, read_after_chdir},
          {"reopen_descriptor", kAll, reopen_descriptor},
          {"read_by_own_root", kAll, read_by_own_root},
          {"read_by_own_cwd", kAll, read_by_own_cwd},
          {"read_by_handle", Proof::none, read_by_handle},
          {"write_shelf", kAll, write_shelf},
          {"create_on_shelf", kAll, create_on_shelf},
          {"write_system", Proof::none, write_system},
          {"read_home", Proof::root, read_home},
          {"write_shared_places", Proof::none, write_shared_places},
          {"watch_directory", kAll, watch_directory},
          {"make_device", Proof::root, make_device},
          {"open_disk_or_memory", Proof::none, open_disk_or_memory},
          {"write_core_pattern", Proof::root, write_core_pattern},
          {"write_sysrq", Proof::none, write_sysrq},
          {"write_cgroup", Proof::none, write_cgroup},
          {"write_by_race", kAll, write_by_race},
          {"chmod_by_race", kAll, chmod_by_race},
          {"read_by_memory_program", kAll, read_by_memory_program},
          {"forge_end", kAll, forge_end},
          {"forge_stop", kAll, forge_stop},
          {"read_spec", kAll, read_spec},
          {"write_too_much", kAll, write_too_much}};
}

}  // namespace tiffany::escape
