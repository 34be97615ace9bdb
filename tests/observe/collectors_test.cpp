#include "tiffany/observe/collectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "observe/reference_page.hpp"
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
  std::set<std::string> told;
  const std::string text = whole_text(observe::MetricFormat::prometheus);
  for (std::size_t at = 0; (at = text.find("# TYPE ", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 7;
    told.insert(text.substr(begin, text.find(' ', begin) - begin));
  }
  EXPECT_EQ(told, reference_page::first_column(reference_page::section("## Metrics")));
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
