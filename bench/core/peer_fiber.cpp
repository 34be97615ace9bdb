// The workloads of bench/core on Boost.Fiber with its default round-robin scheduler and the
// default way to launch (post). See README.md for the definitions.
//
// Left out: nested_call (a plain function call on the fiber's stack), arm_cancel_* (there are no
// timers apart from sleeping) and skynet_depth_first.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>
#include <boost/fiber/future.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include "bench_support.hpp"

namespace {

namespace fibers = boost::fibers;
using bench::check;
using bench::cpu_ns_of;
using bench::YieldClock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// The default of 128 KiB would not let a million of them exist; 8 KiB is the least that is sane.
constexpr std::size_t stack_bytes = std::size_t{8} * 1024;

template <class Fn>
fibers::fiber spawn(Fn fn) {
  return fibers::fiber(std::allocator_arg, fibers::fixedsize_stack(stack_bytes), std::move(fn));
}

template <class Fn>
auto spawn_with_result(Fn fn) {
  return fibers::async(fibers::launch::post, std::allocator_arg,
                       fibers::fixedsize_stack(stack_bytes), std::move(fn));
}

void join_all(std::vector<fibers::fiber>& tasks) {
  for (fibers::fiber& task : tasks) task.join();
}

// ---- yield

void yield_often(YieldClock& clock) {
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) boost::this_fiber::yield();
  clock.task_ended();
}

double yield_in_order(std::size_t count, bool quick) {
  YieldClock clock(count, bench::yield_rounds(count, quick));
  std::vector<fibers::fiber> tasks;
  tasks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) tasks.push_back(spawn([&] { yield_often(clock); }));
  join_all(tasks);
  return clock.ns_per_yield();
}

// The fibers are made in order and woken in random order, and so go round the queue in that order.
double yield_shuffled(std::size_t count, bool quick) {
  YieldClock clock(count, bench::yield_rounds(count, quick));
  std::vector<fibers::promise<void>> starts(count);
  std::vector<fibers::fiber> tasks;
  tasks.reserve(count);
  for (fibers::promise<void>& start : starts) {
    tasks.push_back(spawn([&] {
      start.get_future().wait();
      yield_often(clock);
    }));
  }
  boost::this_fiber::yield();
  for (const std::uint32_t task : bench::shuffled_order(count)) starts[task].set_value();
  join_all(tasks);
  return clock.ns_per_yield();
}

// ---- spawn, join

void spawn_and_join_each(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) spawn([] {}).join();
}

double spawn_join(std::size_t count) {
  spawn_and_join_each(1000);
  return cpu_ns_of([&] { spawn_and_join_each(count); }) / static_cast<double>(count);
}

double fanout(std::size_t count) {
  std::size_t ended = 0;
  const double ns = cpu_ns_of([&] {
    std::vector<fibers::fiber> tasks;
    tasks.reserve(count);
    for (std::size_t i = 0; i < count; ++i) tasks.push_back(spawn([&] { ++ended; }));
    join_all(tasks);
  });
  check(ended == count, "joined all");
  return ns / static_cast<double>(count);
}

std::uint64_t gather_once(std::size_t width) {
  std::vector<fibers::future<int>> results;
  results.reserve(width);
  for (std::size_t i = 0; i < width; ++i) results.push_back(spawn_with_result([] { return 1; }));
  std::uint64_t sum = 0;
  for (fibers::future<int>& result : results) sum += static_cast<std::uint64_t>(result.get());
  return sum;
}

double gather(std::size_t times, std::size_t width) {
  gather_once(width);
  std::uint64_t sum = 0;
  const double ns = cpu_ns_of([&] {
    for (std::size_t i = 0; i < times; ++i) sum += gather_once(width);
  });
  check(sum == times * width, "gathered all");
  return ns / static_cast<double>(times);
}

// ---- ping-pong

double ping_pong(std::size_t rounds) {
  fibers::unbuffered_channel<int> ping;
  fibers::unbuffered_channel<int> pong;
  const double ns = cpu_ns_of([&] {
    fibers::fiber server = spawn([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        ping.push(1);
        bench::keep(pong.value_pop());
      }
    });
    fibers::fiber returner = spawn([&] {
      for (std::size_t i = 0; i < rounds; ++i) pong.push(ping.value_pop());
    });
    server.join();
    returner.join();
  });
  return ns / static_cast<double>(rounds);
}

// ---- timers

// `lead` must be long enough for all the fibers to be asleep before the first deadline.
double timers(std::size_t count, nanoseconds lead) {
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  std::vector<fibers::fiber> tasks;
  tasks.reserve(count);
  const double ns = cpu_ns_of([&] {
    const auto base = steady_clock::now() + lead;
    for (const std::uint64_t delay : delays) {
      const auto deadline = base + nanoseconds(delay);
      tasks.push_back(spawn([deadline] { boost::this_fiber::sleep_until(deadline); }));
    }
    boost::this_fiber::yield();
    bench::warn_if(steady_clock::now() > base, "timers_1m: fired while inserting");
    join_all(tasks);
  });
  return ns / static_cast<double>(count);
}

// ---- skynet

std::uint64_t skynet_node(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  std::vector<fibers::future<std::uint64_t>> children;
  children.reserve(10);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t child = first + i * (leaves / 10);
    children.push_back(spawn_with_result([=] { return skynet_node(child, leaves / 10); }));
  }
  std::uint64_t sum = 0;
  for (fibers::future<std::uint64_t>& child : children) sum += child.get();
  return sum;
}

// A smaller tree is reported as what the full one would take at the same cost per task.
double skynet_ms(std::uint64_t leaves) {
  std::uint64_t sum = 0;
  const double ns =
      cpu_ns_of([&] { sum = spawn_with_result([=] { return skynet_node(0, leaves); }).get(); });
  check(sum == bench::skynet_sum(leaves), "skynet's sum");
  return ns / 1e6 * static_cast<double>(bench::skynet_leaves / leaves);
}

// ---- memory

double rss_per_task(std::size_t count) {
  fibers::mutex mutex;
  fibers::condition_variable event;
  bool set = false;
  std::vector<fibers::fiber> tasks;
  tasks.reserve(count);
  const std::size_t before = bench::rss_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(spawn([&] {
      std::unique_lock lock(mutex);
      event.wait(lock, [&] { return set; });
    }));
  }
  boost::this_fiber::yield();
  const std::size_t after = bench::rss_bytes();
  set = true;
  event.notify_all();
  join_all(tasks);
  return static_cast<double>(after - before) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  using enum bench::Weight;
  const bench::Suite suite(argc, argv);
  const bool quick = suite.quick();
  const std::size_t often = suite.scale(1'000'000, 200'000);
  // A million stacks would be 8 GB, most of it spent in page faults: fewer fibers, cost per fiber.
  const std::size_t many = suite.scale(200'000, 50'000);
  const milliseconds lead(suite.scale(3000, 600));

  suite.run("yield_2", "ns", light, [&] { return yield_in_order(2, quick); });
  suite.run("yield_1k", "ns", light, [&] { return yield_in_order(1000, quick); });
  suite.run("yield_100k", "ns", heavy, [&] { return yield_in_order(many / 2, quick); });
  suite.run("yield_1m", "ns", heavy, [&] { return yield_in_order(many, quick); });
  suite.run("yield_1m_shuffled", "ns", heavy, [&] { return yield_shuffled(many, quick); });
  suite.run("spawn_join", "ns", light, [&] { return spawn_join(often); });
  suite.run("fanout_1m", "ns", heavy, [&] { return fanout(many); });
  suite.run("ping_pong", "ns", light, [&] { return ping_pong(often); });
  suite.run("timers_1m", "ns", heavy, [&] { return timers(many, lead); });
  suite.run("skynet", "ms", heavy, [&] { return skynet_ms(quick ? 10'000 : 100'000); });
  suite.run("rss_task_1m", "B", heavy, [&] { return rss_per_task(many); });
  suite.run("gather_1k", "ns", light, [&] { return gather(suite.scale(1000, 200), 1000); });
}
