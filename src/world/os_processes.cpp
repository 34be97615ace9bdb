#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <utility>

#include "world/os_signals.hpp"
#include "world/os_world.hpp"

namespace tiffany::world {
namespace {

// What is said to posix_spawn, and freed again.
class SpawnPlan {
 public:
  explicit SpawnPlan(bool own_group) noexcept {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  // The first terminal that the leader of a session opens becomes its controlling one.
  void use_terminal(const char* path) noexcept {
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
  }
  void use_descriptors(const int (&theirs)[3]) noexcept {
    if (theirs[0] < 0) posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int number = 0; number < 3; ++number) {
      if (theirs[number] < 0) continue;
      posix_spawn_file_actions_adddup2(&actions, theirs[number], number);
    }
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

class OsProcesses final : public WorldProcesses {
 public:
  int start(const Plan& plan, pid_t& child) noexcept override {
    SpawnPlan spawn(plan.own_group);
    if (plan.terminal != nullptr) {
      spawn.use_terminal(plan.terminal);
    } else {
      spawn.use_descriptors(plan.descriptors);
    }
    if (plan.directory != nullptr) {
      posix_spawn_file_actions_addchdir_np(&spawn.actions, plan.directory);
    }
    // What this process has inherited itself without a mark that it be closed.
    posix_spawn_file_actions_addclosefrom_np(&spawn.actions, 3);
    return posix_spawnp(&child, plan.program, &spawn.actions, &spawn.attributes, plan.words,
                        plan.variables);
  }
  int open_handle(pid_t child) noexcept override {
    return static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  }
  int kill(pid_t process, int signal) noexcept override { return ::kill(process, signal); }
  int send_signal(int handle, int signal) noexcept override {
    return static_cast<int>(syscall(SYS_pidfd_send_signal, handle, signal, nullptr, 0));
  }
  int wait(pid_t child, int& code, int& signal) noexcept override {
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED) != 0) {
      if (errno != EINTR) return errno;
    }
    (info.si_code == CLD_EXITED ? code : signal) = info.si_status;
    return 0;
  }
  char** environment() noexcept override { return environ; }

  int open_signals(std::uint64_t wanted, void*& token, int& failed) override {
    return world::open_signals(wanted, token, failed);
  }
  void close_signals(void* token) noexcept override { world::close_signals(token); }
  void ignore_broken_pipes() noexcept override {
    static const bool once = [] {
      struct sigaction now{};
      if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
        std::signal(SIGPIPE, SIG_IGN);
      }
      return true;
    }();
    static_cast<void>(once);
  }
  std::vector<std::string> arguments() override {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> all;
    for (std::string word; std::getline(file, word, '\0');) all.push_back(std::move(word));
    return all;
  }
};

}  // namespace

WorldProcesses& os_processes() noexcept {
  static OsProcesses processes;  // nothing to destroy: it may be asked at the end of the program
  return processes;
}

}  // namespace tiffany::world
