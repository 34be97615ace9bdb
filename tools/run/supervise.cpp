#include "supervise.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "artifacts.hpp"
#include "capture.hpp"
#include "launch.hpp"
#include "processes.hpp"
#include "sandboxed.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::supervisor {
namespace {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;

std::int64_t monotonic_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

constexpr std::size_t kPipe = std::size_t{1} << 20;  // more than a pipe holds

struct Stream {
  Stream(const CommandDirectory& directory, const char* name, std::uint64_t limit,
         const Scrubber& secrets)
      : file(directory, name, limit), scrub(secrets) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make", "a pipe");
    ours = Fd(ends[0]);
    theirs = Fd(ends[1]);
    fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  }
  // What is in the pipe, but no more than `most` bytes: somebody may go on writing.
  void take(std::size_t most) {
    std::array<char, 16 * 1024> room;
    while (ours.get() >= 0 && most > 0) {
      const ssize_t n = read(ours.get(), room.data(), std::min(room.size(), most));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return ours.close();
      file.add(scrub.add({room.data(), static_cast<std::size_t>(n)}));
      most -= static_cast<std::size_t>(n);
    }
  }
  void finish() {
    take(kPipe);
    file.add(scrub.finish());
    file.finish();
  }
  Capture file;
  Scrubber::Stream scrub;
  Fd ours;
  Fd theirs;
};

class Watch {
 public:
  Watch(const CommandDirectory& directory, const CommandSpec& spec, const Scrubber& secrets)
      : directory_(directory),
        spec_(spec),
        sandbox_(spec, directory),
        secrets_(secrets),
        out_(directory, "out", spec.output_bytes, secrets),
        err_(directory, "err", spec.output_bytes, secrets) {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int each : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, each);
    sigprocmask(SIG_BLOCK, &wanted, nullptr);
    signals_ = Fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (signals_.get() < 0) refuse("make", "a signalfd");
  }

  CommandResult run(std::vector<std::string> environment) {
    sandbox_.adapt(environment);
    result_.begun_us = wall_us();
    if (directory_.has("stop")) {
      result_.end = CommandEnd::stopped;
      result_.why = "The command was stopped before it had begun.";
      result_.begun_us = 0;
      return result_;
    }
    result_.sandbox_level = sandbox_.level();
    const Launched launched = sandbox_.start(environment, out_.theirs.get(), err_.theirs.get());
    out_.theirs.close();
    err_.theirs.close();
    if (!launched.problem.empty()) {
      result_.end = CommandEnd::not_started;
      result_.why = launched.problem;
      return result_;
    }
    command_ = launched.process;
    const std::int64_t begun = monotonic_ms();
    sandbox_.begin_census(begun);
    if (sandbox_.timeout_ms() > 0) due_ = begun + sandbox_.timeout_ms();
    while (!ended_) {
      wait_for_something();
      if (!ended_ && due_ >= 0 && monotonic_ms() >= due_) time_is_over();
      look_for_crowd();
    }
    end_the_rest();
    keep_artifacts(directory_, spec_, result_);
    finish();
    return result_;
  }

 private:
  enum class Why { nothing, asked, told, late };

  void wait_for_something() {
    const std::array<pollfd, 2> more = sandbox_.waits();
    std::array<pollfd, 5> all{{{signals_.get(), POLLIN, 0},
                               {out_.ours.get(), POLLIN, 0},
                               {err_.ours.get(), POLLIN, 0},
                               more[0],
                               more[1]}};
    std::int64_t next = due_;
    const std::int64_t census = crowd_.empty() ? sandbox_.census_ms() : -1;
    if (census >= 0 && (next < 0 || census < next)) next = census;
    int most = -1;
    if (next >= 0) {
      most = static_cast<int>(std::clamp<std::int64_t>(next - monotonic_ms(), 0, 1 << 30));
    }
    if (poll(all.data(), all.size(), most) < 0 && errno != EINTR) refuse("wait for", "its command");
    sandbox_.attend({all[3], all[4]});
    out_.take(std::size_t{1} << 20);
    err_.take(std::size_t{1} << 20);
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != SIGCHLD) {
        begin_to_end(directory_.has("stop") ? Why::asked : Why::told);
      }
    }
    reap();
  }

  void reap() {
    int status = 0;
    rusage used{};
    for (pid_t ended; (ended = wait4(-1, &status, WNOHANG, &used)) > 0;) {
      if (ended != command_) continue;  // an orphan of the command, which this process adopted
      ended_ = true;
      status_ = status;
      const auto micros = [](const timeval& t) { return t.tv_sec * 1'000'000 + t.tv_usec; };
      result_.cpu_us = micros(used.ru_utime) + micros(used.ru_stime);
      result_.peak_kib = used.ru_maxrss;
    }
  }

  void begin_to_end(Why why) {
    if (why_ != Why::nothing) return;
    why_ = why;
    std::vector<Process> all = descendants();
    // With the process that holds the namespaces everything in them would be killed at once.
    if (sandbox_.has_outer_process()) {
      std::erase_if(all, [&](const Process& each) { return each.id == command_; });
    }
    send(all, SIGTERM);
    send(descendants(), SIGCONT);  // one that is stopped would not hear the other
    due_ = monotonic_ms() + std::max<std::int64_t>(spec_.grace_ms, 0);
  }

  // Killed at once: whatever makes processes without end does not end by itself.
  void look_for_crowd() {
    if (ended_ || !crowd_.empty() || sandbox_.census_ms() < 0) return;
    const std::int64_t now = monotonic_ms();
    if (now >= sandbox_.census_ms()) crowd_ = sandbox_.too_many(now);
    if (crowd_.empty()) return;
    kill(command_, SIGKILL);
    send(descendants(), SIGKILL);
  }

  void time_is_over() {
    if (why_ == Why::nothing) return begin_to_end(Why::late);
    kill(command_, SIGKILL);
    send(descendants(), SIGKILL);
    due_ = monotonic_ms() + 100;  // again, for what was forked meanwhile
  }

  // The command is its first process: what that leaves behind does not outlive it.
  void end_the_rest() {
    for (int round = 0; round < 500; ++round) {
      pid_t ended = 0;
      while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (ended < 0 && errno == ECHILD) return;  // without a child there is nothing below it
      send(descendants(), SIGKILL);
      if (round > 2) poll(nullptr, 0, 10);
    }
    result_.why = "Processes of the command could not be killed. ";
  }

  void finish() {
    out_.finish();
    err_.finish();
    scrub_outputs();
    if (sandbox_.level() >= 2) empty_private_directory(directory_);
    status_ = sandbox_.status().value_or(status_);
    result_.output_dropped = out_.file.dropped();
    result_.errors_dropped = err_.file.dropped();
    if (WIFEXITED(status_)) {
      result_.end = CommandEnd::exited;
      result_.code = WEXITSTATUS(status_);
    } else {
      result_.end = CommandEnd::signalled;
      result_.signal = WTERMSIG(status_);
    }
    if (why_ == Why::asked) {
      result_.end = CommandEnd::stopped;
      result_.why += "The command was stopped.";
    } else if (why_ == Why::late) {
      result_.end = CommandEnd::timed_out;
      result_.why += "The command took longer than its " + std::to_string(sandbox_.timeout_ms()) +
                     " ms, and was killed.";
    } else if (why_ == Why::told) {
      result_.end = CommandEnd::unknown;
      result_.why +=
          "The supervisor of the command was told to end by a signal that is not of Tiffany, as "
          "when the machine is shut down; the command was ended with it.";
    }
    if (!crowd_.empty() && why_ == Why::nothing) {
      result_.end = CommandEnd::signalled;
      result_.signal = SIGKILL;
      result_.why += crowd_;
    } else if (why_ == Why::nothing && !sandbox_.problem().empty()) {
      result_.end = CommandEnd::not_started;
      result_.why = sandbox_.problem();
    }
    for (const Stream* const each : {&out_, &err_}) {
      if (!each->file.trouble().empty()) result_.why += " " + each->file.trouble();
    }
  }

  // What the command hands on goes into the log of the program.
  void scrub_outputs() {
    if (secrets_.empty()) return;
    try {
      const std::optional<std::string> text = directory_.read("outputs");
      if (!text) return;
      const std::string clean = secrets_.scrubbed(*text);
      if (clean != *text) directory_.replace("outputs", clean, false);
    } catch (const Refusal&) {  // too large, or no file: nobody reads it then
      unlinkat(directory_.fd(), "outputs", 0);
    }
  }

  const CommandDirectory& directory_;
  const CommandSpec& spec_;
  Sandboxed sandbox_;
  const Scrubber& secrets_;
  Stream out_;
  Stream err_;
  Fd signals_;
  pid_t command_ = -1;
  std::int64_t due_ = -1;
  Why why_ = Why::nothing;
  bool ended_ = false;
  std::string crowd_;  // not empty: there were too many processes
  int status_ = 0;
  CommandResult result_;
};

}  // namespace

std::string record_end(const CommandDirectory& directory, const CommandResult& result,
                       bool synced) {
  CommandResult told = result;
  told.ended_us = wall_us();
  std::string text = to_json(told);
  directory.replace("exit.json", text, synced);
  return text;
}

void supervise(const CommandDirectory& directory, const CommandSpec& spec, Fd tell) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Scrubber secrets;
  std::optional<Watch> watch;
  std::vector<std::string> environment;
  try {
    environment = environment_of(spec, directory, secrets);
    directory.reserve("exit.json");
    watch.emplace(directory, spec, secrets);
    exec::SupervisorMark mark;
    mark.pid = getpid();
    mark.started = start_of(getpid());
    mark.boot = boot_id();
    mark.begun_us = wall_us();
    directory.replace("supervisor", to_json(mark), spec.synced);  // from here on it has begun
  } catch (const SandboxMissing& missing) {
    write_all(tell.get(), exec::kNoSandbox + std::string(missing.what()));
    return;
  } catch (const Refusal& refusal) {
    write_all(tell.get(), exec::kRefused + std::string(refusal.what()));
    return;
  }
  write_all(tell.get(), std::string_view(&exec::kBegun, 1));
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int number = 0; number < 3; ++number) dup2(null.get(), number);
  CommandResult result;
  try {
    result = watch->run(environment);
  } catch (const Refusal& refusal) {
    send(descendants(), SIGKILL);
    result.end = CommandEnd::unknown;
    result.why = refusal.what();
  }
  // A disk may be full, and the command may have put things in the way or removed its directory:
  // the end is not lost as long as this process lives.
  for (int round = 0;; ++round) {
    try {
      if (directory.gone()) {
        CommandDirectory again(directory.path());
        write_all(tell.get(), record_end(again, result, spec.synced));
      } else {
        write_all(tell.get(), record_end(directory, result, spec.synced));
      }
      return;
    } catch (const Refusal&) {
      directory.clear_way("exit.json");
      if (round > 0) poll(nullptr, 0, 1000);
    }
  }
}

}  // namespace tiffany::supervisor
