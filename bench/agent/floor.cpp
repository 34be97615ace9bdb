// The same command without a sandbox.
#include "agent/spawn.hpp"

namespace {

double bare(const bench::Suite& suite) {
  return agent_rows::spawns(2, suite.quick() ? 60 : 200).without;
}
const bench::Row level_2_row("spawn_level_2", "us", bench::Weight::light, bare);
const bench::Row level_3_row("spawn_level_3", "us", bench::Weight::light, bare);

}  // namespace
