// What a sandbox costs: `true` through exec::Commands at a level, and without one in turn, so that
// whatever else the machine does hits both. The floor is without one.
//
// Bars: level 2 at most 1.2 times the floor, level 3 at most 6 times.
#include "agent/spawn.hpp"

namespace {

double median_us(int level, const bench::Suite& suite) {
  return agent_rows::spawns(level, suite.quick() ? 60 : 200).at_level;
}
double level_2(const bench::Suite& suite) { return median_us(2, suite); }
double level_3(const bench::Suite& suite) { return median_us(3, suite); }

const bench::Row level_2_row("spawn_level_2", "us", bench::Weight::light, level_2);
const bench::Row level_3_row("spawn_level_3", "us", bench::Weight::light, level_3);

}  // namespace
