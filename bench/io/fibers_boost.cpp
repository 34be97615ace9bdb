// The rows fiber_switch on Boost.Context and fiber_yield_* on Boost.Fiber with its default
// round-robin scheduler. Stacks of 64 KiB: more than that is not needed, and less would not be fair
// to compare.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>
#include <boost/fiber/operations.hpp>

#include "bench_support.hpp"

namespace {

namespace context = boost::context::detail;
namespace fibers = boost::fibers;
using bench::YieldClock;

constexpr std::size_t stack_bytes = std::size_t{64} << 10;

void leave_for_ever(context::transfer_t from) {
  for (;;) from = context::jump_fcontext(from.fctx, nullptr);
}

double fiber_switch(std::size_t rounds) {
  boost::context::fixedsize_stack allocator(stack_bytes);
  const boost::context::stack_context stack = allocator.allocate();
  context::fcontext_t inside = context::make_fcontext(stack.sp, stack.size, &leave_for_ever);
  const double ns = bench::cpu_ns_of([&] {
    for (std::size_t i = 0; i < rounds; ++i) inside = context::jump_fcontext(inside, nullptr).fctx;
  });
  return ns / static_cast<double>(2 * rounds);
}

void yield_often(YieldClock& clock) {
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) boost::this_fiber::yield();
  clock.task_ended();
}

double fiber_yield(std::size_t count, bool quick) {
  YieldClock clock(count, bench::yield_rounds(count, quick));
  std::vector<fibers::fiber> tasks;
  tasks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    tasks.emplace_back(std::allocator_arg, fibers::fixedsize_stack(stack_bytes),
                       [&] { yield_often(clock); });
  }
  for (fibers::fiber& task : tasks) task.join();
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
