#include "tiffany/exec/commands.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/command_files.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/descriptor.hpp"
#include "tiffany/io/directory.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/wait.hpp"

namespace tiffany::exec {
namespace {

bool is_of_this_boot(const SupervisorMark& mark) {
  const std::string id = small_file("/proc/sys/kernel/random/boot_id").value_or(std::string());
  return mark.boot == id.substr(0, id.find('\n'));
}

// Nothing: that process is not there any more.
Descriptor handle_of(const SupervisorMark& mark) {
  if (mark.pid <= 1 || !is_of_this_boot(mark)) return {};
  WorldProcesses& processes = World::current().processes();
  Descriptor handle(processes.open_handle(static_cast<pid_t>(mark.pid)));
  if (!handle) {
    if (errno == ESRCH) return {};
    throw_io_error("open", "the process " + std::to_string(mark.pid));
  }
  // After the handle: from here on the number cannot become that of another process unnoticed.
  const std::optional<std::string> stat = small_file("/proc/" + std::to_string(mark.pid) + "/stat");
  if (!stat || start_in_stat(*stat) != mark.started) return {};
  return handle;
}

void require_same(const std::string& at, const CommandSpec& spec) {
  std::optional<CommandSpec> before;
  try {
    before = record_in<CommandSpec>(at + "/spec.json");
  } catch (const Error&) {
    if (has_begun(at)) throw;
    return;  // what was half written for a command that never began is written anew
  }
  // A sandbox that was refused, and was mended, begins under the same id.
  const bool same_sandbox = !before || before->sandbox == spec.sandbox || !has_begun(at);
  if (!before ||
      (before->argv == spec.argv && before->directory == spec.directory && same_sandbox)) {
    return;
  }
  throw Error(Errc::command_conflict,
              "The id of the command in " + at +
                  " belongs to another command already, with other words, another directory or "
                  "another sandbox. Take another id.");
}

void require_sense(const CommandSpec& spec) {
  const auto refuse = [](const std::string& what) {
    throw Error(Errc::bad_argument, "A command " + what);
  };
  if (spec.argv.empty() || spec.argv[0].empty()) refuse("needs the name of a program.");
  const auto has_zero = [](const std::string& text) {
    return text.find('\0') != std::string::npos;
  };
  if (std::any_of(spec.argv.begin(), spec.argv.end(), has_zero) || has_zero(spec.directory)) {
    refuse("has a zero byte in a word or in its directory.");
  }
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_zero(name) || has_zero(value)) {
      refuse("has a variable without a name, with a '=' in its name, or with a zero byte.");
    }
  }
  for (const Secret& secret : spec.secrets) {
    if (secret.name.empty() || secret.name.find('=') != std::string::npos ||
        secret.file.empty() == secret.variable.empty()) {
      refuse("has a secret without a name, or without exactly one source: a file or a variable.");
    }
  }
}

void require_sandbox(const CommandSpec& spec) {
  if (!spec.sandbox) return;
  const auto refuse = [](const std::string& what) { throw Error(Errc::bad_argument, what); };
  const Sandbox& sandbox = *spec.sandbox;
  if (sandbox.level < 0 || sandbox.level > Sandbox::kHighest) {
    refuse("A sandbox has a level from 0 to 3, and not " + std::to_string(sandbox.level) + ".");
  }
  // The directory of this program has the log, and would be written by default.
  if (sandbox.level >= 2 && (spec.directory.empty() || spec.directory == "/")) {
    refuse(
        "A command in a sandbox of level 2 or 3 needs a directory of its own, not / and not that "
        "of the program.");
  }
  for (const std::vector<std::string>& paths : {sandbox.read, sandbox.write}) {
    for (const std::string& each : paths) {
      if (each.empty() || each.find('\0') != std::string::npos) {
        refuse("A sandbox has a path that is empty or has a zero byte in it.");
      }
    }
  }
}

using Variables = std::vector<std::pair<std::string, std::string>>;

// A secret in a variable of this program goes to tiffany-run, and to nobody else.
Variables sources_of(const CommandSpec& spec) {
  char** const all = World::current().processes().environment();
  Variables found;
  for (const Secret& secret : spec.secrets) {
    for (char** each = all; !secret.variable.empty() && *each != nullptr; ++each) {
      const std::string_view entry = *each;
      if (entry.starts_with(secret.variable + "=")) {
        found.emplace_back(secret.variable, entry.substr(secret.variable.size() + 1));
      }
    }
  }
  return found;
}

Command begin_call(const std::string& program, const std::string& at, const CommandSpec& spec) {
  Command command = Command(program).arg("begin").arg(at);
  for (auto& [name, value] : sources_of(spec)) {
    static_cast<void>(std::move(command).env(name, value));
  }
  return command;
}

constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un

// What the forker, or the supervisor that it forked, says until it ends; empty: there is no forker,
// or it has gone. Everything that was not said is in the files of the command.
Task<std::string> ask_forker(std::string socket, std::string request) {
  std::string said;
  try {
    Socket connection = co_await connect(Address::unix_path(socket));
    co_await connection.write(request);
    connection.shutdown_write();
    std::array<std::byte, 4096> room;
    while (const std::size_t n = co_await connection.read(Room(room.data(), room.size()))) {
      said.append(reinterpret_cast<const char*>(room.data()), n);
    }
  } catch (const IoError&) {
    said.resize(std::min<std::size_t>(said.size(), 1));  // an end that is cut off is in its file
  }
  co_return said;
}

Task<void> call_supervisor(Command command, std::string input) {
  const ProcessOutput done = co_await run_command(std::move(command), std::move(input));
  if (done.status.ok()) co_return;
  std::string said = done.errors;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const bool sandbox = done.status.signal == 0 && done.status.code == kExitNoSandbox;
  throw Error(sandbox ? Errc::sandbox_missing : Errc::command_failed,
              said.empty() ? "tiffany-run ended with " + done.status.text() + "." : said);
}

// The contract of run(): command_failed is for what has not begun, and for nothing else.
[[noreturn]] void throw_by_begin(const std::string& at, const Error& error) {
  const Errc code = error.code();
  if (code == Errc::command_conflict || code == Errc::command_damaged ||
      code == Errc::sandbox_missing) {
    throw;
  }
  if (!has_begun(at)) throw Error(Errc::command_failed, error.what());
  if (code != Errc::command_failed) throw;
  throw Error(Errc::io_failed,
              "The command in " + at + " has begun, and its end cannot be taken: " + error.what());
}

}  // namespace

Task<CommandResult> Commands::run(Uuid id, CommandSpec spec) {
  require_sense(spec);
  require_sandbox(spec);
  const std::string at = directory_ + "/" + id.text();
  try {
    if (!exists(at)) {
      const std::optional<CommandResult> end = co_await fork_one(at, spec);
      if (end) co_return *end;
    }
    require_same(at, spec);
    // Begun; waited for; settled, if its supervisor was killed.
    for (int round = 0; round < 4; ++round) {
      if (const auto end = record_in<CommandResult>(at + "/exit.json")) co_return *end;
      if (const auto mark = record_in<SupervisorMark>(at + "/supervisor")) {
        const Descriptor process = handle_of(*mark);
        // One that has ended may stay in the table of processes for as long as nobody reaps it.
        if (process) co_await readable(process);
        if (const auto end = record_in<CommandResult>(at + "/exit.json")) co_return *end;
      }
      co_await call_supervisor(begin_call(program_, at, spec), to_json(spec));
    }
  } catch (const Error& error) {
    throw_by_begin(at, error);
  }
  throw Error(Errc::io_failed, "The command in " + at +
                                   " has neither a supervisor nor an end, although tiffany-run "
                                   "was called again and again.");
}

// A new command costs a fork of a small process that is there already, and not an exec of one.
// Nothing: look at the files, and call tiffany-run.
Task<std::optional<CommandResult>> Commands::fork_one(std::string at, const CommandSpec& spec) {
  const std::string socket = directory_ + "/forker";
  if (starting_ || socket.size() > kLongestSocketPath) co_return std::nullopt;
  ForkRequest about;
  about.directory = at;
  about.variables = sources_of(spec);
  const std::string request = to_json(about) + "\n" + to_json(spec);
  std::string said = co_await ask_forker(socket, request);
  if (said.empty()) {
    if (starting_) co_return std::nullopt;
    const Starting now(starting_);
    try {
      co_await call_supervisor(Command(program_).arg("listen").arg(directory_), "");
    } catch (const Error&) {
      co_return std::nullopt;  // `tiffany-run begin` says what is wrong
    }
  }
  if (said.empty()) said = co_await ask_forker(socket, request);
  if (said.empty() || said[0] == kTaken) co_return std::nullopt;
  if (said[0] == kNoSandbox) throw Error(Errc::sandbox_missing, said.substr(1));
  if (said[0] == kRefused) throw Error(Errc::command_failed, said.substr(1));
  if (said.size() == 1) co_return std::nullopt;  // the supervisor was killed
  try {
    co_return from_json<CommandResult>(std::string_view(said).substr(1));
  } catch (const Error&) {
    co_return std::nullopt;  // a part of it: the rest is in the file, or nowhere
  }
}

Task<void> Commands::stop(Uuid id) {
  co_await call_supervisor(Command(program_).arg("stop").arg(directory_ + "/" + id.text()), "");
}

std::string Commands::path(const Uuid& id, CommandFile which) const {
  constexpr std::string_view kNames[] = {"out", "err", "outputs"};
  return directory_ + "/" + id.text() + "/" + std::string(kNames[static_cast<int>(which)]);
}

std::optional<CommandResult> CommandRunner::end_of(const Uuid& /*id*/) const {
  return std::nullopt;
}
Task<void> CommandRunner::forget_older(Uuid /*id*/, std::uint64_t /*round*/) { co_return; }
std::string CommandRunner::artifact_path(const Uuid& /*id*/, std::size_t /*number*/) const {
  return "";
}
std::optional<CommandResult> Commands::end_of(const Uuid& id) const {
  return record_in<CommandResult>(directory_ + "/" + id.text() + "/exit.json");
}
std::string Commands::artifact_path(const Uuid& id, std::size_t number) const {
  return directory_ + "/" + id.text() + "/artifact." + std::to_string(number);
}

Task<std::string> Commands::read(Uuid id, CommandFile which, std::size_t most) {
  std::string text;
  std::optional<Descriptor> found = open_plain(path(id, which));
  if (!found) co_return text;
  const File file(std::move(*found));
  constexpr std::size_t kPart = std::size_t{256} * 1024;
  while (text.size() < most) {
    const std::size_t before = text.size();
    text.resize(before + std::min(kPart, most - before));
    const Room room(text.data() + before, text.size() - before);
    const std::size_t n = co_await file.read_at(before, room);
    text.resize(before + n);
    if (n == 0) break;
  }
  co_return text;
}

Task<void> Commands::forget_older(Uuid id, std::uint64_t round) {
  const std::string at = directory_ + "/" + id.text();
  if (!exists(at + "/exit.json")) co_return;
  const auto spec = record_in<CommandSpec>(at + "/spec.json");
  if (spec && spec->round < round) co_await forget(id);
}

Task<SandboxProbe> Commands::probe_sandbox() {
  if (probe_) co_return *probe_;
  const ProcessOutput done = co_await run_command(Command(program_).arg("probe"));
  if (!done.status.ok()) {
    throw Error(Errc::command_failed, "tiffany-run probe ended with " + done.status.text() + ": " +
                                          done.errors + " Is " + program_ + " of this version?");
  }
  probe_ = from_json<SandboxProbe>(done.output);
  co_return *probe_;
}

Task<void> Commands::forget(Uuid id) {
  co_await call_supervisor(Command(program_).arg("forget").arg(directory_ + "/" + id.text()), "");
}

}  // namespace tiffany::exec
