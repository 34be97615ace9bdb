// A million durable tasks (or as many as the argument says) that wait for a signal, in a host that
// keeps the code of a thousand: how much memory they need when all are idle, and how long a task
// needs from a signal to its answer. Then the same after a restart. Exits with 1 when the process
// needs more than 1 KiB for each task and 64 MiB besides, or when a task needs longer than 5 ms in
// the median.
//
//   soak_evicted [tasks] [signals]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench_support.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;

constexpr std::size_t kHot = 1000;
std::size_t tasks = 1'000'000;
std::size_t signals = 1000;
int wrong = 0;

// Wakes, answers, and waits again, for ever.
Durable<int> idle(Flow& flow, int number) {
  int sum = flow.state(0);
  sum += co_await flow.signal<int>("add");
  co_await flow.step("say", [] {});
  if (sum < 0) co_return number;
  co_await flow.checkpoint(sum);
  co_return 0;
}

Uuid id_of(std::size_t number) { return Uuid::derived(Uuid(), std::to_string(number)); }

Task<void> start_some(Host* host, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    co_await host->start_as(id_of(i), "idle", static_cast<int>(i));
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// From the signal to the end of the task that it wakes.
Task<void> wake_some(Host* host, std::size_t first) {
  std::vector<double> took;
  const std::size_t stride = tasks / (2 * signals);
  for (std::size_t i = 0; i < signals; ++i) {
    const std::size_t which = first + i * stride;
    const auto start = std::chrono::steady_clock::now();
    co_await host->signal(id_of(which), "add", -1);
    const int said = co_await host->result<int>(id_of(which));
    took.push_back(seconds_since(start) * 1e3);
    if (said != static_cast<int>(which)) ++wrong;
  }
  std::sort(took.begin(), took.end());
  const double median = took[took.size() / 2];
  std::printf("signal to result: median %.2f ms, 99%% %.2f ms, longest %.2f ms\n", median,
              took[took.size() * 99 / 100], took.back());
  if (median > 5) ++wrong;
}

void say_memory(const char* when) {
  const double bytes = static_cast<double>(bench::rss_bytes());
  const double most = static_cast<double>(tasks) * 1024 + 64.0 * 1024 * 1024;
  std::printf("%s: %.0f MiB, %.0f B for each task\n", when, bytes / 1048576,
              bytes / static_cast<double>(tasks));
  if (bytes > most) ++wrong;
}

Task<void> first_life(Host* host) {
  co_await host->open();
  const auto start = std::chrono::steady_clock::now();
  constexpr std::size_t kAtOnce = 256;
  co_await scope([&](Scope& all) -> Task<void> {
    const std::size_t each = (tasks + kAtOnce - 1) / kAtOnce;
    for (std::size_t at = 0; at < tasks; at += each) {
      all.spawn(start_some, host, at, std::min(at + each, tasks));
    }
    co_return;
  });
  std::printf("%zu tasks started in %.1f s\n", tasks, seconds_since(start));
  co_await sleep(std::chrono::seconds(1));
  say_memory("all but a thousand evicted");
  co_await wake_some(host, 0);
  co_await host->close();
}
Task<void> second_life(Host* host) {
  const auto start = std::chrono::steady_clock::now();
  co_await host->open();
  std::printf("opened again in %.1f s\n", seconds_since(start));
  co_await sleep(std::chrono::seconds(1));
  say_memory("after a restart");
  co_await wake_some(host, 1);
  co_await host->close();
}

double live(const std::string& directory, Task<void> (*life)(Host*)) {
  return bench::in_child([&] {
           Registry types;
           types.add("idle", 1, idle);
           HostOptions options;
           options.hot_tasks = kHot;
           Host host(types, wal::LogOptions(directory), options);
           const int failed = run(life(&host));
           std::fflush(stdout);
           return static_cast<double>(failed + wrong);
         })
      .value_or(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) tasks = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) signals = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3 || tasks < 4 || signals == 0 || signals * 4 > tasks) {
    std::fprintf(stderr, "usage: %s [tasks, at least four for each signal] [signals]\n", argv[0]);
    return 2;
  }
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string directory = (beside / "soak_evicted_log").string();
  std::filesystem::remove_all(directory);
  const double failed = live(directory, first_life) + live(directory, second_life);
  std::filesystem::remove_all(directory);
  return failed == 0 ? 0 : 1;
}
