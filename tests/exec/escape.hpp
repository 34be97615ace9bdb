// Attempts to get out of a sandbox: a program that tests/exec/sandbox_test.cpp runs as a command,
// with a sandbox and without one. Each attempt is a function that gives whether it succeeded.
#pragma once

#include <cerrno>
#include <string>
#include <vector>

namespace tiffany::escape {

// Where an attempt succeeds without a sandbox: otherwise the test could not fail.
// `apart`: it ends the command that tries it, and is run by its name only.
enum class Proof { everybody, root, none, apart };

struct Attempt {
  const char* name;
  Proof proof;
  bool (*run)();
};

// What the test made, from the variables that it gave.
struct Target {
  std::string outside;   // a directory beside that of the command, with secret, file, program, ...
  std::string shelf;     // a directory that may be read
  int victim = 0;        // a process of the same user
  int victim_file = -1;  // the descriptor of `secret` in it
  int port = 0;          // of TCP on the loopback interface
  int memory = -1;       // a System V segment
  std::string name;      // of an abstract unix socket and of a message queue
  std::string of(const char* file) const { return outside + "/" + file; }
};
const Target& target();

// The kernel did not refuse the call, although its arguments made no sense.
inline bool reached(long result) {
  return result >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS);
}

std::vector<Attempt> file_attempts();
std::vector<Attempt> metadata_attempts();
std::vector<Attempt> process_attempts();
std::vector<Attempt> network_attempts();
std::vector<Attempt> kernel_attempts();

}  // namespace tiffany::escape
