// What observing costs: see README.md.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "row.hpp"
#include "tiffany/observe/collectors.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/observe/recorder.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;

// ---- A switch, without and with a recorder

constexpr std::size_t kYielders = 1000;

Task<void> yield_often(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_await yield();
}

double ns_per_yield(const bench::Suite& suite, bool recorded) {
  const std::size_t each = suite.quick() ? 500 : 3000;
  Scheduler scheduler(Options().clock(real_clock()));
  observe::Recorder recorder(scheduler);
  if (recorded) recorder.start();
  for (std::size_t i = 0; i < kYielders; ++i) scheduler.spawn(yield_often, each);
  const double took = bench::cpu_ns_of([&] { scheduler.run(); });
  return took / static_cast<double>(kYielders * each);
}
double yield_level_0(const bench::Suite& suite) { return ns_per_yield(suite, false); }
double yield_level_1(const bench::Suite& suite) { return ns_per_yield(suite, true); }

// ---- The ring

double events_per_second(const bench::Suite& suite) {
  const std::size_t count = suite.quick() ? 5'000'000 : 20'000'000;
  observe::EventRing ring(std::size_t{1} << 16);
  observe::Event event;
  const double took = bench::cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      event.at = static_cast<std::int64_t>(i);
      ring.push(event);
    }
  });
  bench::check(ring.count() == count, "all events are written");
  return static_cast<double>(count) * 1e9 / took;
}

// ---- PAL

Task<void> read_all(observe::PalSubscription from, std::size_t count, std::uint64_t* bytes) {
  for (std::size_t seen = 0; seen < count;) {
    const auto frame = co_await from.next();
    if (!frame) break;
    *bytes += frame->text->size();
    seen += frame->type == observe::PalFrame::Type::event ? 1 : 0;
  }
}

Task<void> emit_all(observe::Pal* pal, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const observe::PalEvent event(Uuid(), observe::stage::kToolExecutionStart, "cargo test");
    pal->emit(event, [i](JsonWriter& data) { data.member("step", i); });
    if (i % 256 == 255) co_await yield();
  }
}

double pal_to_10(const bench::Suite& suite) {
  constexpr std::size_t kReaders = 10;
  const std::size_t count = suite.quick() ? 20'000 : 100'000;
  Scheduler scheduler(Options().virtual_time());
  observe::Pal pal;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kReaders; ++i) {
    scheduler.spawn(read_all, pal.subscribe(observe::PalFilter()), count, &bytes);
  }
  scheduler.spawn(emit_all, &pal, count);
  const double took = bench::cpu_ns_of([&] { scheduler.run(); });
  bench::check(pal.counts().dropped == 0, "nothing is dropped");
  return static_cast<double>(count) * 1e9 / took;
}

// ---- The text of metrics

Task<void> sleep_long() { co_await sleep(std::chrono::hours(1)); }

double metrics_ms(const bench::Suite& suite) {
  const std::size_t tasks = suite.quick() ? 100'000 : 1'000'000;
  Scheduler scheduler(Options().virtual_time());
  observe::Metrics metrics;
  const auto guard = observe::collect(metrics, scheduler);
  for (std::size_t i = 0; i < tasks; ++i) scheduler.spawn(sleep_long);
  scheduler.step_until_idle();
  std::string text;
  const double took = bench::cpu_ns_of([&] { text = metrics.text_now(); });
  bench::check(text.find("tasks_running_total") != std::string::npos, "it has the tasks");
  return took / 1e6;
}

// ---- The log

double ns_per_line(const bench::Suite& suite) {
  const std::size_t count = suite.quick() ? 20'000 : 100'000;
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  observe::log::Settings settings;
  settings.descriptor = file;
  settings.format = observe::log::Format::json;
  settings.most_per_second = 0;
  settings.buffer = std::size_t{64} << 20;
  observe::log::configure(settings);
  const double took = bench::cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      observe::log::info(
          "order shipped",
          {{"order", i}, {"weight", 2.5}, {"carrier", "post"}, {"express", true}, {"items", 3}});
    }
  });
  observe::log::configure(observe::log::Settings());
  ::close(file);
  bench::check(observe::log::counts().dropped == 0, "no line is dropped");
  return took / static_cast<double>(count);
}

const bench::Row rows[] = {
    {"yield_level_0", "ns", bench::Weight::light, yield_level_0},
    {"yield_level_1", "ns", bench::Weight::light, yield_level_1},
    {"ring_events", "events/s", bench::Weight::light, events_per_second},
    {"pal_to_10", "events/s", bench::Weight::light, pal_to_10},
    {"metrics_text", "ms", bench::Weight::heavy, metrics_ms},
    {"log_line", "ns", bench::Weight::light, ns_per_line},
};

}  // namespace
