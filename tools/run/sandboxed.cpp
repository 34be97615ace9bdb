#include "sandboxed.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "bubble.hpp"
#include "filter.hpp"
#include "forget.hpp"
#include "processes.hpp"
#include "sandbox_probe.hpp"

namespace tiffany::supervisor {
namespace {

constexpr std::int64_t kLongestMs = std::int64_t{24} * 60 * 60 * 1000;
constexpr std::uint64_t kProcesses = 512;
// A superuser has no other limit, and makes a few hundred processes in this time.
constexpr std::int64_t kCensusMs = 50;
constexpr int kFullCensus = 20;  // every so many times, whatever the machine says

// Of the whole machine; the largest number: nobody knows.
std::uint64_t threads_of_machine() {
  try {
    const std::string text = read_all(AT_FDCWD, "/proc/loadavg", 4096).value_or("");
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) return std::strtoull(text.c_str() + slash + 1, nullptr, 10);
  } catch (const Refusal&) {  // then everything is counted
  }
  return ~std::uint64_t{0};
}

std::string bubble_for(const Reachable& reach, const CommandDirectory& directory) {
  if (reach.level < 3) return "";
  const std::string all = directory.path().substr(0, directory.path().rfind('/'));
  const Bubble bubble = find_bubble(all);
  if (bubble.path.empty()) {
    throw SandboxMissing("The command was not started: it needs a sandbox of level 3. " +
                         bubble.missing);
  }
  return bubble.path;
}

}  // namespace

Sandboxed::Sandboxed(const exec::CommandSpec& spec, const CommandDirectory& directory)
    : spec_(spec),
      reach_(reachable_by(spec, directory)),
      bwrap_(bubble_for(reach_, directory)),
      broker_(reach_.write),
      most_(spec.limits.processes.value_or(kProcesses)) {}

std::int64_t Sandboxed::timeout_ms() const noexcept {
  return spec_.timeout_ms > 0 || level() == 0 ? spec_.timeout_ms : kLongestMs;
}

void Sandboxed::adapt(std::vector<std::string>& environment) const {
  const auto is_path = [](const auto& variable) { return variable.first == "PATH"; };
  if (level() < 2 || std::any_of(spec_.environment.begin(), spec_.environment.end(), is_path)) {
    return;
  }
  for (std::string& entry : environment) {
    if (!entry.starts_with("PATH=")) continue;
    entry = "PATH=" + path_within(reach_, std::string_view(entry).substr(5));
  }
}

Launched Sandboxed::start(const std::vector<std::string>& environment, int out, int err) {
  Launch how(spec_, environment);
  how.out = out;
  how.err = err;
  if (level() < 2) return launch(how);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    refuse("make", "a pair of sockets");
  }
  control_ = Fd(ends[0]);
  Fd tell(ends[1]);
  if (level() >= 3) return start_bubble(environment, out, err, std::move(tell));
  how.reach = &reach_;
  how.tell = tell.get();
  const Launched launched = launch(how);
  hear();  // the listener: whoever has become the command has told it
  control_.close();
  return launched;
}

Launched Sandboxed::start_bubble(const std::vector<std::string>& environment, int out, int err,
                                 Fd tell) {
  InnerOrders orders;
  orders.spec = spec_;
  orders.environment = environment;
  orders.reach = reach_;
  const Fd in_memory = orders_in_memory(orders);
  const exec::CommandSpec outer(bubble_words(bwrap_, reach_));
  // Nothing of the command's: a library that is preloaded would run outside of the sandbox.
  const std::vector<std::string> none;
  Launch how(outer, none);
  how.out = out;
  how.err = err;
  constexpr int kAbove = 10;  // those that the command gets
  const Fd first(fcntl(in_memory.get(), F_DUPFD_CLOEXEC, kAbove));
  const Fd second(fcntl(tell.get(), F_DUPFD_CLOEXEC, kAbove));
  if (first.get() < 0 || second.get() < 0) refuse("make", "a descriptor");
  how.hand_down = {first.get(), second.get()};
  return launch(how);
}

void Sandboxed::begin_census(std::int64_t now_ms) {
  if (level() < 2) return;
  census_ms_ = now_ms + kCensusMs;
  fewest_ = threads_of_machine();
}

// Looking at every process takes a hundred times as long as asking how many there are: that is done
// when the machine has so many more that the command could have too many.
std::string Sandboxed::too_many(std::int64_t now_ms) {
  census_ms_ = now_ms + kCensusMs;
  const std::uint64_t all = threads_of_machine();
  fewest_ = std::min(fewest_, all);
  if (all - fewest_ < most_ / 2 && ++censuses_ % kFullCensus != 0) return "";
  std::uint64_t count = 0;
  for (const Process& each : descendants()) count += threads_of(each.id);
  if (count <= most_) return "";
  return "The command had " + std::to_string(count) + " processes and threads, where " +
         std::to_string(most_) + " are allowed (CommandLimits::processes), and was killed.";
}

std::array<pollfd, 2> Sandboxed::waits() const noexcept {
  return {{{broker_.fd(), POLLIN, 0}, {control_.get(), POLLIN, 0}}};
}

void Sandboxed::attend(const std::array<pollfd, 2>& came) {
  if (came[1].revents != 0) hear();
  if ((came[0].revents & POLLIN) != 0) {
    broker_.answer();
  } else if (came[0].revents != 0) {
    broker_.listen(Fd());  // nobody is left that could ask
  }
}

void Sandboxed::hear() {
  while (control_.get() >= 0) {
    Message message = receive_message(control_.get());
    if (message.what == 0) {
      if (!message.later) control_.close();
      return;
    }
    if (message.what == kListener) broker_.listen(std::move(message.fd));
    if (message.what == kProblem) problem_ = message.text;
    int status = 0;
    if (message.what == kStatus && message.text.size() == sizeof status) {
      std::memcpy(&status, message.text.data(), sizeof status);
      status_ = status;
    }
    entered_ = true;
  }
}

std::optional<int> Sandboxed::status() {
  hear();
  return status_;
}

std::string Sandboxed::problem() {
  hear();
  if (!problem_.empty() || level() < 3 || entered_) return problem_;
  return "The command was not started: bwrap could not make its sandbox of level 3. What bwrap "
         "says "
         "is in the errors of the command.";
}

void empty_private_directory(const CommandDirectory& directory) noexcept {
  try {
    empty_inner(directory, kPrivateDirectory);
  } catch (const std::exception&) {  // it goes when the command is forgotten
  }
}

}  // namespace tiffany::supervisor
