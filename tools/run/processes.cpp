#include "processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>

#include "files.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {
namespace {

struct CloseDir {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

template <class F>
void for_each_process(F f) {
  const std::unique_ptr<DIR, CloseDir> all(opendir("/proc"));
  if (all == nullptr) return;
  while (const dirent* const entry = readdir(all.get())) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    f(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
  }
}

// A process may end while it is looked at: then nothing is known of it.
std::string about(pid_t process, const char* what) {
  const std::string path = "/proc/" + std::to_string(process) + "/" + what;
  try {
    return read_all(AT_FDCWD, path.c_str(), std::size_t{4} << 20).value_or("");
  } catch (const Refusal&) {
    return "";  // of another user, or gone
  }
}

}  // namespace

std::vector<Process> descendants() {
  std::multimap<pid_t, Process> children;
  for_each_process([&](pid_t process) {
    const std::string stat = about(process, "stat");
    const std::string parent(exec::field_of_stat(stat, 4));
    if (parent.empty()) return;
    children.emplace(static_cast<pid_t>(std::strtol(parent.c_str(), nullptr, 10)),
                     Process{process, exec::start_in_stat(stat)});
  });
  std::vector<Process> found{{getpid(), 0}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i].id);
    for (auto at = first; at != last; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

std::vector<Process> marked(const std::string& id) {
  const std::string entry = std::string(kMarker) + "=" + id;
  std::vector<Process> found;
  for_each_process([&](pid_t process) {
    if (process == getpid()) return;
    const Process known{process, start_of(process)};  // before the environment: it is of this one
    const std::string all = '\0' + about(process, "environ") + '\0';
    if (all.find('\0' + entry + '\0') != std::string::npos) found.push_back(known);
  });
  return found;
}

Fd handle_of(const Process& process) {
  Fd handle(static_cast<int>(syscall(SYS_pidfd_open, process.id, 0)));
  // After the handle: from here on the number cannot become that of another process unnoticed.
  if (handle.get() >= 0 && start_of(process.id) != process.started) handle.close();
  return handle;
}

void send(const std::vector<Process>& to, int signal) {
  for (const Process& process : to) {
    const Fd handle = handle_of(process);
    if (handle.get() >= 0) syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  }
}

bool kill_marked(const std::string& id) {
  for (int round = 0; round < 200; ++round) {
    const std::vector<Process> left = marked(id);
    if (left.empty()) return true;
    send(left, SIGKILL);
    poll(nullptr, 0, 10);
  }
  return false;
}

std::string stat_of(pid_t process) { return about(process, "stat"); }

std::uint64_t threads_of(pid_t process) {
  const std::string stat = stat_of(process);
  const std::string count(exec::field_of_stat(stat, 20));
  return std::strtoull(count.c_str(), nullptr, 10);
}

std::uint64_t start_of(pid_t process) { return exec::start_in_stat(about(process, "stat")); }

}  // namespace tiffany::supervisor
