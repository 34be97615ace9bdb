#include "tiffany/serve/otlp.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/observe/collectors.hpp"
#include "tiffany/serve/http_client.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/serve/observe_pages.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::otlp_test {

using http::Exchange;
using http::OtlpCounts;
using http::OtlpOptions;
using http::Request;
using http::Response;
using namespace std::chrono_literals;

// Answers as it is told, and keeps what it was sent.
class Collector : public http::Handler {
 public:
  Task<void> handle(Exchange& exchange) override {
    bodies.push_back(exchange.request().body);
    Response answer(answers.empty() ? 200 : answers.front());
    if (!answers.empty()) answers.erase(answers.begin());
    if (answer.status == 429) answer.headers.set("retry-after", "7");
    times.push_back(now());
    co_await exchange.respond(std::move(answer));
  }
  std::vector<int> answers;
  std::vector<std::string> bodies;
  std::vector<Time> times;
};

Task<void> make_spans(observe::Tracer* tracer, int count) {
  co_await observe::trace(*tracer, *Uuid::parse("6d0f0000-0000-4000-8000-000000000001"),
                          [&]() -> Task<void> {
                            for (int i = 0; i < count; ++i) observe::Span span("work");
                            co_return;
                          });
}

// Sends so many spans to a collector that answers so, and cancels the exporter after a minute.
OtlpCounts send(int spans, std::vector<int> answers, Collector& collector, bool there = true) {
  OtlpCounts counts;
  MemoryWorld world(MemoryWorldOptions().seed(3));
  Scheduler scheduler(Options().clock(world.reactor()));
  collector.answers = std::move(answers);
  scheduler.spawn(
      [](Collector* to, OtlpCounts* counted, int count, bool listens) -> Task<void> {
        http::Server server(*to);
        Listener listener = Listener::bind(Address::loopback(0));
        OtlpOptions options(listener.local());
        options.counts = counted;
        if (!listens) listener.close();
        auto serving =
            spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                  &server, &listener);
        observe::Tracer tracer;
        auto exporter = spawn(http::export_spans, &tracer, options);
        co_await make_spans(&tracer, count);
        co_await sleep(1min);
        co_await make_spans(&tracer, 1);
        co_await cancel_and_join(exporter, "the end");
        server.stop();
        if (listens) {
          co_await serving;
        } else {
          co_await all_settled(serving);
        }
      },
      &collector, &counts, spans, there);
  scheduler.run();
  return counts;
}

TEST(Otlp, SpansAreSentInBatchesAndTheLastOnesAtTheEnd) {
  Collector collector;
  const OtlpCounts counts = send(1100, {}, collector);
  EXPECT_EQ(counts.sent, 1101u);
  ASSERT_EQ(collector.bodies.size(), 4u);  // 512, 512, 76, and one at the end
  for (const std::string& body : collector.bodies) EXPECT_NO_THROW(compact_json(body));
}

TEST(Otlp, ACollectorThatIsBusyIsAskedAgainWhenItSaysSo) {
  Collector collector;
  const OtlpCounts counts = send(1, {503, 429, 200}, collector);
  EXPECT_EQ(counts.sent, 2u);
  EXPECT_EQ(counts.retries, 2u);
  ASSERT_GE(collector.times.size(), 3u);
  EXPECT_GE(collector.times[1] - collector.times[0], 1s);
  EXPECT_GE(collector.times[2] - collector.times[1], 7s);
  EXPECT_EQ(collector.bodies[0], collector.bodies[2]);
}

TEST(Otlp, WhatIsRefusedForGoodIsNotSentAgain) {
  Collector collector;
  const OtlpCounts counts = send(1, {400}, collector);
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(counts.retries, 0u);
  EXPECT_EQ(counts.sent, 1u);  // the one at the end
}

TEST(Otlp, ACollectorThatIsNotThereCostsSpansAndNothingElse) {
  Collector collector;
  const OtlpCounts counts = send(3, {}, collector, false);
  EXPECT_EQ(counts.sent, 0u);
  EXPECT_EQ(counts.refused, 4u);
  EXPECT_EQ(counts.retries, 4u);
}

TEST(ObservePages, MetricsHealthReadinessAndTasksAreServed) {
  MemoryWorld world(MemoryWorldOptions().seed(1));
  Scheduler scheduler(Options().clock(world.reactor()));
  observe::Metrics metrics;
  const auto guard = observe::collect(metrics, scheduler);
  scheduler.spawn(
      [](observe::Metrics* from, Scheduler* of) -> Task<void> {
        http::ObservePages pages(*from, *of);
        http::Server server(pages);
        Listener listener = Listener::bind(Address::loopback(0));
        const Address where = listener.local();
        auto serving =
            spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                  &server, &listener);
        const Response text = co_await http::fetch(where, Request("GET", "/metrics"));
        EXPECT_EQ(text.status, 200);
        EXPECT_NE(text.body.find("\ntiffany_tasks_spawned_total "), std::string::npos);
        EXPECT_EQ(text.headers.find("content-type").value_or(""),
                  "text/plain; version=0.0.4; charset=utf-8");
        Request open("GET", "/metrics");
        open.headers.set("accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
        const Response opened = co_await http::fetch(where, open);
        EXPECT_TRUE(opened.body.ends_with("# EOF\n"));
        const Response healthy = co_await http::fetch(where, Request("GET", "/healthz"));
        EXPECT_EQ(healthy.body, "ok\n");
        pages.set_ready(false, "recovering");
        const Response unready = co_await http::fetch(where, Request("GET", "/readyz"));
        EXPECT_EQ(unready.status, 503);
        EXPECT_EQ(unready.body, "recovering\n");
        const Response tasks = co_await http::fetch(where, Request("GET", "/tasks?format=json"));
        EXPECT_NO_THROW(compact_json(tasks.body));
        const Response people = co_await http::fetch(where, Request("GET", "/tasks"));
        EXPECT_NE(people.body.find("otlp_test.cpp:"), std::string::npos) << people.body;
        const Response missing = co_await http::fetch(where, Request("GET", "/../etc/passwd"));
        EXPECT_EQ(missing.status, 404);
        const Response posted = co_await http::fetch(where, Request("POST", "/metrics"));
        EXPECT_EQ(posted.status, 405);
        server.stop();
        co_await serving;
      },
      &metrics, &scheduler);
  scheduler.run();
}

}  // namespace tiffany::otlp_test
