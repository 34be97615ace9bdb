// What a supervised command is, and how it ended: the two texts that a program and tiffany-run
// exchange, spec.json and exit.json (docs/decisions/0027-supervised-commands.md). Needs nothing but
// module base, because tiffany-run is made of no more.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/exec/sandbox.hpp"

namespace tiffany::exec {

// A variable whose value is nowhere but in the environment of the command: tiffany-run reads it
// from a file (without one line break at the end) or from a variable of the program that begins the
// command. One of the two is empty.
class Secret {
 public:
  Secret() = default;
  static Secret from_file(std::string variable, std::string path) {
    Secret secret;
    secret.name = std::move(variable);
    secret.file = std::move(path);
    return secret;
  }
  static Secret from_variable(std::string variable, std::string source) {
    Secret secret;
    secret.name = std::move(variable);
    secret.variable = std::move(source);
    return secret;
  }
  std::string name{};
  std::string file{};
  std::string variable{};
};
TIFFANY_JSON(Secret, name, file, variable);

// Limits of the kernel (setrlimit) for the command and each of its children. None: that of the
// program; in a sandbox 4096 open files, 16 GiB a file, and 512 processes (4096 at level 1).
class CommandLimits {
 public:
  CommandLimits() = default;
  std::optional<std::uint64_t> cpu_seconds{};
  std::optional<std::uint64_t> memory_bytes{};
  std::optional<std::uint64_t> file_bytes{};
  std::optional<std::uint64_t> open_files{};
  // Of the user, not of the command alone. From level 2 of a sandbox on: processes and threads of
  // the command, looked at twenty times a second; a command that has more is killed.
  std::optional<std::uint64_t> processes{};
};
TIFFANY_JSON(CommandLimits, cpu_seconds, memory_bytes, file_bytes, open_files, processes);

// Words are given to the program as they are; no shell reads them.
class CommandSpec {
 public:
  CommandSpec() = default;
  explicit CommandSpec(std::vector<std::string> words) : argv(std::move(words)) {}

  std::vector<std::string> argv{};
  std::string directory{};  // empty: the one of the program
  // In addition to PATH, HOME, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TZ, TMPDIR and TERM of
  // the program, which are all that is inherited.
  std::vector<std::pair<std::string, std::string>> environment{};
  std::vector<Secret> secrets{};
  CommandLimits limits{};
  // Of output and of errors each: the first half of so many bytes is kept, and the last.
  std::uint64_t output_bytes = std::uint64_t{1} << 20;
  std::int64_t timeout_ms = 0;    // zero: none
  std::int64_t grace_ms = 5'000;  // between SIGTERM and SIGKILL
  // Each fact is on the disk before the next one begins. Without it a power cut may make a command
  // that had ended begin again, which only commands that may run twice allow.
  bool synced = true;
  // The id of the durable task that the command is for: the directory of the command is kept as
  // long as that task.
  std::optional<std::string> owner{};
  // Files that are kept when the command has ended, as patterns of the shell below `directory`
  // ("dist/*.tar"), and so many bytes of them together.
  std::vector<std::string> artifacts{};
  std::uint64_t artifact_bytes = std::uint64_t{16} << 20;
  // Greater each time that what the command did is to be done again: CommandRunner::forget_older.
  std::uint64_t round = 0;
  std::optional<Sandbox> sandbox{};

  int sandbox_level() const noexcept { return sandbox ? sandbox->level : 0; }
};
TIFFANY_JSON(CommandSpec, argv, directory, environment, secrets, limits, output_bytes, timeout_ms,
             grace_ms, synced, owner, artifacts, artifact_bytes, round, sandbox);
TIFFANY_JSON_ADDED(CommandSpec, artifacts, artifact_bytes, round, sandbox);

// A file that was kept.
struct Artifact {
  std::string name{};  // below the directory of the command
  std::uint64_t size = 0;
  std::string sha256{};
};
TIFFANY_JSON(Artifact, name, size, sha256);

enum class CommandEnd : std::uint8_t {
  exited,       // by itself: `code`
  signalled,    // by a signal that nobody of us sent: `signal`
  timed_out,    // longer than timeout_ms: killed
  stopped,      // by Commands::stop, perhaps before it had begun
  not_started,  // there is no such program, or no such directory
  unknown,      // its supervisor or its machine went down: nobody knows how far the command came
};
std::string_view name_of(CommandEnd end) noexcept;

struct CommandResult {
  CommandEnd end = CommandEnd::unknown;
  int code = 0;
  int signal = 0;
  std::string why{};          // a sentence; empty when the command ended by itself
  std::int64_t begun_us = 0;  // on the clock of the wall; zero: it never began
  std::int64_t ended_us = 0;
  std::uint64_t output_dropped = 0;  // bytes that were not kept
  std::uint64_t errors_dropped = 0;
  std::int64_t cpu_us = 0;
  std::int64_t peak_kib = 0;
  std::vector<Artifact> artifacts{};  // number i is the file artifact.i
  std::string artifact_problem{};     // a sentence for each that could not be kept
  int sandbox_level = 0;              // that the command ran in; zero: none
  bool ok() const noexcept { return end == CommandEnd::exited && code == 0; }
  // "exit code 3", "killed by signal 9", or the sentence.
  std::string text() const;
};
TIFFANY_JSON(CommandResult, end, code, signal, why, begun_us, ended_us, output_dropped,
             errors_dropped, cpu_us, peak_kib, artifacts, artifact_problem, sandbox_level);
TIFFANY_JSON_ADDED(CommandResult, artifacts, artifact_problem, sandbox_level);

// Which process watches over a command.
struct SupervisorMark {
  std::int64_t pid = 0;
  std::uint64_t started = 0;  // in ticks since the machine began
  std::string boot{};
  std::int64_t begun_us = 0;
};
TIFFANY_JSON(SupervisorMark, pid, started, boot, begun_us);

// A field of /proc/<pid>/stat, by its number in proc(5), from 3 on; empty: the text has none.
inline std::string_view field_of_stat(std::string_view text, int number) noexcept {
  std::size_t at = text.rfind(')');  // the name of the program may have blanks and brackets
  for (int i = 2; i < number && at != std::string_view::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string_view::npos) return {};
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}
// SupervisorMark::started of the process with that text; zero: the text is none of a process.
inline std::uint64_t start_in_stat(std::string_view text) noexcept {
  std::uint64_t ticks = 0;
  const std::string_view field = field_of_stat(text, 22);
  std::from_chars(field.data(), field.data() + field.size(), ticks);
  return ticks;
}

// What a program asks the forker of tiffany-run for, before the text of the CommandSpec, and the
// first byte of what it answers (tools/run/forker.hpp).
struct ForkRequest {
  std::string directory{};                                       // of the command
  std::vector<std::pair<std::string, std::string>> variables{};  // sources of secrets
};
TIFFANY_JSON(ForkRequest, directory, variables);
inline constexpr char kBegun = 'b';       // the command has begun; its end follows
inline constexpr char kTaken = 't';       // it runs under another supervisor
inline constexpr char kOver = 'o';        // it has ended; its end follows
inline constexpr char kRefused = 'r';     // it has not begun; a sentence follows
inline constexpr char kNoSandbox = 's';   // the same: this machine cannot give its sandbox
inline constexpr int kExitNoSandbox = 3;  // of `tiffany-run begin` then

inline std::string_view name_of(CommandEnd end) noexcept {
  constexpr std::string_view kNames[] = {"exited",  "signalled",   "timed_out",
                                         "stopped", "not_started", "unknown"};
  return kNames[static_cast<std::size_t>(end)];
}

inline std::string CommandResult::text() const {
  if (end == CommandEnd::exited) return "exit code " + std::to_string(code);
  if (end == CommandEnd::signalled && why.empty()) {
    return "killed by signal " + std::to_string(signal);
  }
  return why.empty() ? std::string(name_of(end)) : why;
}

}  // namespace tiffany::exec

// By its name, for those who read the file.
template <>
struct tiffany::Codec<tiffany::exec::CommandEnd> {
  static void write(JsonWriter& out, exec::CommandEnd end) { out.value(name_of(end)); }
  static exec::CommandEnd read(JsonReader& in) {
    in.kind();
    const std::size_t at = in.offset();
    const std::string name = in.string();
    for (int i = 0; i <= static_cast<int>(exec::CommandEnd::unknown); ++i) {
      const auto end = static_cast<exec::CommandEnd>(i);
      if (name == exec::name_of(end)) return end;
    }
    in.fail("the end of a command (exited, signalled, timed_out, ...)", at);
  }
};
