// tiffany-run: the supervisor of one command, which outlives the program that asked for it.
//
//   tiffany-run begin <directory>   < spec.json    begins the command of that directory, unless it
//                                                  has begun; settles one whose supervisor is gone
//   tiffany-run stop <directory>                   ends it, or sees to it that it never begins
//   tiffany-run forget <directory>                 removes what is left of a command that has ended
//   tiffany-run listen <directory of all>          forks supervisors for the program that called it
//                                                  (forker.hpp)
//   tiffany-run probe                              prints what this machine gives for a sandbox
//   tiffany-run inside                             the first process of a sandbox of level 3; it is
//                                                  called by bwrap (bubble.hpp)
//
// The last part of the path is the id of the command. Returns when the fact is in the directory:
// 0, or 1 with a sentence on standard error, 3 when that is about a sandbox that is missing.
// See docs/decisions/0027-supervised-commands.md.
#include <fcntl.h>
#include <sys/stat.h>
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
#include "bubble.hpp"
#include "confine.hpp"
#include "files.hpp"
#include "forget.hpp"
#include "forker.hpp"
#include "processes.hpp"
#include "sandbox_probe.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {
namespace {

int stop(const std::string& path) {
  CommandDirectory directory(path);
  directory.make("stop", true);
  const exec::SupervisorMark mark = mark_in(directory);
  if (mark.pid <= 1 || mark.boot != boot_id() || directory.has("exit.json")) return 0;
  send({{static_cast<pid_t>(mark.pid), mark.started}}, SIGTERM);
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
    if (count == 2 && std::string_view(words[1]) == "probe") return print_probe();
    if (count == 2 && std::string_view(words[1]) == "inside") return inside();
    std::fputs(
        "usage: tiffany-run begin|stop|forget <directory of the command>, or tiffany-run "
        "probe\n",
        stderr);
    return 2;
  } catch (const SandboxMissing& missing) {
    std::fputs(missing.what(), stderr);
    std::fputs("\n", stderr);
    return exec::kExitNoSandbox;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return 1;
  }
}

}  // namespace
}  // namespace tiffany::supervisor

int main(int count, char** words) { return tiffany::supervisor::run(count, words); }
