// What a sandbox costs: `true` through exec::Commands at a level and without one, in turn, so that
// whatever else the machine does hits both. The figure is how many times as long it takes.
//
// Bars: level 2 at most 1.2 times, level 3 at most 6 times.
#include "agent/spawn.hpp"

namespace {

double times_as_long(int level, const bench::Suite& suite) {
  const agent_rows::Spawned spawned = agent_rows::spawns(level, suite.quick() ? 60 : 200);
  return spawned.at_level / spawned.without;
}
double level_2(const bench::Suite& suite) { return times_as_long(2, suite); }
double level_3(const bench::Suite& suite) { return times_as_long(3, suite); }

const bench::Row level_2_row("spawn_level_2", "x", bench::Weight::light, level_2);
const bench::Row level_3_row("spawn_level_3", "x", bench::Weight::light, level_3);

}  // namespace
