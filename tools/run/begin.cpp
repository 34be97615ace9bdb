#include "begin.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "confine.hpp"
#include "processes.hpp"
#include "supervise.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::supervisor {
namespace {

bool is_there(const exec::SupervisorMark& mark) {
  if (mark.pid <= 1 || mark.boot != boot_id()) return false;
  return handle_of({static_cast<pid_t>(mark.pid), mark.started}).get() >= 0;
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

}  // namespace

exec::SupervisorMark mark_in(const CommandDirectory& directory) {
  const std::string text = directory.read("supervisor").value_or("");
  try {
    return from_json<exec::SupervisorMark>(text);
  } catch (const Error&) {
    return {};  // damaged: nobody is known by it, and the lock says whether somebody is there
  }
}

Standing take(CommandDirectory& directory, const exec::CommandSpec& spec, std::string_view text) {
  if (spec.argv.empty()) throw Refusal("A command needs at least the name of a program.");
  if (!directory.lock()) {
    if (is_there(mark_in(directory))) return Standing::taken;
    directory.wait_for_lock();  // another one is about to begin it
  }
  if (directory.has("exit.json")) return Standing::over;
  if (directory.has("supervisor")) {
    settle(directory);
    return Standing::over;
  }
  directory.replace("spec.json", text, spec.synced);
  return Standing::free;
}

int begin(const std::string& path) {
  const std::string text = read_to_end(0);
  const auto spec = from_json<exec::CommandSpec>(text);
  CommandDirectory directory(path);
  if (take(directory, spec, text) != Standing::free) return 0;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make", "a pipe");
  const Fd hear(ends[0]);
  Fd tell(ends[1]);
  const pid_t child = fork();
  if (child < 0) refuse("make", "a process");
  if (child == 0) {
    setsid();
    supervise(directory, spec, std::move(tell));
    return 0;
  }
  tell.close();
  std::string said;
  std::array<char, 4096> room;
  while (said.empty() || said[0] != exec::kBegun) {
    const ssize_t n = read(hear.get(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    said.append(room.data(), static_cast<std::size_t>(n));
  }
  if (!said.empty() && said[0] == exec::kBegun) return 0;
  waitpid(child, nullptr, 0);
  if (!said.empty() && said[0] == exec::kNoSandbox) throw SandboxMissing(said.substr(1));
  throw Refusal(said.empty() ? "The supervisor ended before the command had begun."
                             : said.substr(1));
}

}  // namespace tiffany::supervisor
