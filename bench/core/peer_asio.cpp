// The workloads of bench/core on Boost.Asio awaitables, written as its documentation shows them:
// one io_context, one thread, co_spawn and use_awaitable. See README.md for the definitions.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "bench_support.hpp"

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::co_spawn;
using asio::detached;
using asio::io_context;
using asio::steady_timer;
using asio::use_awaitable;
using bench::check;
using bench::cpu_ns_of;
using bench::YieldClock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// ---- yield

awaitable<void> yield_often(YieldClock& clock) {
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) {
    co_await asio::post(use_awaitable);
  }
  clock.task_ended();
}

double yield_in_order(std::size_t tasks, bool quick) {
  YieldClock clock(tasks, bench::yield_rounds(tasks, quick));
  io_context context(1);
  for (std::size_t i = 0; i < tasks; ++i) co_spawn(context, yield_often(clock), detached);
  context.run();
  return clock.ns_per_yield();
}

// Asio has no event; a timer that never expires, woken by cancelling it, is the usual stand-in.
steady_timer make_event(const asio::any_io_executor& executor) {
  return steady_timer(executor, steady_timer::time_point::max());
}

awaitable<void> yield_after(steady_timer& start, YieldClock& clock) {
  co_await start.async_wait(asio::as_tuple(use_awaitable));
  co_await yield_often(clock);
}

// The tasks are made in order and woken in random order, and so go round the queue in that order.
double yield_shuffled(std::size_t tasks, std::size_t rounds) {
  YieldClock clock(tasks, rounds);
  io_context context(1);
  std::vector<steady_timer> starts;
  starts.reserve(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    starts.push_back(make_event(context.get_executor()));
    co_spawn(context, yield_after(starts.back(), clock), detached);
  }
  context.poll();
  for (const std::uint32_t task : bench::shuffled_order(tasks)) starts[task].cancel();
  context.run();
  return clock.ns_per_yield();
}

// ---- spawn, join, call

awaitable<std::uint64_t> give(std::uint64_t value) { co_return value; }

// Runs one coroutine and all that it spawns, and returns its result.
std::uint64_t run_main(awaitable<std::uint64_t> main) {
  io_context context(1);
  std::uint64_t result = 0;
  co_spawn(context, std::move(main), [&](std::exception_ptr error, std::uint64_t value) {
    check(error == nullptr, "no exception");
    result = value;
  });
  context.run();
  return result;
}

awaitable<std::uint64_t> spawn_and_join_each(std::size_t count) {
  const auto executor = co_await asio::this_coro::executor;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += co_await co_spawn(executor, give(1), use_awaitable);
  }
  co_return sum;
}

double spawn_join(std::size_t count) {
  check(run_main(spawn_and_join_each(1000)) == 1000, "warm-up joined all");
  const double ns =
      cpu_ns_of([&] { check(run_main(spawn_and_join_each(count)) == count, "joined all"); });
  return ns / static_cast<double>(count);
}

// Joins any number of children: a completion handler each, the last of which wakes the parent.
// Cheaper than a parallel_group of as many operations.
class Gathering {
 public:
  Gathering(const asio::any_io_executor& executor, std::size_t children)
      : missing_(children), done_(make_event(executor)) {}

  auto handler() {
    return [this](std::exception_ptr error, std::uint64_t value) {
      check(error == nullptr, "no exception");
      sum_ += value;
      if (--missing_ == 0) done_.cancel();
    };
  }

  awaitable<std::uint64_t> sum() {
    if (missing_ > 0) co_await done_.async_wait(asio::as_tuple(use_awaitable));
    co_return sum_;
  }

 private:
  std::size_t missing_;
  std::uint64_t sum_ = 0;
  steady_timer done_;
};

awaitable<std::uint64_t> spawn_all_then_join(std::size_t count) {
  const auto executor = co_await asio::this_coro::executor;
  Gathering children(executor, count);
  for (std::size_t i = 0; i < count; ++i) co_spawn(executor, give(1), children.handler());
  co_return co_await children.sum();
}

double fanout(std::size_t count) {
  const double ns =
      cpu_ns_of([&] { check(run_main(spawn_all_then_join(count)) == count, "joined all"); });
  return ns / static_cast<double>(count);
}

awaitable<std::uint64_t> gather_often(std::size_t times, std::size_t width) {
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
[[gnu::noinline]] awaitable<int> add_one(int value) { co_return value + 1; }

awaitable<std::uint64_t> call_often(std::size_t count) {
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) value = co_await add_one(value);
  co_return static_cast<std::uint64_t>(value);
}

double nested_call(std::size_t count) {
  const double ns = cpu_ns_of([&] { check(run_main(call_often(count)) == count, "called all"); });
  return ns / static_cast<double>(count);
}

// ---- ping-pong

using Channel = asio::experimental::channel<void(boost::system::error_code, int)>;

awaitable<void> serve(Channel& ping, Channel& pong, std::size_t rounds) {
  for (std::size_t i = 0; i < rounds; ++i) {
    co_await ping.async_send({}, 1, use_awaitable);
    co_await pong.async_receive(use_awaitable);
  }
}

awaitable<void> answer(Channel& ping, Channel& pong, std::size_t rounds) {
  for (std::size_t i = 0; i < rounds; ++i) {
    const int ball = co_await ping.async_receive(use_awaitable);
    co_await pong.async_send({}, ball, use_awaitable);
  }
}

double ping_pong(std::size_t rounds) {
  io_context context(1);
  Channel ping(context);
  Channel pong(context);
  co_spawn(context, serve(ping, pong, rounds), detached);
  co_spawn(context, answer(ping, pong, rounds), detached);
  return cpu_ns_of([&] { context.run(); }) / static_cast<double>(rounds);
}

// ---- timers

awaitable<void> sleep_once(steady_timer::time_point deadline, std::size_t& woken) {
  steady_timer timer(co_await asio::this_coro::executor, deadline);
  co_await timer.async_wait(use_awaitable);
  ++woken;
}

// `lead` must be long enough for all the tasks to be asleep before the first deadline.
double timers(std::size_t count, nanoseconds lead) {
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  io_context context(1);
  std::size_t woken = 0;
  const double ns = cpu_ns_of([&] {
    const auto base = steady_timer::clock_type::now() + lead;
    for (const std::uint64_t delay : delays) {
      co_spawn(context, sleep_once(base + nanoseconds(delay), woken), detached);
    }
    context.poll();
    bench::warn_if(steady_timer::clock_type::now() > base, "timers_1m: fired while inserting");
    context.run();
  });
  check(woken == count, "every timer fired");
  return ns / static_cast<double>(count);
}

// Cancelling an Asio timer is over when its handler has run with operation_aborted.
double arm_cancel_many(std::size_t count) {
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  const auto base = steady_timer::clock_type::now() + std::chrono::hours(1);
  io_context context(1);
  std::vector<steady_timer> timers;
  timers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) timers.emplace_back(context);
  std::size_t aborted = 0;
  const double ns = cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      timers[i].expires_at(base + nanoseconds(delays[i]));
      timers[i].async_wait([&](boost::system::error_code error) { aborted += error.failed(); });
    }
    for (steady_timer& timer : timers) timer.cancel();
    context.run();
  });
  check(aborted == count, "every timer was cancelled");
  return ns / static_cast<double>(count);
}

double arm_cancel_hot(std::size_t count) {
  io_context context(1);
  steady_timer timer(context);
  std::size_t aborted = 0;
  const double ns = cpu_ns_of([&] {
    const auto base = steady_timer::clock_type::now() + std::chrono::hours(1);
    for (std::size_t i = 0; i < count; ++i) {
      timer.expires_at(base + nanoseconds(i));
      timer.async_wait([&](boost::system::error_code error) { aborted += error.failed(); });
      timer.cancel();
      context.restart();
      context.poll();
    }
  });
  check(aborted == count, "the timer was cancelled each time");
  return ns / static_cast<double>(count);
}

// ---- skynet

awaitable<std::uint64_t> skynet_node(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) co_return first;
  const auto executor = co_await asio::this_coro::executor;
  Gathering children(executor, 10);
  for (std::uint64_t i = 0; i < 10; ++i) {
    co_spawn(executor, skynet_node(first + i * (leaves / 10), leaves / 10), children.handler());
  }
  co_return co_await children.sum();
}

// A smaller tree is reported as what the full one would take at the same cost per task.
double skynet_ms(std::uint64_t leaves) {
  std::uint64_t sum = 0;
  const double ns = cpu_ns_of([&] { sum = run_main(skynet_node(0, leaves)); });
  check(sum == bench::skynet_sum(leaves), "skynet's sum");
  return ns / 1e6 * static_cast<double>(bench::skynet_leaves / leaves);
}

// ---- memory

awaitable<void> wait_for(Channel& channel) {
  co_await channel.async_receive(asio::as_tuple(use_awaitable));
}

double rss_per_task(std::size_t count) {
  io_context context(1);
  Channel channel(context);
  const std::size_t before = bench::rss_bytes();
  for (std::size_t i = 0; i < count; ++i) co_spawn(context, wait_for(channel), detached);
  context.poll();
  const std::size_t after = bench::rss_bytes();
  channel.cancel();
  context.run();
  return static_cast<double>(after - before) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  using enum bench::Weight;
  const bench::Suite suite(argc, argv);
  const bool quick = suite.quick();
  constexpr std::size_t million = 1'000'000;
  const std::size_t often = suite.scale(million, 200'000);
  const std::size_t many = suite.scale(million, 300'000);

  suite.run("yield_2", "ns", light, [&] { return yield_in_order(2, quick); });
  suite.run("yield_1k", "ns", light, [&] { return yield_in_order(1000, quick); });
  suite.run("yield_100k", "ns", light, [&] { return yield_in_order(100'000, quick); });
  suite.run("yield_1m", "ns", heavy, [&] { return yield_in_order(many, quick); });
  suite.run("yield_1m_shuffled", "ns", heavy,
            [&] { return yield_shuffled(many, suite.scale(17, 4)); });
  suite.run("spawn_join", "ns", light, [&] { return spawn_join(often); });
  suite.run("fanout_1m", "ns", light, [&] { return fanout(many); });
  suite.run("nested_call", "ns", light, [&] { return nested_call(10 * often); });
  suite.run("ping_pong", "ns", light, [&] { return ping_pong(often); });
  suite.run("timers_1m", "ns", heavy,
            [&] { return quick ? timers(many, milliseconds(800)) : timers(many, seconds(3)); });
  suite.run("arm_cancel_1m", "ns", light, [&] { return arm_cancel_many(million); });
  suite.run("arm_cancel_hot", "ns", light, [&] { return arm_cancel_hot(often); });
  suite.run("skynet", "ms", light,
            [&] { return skynet_ms(suite.scale(bench::skynet_leaves, 100'000)); });
  suite.run("rss_task_1m", "B", heavy, [&] { return rss_per_task(suite.scale(million, 100'000)); });
  suite.run("gather_1k", "ns", light, [&] { return gather(suite.scale(1000, 200), 1000); });
}
