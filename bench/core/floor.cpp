// The workloads of bench/core on the bare floor (floor_runtime.hpp). See README.md for what each
// of them measures.
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench_support.hpp"
#include "floor_runtime.hpp"
#include "floor_timers.hpp"

namespace {

using bench::check;
using bench::cpu_ns_of;
using bench::YieldClock;

using FifoJob = bare::Job<bare::FifoQueue>;
using RingJob = bare::Job<bare::RingQueue>;
using FifoTask = bare::Task<bare::FifoQueue>;
using LifoTask = bare::Task<bare::LifoQueue>;

// ---- yield

template <class Job>
Job yield_often(YieldClock& clock) {
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) co_await bare::Yield{};
  clock.task_ended();
}

double yield_in_order(std::size_t tasks, bool quick) {
  YieldClock clock(tasks, bench::yield_rounds(tasks, quick));
  for (std::size_t i = 0; i < tasks; ++i) yield_often<FifoJob>(clock);
  bare::run<FifoJob>();
  return clock.ns_per_yield();
}

double yield_shuffled(std::size_t tasks, bool quick) {
  YieldClock clock(tasks, bench::yield_rounds(tasks, quick));
  auto& ready = RingJob::promise_type::ready;
  ready.reserve(tasks);
  for (std::size_t i = 0; i < tasks; ++i) yield_often<RingJob>(clock);
  ready.reorder(bench::shuffled_order(tasks));
  bare::run<RingJob>();
  return clock.ns_per_yield();
}

// ---- spawn, join, call

FifoTask give(std::uint64_t value) { co_return value; }

FifoTask spawn_and_join_each(std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += co_await give(1);
  co_return sum;
}

// Runs one task and all that it spawns, and returns its result.
std::uint64_t run_main(FifoTask task) {
  bare::run<FifoTask>();
  return task.take();
}

double spawn_join(std::size_t count) {
  check(run_main(spawn_and_join_each(1000)) == 1000, "warm-up joined all");
  const double ns =
      cpu_ns_of([&] { check(run_main(spawn_and_join_each(count)) == count, "joined all"); });
  return ns / static_cast<double>(count);
}

FifoTask spawn_all_then_join(std::size_t count) {
  std::vector<FifoTask> children(count);
  for (FifoTask& child : children) child = give(1);
  std::uint64_t sum = 0;
  for (const FifoTask& child : children) sum += co_await child;
  co_return sum;
}

double fanout(std::size_t count) {
  const double ns =
      cpu_ns_of([&] { check(run_main(spawn_all_then_join(count)) == count, "joined all"); });
  return ns / static_cast<double>(count);
}

FifoTask gather_often(std::size_t times, std::size_t width) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < times; ++i) sum += co_await spawn_all_then_join(width);
  co_return sum;
}

double gather(std::size_t times, std::size_t width) {
  run_main(gather_often(10, width));
  const double ns = cpu_ns_of(
      [&] { check(run_main(gather_often(times, width)) == times * width, "gathered all"); });
  return ns / static_cast<double>(times);
}

// Not inlined, so that no compiler can keep the callee's frame inside the caller's.
[[gnu::noinline]] bare::Call add_one(int value) { co_return value + 1; }

FifoTask call_often(std::size_t count) {
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) value = co_await add_one(value);
  co_return static_cast<std::uint64_t>(value);
}

double nested_call(std::size_t count) {
  const double ns = cpu_ns_of([&] { check(run_main(call_often(count)) == count, "called all"); });
  return ns / static_cast<double>(count);
}

// ---- ping-pong

using Event = bare::AutoResetEvent<FifoTask::promise_type>;

FifoTask serve(Event& mine, Event& theirs, std::size_t rounds) {
  for (std::size_t i = 0; i < rounds; ++i) {
    theirs.set();
    co_await mine;
  }
  co_return rounds;
}

FifoTask answer(Event& mine, Event& theirs, std::size_t rounds) {
  for (std::size_t i = 0; i < rounds; ++i) {
    co_await mine;
    theirs.set();
  }
  co_return rounds;
}

double ping_pong(std::size_t rounds) {
  Event ping;
  Event pong;
  const FifoTask server = serve(ping, pong, rounds);
  const FifoTask returner = answer(pong, ping, rounds);
  const double ns = cpu_ns_of([] { bare::run<FifoTask>(); });
  check(server.take() == returner.take(), "both played all rounds");
  return ns / static_cast<double>(rounds);
}

// ---- timers

using Heap = bare::TimerHeap<FifoJob::promise_type>;

struct SleepUntil {
  Heap& heap;
  std::uint64_t deadline_ns;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<FifoJob::promise_type> self) const {
    heap.push({deadline_ns, &self.promise()});
  }
  void await_resume() const noexcept {}
};

FifoJob sleep_once(Heap& heap, std::uint64_t deadline_ns, std::size_t& woken) {
  co_await SleepUntil{heap, deadline_ns};
  ++woken;
}

// Virtual time: when nothing is ready, the clock jumps to the next deadline.
void run_with_timers(Heap& heap) {
  bare::run<FifoJob>();
  while (!heap.empty()) {
    FifoJob::promise_type::ready.push(heap.pop().payload);
    bare::run<FifoJob>();
  }
}

double timers(std::size_t count) {
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  Heap heap;
  std::size_t woken = 0;
  const double ns = cpu_ns_of([&] {
    for (const std::uint64_t delay : delays) sleep_once(heap, delay, woken);
    run_with_timers(heap);
  });
  check(woken == count, "every timer fired");
  return ns / static_cast<double>(count);
}

double arm_cancel_many(std::size_t count) {
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  std::vector<bare::TimerWheel::Timer> timers(count);
  bare::TimerWheel wheel;
  const double ns = cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) wheel.arm(timers[i], delays[i]);
    for (std::size_t i = 0; i < count; ++i) wheel.cancel(timers[i]);
  });
  check(wheel.empty(), "every timer was cancelled");
  return ns / static_cast<double>(count);
}

double arm_cancel_hot(std::size_t count) {
  bare::TimerWheel::Timer timer{};
  bare::TimerWheel wheel;
  const double ns = cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      wheel.arm(timer, 1'000'000 + i);
      bench::keep(wheel);
      wheel.cancel(timer);
      bench::keep(wheel);
    }
  });
  check(wheel.empty(), "the timer was cancelled");
  return ns / static_cast<double>(count);
}

// ---- skynet

template <class Task>
Task skynet_node(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) co_return first;
  std::array<Task, 10> children;
  for (std::uint64_t i = 0; i < 10; ++i) {
    children[i] = skynet_node<Task>(first + i * (leaves / 10), leaves / 10);
  }
  std::uint64_t sum = 0;
  for (const Task& child : children) sum += co_await child;
  co_return sum;
}

template <class Task>
double skynet_ms() {
  std::uint64_t sum = 0;
  const double ns = cpu_ns_of([&] {
    const Task root = skynet_node<Task>(0, bench::skynet_leaves);
    bare::run<Task>();
    sum = root.take();
  });
  check(sum == bench::skynet_sum(bench::skynet_leaves), "skynet's sum");
  return ns / 1e6;
}

// ---- memory

// An event for any number of waiters, linked through the same field as the ready queue.
struct ManualEvent {
  using Promise = FifoJob::promise_type;
  Promise* waiters = nullptr;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    self.promise().next = std::exchange(waiters, &self.promise());
  }
  void await_resume() const noexcept {}

  void set() {
    while (Promise* promise = waiters) {
      waiters = promise->next;
      Promise::ready.push(promise);
    }
  }
};

FifoJob wait_for(ManualEvent& event) { co_await event; }

double rss_per_task(std::size_t count) {
  ManualEvent event;
  const std::size_t before = bench::rss_bytes();
  for (std::size_t i = 0; i < count; ++i) wait_for(event);
  bare::run<FifoJob>();
  const std::size_t after = bench::rss_bytes();
  event.set();
  bare::run<FifoJob>();
  return static_cast<double>(after - before) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  using enum bench::Weight;
  const bench::Suite suite(argc, argv);
  const bool quick = suite.quick();
  constexpr std::size_t million = 1'000'000;

  suite.run("yield_2", "ns", light, [&] { return yield_in_order(2, quick); });
  suite.run("yield_1k", "ns", light, [&] { return yield_in_order(1000, quick); });
  suite.run("yield_100k", "ns", light, [&] { return yield_in_order(100'000, quick); });
  suite.run("yield_1m", "ns", light, [&] { return yield_in_order(million, quick); });
  suite.run("yield_1m_shuffled", "ns", light, [&] { return yield_shuffled(million, quick); });
  suite.run("spawn_join", "ns", light, [&] { return spawn_join(million); });
  suite.run("fanout_1m", "ns", light, [&] { return fanout(million); });
  suite.run("nested_call", "ns", light, [&] { return nested_call(10 * million); });
  suite.run("ping_pong", "ns", light, [&] { return ping_pong(million); });
  suite.run("timers_1m", "ns", light, [&] { return timers(million); });
  suite.run("arm_cancel_1m", "ns", light, [&] { return arm_cancel_many(million); });
  suite.run("arm_cancel_hot", "ns", light, [&] { return arm_cancel_hot(10 * million); });
  suite.run("skynet", "ms", light, [&] { return skynet_ms<FifoTask>(); });
  suite.run("skynet_depth_first", "ms", light, [&] { return skynet_ms<LifoTask>(); });
  suite.run("rss_task_1m", "B", light, [&] { return rss_per_task(million); });
  suite.run("gather_1k", "ns", light, [&] { return gather(suite.scale(5000, 1000), 1000); });
}
