// What a supervised command may reach: a member of CommandSpec. Each level has what the one below
// has, and the kernel enforces it; docs/25-agents.md has a table of what each level holds back.
//
//   1  limits by default, no descriptors but 0-2, a deadline of a day when the command has none
//   2  with Landlock and a seccomp filter: files, network, other processes; no capabilities
//   3  with namespaces, by bubblewrap (bwrap)
//
// For a command that is trusted as the program itself is, leave CommandSpec::sandbox empty. Needs
// nothing but module base.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiffany/base/codec.hpp"

namespace tiffany::exec {

// The level that is asked for is the one that is given: what a command may do does not depend on
// the machine. A machine that cannot give the level refuses the command before it begins
// (Errc::sandbox_missing).
//
// From level 2 on a command has a directory (CommandSpec::directory), TMPDIR and HOME are an empty
// directory of its own that goes with the command, and what every program needs to start can be
// read: /usr, /bin, /lib, the cache of the linker, /etc/passwd and the like. Home directories,
// /root, /run, /var, /sys, and /proc of other processes cannot.
class Sandbox {
 public:
  static constexpr int kHighest = 3;

  Sandbox() = default;
  explicit Sandbox(int which) : level(which) {}

  int level = 2;  // zero: no sandbox
  // Files and directories, with what is below them; a relative path is one below the directory of
  // the command. Each must be there when the command begins. What may be read may be executed, what
  // may be written may be read.
  std::vector<std::string> read{};
  std::vector<std::string> write{};
  bool directory_writable = true;  // false: the directory of the command may only be read
  bool network = false;            // sockets of IPv4 and IPv6, in both directions
  // Sockets of the unix domain, beyond socketpair(). At level 2 on kernels before 7.1 such a socket
  // reaches every service of the user that listens at a path, this program with its API included.
  bool unix_sockets = false;

  friend bool operator==(const Sandbox&, const Sandbox&) = default;
};
TIFFANY_JSON(Sandbox, level, read, write, directory_writable, network, unix_sockets);
TIFFANY_JSON_ADDED(Sandbox, read, write, directory_writable, network, unix_sockets);

// What this machine can give.
struct SandboxProbe {
  int level = 0;          // the highest
  int landlock_abi = 0;   // zero: the kernel has none
  bool seccomp = false;   // filters
  bool notify = false;    // filters that ask the supervisor; without, chmod and the like fail
  std::string bwrap{};    // the path of bubblewrap; empty: it cannot be used
  std::string missing{};  // sentences on what the higher levels need; empty: nothing
};
TIFFANY_JSON(SandboxProbe, level, landlock_abi, seccomp, notify, bwrap, missing);

}  // namespace tiffany::exec
