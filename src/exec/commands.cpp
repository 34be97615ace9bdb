#include "tiffany/exec/commands.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/descriptor.hpp"
#include "tiffany/io/directory.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/wait.hpp"

namespace tiffany::exec {
namespace {

constexpr std::size_t kMostOfAFile = std::size_t{4} << 20;

// These files are small and were written a moment ago, or are in /proc: reading them here is
// shorter than handing it over.
std::optional<std::string> small_file(const std::string& path, std::size_t most = kMostOfAFile) {
  WorldFiles& files = World::current().files();
  const int file = files.open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ESRCH) return std::nullopt;
    throw_io_error("open", path);
  }
  const Descriptor owned(file);
  std::string text;
  std::string room(std::min<std::size_t>(most, 64 * 1024), '\0');
  while (text.size() < most) {
    const ssize_t n = files.read(file, room.data(), std::min(room.size(), most - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ESRCH) return std::nullopt;  // a process that has ended, in /proc
    if (n < 0) throw_io_error("read", path);
    if (n == 0) break;
    text.append(room, 0, static_cast<std::size_t>(n));
  }
  return text;
}

template <class T>
std::optional<T> record_in(const std::string& path) {
  const std::optional<std::string> text = small_file(path);
  if (!text) return std::nullopt;
  try {
    return from_json<T>(*text);
  } catch (const Error& error) {
    throw Error(Errc::command_damaged,
                "The file " + path + " is damaged: " + error.what() +
                    " Nobody knows how the command ended. Remove its directory to forget it.");
  }
}

std::uint64_t start_of(std::int64_t process) {
  const std::string text =
      small_file("/proc/" + std::to_string(process) + "/stat").value_or(std::string());
  std::size_t at = text.rfind(')');  // the name may have blanks
  constexpr int kStartTime = 22;     // proc(5)
  for (int i = 2; i < kStartTime && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 1, nullptr, 10);
}

// Nothing: that process is not there any more.
Descriptor handle_of(const SupervisorMark& mark) {
  if (mark.pid <= 1) return {};
  WorldProcesses& processes = World::current().processes();
  Descriptor handle(processes.open_handle(static_cast<pid_t>(mark.pid)));
  if (!handle) {
    if (errno == ESRCH) return {};
    throw_io_error("open", "the process " + std::to_string(mark.pid));
  }
  // After the handle: from here on the number cannot become that of another process unnoticed.
  if (start_of(mark.pid) != mark.started) return {};
  return handle;
}

void require_same(const std::string& at, const CommandSpec& spec) {
  const auto before = record_in<CommandSpec>(at + "/spec.json");
  if (!before || (before->argv == spec.argv && before->directory == spec.directory)) return;
  throw Error(Errc::command_conflict,
              "The id of the command in " + at +
                  " belongs to another command already, with other words or another directory. "
                  "Take another id.");
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

// A secret in a variable of this program goes to tiffany-run, and to nobody else.
Command with_secrets(Command command, const CommandSpec& spec) {
  char** const all = World::current().processes().environment();
  for (const Secret& secret : spec.secrets) {
    for (char** each = all; !secret.variable.empty() && *each != nullptr; ++each) {
      const std::string_view entry = *each;
      if (entry.starts_with(secret.variable + "=")) {
        static_cast<void>(std::move(command).env(
            secret.variable, std::string(entry.substr(secret.variable.size() + 1))));
      }
    }
  }
  return command;
}

Task<void> call_supervisor(Command command, std::string input) {
  const ProcessOutput done = co_await run_command(std::move(command), std::move(input));
  if (done.status.ok()) co_return;
  std::string said = done.errors;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  throw Error(Errc::command_failed,
              said.empty() ? "tiffany-run ended with " + done.status.text() + "." : said);
}

}  // namespace

Task<CommandResult> Commands::run(Uuid id, CommandSpec spec) {
  require_sense(spec);
  const std::string at = directory_ + "/" + id.text();
  require_same(at, spec);
  // Begun, waited for, settled: more rounds mean that supervisors are killed faster than they can
  // say so.
  for (int round = 0; round < 100; ++round) {
    if (const auto end = record_in<CommandResult>(at + "/exit.json")) co_return *end;
    if (const auto mark = record_in<SupervisorMark>(at + "/supervisor")) {
      const Descriptor process = handle_of(*mark);
      // One that has ended may stay in the table of processes for as long as nobody reaps it.
      if (process) co_await readable(process);
      if (const auto end = record_in<CommandResult>(at + "/exit.json")) co_return *end;
    }
    Command begin = with_secrets(Command(program_).arg("begin").arg(at), spec);
    co_await call_supervisor(std::move(begin), to_json(spec));
  }
  throw Error(Errc::command_failed, "The command in " + at +
                                        " has neither a supervisor nor an end, although "
                                        "tiffany-run was called again and again.");
}

Task<void> Commands::stop(Uuid id) {
  co_await call_supervisor(Command(program_).arg("stop").arg(directory_ + "/" + id.text()), "");
}

std::string Commands::path(const Uuid& id, CommandFile which) const {
  constexpr std::string_view kNames[] = {"out", "err", "outputs"};
  return directory_ + "/" + id.text() + "/" + std::string(kNames[static_cast<int>(which)]);
}

Task<std::string> Commands::read(Uuid id, CommandFile which, std::size_t most) {
  co_return small_file(path(id, which), most).value_or(std::string());
}

Task<void> Commands::forget(Uuid id) {
  co_await call_supervisor(Command(program_).arg("forget").arg(directory_ + "/" + id.text()), "");
}

Task<std::size_t> Commands::sweep(std::set<Uuid> keep) {
  std::size_t count = 0;
  struct stat about{};
  if (World::current().files().status(directory_.c_str(), about) != 0) co_return count;
  const std::vector<DirectoryEntry> all = co_await list_directory(directory_);
  for (const DirectoryEntry& entry : all) {
    const std::optional<Uuid> id = Uuid::parse(entry.name());
    if (!id || keep.count(*id) != 0) continue;
    const std::string at = directory_ + "/" + id->text();
    const auto spec = record_in<CommandSpec>(at + "/spec.json");
    if (spec && !record_in<CommandResult>(at + "/exit.json")) {
      co_await stop(*id);
      static_cast<void>(co_await run(*id, *spec));
    }
    co_await forget(*id);
    ++count;
  }
  co_return count;
}

}  // namespace tiffany::exec
