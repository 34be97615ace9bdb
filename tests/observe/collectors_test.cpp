#include "tiffany/observe/collectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tiffany/observe/lints.hpp"
#include "tiffany/observe/recorder.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::collectors_test {

using observe::Metrics;
using namespace std::chrono_literals;

TEST(Collectors, ASchedulerTellsWhatItsTasksDo) {
  Metrics metrics;
  Scheduler scheduler(Options().virtual_time());
  const auto guard = observe::collect(metrics, scheduler);
  std::string text;
  scheduler.spawn(
      [](Metrics* from, std::string* to) -> Task<void> {
        auto sleeper = spawn([]() -> Task<void> { co_await sleep(1h); });
        auto done = spawn([]() -> Task<void> { co_return; });
        auto bad = spawn([]() -> Task<void> {
          throw std::runtime_error("no");
          co_return;
        });
        co_await all_settled(done, bad);
        *to = from->text_now();
        cancel(sleeper, "enough");
      },
      &metrics, &text);
  scheduler.run();
  for (const char* line :
       {"tasks_running_total 2\n", "tiffany_tasks{state=\"running\"} 1\n",
        "tiffany_tasks{state=\"waiting\",detail=\"sleep\"} 1\n",
        "tiffany_tasks{state=\"waiting\",detail=\"join\"} 0\n",
        "tiffany_waits_total{for=\"join\"} 1\n", "tiffany_wakes_total{by=\"join\"} 1\n",
        "tiffany_wakes_total{by=\"cancel\"} 0\n", "tiffany_syscalls_total{syscall=\"sleep\"} 1\n",
        "tiffany_syscalls_total{syscall=\"all_settled\"} 1\n", "tiffany_tasks_spawned_total 4\n",
        "tiffany_tasks_finished_total{outcome=\"ok\"} 1\n",
        "tiffany_tasks_finished_total{outcome=\"failed\"} 1\n", "scheduler_ready_depth 0\n",
        "tiffany_timers 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  text = metrics.text_now();
  for (const char* line : {"tiffany_tasks_finished_total{outcome=\"cancelled\"} 1\n",
                           "tiffany_tasks{state=\"waiting\",detail=\"sleep\"} 0\n",
                           "tiffany_wakes_total{by=\"cancel\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

std::string whole_text(observe::MetricFormat format) {
  Metrics metrics;
  Scheduler scheduler(Options().virtual_time());
  observe::Pal pal;
  observe::Tracer tracer;
  const auto a = observe::collect(metrics, scheduler);
  const auto b = observe::collect(metrics, pal);
  const auto c = observe::collect(metrics, tracer);
  const auto d = observe::collect_process(metrics);
  const observe::Recorder recorder(scheduler);
  const auto e = recorder.collect(metrics);
  const observe::Linter linter(scheduler);
  const auto f = linter.collect(metrics);
  return metrics.text_now(format);
}

TEST(Collectors, EveryNameIsInTheReferenceAndEveryNameThereIsTold) {
  std::ifstream file("docs/19-observing.md");
  if (!file) file.open(std::string(TIFFANY_SOURCES) + "/docs/19-observing.md");
  ASSERT_TRUE(file.good());
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::set<std::string> told;
  const std::string text = whole_text(observe::MetricFormat::prometheus);
  for (std::size_t at = 0; (at = text.find("# TYPE ", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 7;
    told.insert(text.substr(begin, text.find(' ', begin) - begin));
  }
  std::set<std::string> written;
  for (std::size_t at = 0; (at = page.find("\n| `", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 4;
    const std::string name = page.substr(begin, page.find('`', begin) - begin);
    if (name.find('_') != std::string::npos && name.find("task_id") == std::string::npos) {
      written.insert(name);
    }
  }
  EXPECT_EQ(told, written);
}

TEST(Collectors, OpenMetricsNamesNoFamilyTwice) {
  const std::string text = whole_text(observe::MetricFormat::open_metrics);
  std::set<std::string> seen;
  for (std::size_t at = 0; (at = text.find("# TYPE ", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 7;
    EXPECT_TRUE(seen.insert(text.substr(begin, text.find(' ', begin) - begin)).second);
  }
  EXPECT_GT(seen.size(), 20u);
}

}  // namespace tiffany::collectors_test
