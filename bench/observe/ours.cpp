// What observing costs: see README.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "log_cost.hpp"
#include "row.hpp"
#include "switches.hpp"
#include "tiffany/observe/collectors.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/observe/recorder.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;

// ---- A switch while a recorder looks; without one: level_0.cpp

double yield_level_1(const bench::Suite& suite) {
  Scheduler scheduler(Options().clock(real_clock()));
  observe::Recorder recorder(scheduler);
  recorder.start();
  return bench::ns_per_yield(suite, scheduler);
}

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

// What a subscriber that never reads costs an event, as a part of a processor on which 200,000 are
// emitted in a second.
double stuck_subscriber(const bench::Suite& suite) {
  const std::size_t count = suite.quick() ? 50'000 : 200'000;
  const auto ns_with = [count](std::size_t subscribers) {
    Scheduler scheduler(Options().virtual_time());
    observe::Pal pal;
    std::vector<observe::PalSubscription> stuck;
    for (std::size_t i = 0; i < subscribers; ++i) {
      stuck.push_back(pal.subscribe(observe::PalFilter()));
    }
    scheduler.spawn(emit_all, &pal, count);
    return bench::cpu_ns_of([&] { scheduler.run(); }) / static_cast<double>(count);
  };
  constexpr double kMore = 10;  // than one, so that the difference is more than noise
  ns_with(1);
  const double alone = ns_with(1);
  const double each = (ns_with(1 + static_cast<std::size_t>(kMore)) - alone) / kMore;
  return each * 200'000 / 1e9 * 100;
}

// ---- The text of metrics

Task<void> sleep_long() { co_await sleep(std::chrono::hours(1)); }

constexpr std::size_t kSleepers = 1'000'000;

double metrics_ms(const bench::Suite&) {
  Scheduler scheduler(Options().virtual_time());
  observe::Metrics metrics;
  const auto guard = observe::collect(metrics, scheduler);
  for (std::size_t i = 0; i < kSleepers; ++i) scheduler.spawn(sleep_long);
  scheduler.step_until_idle();
  std::string text;
  const double took = bench::cpu_ns_of([&] { text = metrics.text_now(); });
  bench::check(text.find("tasks_running_total") != std::string::npos, "it has the tasks");
  return took / 1e6;
}

Task<void> write_metrics(observe::Metrics* metrics, bool* done) {
  const std::string text = co_await metrics->text();
  bench::check(text.find("tasks_running_total") != std::string::npos, "it has the tasks");
  *done = true;
}

Task<void> look_at_slices(const bool* done, double* longest) {
  for (double before = bench::thread_cpu_ns(); !*done;) {
    co_await yield();
    const double now = bench::thread_cpu_ns();
    *longest = std::max(*longest, now - before);
    before = now;
  }
}

// The longest slice while the same text is written by a task.
double metrics_hold_ms(const bench::Suite&) {
  Scheduler scheduler(Options().virtual_time());
  observe::Metrics metrics;
  const auto guard = observe::collect(metrics, scheduler);
  for (std::size_t i = 0; i < kSleepers; ++i) scheduler.spawn(sleep_long);
  scheduler.step_until_idle();
  bool done = false;
  double longest = 0;
  scheduler.spawn(look_at_slices, &done, &longest);
  scheduler.spawn(write_metrics, &metrics, &done);
  scheduler.step_until_idle();
  bench::check(done, "the text is written");
  return longest / 1e6;
}

// ---- The log

// Lines of five fields into a file; what they cost this thread, and all threads.
bench::LogCost write_lines(const bench::Suite& suite) {
  const std::size_t count = bench::lines_of(suite);
  const bench::TemporaryFile file;
  observe::log::Settings settings;
  settings.descriptor = file.descriptor();
  settings.format = observe::log::Format::json;
  settings.most_per_second = 0;
  settings.buffer = std::size_t{256} << 20;
  observe::log::configure(settings);
  const bench::LogCost cost = bench::cost_of_lines(
      count,
      [&] {
        for (std::size_t i = 0; i < count; ++i) {
          observe::log::info("order shipped", {{"order", i},
                                               {"weight", 2.5},
                                               {"carrier", "post"},
                                               {"express", true},
                                               {"items", 3}});
        }
      },
      [] { observe::log::flush(); });
  observe::log::configure(observe::log::Settings());
  bench::check(observe::log::counts().dropped == 0, "no line is dropped");
  return cost;
}
double log_line(const bench::Suite& suite) { return write_lines(suite).ns_of_caller; }
double log_file(const bench::Suite& suite) { return write_lines(suite).lines_per_second; }

const bench::Row rows[] = {
    {"yield_level_1", "ns", bench::Weight::light, yield_level_1},
    {"ring_events", "events/s", bench::Weight::light, events_per_second},
    {"pal_to_10", "events/s", bench::Weight::light, pal_to_10},
    {"stuck_subscriber", "%", bench::Weight::light, stuck_subscriber},
    {"metrics_text", "ms", bench::Weight::heavy, metrics_ms},
    {"metrics_hold", "ms", bench::Weight::heavy, metrics_hold_ms},
    {"log_line", "ns", bench::Weight::light, log_line},
    {"log_file", "lines/s", bench::Weight::light, log_file},
};

}  // namespace
