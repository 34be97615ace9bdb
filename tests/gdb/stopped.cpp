// A program that stops in the middle: it prints its dump, and gdb is to print the same.
#include <cstdio>
#include <functional>
#include <optional>
#include <source_location>
#include <string>

#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

// gdb stops here.
extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }

namespace {

Task<void> nap(Duration time) { co_await sleep(time); }

Task<int> deep(int depth) {
  if (depth > 0) co_return co_await deep(depth - 1);
  co_await nap(1h);
  co_return 0;
}

struct Machine final : AgentTask<int> {
  Poll<int> poll(PollContext& context) override {
    context.wake_after(1500us);
    return Poll<int>::pending();
  }
};

Task<void> stubborn() { co_await shield(nap(1h)); }

Task<void> crew() {
  co_await scope([](Scope& s) -> Task<void> {
    s.set_timeout(90s);
    s.spawn(nap, 2h).named("in the outer scope");
    co_await scope([](Scope& inner) -> Task<void> {
      inner.spawn(stubborn).named("in the inner scope");
      co_await sleep(2ms);
      inner.cancel("a name longer than what a string keeps in itself");
      co_await sleep(1h);
    });
  });
}

Task<void> program() {
  auto gone = spawn(nap, 1ms);
  co_await gone;
  gone = {};
  auto again = spawn(nap, 1h);  // in a slot that was used before
  auto digger = spawn(deep, 40).named("digger");
  auto machine = spawn_agent(std::make_unique<Machine>());
  auto sailors = spawn.with_priority(3)(crew).named("crew");
  const auto unnamed = []() -> Task<void> {
    Promise<int> never;
    static_cast<void>(co_await never.future());
  };
  auto lambda = spawn(unnamed);
  co_await sleep(3ms);
  auto cancelled = spawn(stubborn).named("stubborn");
  co_await yield();
  cancelled.cancel("enough");
  auto pending = spawn.with_priority(200)(nap, 1h).named("pending");
  again.cancel();
  std::puts(Scheduler::current()->dump_text().c_str());
  std::fflush(stdout);
  stop_here();
}

}  // namespace

int main() {
  Scheduler other(Options().virtual_time());  // an older one, which is idle
  std::fputs(other.dump_text().c_str(), stdout);
  {
    Scheduler gone(Options().virtual_time());
  }
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(program).named("main");
  scheduler.step_until_idle();
  scheduler.run_until(Time(10ms));
  scheduler.shutdown();
}
