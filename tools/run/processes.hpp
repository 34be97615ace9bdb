// Processes as /proc knows them: those below this one, and those of a command whose supervisor is
// gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "files.hpp"

namespace tiffany::supervisor {

inline constexpr const char* kMarker = "TIFFANY_COMMAND";

// A process as it was found. Its number alone may be that of another one a moment later.
struct Process {
  pid_t id = 0;
  std::uint64_t started = 0;
};

// Everything below this process. A child that leaves its group or its session stays here: this
// process is a subreaper.
std::vector<Process> descendants();
// Those with kMarker=<id> in their environment, this process not counted. A process that has
// cleared its environment is not found.
std::vector<Process> marked(const std::string& id);
// To those that are still what they were when they were found.
void send(const std::vector<Process>& to, int signal);
// A descriptor of that process; none when it has ended.
Fd handle_of(const Process& process);
// Kills what is marked until nothing is left. False: something is left after two seconds.
bool kill_marked(const std::string& id);
// /proc/<process>/stat; empty: there is no such process.
std::string stat_of(pid_t process);
// How many threads a process has; zero: there is no such process.
std::uint64_t threads_of(pid_t process);
// When a process began, in ticks since the machine did; zero: there is no such process.
std::uint64_t start_of(pid_t process);

}  // namespace tiffany::supervisor
