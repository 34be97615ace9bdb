#include "bubble.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "filter.hpp"
#include "launch.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::supervisor {
namespace {

constexpr const char* kInner = "/.tiffany-run";  // in the sandbox; its rules do not name it

void add(std::vector<std::string>& to, std::vector<std::string> more) {
  for (std::string& each : more) to.push_back(std::move(each));
}

std::vector<std::string> namespaces(const std::string& bwrap, bool network) {
  std::vector<std::string> words{bwrap,
                                 "--unshare-user",
                                 "--unshare-pid",
                                 "--unshare-ipc",
                                 "--unshare-uts",
                                 "--unshare-cgroup-try",
                                 "--die-with-parent",
                                 "--as-pid-1",
                                 "--cap-drop",
                                 "ALL"};
  if (!network) words.emplace_back("--unshare-net");
  return words;
}

std::string own_program() {
  std::array<char, PATH_MAX> room{};
  const ssize_t size = readlink("/proc/self/exe", room.data(), room.size());
  if (size <= 0) refuse("find", "its own program");
  return {room.data(), static_cast<std::size_t>(size)};
}

}  // namespace

std::vector<std::string> probe_words(const std::string& bwrap) {
  std::vector<std::string> words = namespaces(bwrap, false);
  add(words, {"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "/bin/true"});
  return words;
}

std::vector<std::string> bubble_words(const std::string& bwrap, const Reachable& reach) {
  std::vector<std::string> words = namespaces(bwrap, reach.network);
  for (const std::string& each : basic_paths(reach.network)) {
    add(words, {"--ro-bind-try", each, each});
  }
  // What follows may lie in them.
  add(words, {"--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"});
  for (const std::string& each : reach.read) add(words, {"--ro-bind", each, each});
  for (const std::string& each : reach.write) add(words, {"--bind", each, each});
  add(words, {"--ro-bind", own_program(), kInner, "--", kInner, "inside"});
  return words;
}

Fd orders_in_memory(const InnerOrders& orders) {
  Fd file(memfd_create("orders", MFD_CLOEXEC));
  if (file.get() < 0 || !write_all(file.get(), to_json(orders)) ||
      lseek(file.get(), 0, SEEK_SET) != 0) {
    refuse("write", "the orders of a sandbox");
  }
  return file;
}

int inside() {
  const Fd control(kControlAt);
  fcntl(control.get(), F_SETFD, FD_CLOEXEC);
  InnerOrders orders;
  {
    const Fd from(kOrdersAt);
    orders = from_json<InnerOrders>(read_to_end(from.get()));
  }
  const auto fail = [&](const std::string& sentence) {
    send_message(control.get(), kProblem, sentence.data(), sentence.size(), -1);
    return 1;
  };
  Launched launched;
  try {
    Launch how(orders.spec, orders.environment);
    how.out = 1;
    how.err = 2;
    how.reach = &orders.reach;
    how.tell = control.get();
    launched = launch(how);
  } catch (const Refusal& refusal) {
    return fail(refusal.what());
  }
  if (!launched.problem.empty()) return fail(launched.problem);
  for (int number = 0; number < 3; ++number) close(number);  // the command has them
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) return 1;
    if (ended != launched.process) continue;  // an orphan
    send_message(control.get(), kStatus, &status, sizeof status, -1);
    return 0;
  }
}

}  // namespace tiffany::supervisor
