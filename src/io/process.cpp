#include "tiffany/io/process.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <map>
#include <string_view>

#include "tiffany/base/environment.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/wait.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {
namespace {

constexpr const char* kStatusTaken =
    "The process has ended, and somebody else has taken its exit status: a waitpid() for any "
    "child, or "
    "SIGCHLD is ignored in this program.";

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Errors name the command, and a command may carry a book in its arguments.
std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 200;
  if (text.size() <= kMost) return text;
  return text.substr(0, kMost) + "... (" + std::to_string(text.size()) + " bytes)";
}

void refuse_zero(const std::string& text, const char* what, const std::string& command) {
  if (text.find('\0') == std::string::npos) return;
  throw Error(Errc::bad_argument, "The command " + shown(command) + " has a zero byte in " + what +
                                      ", and would be cut off there. Hand binary data over through "
                                      "its input.");
}

// Why it could not be started, as far as the system tells; empty when there is nothing to add.
std::string why_not_started(int error, const std::string& program, const std::string& directory) {
  if (!directory.empty()) {
    WorldFiles& files = World::current().files();
    struct stat about{};
    const std::string its = "Its working directory \"" + shown(directory) + "\" ";
    if (files.status(directory.c_str(), about) != 0) {
      return errno == ENOENT ? its + "does not exist." : its + "cannot be reached.";
    }
    if (!S_ISDIR(about.st_mode)) return its + "is not a directory.";
    if (files.access(directory.c_str(), X_OK) != 0) return its + "may not be entered.";
  }
  if (error != ENOENT) return {};
  return program.find('/') == std::string::npos
             ? "No program of that name is in PATH, or the interpreter in its first line is "
               "missing."
             : "There is no such file, or the interpreter in its first line is missing.";
}

// What a command writes, up to a limit.
class Captured {
 public:
  explicit Captured(std::size_t limit) noexcept : limit_(limit) {}
  void add(const char* bytes, std::size_t count) {
    const std::size_t kept = std::min(count, limit_ - text_.size());
    text_.append(bytes, kept);
    dropped_ += count - kept;
  }
  std::uint64_t dropped() const noexcept { return dropped_; }
  std::string take() && {
    if (dropped_ > 0) text_ += "\n[and " + std::to_string(dropped_) + " more bytes]\n";
    return std::move(text_);
  }

 private:
  std::size_t limit_;
  std::string text_;
  std::uint64_t dropped_ = 0;
};

Task<void> read_all(ByteStream* from, Captured* into) {
  std::array<char, 4096> room;
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return;
    into->add(room.data(), n);
  }
}

// What is in a pipe now. As much as a pipe can hold at most: somebody may go on writing. Reading
// from a pipe that is open does not fail, so that no error is lost here.
void drain(const ByteStream& from, Captured& into) {
  const int fd = from.descriptor().fd();
  WorldFiles& files = World::current().files();
  files.set_blocking(fd, false);
  auto left = static_cast<std::int64_t>(files.pipe_capacity(fd));
  std::array<char, 4096> room;
  while (left > 0) {
    const ssize_t n = files.read(fd, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    into.add(room.data(), static_cast<std::size_t>(n));
    left -= n;
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

// Of what is inherited, what is not set anew; then what is set, each name once.
std::vector<std::string> Command::environment() const {
  std::map<std::string, std::string, std::less<>> set;
  for (const auto& [name, value] : environment_) set[name] = value;
  std::vector<std::string> all;
  char** each = World::current().processes().environment();
  for (; inherits_ != Inherits::nothing && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (inherits_ == Inherits::basics && !is_basic_variable(name)) continue;
    if (set.find(name) == set.end()) all.emplace_back(entry);
  }
  for (const auto& [name, value] : set) all.push_back(name + "=" + value);
  return all;
}

void Command::check() const {
  const std::string name = words_[0];
  for (const std::string& word : words_) refuse_zero(word, "an argument", name);
  refuse_zero(directory_, "its working directory", name);
  for (const auto& [key, value] : environment_) {
    refuse_zero(key, "the name of a variable", name);
    refuse_zero(value, "the value of a variable", name);
    if (!key.empty() && key.find('=') == std::string::npos) continue;
    throw Error(Errc::bad_argument, "The command " + shown(name) +
                                        " has a variable in its environment whose name is \"" +
                                        shown(key) + "\". A name is not empty and has no '='.");
  }
}

std::string ExitStatus::text() const {
  if (signal != 0) return "killed by signal " + std::to_string(signal);
  return "exit code " + std::to_string(code);
}

Process::Process(const Command& command)
    : name_(shown(command.text())), world_(&World::current()), own_group_(command.own_group_) {
  command.check();
  WorldProcesses::Plan plan;
  plan.own_group = own_group_;
  // The ends that the child gets; closed here when it has them.
  std::vector<ByteStream> theirs;
  const auto give = [&](bool piped, int number, ByteStream& ours, bool we_write) {
    if (!piped) return;
    Pipe made = make_pipe();
    ours = std::move(we_write ? made.write_end : made.read_end);
    theirs.push_back(std::move(we_write ? made.read_end : made.write_end));
    plan.descriptors[number] = theirs.back().descriptor().fd();
  };
  if (!command.terminal_.empty()) {
    plan.terminal = command.terminal_.c_str();
  } else {
    give(command.pipe_input_, 0, input_, true);
    give(command.pipe_output_, 1, output_, false);
    give(command.pipe_errors_, 2, errors_, false);
  }
  if (!command.directory_.empty()) plan.directory = command.directory_.c_str();
  std::vector<std::string> words = command.words_;
  std::vector<std::string> environment = command.environment();
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  plan.program = words[0].c_str();
  plan.words = arguments.data();
  plan.variables = variables.data();
  WorldProcesses& processes = world_->processes();
  const int error = processes.start(plan, pid_);
  if (error != 0) {
    throw IoError(error, "start", name_, why_not_started(error, words[0], command.directory_));
  }
  ended_ = false;
  const auto handle = processes.open_handle(pid_);
  if (handle < 0) {
    const int why = errno;
    ended_ = why == ESRCH;  // reaped already: the number may be that of another process by now
    if (!ended_) processes.kill(pid_, SIGKILL);  // there is no handle to do it through
    kill_and_reap();
    throw IoError(why, "pidfd_open", name_, why == ESRCH ? kStatusTaken : "");
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
      lost_status_(other.lost_status_),
      world_(other.world_),
      own_group_(other.own_group_),
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
    lost_status_ = other.lost_status_;
    world_ = other.world_;
    own_group_ = other.own_group_;
    ended_ = std::exchange(other.ended_, true);
  }
  return *this;
}

// Through the handle: somebody else in this program may have reaped the process, and then its
// number may be that of another.
void Process::kill(int signal) const noexcept {
  if (!ended_) world_->processes().send_signal(handle_.fd(), signal);
}

void Process::kill_group(int signal) const noexcept {
  if (ended_) return;
  // The group has the number of the process, and keeps it at least until that is reaped.
  const bool reaped = world_->processes().send_signal(handle_.fd(), 0) != 0 && errno == ESRCH;
  if (own_group_ && !reaped) world_->processes().kill(-pid_, signal);
  kill(signal);  // it may have left the group
}

void Process::reap() noexcept {
  lost_status_ = world_->processes().wait(pid_, status_.code, status_.signal);
  ended_ = true;
}

void Process::kill_and_reap() noexcept {
  if (ended_) return;
  kill_group(SIGKILL);
  reap();
}

Task<void> Process::ended() {
  if (!ended_) co_await readable(handle_);
}

Task<ExitStatus> Process::wait() {
  if (!ended_) {
    co_await readable(handle_);
    if (!ended_) reap();  // another task may have waited as well
  }
  if (lost_status_ != 0) {
    throw IoError(lost_status_, "wait for", name_, kStatusTaken);
  }
  co_return status_;
}

Task<ProcessOutput> run_command(Command command, std::string input, RunOptions options) {
  Process process(std::move(command).pipe_input().pipe_output().pipe_errors());
  Captured output(options.limit());
  Captured errors(options.limit());
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(write_all, &process.input(), &input);
    s.spawn(read_all, &process.output(), &output);
    s.spawn(read_all, &process.errors(), &errors);
    co_await process.ended();
    // Whoever has the pipes now is not the command: it is ended, or not waited for.
    process.kill_group(SIGKILL);
    s.cancel("the command has ended");
  });
  drain(process.output(), output);
  drain(process.errors(), errors);
  const ExitStatus status = co_await process.wait();
  const std::uint64_t output_dropped = output.dropped();
  const std::uint64_t errors_dropped = errors.dropped();
  ProcessOutput all(status, std::move(output).take(), std::move(errors).take());
  all.output_dropped = output_dropped;
  all.errors_dropped = errors_dropped;
  co_return all;
}

}  // namespace tiffany
