// Commands that outlive the program that asked for them. Each runs under a process of its own,
// tiffany-run, which writes down how the command ended; so the next program with the same directory
// finds a command by its id, waits for it, and takes its end, also when it ended meanwhile.
//
//   exec::Commands commands("state/commands", "/usr/lib/tiffany/tiffany-run");
//   exec::CommandResult end = co_await commands.run(id, exec::CommandSpec({"make", "test"}));
//
// The same id never runs twice. For commands that may die with this program use io/process.hpp.
//
// <directory>/<id>/ has spec.json, out, err, outputs (what the command wrote to $TIFFANY_OUTPUT),
// and at the end exit.json; docs/decisions/0027-supervised-commands.md has the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::exec {

enum class CommandFile : std::uint8_t { out, err, outputs };

// What a program needs of commands, so that a test can stand in for processes.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Begins the command of that id, or attaches to it, and waits for its end. A command that cannot
  // be begun, by a full disk or a missing secret, is an Error (Errc::command_failed), and has not
  // begun; nor has one whose sandbox this machine cannot give (Errc::sandbox_missing).
  // Errc::command_conflict: the id is that of a command with other words. After any other Error but
  // Errc::bad_argument the command may have begun, and run() with the same id may attach
  // to it.
  //
  // Cancel. Before start: nothing is begun. While parked: the wait is given up, and the command
  // goes on; run() with the same id attaches to it, stop() ends it. After completion: the result is
  // given, and the next suspension throws.
  virtual Task<CommandResult> run(Uuid id, CommandSpec spec) = 0;
  // Asks the command, and everything that it started, to end (SIGTERM), and kills what is left
  // after CommandSpec::grace_ms; returns at once. One that has not begun never begins: run() gives
  // `stopped`. One that has ended stays as it is. Cancel: the request is made, or not.
  virtual Task<void> stop(Uuid id) = 0;
  // The first `most` bytes of what the command wrote; empty when it wrote nothing.
  // Errc::command_damaged: the command put something there that is no file.
  virtual Task<std::string> read(Uuid id, CommandFile which, std::size_t most) = 0;
  // The path of that, for people.
  virtual std::string path(const Uuid& id, CommandFile which) const = 0;
  // How the command ended, and what it left; nothing when it has not ended, or is not known.
  virtual std::optional<CommandResult> end_of(const Uuid& id) const;
  // Forgets a command that has ended and was begun in an earlier round (CommandSpec::round): the
  // next run() begins it anew. Cancel: it is forgotten, or a part of it; call this again.
  virtual Task<void> forget_older(Uuid id, std::uint64_t round);
  // The path of a file that was kept, by its number in CommandResult::artifacts.
  virtual std::string artifact_path(const Uuid& id, std::size_t number) const;
};

class Commands final : public CommandRunner {
 public:
  // The directory is made when the first command begins. `program` is the path of tiffany-run.
  Commands(std::string directory, std::string program)
      : directory_(std::move(directory)), program_(std::move(program)) {}

  Task<CommandResult> run(Uuid id, CommandSpec spec) override;
  Task<void> stop(Uuid id) override;
  Task<std::string> read(Uuid id, CommandFile which, std::size_t most) override;
  std::string path(const Uuid& id, CommandFile which) const override;
  std::optional<CommandResult> end_of(const Uuid& id) const override;
  Task<void> forget_older(Uuid id, std::uint64_t round) override;
  std::string artifact_path(const Uuid& id, std::size_t number) const override;

  // What this machine gives for CommandSpec::sandbox. Asked once, and known from then on. Cancel:
  // nothing is known yet.
  Task<SandboxProbe> probe_sandbox();

  // Removes everything of a command that has ended, or has not begun; nothing when there is none.
  // Directories that the command made there are removed with what is in them.
  // One that runs is refused (Errc::command_failed): stop it, and take its end first. Cancel: the
  // directory is removed, or a part of it; forget it again.
  Task<void> forget(Uuid id);
  // Stops, awaits and forgets every command whose id is not in `keep`; gives how many there were.
  // One that cannot be removed does not keep the others; Errc::command_failed at the end.
  Task<std::size_t> sweep(std::set<Uuid> keep);
  // Forgets what does not run, has an owner, and is not needed, as `needed` says: the owner, and
  // when the command ended in microseconds since 1970, zero when it did not. Gives how many;
  // failures are as those of sweep().
  using Needed = std::function<bool(const Uuid& owner, std::int64_t ended_us)>;
  Task<std::size_t> forget_unneeded(Needed needed);
  // Stops what has not ended and has an owner that has, as `ended` says. Gives how many were asked
  // to end now; failures are as those of sweep(). Cancel: some were asked.
  using Ended = std::function<bool(const Uuid& owner)>;
  Task<std::size_t> stop_those_of(Ended ended);

 private:
  struct Starting {
    explicit Starting(bool& of) noexcept : flag(of) { flag = true; }
    ~Starting() { flag = false; }
    bool& flag;
  };
  Task<std::optional<CommandResult>> fork_one(std::string at, const CommandSpec& spec);
  Task<void> end_and_forget(Uuid id);
  Task<std::vector<Uuid>> all() const;

  std::string directory_;
  std::string program_;
  std::optional<SandboxProbe> probe_{};
  bool starting_ = false;  // a forker; who comes meanwhile does without one
};

}  // namespace tiffany::exec
