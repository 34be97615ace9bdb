// Processes as /proc knows them: those below this one, and those of a command whose supervisor is
// gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tiffany::supervisor {

inline constexpr const char* kMarker = "TIFFANY_COMMAND";

// Everything below this process. A child that leaves its group or its session stays here: this
// process is a subreaper.
std::vector<pid_t> descendants();
// Those with kMarker=<id> in their environment, this process not counted. A process that has
// cleared its environment is not found.
std::vector<pid_t> marked(const std::string& id);
void send(const std::vector<pid_t>& to, int signal) noexcept;
// Kills what is marked until nothing is left. False: something is left after two seconds.
bool kill_marked(const std::string& id);
// When a process began, in ticks since the machine did; 0: there is no such process.
std::uint64_t start_of(pid_t process);

}  // namespace tiffany::supervisor
