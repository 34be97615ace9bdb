// The workloads of bench/core on Tiffany, with everything on that a user gets: accounting, await
// sites, spawn sites, the trace hash, the quantum. See README.md for what each of them measures.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "bench_support.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using bench::check;
using bench::cpu_ns_of;
using bench::YieldClock;
using tiffany::Duration;
using tiffany::Future;
using tiffany::Handle;
using tiffany::Promise;
using tiffany::Scheduler;
using tiffany::spawn;
using tiffany::Task;
using tiffany::Time;
using tiffany::Timer;

tiffany::Options virtual_time() { return tiffany::Options().virtual_time(); }

// Runs one task and all that it spawns, and returns its result.
template <class T>
T run_main(Task<T> task, tiffany::Options options = virtual_time()) {
  Scheduler scheduler(std::move(options));
  return tiffany::run_on(scheduler, std::move(task));
}

// ---- yield

Task<void> yield_often(YieldClock& clock) {
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) co_await tiffany::yield();
  clock.task_ended();
}

// Every guard that a user can turn on, with limits that are never reached.
tiffany::Options guarded() {
  return virtual_time()
      .limit_tasks(10'000'000)
      .limit_memory(std::size_t{1} << 40)
      .quantum_of(10, 64)
      .ageing(1000);
}

double yield_in_order(std::size_t tasks, bool quick, tiffany::Options options = virtual_time()) {
  YieldClock clock(tasks, bench::yield_rounds(tasks, quick));
  Scheduler scheduler(std::move(options));
  for (std::size_t i = 0; i < tasks; ++i) scheduler.spawn(yield_often, std::ref(clock));
  scheduler.run();
  return clock.ns_per_yield();
}

Task<void> yield_many_supervised(YieldClock* clock, std::size_t tasks) {
  co_await tiffany::supervise(tiffany::Supervision(tiffany::RestartStrategy::one_for_one),
                              [&](tiffany::Supervisor& s) {
                                for (std::size_t i = 0; i < tasks; ++i) {
                                  s.temporary("yields", yield_often, std::ref(*clock));
                                }
                              });
}

// As yield_in_order, by children of a supervisor.
double yield_supervised(std::size_t tasks, bool quick) {
  YieldClock clock(tasks, bench::yield_rounds(tasks, quick));
  run_main(yield_many_supervised(&clock, tasks));
  return clock.ns_per_yield();
}

// Parks a task and leaves it to the benchmark to wake it.
class Park final : public tiffany::SystemCall {
 public:
  static constexpr tiffany::CallName call_name{"park"};
  explicit Park(std::vector<Park*>& parked) noexcept : parked_(parked) {}
  tiffany::Answer start(Scheduler&, tiffany::TaskRecord& task) {
    task_ = &task;
    parked_.push_back(this);
    return tiffany::Answer::parked;
  }
  void withdraw(tiffany::TaskRecord&) noexcept override {}
  void finish() noexcept {}
  std::string describe() const override { return "the benchmark"; }
  void go_on(Scheduler& scheduler) noexcept { wake(scheduler, *task_); }

 private:
  std::vector<Park*>& parked_;
  tiffany::TaskRecord* task_ = nullptr;
};

Task<void> park_then_yield(YieldClock& clock, std::vector<Park*>& parked) {
  co_await Park(parked);
  clock.task_started();
  for (std::size_t round = clock.rounds(); round > 0; --round) co_await tiffany::yield();
  clock.task_ended();
}

// The tasks are woken in shuffled order, so that the queue has them in another order than they lie
// in memory.
Task<void> start_shuffled(YieldClock& clock, std::size_t tasks) {
  std::vector<Park*> parked;
  parked.reserve(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    spawn(park_then_yield, std::ref(clock), std::ref(parked));
  }
  while (parked.size() < tasks) co_await tiffany::yield();
  for (const std::uint32_t which : bench::shuffled_order(tasks)) {
    parked[which]->go_on(*Scheduler::current());
  }
}

double yield_shuffled(std::size_t tasks, bool quick) {
  YieldClock clock(tasks, bench::yield_rounds(tasks, quick));
  Scheduler scheduler(virtual_time());
  scheduler.spawn(start_shuffled, std::ref(clock), tasks);
  scheduler.run();
  return clock.ns_per_yield();
}

// ---- spawn, join, call

Task<std::uint64_t> give(std::uint64_t value) { co_return value; }

Task<std::uint64_t> spawn_and_join_each(std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += co_await spawn(give, 1U);
  co_return sum;
}

Task<double> spawn_join_timed(std::size_t count) {
  check(co_await spawn_and_join_each(1000) == 1000, "warm-up joined all");
  const double start = bench::thread_cpu_ns();
  check(co_await spawn_and_join_each(count) == count, "joined all");
  co_return (bench::thread_cpu_ns() - start) / static_cast<double>(count);
}

Task<std::uint64_t> spawn_all_then_join(std::size_t count) {
  std::vector<Handle<std::uint64_t>> children;
  children.reserve(count);
  for (std::size_t i = 0; i < count; ++i) children.push_back(spawn(give, 1U));
  std::uint64_t sum = 0;
  for (const auto& child : children) sum += co_await child;
  co_return sum;
}

double fanout(std::size_t count) {
  const double ns =
      cpu_ns_of([&] { check(run_main(spawn_all_then_join(count)) == count, "joined all"); });
  return ns / static_cast<double>(count);
}

Task<std::uint64_t> gather_once(std::size_t width) {
  std::vector<Handle<std::uint64_t>> children;
  children.reserve(width);
  for (std::size_t i = 0; i < width; ++i) children.push_back(spawn(give, 1U));
  std::uint64_t sum = 0;
  const auto values = co_await tiffany::gather(std::move(children));
  for (const std::uint64_t value : values) sum += value;
  co_return sum;
}

Task<double> gather_timed(std::size_t times, std::size_t width) {
  for (int i = 0; i < 10; ++i) co_await gather_once(width);
  const double start = bench::thread_cpu_ns();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < times; ++i) sum += co_await gather_once(width);
  check(sum == times * width, "gathered all");
  co_return (bench::thread_cpu_ns() - start) / static_cast<double>(times);
}

// ---- spawn with something to inherit

constexpr tiffany::ContextKey<int> kDepth{"depth"};

Task<double> spawn_join_with_store(std::size_t count, std::size_t entries) {
  for (std::size_t i = 0; i < entries; ++i) {
    const std::string name = "entry " + std::to_string(i);
    put(tiffany::StateKey<std::size_t>(name), i);
    tiffany::tell(name);
  }
  co_return co_await spawn_join_timed(count);
}

Task<double> spawn_join_with_context(std::size_t count, int depth) {
  if (depth == 0) co_return co_await spawn_join_timed(count);
  co_return co_await tiffany::with(kDepth, depth, [&]() -> Task<double> {
    co_return co_await spawn_join_with_context(count, depth - 1);
  });
}

// Not inlined, so that no compiler can keep the callee's frame inside the caller's.
[[gnu::noinline]] Task<int> add_one(int value) { co_return value + 1; }

Task<double> call_often(std::size_t count) {
  const double start = bench::thread_cpu_ns();
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) value = co_await add_one(value);
  check(static_cast<std::size_t>(value) == count, "called all");
  co_return (bench::thread_cpu_ns() - start) / static_cast<double>(count);
}

// ---- ping-pong, over two auto-reset events as on the floor

// A system call of one's own: one task waits, another sets.
class Event {
 public:
  void set() {
    if (waiter_ != nullptr) {
      std::exchange(waiter_, nullptr)->go_on(*Scheduler::current());
    } else {
      set_ = true;
    }
  }

  class Wait final : public tiffany::SystemCall {
   public:
    static constexpr tiffany::CallName call_name{"wait_event"};
    explicit Wait(Event& event) noexcept : event_(event) {}
    tiffany::Answer start(Scheduler&, tiffany::TaskRecord& task) noexcept {
      if (std::exchange(event_.set_, false)) return tiffany::Answer::now;
      task_ = &task;
      event_.waiter_ = this;
      return tiffany::Answer::parked;
    }
    void withdraw(tiffany::TaskRecord&) noexcept override { event_.waiter_ = nullptr; }
    void finish() noexcept {}
    std::string describe() const override { return "an event"; }
    void go_on(Scheduler& scheduler) noexcept { wake(scheduler, *task_); }

   private:
    Event& event_;
    tiffany::TaskRecord* task_ = nullptr;
  };
  Wait wait() noexcept { return Wait(*this); }

 private:
  Wait* waiter_ = nullptr;
  bool set_ = false;
};

Task<void> answer(Event& mine, Event& theirs, std::size_t rounds) {
  for (std::size_t i = 0; i < rounds; ++i) {
    co_await mine.wait();
    theirs.set();
  }
}

Task<double> ping_pong(std::size_t rounds) {
  Event ping;
  Event pong;
  auto other = spawn(answer, std::ref(ping), std::ref(pong), rounds);
  const double start = bench::thread_cpu_ns();
  for (std::size_t i = 0; i < rounds; ++i) {
    ping.set();
    co_await pong.wait();
  }
  const double ns = (bench::thread_cpu_ns() - start) / static_cast<double>(rounds);
  co_await other;
  co_return ns;
}

// ---- timers

Task<void> sleep_once(std::size_t& fired, Duration delay) {
  co_await tiffany::sleep(delay);
  ++fired;
}

double timers(std::size_t count) {
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  std::size_t fired = 0;
  const double ns = cpu_ns_of([&] {
    Scheduler scheduler(virtual_time());
    for (const std::uint64_t delay : delays) {
      scheduler.spawn(sleep_once, std::ref(fired), Duration(delay));
    }
    scheduler.run();
  });
  check(fired == count, "all timers fired");
  return ns / static_cast<double>(count);
}

void never(Scheduler&, Timer&) noexcept { check(false, "a cancelled timer fired"); }

double arm_cancel_many(std::size_t count) {
  Scheduler scheduler(virtual_time());
  const std::vector<std::uint64_t> delays = bench::random_delays_ns(count);
  std::deque<Timer> timers;
  for (std::size_t i = 0; i < count; ++i) timers.emplace_back(&never);
  const double ns = cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      scheduler.arm(timers[i], Time(Duration(delays[i] + 1)));
    }
    for (Timer& timer : timers) scheduler.disarm(timer);
  });
  return ns / static_cast<double>(count);
}

double arm_cancel_hot(std::size_t count) {
  Scheduler scheduler(virtual_time());
  Timer timer(&never);
  const double ns = cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      scheduler.arm(timer, Time(Duration(1'000'000 + i)));
      scheduler.disarm(timer);
    }
  });
  return ns / static_cast<double>(count);
}

// ---- skynet

Task<std::uint64_t> skynet_node(std::uint64_t number, std::uint64_t size) {
  if (size == 1) co_return number;
  const std::uint64_t part = size / 10;
  Handle<std::uint64_t> children[10];
  for (std::uint64_t i = 0; i < 10; ++i) {
    children[i] = spawn(skynet_node, number + i * part, part);
  }
  std::uint64_t sum = 0;
  for (const auto& child : children) sum += co_await child;
  co_return sum;
}

double skynet(std::uint64_t leaves, tiffany::Options options) {
  const double ns = cpu_ns_of([&] {
    check(run_main(skynet_node(0, leaves), std::move(options)) == leaves * (leaves - 1) / 2,
          "the sum of all leaves");
  });
  return ns / 1e6;
}

// ---- memory

Task<void> wait_for(Future<int> event) { co_await event; }

Task<double> rss_per_task(std::size_t count) {
  Promise<int> event;
  const std::size_t before = bench::rss_bytes();
  for (std::size_t i = 0; i < count; ++i) spawn(wait_for, event.future());
  co_await tiffany::yield();
  co_await tiffany::yield();
  const std::size_t after = bench::rss_bytes();
  event.complete(1);
  co_return static_cast<double>(after - before) / static_cast<double>(count);
}

// ---- dumps

enum class DumpAs { text, json };

Task<void> sleep_long() { co_await tiffany::sleep(Duration(1'000'000'000)); }
Task<void> call_sleep_long() { co_await sleep_long(); }
Task<void> spawn_sleepers(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) spawn(call_sleep_long).named("sleeper");
  co_await sleep_long();
}

// So many tasks that sleep two calls deep, have names, and were spawned by one that is alive.
double dump_ms(std::size_t tasks, DumpAs as) {
  Scheduler scheduler(virtual_time());
  scheduler.spawn(spawn_sleepers, tasks - 1);
  scheduler.step_until_idle();
  std::size_t bytes = 0;
  const double ns = cpu_ns_of(
      [&] { bytes = (as == DumpAs::text ? scheduler.dump_text() : scheduler.dump_json()).size(); });
  check(bytes > 100 * tasks, "every task is in the dump");
  return ns / 1e6;
}

double best_dump_ms(std::size_t tasks, DumpAs as) {
  double best = dump_ms(tasks, as);
  for (int i = 0; i < 2; ++i) best = std::min(best, dump_ms(tasks, as));
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  using bench::Weight;
  const bench::Suite suite(argc, argv);
  const bool quick = suite.quick();
  const std::size_t million = 1'000'000;
  const auto light = Weight::light;
  suite.run("yield_2", "ns", light, [&] { return yield_in_order(2, quick); });
  suite.run("yield_1k", "ns", light, [&] { return yield_in_order(1000, quick); });
  suite.run("yield_100k", "ns", light, [&] { return yield_in_order(100'000, quick); });
  suite.run("yield_1m", "ns", light, [&] { return yield_in_order(million, quick); });
  suite.run("yield_1m_shuffled", "ns", light, [&] { return yield_shuffled(million, quick); });
  suite.run("spawn_join", "ns", light, [&] { return run_main(spawn_join_timed(million)); });
  suite.run("yield_1k_guarded", "ns", light,
            [&] { return yield_in_order(1000, quick, guarded()); });
  suite.run("yield_1k_supervised", "ns", light, [&] { return yield_supervised(1000, quick); });
  suite.run("spawn_join_guarded", "ns", light,
            [&] { return run_main(spawn_join_timed(million), guarded()); });
  suite.run("spawn_store_empty", "ns", light,
            [&] { return run_main(spawn_join_with_store(million, 0)); });
  suite.run("spawn_store_10k", "ns", light,
            [&] { return run_main(spawn_join_with_store(million, 10'000)); });
  suite.run("spawn_context_0", "ns", light,
            [&] { return run_main(spawn_join_with_context(million, 0)); });
  suite.run("spawn_context_16", "ns", light,
            [&] { return run_main(spawn_join_with_context(million, 16)); });
  suite.run("fanout_1m", "ns", light, [&] { return fanout(million); });
  suite.run("nested_call", "ns", light,
            [&] { return run_main(call_often(suite.scale(10, 2) * million)); });
  suite.run("ping_pong", "ns", light, [&] { return run_main(ping_pong(million)); });
  suite.run("timers_1m", "ns", light, [&] { return timers(million); });
  suite.run("arm_cancel_1m", "ns", light, [&] { return arm_cancel_many(million); });
  suite.run("arm_cancel_hot", "ns", light, [&] { return arm_cancel_hot(10 * million); });
  suite.run("skynet", "ms", light, [&] { return skynet(million, virtual_time()); });
  suite.run("skynet_depth_first", "ms", light,
            [&] { return skynet(million, virtual_time().order(tiffany::depth_first_order())); });
  suite.run("rss_task_1m", "B", light, [&] { return run_main(rss_per_task(million)); });
  suite.run("gather_1k", "ns", light,
            [&] { return run_main(gather_timed(suite.scale(2000, 500), 1000)); });
  suite.run("dump_100k", "ms", light, [&] { return dump_ms(100'000, DumpAs::text); });
  suite.run("dump_100k_json", "ms", light, [&] { return dump_ms(100'000, DumpAs::json); });
  // Linear is 2; above 2.5 something is not.
  suite.run("dump_200k_by_100k", "x", light, [&] {
    return best_dump_ms(200'000, DumpAs::text) / best_dump_ms(100'000, DumpAs::text);
  });
}
