// Commands at a level of the sandbox and without one, in turn.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "durable/workloads.hpp"
#include "row.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/io/system_reactor.hpp"
#include "tiffany/tiffany.hpp"

namespace agent_rows {

using namespace tiffany;

struct Spawned {
  double at_level = 0;  // medians, in microseconds
  double without = 0;
};

inline double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                   all.end());
  return all[all.size() / 2];
}

inline Task<double> spawn_us(exec::Commands* commands, std::string directory, int level,
                             int round) {
  exec::CommandSpec spec({"/bin/true"});
  spec.directory = std::move(directory);
  spec.synced = false;
  if (level > 0) spec.sandbox = exec::Sandbox(level);
  const Uuid id = Uuid::derived(Uuid(), std::to_string(round) + "." + std::to_string(level));
  const durable_rows::Stopwatch watch;
  const exec::CommandResult end = co_await commands->run(id, spec);
  const double took = watch.us();
  bench::check(end.ok(), "the command ends well");
  co_return took;
}

inline Task<Spawned> spawn_in_turn(std::string at, int level, int rounds) {
  exec::Commands commands(at + "/commands", TIFFANY_RUN);
  const exec::SandboxProbe probe = co_await commands.probe_sandbox();
  bench::check(probe.level >= level, "this machine has that level of the sandbox");
  std::vector<double> with;
  std::vector<double> without;
  for (int round = 0; round <= rounds; ++round) {
    const double bare = co_await spawn_us(&commands, at + "/directory", 0, round);
    const double boxed = co_await spawn_us(&commands, at + "/directory", level, round);
    if (round == 0) continue;  // reads programs and libraries
    without.push_back(bare);
    with.push_back(boxed);
  }
  co_return Spawned{median(std::move(with)), median(std::move(without))};
}

inline Spawned spawns(int level, int rounds) {
  const durable_rows::Scratch scratch;
  std::filesystem::create_directories(scratch.path() + "/directory");
  Spawned spawned;
  const auto measure = [&]() -> Task<void> {
    spawned = co_await spawn_in_turn(scratch.path(), level, rounds);
  };
  bench::check(tiffany::run(measure()) == 0, "commands run");
  return spawned;
}

}  // namespace agent_rows
