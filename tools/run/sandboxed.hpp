// The side of the supervisor in the sandbox of its command: begins the command in it, answers the
// calls that its filter asks about, and hears from inside of level 3 how the command ended.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker.hpp"
#include "confine.hpp"
#include "files.hpp"
#include "launch.hpp"

namespace tiffany::supervisor {

class Sandboxed {
 public:
  // Refuses what this machine cannot give (SandboxMissing).
  Sandboxed(const exec::CommandSpec& spec, const CommandDirectory& directory);

  int level() const noexcept { return reach_.level; }
  std::int64_t timeout_ms() const noexcept;
  // PATH, when the command has that of the program.
  void adapt(std::vector<std::string>& environment) const;
  Launched start(const std::vector<std::string>& environment, int out, int err);

  // What poll() waits for besides, and what is done when it came. Never waits.
  std::array<pollfd, 2> waits() const noexcept;
  void attend(const std::array<pollfd, 2>& came);
  // At level 3 the process that was started is bwrap: the end of the command, as waitpid() has it.
  std::optional<int> status();
  // Not empty: bwrap was started, but the command was not.
  std::string problem();
  // When the processes of the command are looked at next; -1: they are not. In milliseconds of
  // CLOCK_MONOTONIC.
  std::int64_t census_ms() const noexcept { return census_ms_; }
  void begin_census(std::int64_t now_ms);
  // A sentence when there are more than the command may have.
  std::string too_many(std::int64_t now_ms);
  // The first process of level 3 belongs to the sandbox, and the command does not hear of it.
  bool has_outer_process() const noexcept { return reach_.level >= 3; }

 private:
  void hear();
  Launched start_bubble(const std::vector<std::string>& environment, int out, int err, Fd tell);

  const exec::CommandSpec& spec_;
  Reachable reach_;
  std::string bwrap_{};
  Broker broker_;
  Fd control_{};
  bool entered_ = false;
  std::uint64_t most_;  // processes and threads
  std::int64_t census_ms_ = -1;
  int censuses_ = 0;
  std::uint64_t fewest_ = ~std::uint64_t{0};  // threads of the machine, that were seen
  std::optional<int> status_{};
  std::string problem_{};
};

// What a command that has ended left in its private directory. The directory itself goes when the
// command is forgotten: removing one costs more than all that a sandbox of level 2 does.
void empty_private_directory(const CommandDirectory& directory) noexcept;

}  // namespace tiffany::supervisor
