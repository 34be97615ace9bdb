// tiffany-run: the supervisor of one command, which outlives the program that asked for it.
//
//   tiffany-run begin <directory>   < spec.json    begins the command of that directory, unless it
//                                                  has begun; settles one whose supervisor is gone
//   tiffany-run stop <directory>                   ends it, or sees to it that it never begins
//   tiffany-run forget <directory>                 removes what is left of a command that has ended
//   tiffany-run listen <directory of all>          forks supervisors for the program that called it
//                                                  (forker.hpp)
//
// The last part of the path is the id of the command. Returns when the fact is in the directory:
// 0, or 1 with a sentence on standard error. See docs/decisions/0027-supervised-commands.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "begin.hpp"
#include "files.hpp"
#include "forker.hpp"
#include "processes.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {
namespace {

int stop(const std::string& path) {
  CommandDirectory directory(path);
  directory.make("stop", true);
  const exec::SupervisorMark mark = mark_in(directory);
  if (mark.pid <= 1 || mark.boot != boot_id() || directory.has("exit.json")) return 0;
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(mark.pid), 0)));
  if (process.get() < 0) return 0;
  if (start_of(static_cast<pid_t>(mark.pid)) != mark.started) return 0;  // another one by now
  syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0);
  return 0;
}

int forget(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return 0;
  CommandDirectory directory(path);
  if (!directory.lock()) {
    throw Refusal("The command in " + path +
                  " runs. Stop it and take its end before it is forgotten.");
  }
  // The end goes late: what a crash leaves in between has still ended.
  for (const char* const name :
       {"out", "err", "out.tail", "out.tail.old", "err.tail", "err.tail.old", "outputs",
        "outputs.new", "spec.json.new", "supervisor.new", "exit.json.new", "spec.json",
        "supervisor", "exit.json", "stop", "lock"}) {
    if (unlinkat(directory.fd(), name, 0) != 0 && errno != ENOENT) refuse("remove", name);
  }
  if (rmdir(directory.path().c_str()) != 0) refuse("remove", directory.path());
  return 0;
}

int run(int count, char** words) {
  umask(077);
  for (int each = 1; each < NSIG; ++each) std::signal(each, SIG_DFL);  // commands begin so
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with a sentence
  try {
    if (count == 3 && std::string_view(words[1]) == "begin") return begin(words[2]);
    if (count == 3 && std::string_view(words[1]) == "stop") return stop(words[2]);
    if (count == 3 && std::string_view(words[1]) == "forget") return forget(words[2]);
    if (count == 3 && std::string_view(words[1]) == "listen") return listen(words[2]);
    std::fputs("usage: tiffany-run begin|stop|forget <directory of the command>\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return 1;
  }
}

}  // namespace
}  // namespace tiffany::supervisor

int main(int count, char** words) { return tiffany::supervisor::run(count, words); }
