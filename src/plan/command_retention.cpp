#include "tiffany/plan/command_retention.hpp"

#include <cstdint>
#include <limits>

#include "tiffany/base/error.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany::plan {

Task<std::size_t> forget_old_commands(exec::Commands& commands, Host& host,
                                      std::optional<std::chrono::seconds> kept) {
  if (!host.store().found().unresolved.empty()) co_return 0;
  std::int64_t oldest = std::numeric_limits<std::int64_t>::min();
  if (kept) {
    oldest =
        World::current().wall_clock_us().value_or(0) - std::chrono::microseconds(*kept).count();
  }
  const exec::Commands::Needed needed = [&host, oldest](const Uuid& owner, std::int64_t ended_us) {
    const std::optional<DurableInfo> info = host.info(owner);
    if (!info) return false;
    return info->status != DurableStatus::completed || ended_us == 0 || ended_us >= oldest;
  };
  co_return co_await commands.forget_unneeded(needed);
}

Task<std::size_t> stop_orphans(exec::Commands& commands, Host& host) {
  const bool damaged = !host.store().found().unresolved.empty();
  const exec::Commands::Ended ended = [&host, damaged](const Uuid& owner) {
    const std::optional<DurableInfo> info = host.info(owner);
    return info ? info->status >= DurableStatus::completed : !damaged;
  };
  co_return co_await commands.stop_those_of(ended);
}

Task<void> forget_old_commands_hourly(exec::Commands* commands, Host* host, std::uint64_t days) {
  std::optional<std::chrono::seconds> kept;
  if (days > 0) kept = std::chrono::hours(24) * days;
  for (;;) {
    try {
      co_await stop_orphans(*commands, *host);
      co_await forget_old_commands(*commands, *host, kept);
    } catch (const Error& error) {
      observe::log::warn("commands that nobody needs were not removed", {{"error", error.what()}});
    }
    co_await sleep(std::chrono::hours(1));
  }
}

}  // namespace tiffany::plan
