#include "tiffany/io/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "io/quiet_pipe.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/structured.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/wait.hpp"

namespace tiffany {
namespace {

// What is said to posix_spawn, and freed again.
class SpawnPlan {
 public:
  SpawnPlan() noexcept {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  // The first terminal that the leader of a session opens becomes its controlling one.
  void use_terminal(const std::string& path) noexcept {
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&actions, 0, path.c_str(), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    bool replaced = false;
    for (const std::string& other : more) {
      const std::size_t length = other.find('=') + 1;
      replaced = replaced || entry.substr(0, length) == std::string_view(other).substr(0, length);
    }
    if (!replaced) all.emplace_back(entry);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Task<std::string> read_all(ByteStream* from, std::size_t most, const std::string* name) {
  std::string all;
  std::array<char, 4096> room;
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return all;
    if (all.size() + n > most) throw IoError(EFBIG, "read of the output", *name);
    all.append(room.data(), n);
  }
}

Task<void> write_all(ByteStream* to, const std::string* text) {
  try {
    co_await to->write(*text);
  } catch (const IoError& error) {
    if (error.number() != EPIPE) throw;  // it did not want to hear all of it
  }
  to->close();
}

}  // namespace

std::string Command::text() const {
  std::string out;
  for (const std::string& word : words_) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string ExitStatus::text() const {
  if (signal != 0) return "killed by signal " + std::to_string(signal);
  return "exit code " + std::to_string(code);
}

Process::Process(const Command& command) : name_(command.text()) {
  SpawnPlan plan;
  // The ends that the child gets; closed here when it has them.
  std::vector<ByteStream> theirs;
  const auto give = [&](bool piped, int number, ByteStream& ours, bool we_write) {
    if (!piped) return;
    Pipe made = make_pipe();
    ours = std::move(we_write ? made.write_end : made.read_end);
    theirs.push_back(std::move(we_write ? made.read_end : made.write_end));
    posix_spawn_file_actions_adddup2(&plan.actions, theirs.back().descriptor().fd(), number);
  };
  if (!command.terminal_.empty()) {
    plan.use_terminal(command.terminal_);
  } else {
    if (!command.pipe_input_) {
      posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
    }
    give(command.pipe_input_, 0, input_, true);
    give(command.pipe_output_, 1, output_, false);
    give(command.pipe_errors_, 2, errors_, false);
  }
  if (!command.directory_.empty()) {
    posix_spawn_file_actions_addchdir_np(&plan.actions, command.directory_.c_str());
  }
  // What this process has inherited itself without a mark that it be closed.
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, 3);
  std::vector<std::string> words = command.words_;
  std::vector<std::string> environment = environment_with(command.environment_);
  const int error = posix_spawnp(&pid_, words[0].c_str(), &plan.actions, &plan.attributes,
                                 pointers_to(words).data(), pointers_to(environment).data());
  if (error != 0) throw IoError(error, "start", name_);
  ended_ = false;
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) {
    const int why = errno;
    kill_and_reap();
    throw IoError(why, "pidfd_open", name_);
  }
  handle_ = Descriptor(handle);
}

Process::Process(Process&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(other.pid_),
      handle_(std::move(other.handle_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      status_(other.status_),
      ended_(std::exchange(other.ended_, true)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    name_ = std::move(other.name_);
    pid_ = other.pid_;
    handle_ = std::move(other.handle_);
    input_ = std::move(other.input_);
    output_ = std::move(other.output_);
    errors_ = std::move(other.errors_);
    status_ = other.status_;
    ended_ = std::exchange(other.ended_, true);
  }
  return *this;
}

void Process::kill(int signal) const noexcept {
  if (!ended_) ::kill(pid_, signal);  // not reaped, so the number is still its own
}

void Process::reap() noexcept {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  ended_ = true;
  if (info.si_code == CLD_EXITED) {
    status_.code = info.si_status;
  } else {
    status_.signal = info.si_status;
  }
}

void Process::kill_and_reap() noexcept {
  if (ended_) return;
  kill(SIGKILL);
  reap();
}

Task<ExitStatus> Process::wait() {
  if (!ended_) {
    co_await readable(handle_);
    if (!ended_) reap();  // another task may have waited as well
  }
  co_return status_;
}

Task<ProcessOutput> run_command(Command command, std::string input, std::size_t most) {
  const std::string name = command.text();
  Process process(std::move(command).pipe_input().pipe_output().pipe_errors());
  std::string output;
  std::string errors;
  co_await scope([&](Scope& s) -> Task<void> {
    auto writes = s.spawn(write_all, &process.input(), &input);
    auto out = s.spawn(read_all, &process.output(), most, &name);
    auto err = s.spawn(read_all, &process.errors(), most, &name);
    output = co_await out;
    errors = co_await err;
    co_await writes;
  });
  const ExitStatus status = co_await process.wait();
  co_return ProcessOutput(status, std::move(output), std::move(errors));
}

}  // namespace tiffany
