// Other processes of the user, and how many of its own a command may have.
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "escape.hpp"

namespace tiffany::escape {
namespace {

int victim() { return target().victim; }
std::string proc(const std::string& what) {
  return "/proc/" + std::to_string(victim()) + "/" + what;
}
bool reads_bytes(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  char byte = 0;
  return fd >= 0 && read(fd, &byte, 1) == 1;
}

bool read_environment() { return reads_bytes(proc("environ")); }
bool read_command_line() { return reads_bytes(proc("cmdline")); }
bool open_memory() { return open(proc("mem").c_str(), O_RDWR) >= 0; }
bool read_by_its_root() { return reads_bytes(proc("root") + target().of("secret")); }
bool read_by_its_directory() { return reads_bytes(proc("cwd/secret")); }
bool read_by_its_descriptor() {
  return reads_bytes(proc("fd/" + std::to_string(target().victim_file)));
}
bool trace() { return ptrace(PTRACE_SEIZE, victim(), nullptr, nullptr) == 0; }
bool read_memory() {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(&read_memory), 1};
  return reached(process_vm_readv(victim(), &here, 1, &there, 1, 0));
}
int handle() { return static_cast<int>(syscall(SYS_pidfd_open, victim(), 0)); }
bool take_descriptor() {
  const long fd = syscall(SYS_pidfd_getfd, handle(), target().victim_file, 0);
  char byte = 0;
  return fd >= 0 && pread(static_cast<int>(fd), &byte, 1, 0) == 1;
}
// A signal that a process ignores, if it comes.
bool send_signal() { return kill(victim(), SIGURG) == 0; }
bool send_to_thread() { return syscall(SYS_tgkill, victim(), victim(), SIGURG) == 0; }
bool send_to_thread_alone() { return syscall(SYS_tkill, victim(), SIGURG) == 0; }
bool send_by_handle() { return syscall(SYS_pidfd_send_signal, handle(), SIGURG, nullptr, 0) == 0; }
bool queue_signal() { return sigqueue(victim(), SIGURG, sigval{}) == 0; }
// The supervisor, or what stands in its place at level 3, is above the process that runs this.
pid_t above() {
  static const pid_t known = [] {
    const char* const parent = std::getenv("ABOVE");
    return parent == nullptr ? 0 : std::atoi(parent);
  }();
  return known;
}
bool signal_supervisor() { return above() > 0 && kill(above(), SIGURG) == 0; }
bool signal_by_owner() {
  int ends[2];
  if (pipe(ends) != 0 || fcntl(ends[0], F_SETOWN, victim()) != 0) return false;
  return fcntl(ends[0], F_GETOWN) == victim() && kill(victim(), 0) == 0;
}
bool change_priority() { return setpriority(PRIO_PROCESS, static_cast<id_t>(victim()), 3) == 0; }
bool change_io_priority() { return syscall(SYS_ioprio_set, 1, victim(), (2 << 13) | 5) == 0; }
bool change_limit() {
  const rlimit none{0, 0};
  return prlimit(victim(), RLIMIT_CORE, &none, nullptr) == 0;
}
bool change_affinity() {
  cpu_set_t all;
  CPU_ZERO(&all);
  CPU_SET(0, &all);
  return sched_setaffinity(victim(), sizeof all, &all) == 0;
}
bool attach_shared_memory() {
  return shmat(target().memory, nullptr, SHM_RDONLY) != reinterpret_cast<void*>(-1);
}
bool open_message_queue() { return mq_open(("/" + target().name).c_str(), O_RDWR) >= 0; }

// So many that do nothing, for a while.
bool fork_many() {
  constexpr int kMany = 64;
  int ends[2];
  if (pipe(ends) != 0) return false;
  int made = 0;
  for (; made < kMany; ++made) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      close(ends[1]);
      char byte = 0;
      static_cast<void>(read(ends[0], &byte, 1));  // until the parent is gone or closes it
      _exit(0);
    }
  }
  poll(nullptr, 0, made == kMany ? 300 : 0);
  close(ends[1]);
  while (wait(nullptr) > 0) {
  }
  return made == kMany;
}
bool raise_limit() {
  const rlimit more{1 << 18, 1 << 18};
  return setrlimit(RLIMIT_NOFILE, &more) == 0;
}
bool raise_core_limit() {
  const rlimit more{1 << 20, 1 << 20};
  return setrlimit(RLIMIT_CORE, &more) == 0;
}
bool use_inherited_descriptor() {
  for (int fd = 3; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) return true;
  }
  return false;
}

}  // namespace

std::vector<Attempt> process_attempts() {
  constexpr Proof kAll = Proof::everybody;
  return {{"read_environment", kAll, read_environment},
          {"read_command_line", kAll, read_command_line},
          {"open_memory", kAll, open_memory},
          {"read_by_its_root", kAll, read_by_its_root},
          {"read_by_its_directory", kAll, read_by_its_directory},
          {"read_by_its_descriptor", kAll, read_by_its_descriptor},
          {"trace", kAll, trace},
          {"read_memory", kAll, read_memory},
          {"take_descriptor", kAll, take_descriptor},
          {"send_signal", kAll, send_signal},
          {"send_to_thread", kAll, send_to_thread},
          {"send_to_thread_alone", kAll, send_to_thread_alone},
          {"send_by_handle", kAll, send_by_handle},
          {"queue_signal", kAll, queue_signal},
          {"signal_supervisor", kAll, signal_supervisor},
          {"signal_by_owner", kAll, signal_by_owner},
          {"change_priority", kAll, change_priority},
          {"change_io_priority", kAll, change_io_priority},
          {"change_limit", kAll, change_limit},
          {"change_affinity", kAll, change_affinity},
          {"attach_shared_memory", kAll, attach_shared_memory},
          {"open_message_queue", Proof::none, open_message_queue},
          {"fork_many", Proof::apart, fork_many},
          {"raise_limit", Proof::none, raise_limit},
          {"raise_core_limit", Proof::none, raise_core_limit},
          {"use_inherited_descriptor", Proof::none, use_inherited_descriptor}};
}

}  // namespace tiffany::escape
