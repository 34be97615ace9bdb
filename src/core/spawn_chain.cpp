#include "tiffany/core/spawn_chain.hpp"

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {

void SpawnChain::trace(const Scheduler& scheduler, const TaskRecord& task) noexcept {
  size_ = 0;
  for (const TaskRecord* at = &task; at != nullptr && size_ < kShown;
       at = scheduler.find(at->parent())) {
    steps_[size_++] = SpawnStep{at->spawn_site(), at->parent()};
  }
}

void append_spawns(std::string& out, std::span<const SpawnStep> steps) {
  const char* separator = "\n      spawned at ";
  for (const SpawnStep& step : steps) {
    out += separator;
    out += site_text(step.site);
    if (step.by) out += " by task " + step.by.text();
    separator = ", spawned at ";
  }
}

}  // namespace tiffany
