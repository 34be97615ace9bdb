// The rows fiber_switch and fiber_yield_* on Tiffany.
//
// fiber_switch: one fiber that is entered and left again and again by the two functions that the
// run loop and fiber::yield() use, per switch; with all that belongs to it (exceptions, which fiber
// runs, the place of the await), without the scheduler. fiber_yield_*: so many fibers yield in
// turn, on the default stacks of 256 KiB.
#include <cstddef>
#include <functional>

#include "bench_support.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;
using bench::YieldClock;

void leave_for_ever(detail::Fiber&) noexcept {
  for (;;) detail::fiber_yield(__builtin_source_location());
}

double fiber_switch(std::size_t rounds) {
  StackPool stacks(std::size_t{256} << 10);
  detail::Fiber& fiber = detail::Fiber::make(stacks.take(), &leave_for_ever, nullptr);
  const double ns = bench::cpu_ns_of([&] {
    for (std::size_t i = 0; i < rounds; ++i) detail::Fiber::resume(&fiber);
  });
  return ns / static_cast<double>(2 * rounds);
}

void yield_often(YieldClock& clock) {
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) fiber::yield();
  clock.task_ended();
}

double fiber_yield(std::size_t count, bool quick) {
  YieldClock clock(count, bench::yield_rounds(count, quick));
  Scheduler scheduler;
  for (std::size_t i = 0; i < count; ++i) scheduler.spawn_fiber(yield_often, std::ref(clock));
  scheduler.run();
  return clock.ns_per_yield();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Suite suite(argc, argv);
  const auto light = bench::Weight::light;
  suite.run("fiber_switch", "ns", light, [&] { return fiber_switch(10'000'000); });
  suite.run("fiber_yield_2", "ns", light, [&] { return fiber_yield(2, suite.quick()); });
  suite.run("fiber_yield_1k", "ns", light, [&] { return fiber_yield(1000, suite.quick()); });
  suite.run("fiber_yield_100k", "ns", light, [&] { return fiber_yield(100'000, suite.quick()); });
}
