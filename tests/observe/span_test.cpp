#include "tiffany/observe/span.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::span_test {

using observe::EndedSpan;
using observe::Span;
using observe::SpanId;
using observe::Tracer;
using namespace std::chrono_literals;

const Uuid kTask = *Uuid::parse("6d0f0000-0000-4000-8000-000000000001");

Task<void> leaf(int n) {
  Span span("leaf");
  span.set("n", n);
  co_await sleep(10ms * n);
}

Task<void> branch() {
  Span span("branch");
  auto one = spawn(leaf, 1);
  auto two = spawn(leaf, 2);
  co_await gather(one, two);
}

std::vector<EndedSpan> run_branches(int times) {
  Tracer tracer;
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(
      [](Tracer* to, int count) -> Task<void> {
        co_await observe::trace(*to, kTask, [&]() -> Task<void> {
          for (int i = 0; i < count; ++i) co_await branch();
        });
      },
      &tracer, times);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  EXPECT_EQ(tracer.open(), 0u);
  return tracer.take();
}

TEST(Span, SpansOfSpawnedTasksAreInsideOfTheOneTheyWereSpawnedIn) {
  const auto spans = run_branches(1);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].name, "leaf");
  EXPECT_EQ(spans[2].name, "branch");
  EXPECT_EQ(spans[0].parent, spans[2].id.span);
  EXPECT_EQ(spans[1].parent, spans[2].id.span);
  EXPECT_EQ(spans[2].parent, 0u);
  EXPECT_NE(spans[0].id.span, spans[1].id.span);
  EXPECT_EQ(spans[1].ended - spans[1].began, 20'000'000);
  EXPECT_EQ(spans[0].id.trace, kTask);
}

TEST(Span, IdsAreTheSameInEveryRunAndDifferWithinOne) {
  const auto first = run_branches(3);
  const auto second = run_branches(3);
  ASSERT_EQ(first.size(), 9u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].id, second[i].id);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(first[i].id.span, first[j].id.span);
  }
}

TEST(Span, WithoutATracerASpanDoesNothing) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn([]() -> Task<void> {
    Span span("alone");
    EXPECT_FALSE(static_cast<bool>(span));
    span.set("a", 1);
    span.fail("no");
    EXPECT_FALSE(Span::current().has_value());
    co_return;
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  EXPECT_FALSE(Span::current().has_value());  // outside of tasks, too
}

Task<void> fails() {
  Span span("fails");
  co_await yield();
  throw std::runtime_error("no");
}

TEST(Span, OneThatAnExceptionGoesThroughHasFailed) {
  Tracer tracer;
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(
      [](Tracer* to) -> Task<void> {
        co_await observe::trace(*to, kTask, [&]() -> Task<void> {
          EXPECT_THROW(co_await fails(), std::runtime_error);
          Span fine("fine");
        });
      },
      &tracer);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  const auto spans = tracer.take();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_TRUE(spans[0].failed);
  EXPECT_FALSE(spans[1].failed);
}

TEST(Span, TheTracerKeepsTheLastAndCountsTheRest) {
  Tracer tracer(2);
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(
      [](Tracer* to) -> Task<void> {
        co_await observe::trace(*to, kTask, [&]() -> Task<void> {
          for (int i = 0; i < 5; ++i) co_await leaf(i);
        });
      },
      &tracer);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  EXPECT_EQ(tracer.dropped(), 3u);
  EXPECT_EQ(tracer.count(), 5u);
  const auto spans = tracer.take();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].attributes.at(0).second, "4");
}

TEST(Span, LinesOfTheLogNameTheSpanTheyAreWrittenIn) {
  Tracer tracer;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  observe::log::Settings settings;
  settings.descriptor = ends[1];
  observe::log::configure(settings);
  Scheduler scheduler(Options().virtual_time());
  std::string expected;
  scheduler.spawn(
      [](Tracer* to, std::string* text) -> Task<void> {
        co_await observe::trace(*to, kTask, [&]() -> Task<void> {
          Span span("work");
          observe::log::info("inside");
          *text = span.id().traceparent().substr(36, 16);
          co_return;
        });
      },
      &tracer, &expected);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  observe::log::configure(observe::log::Settings());
  char line[1024];
  const ssize_t size = ::read(ends[0], line, sizeof line);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_GT(size, 0);
  EXPECT_NE(std::string_view(line, static_cast<std::size_t>(size))
                .find(R"("trace_id":"6d0f0000000040008000000000000001","span_id":")" + expected),
            std::string_view::npos);
}

TEST(Span, ATraceparentGoesOutAndComesIn) {
  SpanId id;
  id.trace = kTask;
  id.span = 0x00f067aa0ba902b7;
  const std::string text = id.traceparent();
  EXPECT_EQ(text, "00-6d0f0000000040008000000000000001-00f067aa0ba902b7-01");
  EXPECT_EQ(SpanId::parse_traceparent(text), id);
  EXPECT_TRUE(SpanId::parse_traceparent("cc" + text.substr(2) + "-what-comes").has_value());
  for (const std::string& bad :
       {std::string(), text.substr(1), text + "0", text + "-", "ff" + text.substr(2),
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        "00-" + text.substr(3, 32) + "-0000000000000000-01", "0G" + text.substr(2),
        std::string("00-6D0F0000000040008000000000000001-00f067aa0ba902b7-01")}) {
    EXPECT_FALSE(SpanId::parse_traceparent(bad).has_value()) << bad;
  }
}

TEST(Span, OtlpAndTraceEventsAreWholeJson) {
  auto spans = run_branches(1);
  spans[0].failed = true;
  spans[0].error = "a \"quoted\"\nword";
  spans[0].attributes.emplace_back("text", "\"x\"");
  spans[0].attributes.emplace_back("real", "2.5");
  spans[0].attributes.emplace_back("truth", "true");
  const std::string otlp = otlp_json(spans, "shop");
  EXPECT_NO_THROW(compact_json(otlp));
  EXPECT_NE(otlp.find(R"("key":"n","value":{"intValue":"1"})"), std::string::npos) << otlp;
  EXPECT_NE(otlp.find(R"("value":{"doubleValue":2.5})"), std::string::npos);
  EXPECT_NE(otlp.find(R"("traceId":"6d0f0000000040008000000000000001")"), std::string::npos);
  EXPECT_NO_THROW(compact_json("[" + trace_events(spans) + "]"));
}

}  // namespace tiffany::span_test
