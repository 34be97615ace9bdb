// tiffany-run: the supervisor of one command, which outlives the program that asked for it.
//
//   tiffany-run begin <directory>   < spec.json    begins the command of that directory, unless it
//                                                  has begun; settles one whose supervisor is gone
//   tiffany-run stop <directory>                   ends it, or sees to it that it never begins
//   tiffany-run forget <directory>                 removes what is left of a command that has ended
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

#include "files.hpp"
#include "processes.hpp"
#include "supervise.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {
namespace {

constexpr std::size_t kLongestSpec = std::size_t{2} << 20;

std::string standard_input() {
  std::string text;
  std::array<char, 16 * 1024> room;
  for (;;) {
    const ssize_t n = read(0, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("read", "standard input");
    if (n == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(n));
    if (text.size() > kLongestSpec) {
      throw Refusal("tiffany-run takes commands of at most 2 MiB. Put what is long into a file.");
    }
  }
}

exec::SupervisorMark mark_in(const CommandDirectory& directory) {
  const std::string text = directory.read("supervisor").value_or("");
  try {
    return from_json<exec::SupervisorMark>(text);
  } catch (const Error&) {
    return {};  // damaged: nobody is known by it, and the lock says whether somebody is there
  }
}

// A command that began, whose supervisor is not there any more.
void settle(const CommandDirectory& directory) {
  const exec::SupervisorMark mark = mark_in(directory);
  exec::CommandResult result;
  result.begun_us = mark.begun_us;
  if (mark.boot != boot_id()) {
    result.why =
        "The machine was started anew while the command ran: nobody knows how far it came.";
  } else {
    result.why = "The supervisor of the command was killed: nobody knows how far the command came.";
    if (!kill_marked(directory.id())) result.why += " Processes of it are left.";
  }
  record_end(directory, result, true);
}

int begin(const std::string& path) {
  const std::string text = standard_input();
  const auto spec = from_json<exec::CommandSpec>(text);
  if (spec.argv.empty()) throw Refusal("A command needs at least the name of a program.");
  CommandDirectory directory(path);
  if (!directory.lock()) return 0;  // its supervisor is there
  if (directory.has("exit.json")) return 0;
  if (directory.has("supervisor")) {
    settle(directory);
    return 0;
  }
  directory.replace("spec.json", text, spec.synced);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make", "a pipe");
  const Fd hear(ends[0]);
  Fd ready(ends[1]);
  const pid_t child = fork();
  if (child < 0) refuse("make", "a process");
  if (child == 0) {
    setsid();
    supervise(directory, spec, std::move(ready));
    return 0;
  }
  ready.close();
  std::string said;
  std::array<char, 4096> room;
  for (;;) {
    const ssize_t n = read(hear.get(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    said.append(room.data(), static_cast<std::size_t>(n));
  }
  if (said == std::string_view("\0", 1)) return 0;
  waitpid(child, nullptr, 0);
  throw Refusal(said.empty() ? "The supervisor ended before the command had begun." : said);
}

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
        "spec.json.new", "supervisor.new", "exit.json.new", "spec.json", "supervisor", "exit.json",
        "stop", "lock"}) {
    if (unlinkat(directory.fd(), name, 0) != 0 && errno != ENOENT) refuse("remove", name);
  }
  if (rmdir(directory.path().c_str()) != 0) refuse("remove", directory.path());
  return 0;
}

int run(int count, char** words) {
  umask(077);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with a sentence
  try {
    if (count == 3 && std::string_view(words[1]) == "begin") return begin(words[2]);
    if (count == 3 && std::string_view(words[1]) == "stop") return stop(words[2]);
    if (count == 3 && std::string_view(words[1]) == "forget") return forget(words[2]);
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
