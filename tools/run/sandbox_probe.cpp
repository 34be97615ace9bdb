#include "sandbox_probe.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "bubble.hpp"
#include "files.hpp"
#include "filter.hpp"
#include "landlock.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::supervisor {

// For which start of the machine bwrap was seen to work. Not in the unnamed namespace: its codec.
struct KnownBubble {
  std::string boot{};
  std::string path{};
};
TIFFANY_JSON(KnownBubble, boot, path);

namespace {

constexpr const char* kCache = "/bwrap.json";
constexpr unsigned kProbeSeconds = 10;

std::string find_in_path(std::string_view program) {
  const char* const variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  for (;;) {
    const std::string_view each = path.substr(0, path.find(':'));
    std::string at = std::string(each) + "/" + std::string(program);
    if (each.starts_with('/') && access(at.c_str(), X_OK) == 0) return at;
    if (each.size() == path.size()) return "";
    path.remove_prefix(each.size() + 1);
  }
}

// What the program wrote to its errors, or how it ended; empty: it ended well.
std::string complaint_of(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make", "a pipe");
  const Fd hear(ends[0]);
  Fd tell(ends[1]);
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) refuse("make", "a process");
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // as the command has it
    alarm(kProbeSeconds);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(tell.get(), 2);
    std::array<char*, 1> nothing{nullptr};
    execve(all[0], all.data(), nothing.data());
    _exit(127);
  }
  tell.close();
  std::string said;
  std::array<char, 1024> room;
  for (ssize_t n = 0; (n = read(hear.get(), room.data(), room.size())) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    if (said.size() < 1000) said.append(room.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return "";
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (!said.empty()) return said;
  return WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                             : "exit code " + std::to_string(WEXITSTATUS(status));
}

std::string known_bubble(const std::string& directory) {
  if (directory.empty()) return "";
  try {
    const auto text = read_all(AT_FDCWD, (directory + kCache).c_str(), 4096);
    if (!text) return "";
    const auto known = from_json<KnownBubble>(*text);
    if (known.boot == boot_id() && access(known.path.c_str(), X_OK) == 0) return known.path;
  } catch (const std::exception&) {  // damaged: it is asked anew, and written anew
  }
  return "";
}

void keep_bubble(const std::string& directory, const std::string& path) {
  if (directory.empty()) return;
  const std::string next = directory + kCache + "." + std::to_string(getpid());
  const Fd file(open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  KnownBubble known;
  known.boot = boot_id();
  known.path = path;
  // Without it the next command asks again.
  if (!write_all(file.get(), to_json(known)) ||
      rename(next.c_str(), (directory + kCache).c_str()) != 0) {
    unlink(next.c_str());
  }
}

}  // namespace

std::string level_two_missing() {
  std::string missing;
  if (landlock_abi() < 1) {
    missing +=
        "The kernel has no Landlock: that needs Linux 5.13 or later with \"landlock\" in the list "
        "/sys/kernel/security/lsm (boot option lsm=). ";
  }
  if (!has_seccomp()) {
    missing +=
        "The kernel takes no seccomp filters, or none is written for this architecture (x86-64 and "
        "arm64 have one). ";
  }
  if (!missing.empty()) missing += "Ask for level 1, or use another machine.";
  return missing;
}

Bubble find_bubble(const std::string& directory) {
  Bubble found;
  found.path = known_bubble(directory);
  if (!found.path.empty()) return found;
  const std::string path = find_in_path("bwrap");
  if (path.empty()) {
    found.missing =
        "The program bwrap is not in PATH: install bubblewrap for level 3, or ask for level 2.";
    return found;
  }
  const std::string complaint = complaint_of(probe_words(path));
  if (!complaint.empty()) {
    found.missing = path + " cannot make its namespaces here (" + complaint +
                    "): allow user namespaces, as a container or a sysctl may forbid them, or ask "
                    "for level 2.";
    return found;
  }
  found.path = path;
  keep_bubble(directory, path);
  return found;
}

int print_probe() {
  exec::SandboxProbe probe;
  probe.landlock_abi = landlock_abi();
  probe.seccomp = has_seccomp();
  probe.notify = has_notify();
  probe.level = 1;
  probe.missing = level_two_missing();
  if (probe.missing.empty()) {
    probe.level = 2;
    const Bubble bubble = find_bubble("");
    probe.bwrap = bubble.path;
    probe.missing = bubble.missing;
    if (!bubble.path.empty()) probe.level = 3;
  }
  std::puts(to_json(probe).c_str());
  return 0;
}

}  // namespace tiffany::supervisor
