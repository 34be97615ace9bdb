// Makes spans of every shape, sends them to a collector, and writes a trace file:
//
//   otlp_source PORT TRACE_FILE
//
// For tools/check_otlp.mjs (./dev soak otlp), which decodes both with programs of others. Prints
// what it has made, a line of JSON for each span.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include "tiffany/base/json.hpp"
#include "tiffany/observe/event_trace.hpp"
#include "tiffany/observe/recorder.hpp"
#include "tiffany/observe/span.hpp"
#include "tiffany/serve/otlp.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;
using namespace std::chrono_literals;

void say(std::string_view name, const observe::SpanId& id, bool failed) {
  std::string line;
  JsonWriter out(line);
  out.begin_object();
  out.member("name", name);
  out.member("traceparent", id.traceparent());
  out.member("failed", failed);
  out.end_object();
  std::puts(line.c_str());
}

Task<void> leaf(int i) {
  observe::Span span("leaf \"" + std::to_string(i) + "\" \xC3\xA4\n");
  span.set("number", i);
  span.set("negative", std::numeric_limits<std::int64_t>::min());
  span.set("large", std::numeric_limits<std::int64_t>::max());
  span.set("half", 0.5);
  span.set("huge", 1e300);
  span.set("truth", i % 2 == 0);
  span.set("text", "a\tb\"c\\d\x01 \xE2\x82\xAC");
  say("leaf", *observe::Span::current(), i % 7 == 0);
  co_await sleep(1us * (i % 5));
  if (i % 7 == 0) throw std::runtime_error("leaf " + std::to_string(i) + " \"fell\"");
}

Task<void> work(int count) {
  const observe::Span span("work");
  say("work", *observe::Span::current(), false);
  for (int i = 0; i < count; ++i) {
    auto task = spawn(leaf, i);
    co_await all_settled(task);
  }
}

Task<void> program(std::uint16_t port, std::string path) {
  observe::Recorder recorder(*Scheduler::current());
  recorder.start();
  observe::Tracer tracer;
  http::OtlpCounts counts;
  http::OtlpOptions options(Address::loopback(port));
  options.counts = &counts;
  options.interval = 20ms;
  options.service = "shop \"north\"";
  auto exporter = spawn(http::export_spans, &tracer, options);
  const Uuid id = *Uuid::parse("6d0f0000-0000-4000-8000-000000000001");
  co_await observe::trace(tracer, id, []() -> Task<void> { co_await work(1200); });
  for (int i = 0; i < 2000 && counts.sent < 1201; ++i) co_await sleep(5ms);
  co_await cancel_and_join(exporter, "the end");
  recorder.stop();
  std::ofstream(path) << observe::trace_file(recorder);
  if (counts.sent != 1201) {
    throw std::runtime_error(std::to_string(counts.sent) + " of 1201 spans were taken");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s PORT TRACE_FILE\n", argv[0]);
    return 2;
  }
  return run(program(static_cast<std::uint16_t>(std::atoi(argv[1])), argv[2]),
             Options().log_to([](const LogLine&) {}));
}
