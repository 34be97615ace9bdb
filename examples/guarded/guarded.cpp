// Interceptors: one that refuses starts and says whose a task is, and one that makes spans.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/durable/interceptor.hpp>
#include <tiffany/durable/span_interceptor.hpp>
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

std::string tenant;  // of whoever calls

class Guard : public Interceptor {
  void on_start(StartCall& call) override {
    if (tenant.empty()) throw std::runtime_error("Say for whom first.");
    call.attributes.insert_or_assign("tenant", Attribute(tenant));
  }
  void step_begins(const StepCall& call) override {
    std::printf("%s, attempt %d\n", std::string(call.step).c_str(), call.attempt);
  }
};

Durable<int> report(Flow& flow) {
  const int lines = co_await flow.step("count", [] { return 7; });
  co_await flow.sleep(1h);
  int attempts = 0;
  co_await flow.step("print", StepOptions().retry(Retry(2, 1min)), [&]() -> Task<void> {
    if (++attempts == 1) throw std::runtime_error("no paper");
    co_return;
  });
  co_return lines;
}

Registry types() {
  Registry all;
  all.add("report", 1, report);
  return all;
}

const Uuid kReport = Uuid::derived(Uuid(), "report");

Task<void> refused(Host& host) {
  try {
    co_await host.start_as(kReport, "report");
  } catch (const Error& e) {
    std::printf("refused: %s\n", e.what());
  }
}
Task<void> started(Host& host) {
  co_await host.start_as(kReport, "report");
  co_await sleep(1min);  // and the process dies
}
Task<void> resumed(Host& host) {
  std::printf("%d lines\n", co_await host.result<int>(kReport));
  const auto found = host.tasks(TaskFilter().attribute("tenant", "north"));
  std::printf("tasks of north: %zu\n", found.tasks.size());
}

}  // namespace

int main() {
  observe::Tracer tracer;
  CrashTest test(types);
  test.host_options.interceptors = {std::make_shared<Guard>(),
                                    std::make_shared<SpanInterceptor>(tracer)};
  test.live(refused);
  tenant = "north";
  test.live(started);
  test.live(resumed);
  for (const observe::EndedSpan& span : tracer.take()) {
    std::printf("span %s: %lld s%s\n", span.name.c_str(),
                static_cast<long long>((span.ended - span.began) / 1'000'000'000),
                span.failed ? (", " + span.error).c_str() : "");
  }
}
