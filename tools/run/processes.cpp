#include "processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>

#include "files.hpp"

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

// The fields of /proc/<pid>/stat behind the name, which may have blanks and brackets: the first is
// number 3 of proc(5).
std::string field(pid_t process, int number) {
  const std::string text = about(process, "stat");
  std::size_t at = text.rfind(')');
  for (int i = 2; i < number && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

}  // namespace

std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  for_each_process([&](pid_t process) {
    const std::string parent = field(process, 4);
    if (!parent.empty()) {
      children.emplace(static_cast<pid_t>(std::strtol(parent.c_str(), nullptr, 10)), process);
    }
  });
  std::vector<pid_t> found{getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto at = first; at != last; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> marked(const std::string& id) {
  const std::string entry = std::string(kMarker) + "=" + id;
  std::vector<pid_t> found;
  for_each_process([&](pid_t process) {
    if (process == getpid()) return;
    const std::string all = '\0' + about(process, "environ") + '\0';
    if (all.find('\0' + entry + '\0') != std::string::npos) found.push_back(process);
  });
  return found;
}

void send(const std::vector<pid_t>& to, int signal) noexcept {
  for (const pid_t process : to) kill(process, signal);
}

bool kill_marked(const std::string& id) {
  for (int round = 0; round < 200; ++round) {
    const std::vector<pid_t> left = marked(id);
    if (left.empty()) return true;
    send(left, SIGKILL);
    poll(nullptr, 0, 10);
  }
  return false;
}

std::uint64_t start_of(pid_t process) {
  return std::strtoull(field(process, 22).c_str(), nullptr, 10);
}

}  // namespace tiffany::supervisor
