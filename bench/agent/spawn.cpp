// What a sandbox costs: `true` through exec::Commands, without one and at each level in turn, so
// that whatever else the machine does hits all of them.
//
//   bench_agent_spawn [rounds]      (default 200)
//
// Bars: level 2 at most 1.2 times the time without a sandbox, level 3 at most 6 times.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tiffany/exec/commands.hpp"
#include "tiffany/io/system_reactor.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;
using Times = std::array<std::vector<double>, exec::Sandbox::kHighest + 1>;  // us, by level

Task<void> measure(const std::string& at, int rounds, Times& times) {
  exec::Commands commands(at + "/commands", TIFFANY_RUN);
  const exec::SandboxProbe probe = co_await commands.probe_sandbox();
  if (!probe.missing.empty()) std::printf("%s\n", probe.missing.c_str());
  for (int round = 0; round < rounds; ++round) {
    for (int level = 0; level <= probe.level; ++level) {
      exec::CommandSpec spec({"/bin/true"});
      spec.directory = at + "/directory";
      spec.synced = false;
      if (level > 0) spec.sandbox = exec::Sandbox(level);
      const std::string name = std::to_string(round) + "." + std::to_string(level);
      const auto begun = std::chrono::steady_clock::now();
      const exec::CommandResult end = co_await commands.run(Uuid::derived(Uuid(), name), spec);
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begun;
      if (!end.ok()) throw Error(Errc::command_failed, end.text());
      if (round > 0) times[static_cast<std::size_t>(level)].push_back(took.count());
    }
  }
}

double quantile(std::vector<double>& all, double part) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
}

}  // namespace

int main(int count, char** words) {
  std::string name = (std::filesystem::temp_directory_path() / "tiffany-spawn-XXXXXX").string();
  const std::string at = mkdtemp(name.data());
  std::filesystem::create_directories(at + "/directory");
  Times times;
  const int rounds = count > 1 ? std::atoi(words[1]) : 200;
  const int status = tiffany::run(measure(at, std::max(rounds, 2), times));
  std::filesystem::remove_all(at);
  if (status != 0) return status;
  for (std::size_t level = 0; level < times.size() && !times[level].empty(); ++level) {
    const double median = quantile(times[level], 0.5);
    const double quick = quantile(times[level], 0.1);
    std::printf("level %zu: median %5.0f us, ratio %.2f; tenth %5.0f us, ratio %.2f\n", level,
                median, median / quantile(times[0], 0.5), quick, quick / quantile(times[0], 0.1));
  }
  return 0;
}
