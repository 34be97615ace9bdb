#include "tiffany/observe/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tiffany/tiffany.hpp"

namespace tiffany::metrics_test {

using observe::MetricFormat;
using observe::Metrics;
using observe::Sample;

// What a text says of one family, without the two that every text has.
std::string of(Metrics& metrics, const std::string& name,
               MetricFormat format = MetricFormat::prometheus) {
  const std::string text = metrics.text_now(format);
  const std::size_t at = text.find("# HELP " + name + " ");
  if (at == std::string::npos) return "";
  const std::size_t end = text.find("# HELP ", at + 1);
  return text.substr(at, end == std::string::npos ? end : end - at);
}

TEST(Metrics, ACounterIsWrittenAsPrometheusReadsIt) {
  Metrics metrics;
  auto& orders = metrics.counter("orders_total", "Orders.\nAll \\ of them.");
  orders.add();
  orders.add(41);
  EXPECT_EQ(of(metrics, "orders_total"),
            "# HELP orders_total Orders.\\nAll \\\\ of them.\n# TYPE orders_total counter\n"
            "orders_total 42\n");
}

TEST(Metrics, OpenMetricsTakesTotalFromTheFamilyAndEndsWithEof) {
  Metrics metrics;
  metrics.counter("orders_total", "Orders.").add(1);
  metrics.counter("odd", "A counter without the suffix.").add(2);
  const std::string text = metrics.text_now(MetricFormat::open_metrics);
  EXPECT_NE(text.find("# TYPE orders counter\norders_total 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE odd counter\nodd_total 2\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(Metrics, GaugesGoUpAndDownAndMayBeAnyNumber) {
  Metrics metrics;
  auto& depth = metrics.gauge("depth", "Depth.");
  depth.set(3);
  depth.add(-4.5);
  EXPECT_NE(of(metrics, "depth").find("\ndepth -1.5\n"), std::string::npos);
  depth.set(std::numeric_limits<double>::infinity());
  EXPECT_NE(of(metrics, "depth").find("\ndepth +Inf\n"), std::string::npos);
  depth.set(std::nan(""));
  EXPECT_NE(of(metrics, "depth").find("\ndepth NaN\n"), std::string::npos);
}

TEST(Metrics, AHistogramCountsWhatIsAtMostEachBound) {
  Metrics metrics;
  const double bounds[] = {0.1, 1, 10};
  auto& seconds = metrics.histogram("seconds", "Time.", bounds);
  for (const double value : {0.05, 0.1, 0.5, 100.0, -1.0}) seconds.observe(value);
  EXPECT_EQ(of(metrics, "seconds"),
            "# HELP seconds Time.\n# TYPE seconds histogram\n"
            "seconds_bucket{le=\"0.1\"} 3\nseconds_bucket{le=\"1\"} 4\n"
            "seconds_bucket{le=\"10\"} 4\nseconds_bucket{le=\"+Inf\"} 5\n"
            "seconds_sum 99.65\nseconds_count 5\n");
  seconds.observe(std::nan(""));
  EXPECT_EQ(seconds.count(), 6u);
  EXPECT_DOUBLE_EQ(seconds.sum(), 99.65);
}

TEST(Metrics, ValuesOfLabelsAreEscaped) {
  Metrics metrics;
  metrics.counters("calls_total", "Calls.", {"path", "verb"}).with("a\"b\\c\nd", "get").add(7);
  EXPECT_NE(
      of(metrics, "calls_total").find("calls_total{path=\"a\\\"b\\\\c\\nd\",verb=\"get\"} 7\n"),
      std::string::npos);
}

TEST(Metrics, TwoLabelsAreNotMistakenForOneThatIsBothJoined) {
  Metrics metrics;
  auto& calls = metrics.counters("calls_total", "Calls.", {"a", "b"});
  calls.with("x", "yz").add(1);
  calls.with("xy", "z").add(2);
  EXPECT_EQ(calls.with("x", "yz").value(), 1u);
}

TEST(Metrics, SeriesBeyondTheBoundAreOneAndAreCounted) {
  Metrics metrics;
  auto& calls = metrics.counters("calls_total", "Calls.", {"user"}, 3);
  for (int i = 0; i < 10; ++i) calls.with("user" + std::to_string(i)).add();
  calls.with("user1").add();
  EXPECT_EQ(calls.with("other").value(), 7u);
  EXPECT_EQ(calls.with("user1").value(), 2u);
  EXPECT_NE(of(metrics, "tiffany_metrics_overflow_total").find("_total 7\n"), std::string::npos);
}

TEST(Metrics, TheSameFamilyIsFoundAgainAndAnotherUnderItsNameIsRefused) {
  Metrics metrics;
  auto& calls = metrics.counters("calls_total", "Calls.", {"user"});
  EXPECT_EQ(&calls, &metrics.counters("calls_total", "Other words.", {"user"}));
  EXPECT_THROW(metrics.gauges("calls_total", "Calls.", {"user"}), Error);
  EXPECT_THROW(metrics.counters("calls_total", "Calls.", {"path"}), Error);
  EXPECT_THROW(metrics.counter("calls_total", "Calls."), Error);
  EXPECT_THROW(calls.with("a", "b"), Error);
}

TEST(Metrics, BadNamesLabelsAndBoundsAreRefused) {
  Metrics metrics;
  const double bounds[] = {1, 2};
  for (const char* name : {"", "1st", "with space", "with-dash", "\xc3\xa4"}) {
    EXPECT_THROW(metrics.counter(name, ""), Error) << name;
  }
  EXPECT_THROW(metrics.counters("a_total", "", {"1st"}), Error);
  EXPECT_THROW(metrics.counters("b_total", "", {"__name__"}), Error);
  EXPECT_THROW(metrics.counters("c_total", "", {"x", "x"}), Error);
  EXPECT_THROW(metrics.counters("d_total", "", {"x:y"}), Error);
  EXPECT_THROW(metrics.histograms("e", "", {"le"}, bounds), Error);
  const double falling[] = {2, 1};
  const double endless[] = {1, std::numeric_limits<double>::infinity()};
  EXPECT_THROW(metrics.histogram("f", "", falling), Error);
  EXPECT_THROW(metrics.histogram("g", "", endless), Error);
  EXPECT_NO_THROW(metrics.counter("job:ok_total", ""));
}

TEST(Metrics, ACollectorIsAskedForEachTextUntilItsGuardGoes) {
  Metrics metrics;
  int asked = 0;
  {
    const auto guard = metrics.collect([&](Sample& out) {
      out.gauge("asked", "How often.", ++asked);
      out.head(observe::MetricType::gauge, "tasks", "Tasks.");
      out.series({{"state", "ready"}}, std::uint64_t{3});
    });
    EXPECT_NE(metrics.text_now().find("asked 1\n"), std::string::npos);
    EXPECT_NE(metrics.text_now().find("tasks{state=\"ready\"} 3\n"), std::string::npos);
  }
  EXPECT_EQ(metrics.text_now().find("# HELP asked"), std::string::npos);
  EXPECT_EQ(asked, 2);
}

TEST(Metrics, AFamilyThatACollectorMakesIsInTheSameTextOnce) {
  Metrics metrics;
  const auto guard = metrics.collect([&](Sample& out) {
    metrics.counter("made_total", "Made by a collector.").add();
    out.gauge("seen", "Seen.", 1);
  });
  const std::string text = metrics.text_now();
  EXPECT_EQ(text.find("# TYPE seen"), text.rfind("# TYPE seen"));
  EXPECT_NE(text.find("made_total 1\n"), std::string::npos);
}

TEST(Metrics, ACollectorThatThrowsIsLeftOutAndCounted) {
  Metrics metrics;
  const auto bad = metrics.collect([](Sample& out) {
    out.gauge("half", "Half.", 1);
    throw std::runtime_error("no");
  });
  const auto good = metrics.collect([](Sample& out) { out.gauge("good", "Good.", 1); });
  const std::string text = metrics.text_now();
  EXPECT_EQ(text.find("half"), std::string::npos);
  EXPECT_NE(text.find("good 1\n"), std::string::npos);
  EXPECT_NE(metrics.text_now().find("tiffany_metrics_failed_collectors_total 2\n"),
            std::string::npos);
}

TEST(Metrics, ATextLetsOtherTasksRunBetweenTwoFamilies) {
  Metrics metrics;
  for (int i = 0; i < 20; ++i) metrics.counter("c" + std::to_string(i) + "_total", "");
  Scheduler scheduler(Options().virtual_time().quantum(1));
  int turns = 0;
  bool done = false;
  scheduler.spawn(
      [](Metrics* from, bool* ended) -> Task<void> {
        const std::string text = co_await from->text();
        EXPECT_NE(text.find("c19_total 0\n"), std::string::npos);
        *ended = true;
      },
      &metrics, &done);
  scheduler.spawn(
      [](int* count, bool* ended) -> Task<void> {
        while (!*ended) {
          ++*count;
          co_await yield();
        }
      },
      &turns, &done);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  EXPECT_GE(turns, 20);
}

TEST(Metrics, ThreadsLoseNothing) {
  Metrics metrics;
  auto& calls = metrics.counters("calls_total", "", {"thread"});
  auto& seconds = metrics.histogram("seconds", "", observe::buckets::run_and_wait());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        calls.with(std::to_string(t % 2)).add();
        seconds.observe(0.5);
        if (i % 100 == 0) metrics.text_now();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(calls.with("0").value() + calls.with("1").value(), 4000u);
  EXPECT_EQ(seconds.count(), 4000u);
  EXPECT_DOUBLE_EQ(seconds.sum(), 2000);
}

}  // namespace tiffany::metrics_test
