// A command enters its sandbox between vfork and exec: what it needs for that is made before.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"
#include "landlock.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

// This machine cannot give the sandbox that a command needs.
class SandboxMissing : public Refusal {
 public:
  using Refusal::Refusal;
};

// What a command of level 2 or 3 may reach, with every path as it is, without symbolic links.
struct Reachable {
  int level = 0;
  std::vector<std::string> read{};
  std::vector<std::string> write{};
  bool network = false;
  bool unix_sockets = false;
};
TIFFANY_JSON(Reachable, level, read, write, network, unix_sockets);

inline constexpr const char* kPrivateDirectory = "tmp";  // in the directory of the command

// Refuses a level that this machine does not give, and paths that are not there. Makes the private
// directory and the file of outputs: both may be written, and nothing else beside them.
Reachable reachable_by(const exec::CommandSpec& spec, const CommandDirectory& directory);
// What every program needs to start.
std::vector<std::string> basic_paths(bool network);
// PATH of the program, without directories that the command cannot read: a shell stops at the first
// program of a name, also when it may not start that one.
std::string path_within(const Reachable& reach, std::string_view path);
// The limits of the command, with those that a sandbox has by default.
exec::CommandLimits limits_of(const exec::CommandSpec& spec);

// Messages from the process that makes the command to its supervisor.
inline constexpr char kListener = 'l';  // the descriptor of the filter comes with it
inline constexpr char kProblem = 'p';   // a sentence: the command was not started
inline constexpr char kStatus = 'e';    // its end, as waitpid() has it
bool send_message(int to, char what, const void* bytes, std::size_t size, int fd) noexcept;
struct Message {
  char what = 0;       // zero: there is none
  bool later = false;  // but there may be one
  std::string text{};
  Fd fd{};
};
Message receive_message(int from);

class Confinement {
 public:
  // `tell` hears of the listener of the filter.
  Confinement(const Reachable& reach, bool notify, int tell);
  // In the child of vfork, which has no new privileges: nothing is allocated. Gives what failed, as
  // "enter Landlock"; null: all is done.
  const char* enter() const noexcept;

 private:
  Ruleset rules_;
  std::vector<sock_filter> program_;
  bool notify_;
  bool own_proc_;
  int tell_;
};
// What many commands need, made once: for a forker.
void prepare_confinement();
inline constexpr const char* kEnterFilter = "enter its seccomp filter";

}  // namespace tiffany::supervisor
