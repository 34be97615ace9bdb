// A tour of Tiffany in one program, on virtual time: every line below is printed in the same order,
// with the same times, on every run, machine and compiler. Nothing here waits for a real clock.
#include <cstdio>
#include <stdexcept>
#include <string>

#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

// Prints a line with the virtual time in front of it.
void say(const std::string& text) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch());
  std::printf("%6lld ms  %s\n", static_cast<long long>(ms.count()), text.c_str());
}

void heading(const char* text) { std::printf("\n%s\n", text); }

// ---- 1. Tasks, and calls between coroutines

Task<int> brew(const std::string& what, Duration takes) {
  say("start " + what);
  co_await sleep(takes);
  say(what + " is ready");
  co_return static_cast<int>(what.size());
}

Task<int> breakfast() {
  // A plain call: it runs as part of this task, one after the other.
  const int tea = co_await brew("tea", 3ms);
  // Spawned: these run side by side. The arguments are kept with the task.
  auto eggs = spawn(brew, "eggs", 6ms);
  auto toast = spawn(brew, "toast", 2ms);
  const auto both = co_await gather(eggs, toast);
  co_return tea + both.get<0>() + both.get<1>();
}

// ---- 2. First come, first served

Task<std::string> ask_mirror(std::string name, Duration delay) {
  co_await sleep(delay);
  co_return name;
}

Task<void> fastest_mirror() {
  const auto won =
      co_await race(ask_mirror("oslo", 30ms), ask_mirror("rome", 10ms), ask_mirror("lima", 20ms));
  say(won.value + " answered first; the others were cancelled and have ended");
}

// ---- 3. Timeouts are values

Task<void> impatient() {
  const auto answer = co_await within(5ms, ask_mirror("slow", 1h));
  say(answer.timed_out() ? "no answer within 5 ms, and nothing left running" : "an answer");
}

// ---- 4. Cancellation unwinds

struct Door {
  ~Door() { say("the door is closed again"); }
};

Task<void> night_watch() {
  const Door door;
  say("the watch begins");
  co_await sleep(8h);
  say("this line is never reached");
}

Task<void> end_the_watch() {
  auto watch = spawn(night_watch).named("watch");
  co_await sleep(2ms);
  const auto end = co_await cancel_and_join(watch, "the sun is up");
  try {
    end.value();
  } catch (const TaskCancelled& cancelled) {
    say("the watch was cancelled because " + cancelled.reason()->message);
  }
}

// ---- 5. A scope owns its tasks; the first failure ends them all

Task<void> lift(int floor) {
  co_await sleep(floor * 1ms);
  if (floor == 3) throw std::runtime_error("the lift is stuck at floor 3");
  say("floor " + std::to_string(floor));
  co_await sleep(1h);
}

Task<void> building() {
  try {
    co_await scope([&](Scope& s) -> Task<void> {
      for (int floor = 1; floor <= 5; ++floor) s.spawn(lift, floor);
      co_await sleep(1h);
    });
  } catch (const std::exception& error) {
    say(std::string("the scope ended: ") + error.what());
  }
}

// ---- 6. A promise: one task waits for another to say something

Task<void> listener(int number, Future<std::string> news) {
  const std::string text = co_await news;
  say("listener " + std::to_string(number) + " hears: " + text);
}

Task<void> broadcast() {
  Promise<std::string> news;
  for (int i = 1; i <= 3; ++i) spawn(listener, i, news.future());
  co_await sleep(1ms);
  news.complete("good morning");
  say("the speaker goes on first; the listeners follow in their order");
  co_await sleep(1ms);
}

// ---- 7. An exception ends its task only, and reaches whoever waits for it

Task<int> divide(int a, int b) {
  if (b == 0) throw std::invalid_argument("a division by zero");
  co_return a / b;
}

Task<void> careful() {
  auto bad = spawn(divide, 1, 0);
  auto good = spawn(divide, 6, 3);
  const auto ends = co_await all_settled(bad, good);
  say(std::string("the first ") + (std::get<0>(ends).failed() ? "failed" : "succeeded") +
      ", the second gave " + std::to_string(std::get<1>(ends).value()));
  try {
    co_await bad;
  } catch (const std::invalid_argument& error) {
    say(std::string("caught where it was awaited: ") + error.what());
  }
}

// ---- 8. What can never end is found and explained

Task<void> wait_for(Future<void> other) { co_await other; }

Task<void> two_that_wait(Promise<void>& left, Promise<void>& right) {
  auto a = spawn(wait_for, left.future()).named("ann");
  auto b = spawn(wait_for, right.future()).named("bob");
  co_await gather(a, b);
}

Task<void> stuck() {
  Promise<void> left;
  Promise<void> right;
  co_await two_that_wait(left, right);
}

void deadlock() {
  heading("8. A deadlock is an error that says who waits for what, and where");
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(stuck).named("main");
  try {
    scheduler.run();
  } catch (const Deadlock& report) {
    std::printf("%s\n", report.what());
  }
}

Task<void> tour() {
  heading("1. Calls run in sequence, spawned tasks side by side");
  const int letters = co_await breakfast();
  say("breakfast is served, " + std::to_string(letters) + " letters of it");
  heading("2. race: the first decides, and nothing is left behind");
  co_await fastest_mirror();
  heading("3. within: a timeout is a value, and the operation has ended");
  co_await impatient();
  heading("4. cancel: destructors run, the code after the suspension does not");
  co_await end_the_watch();
  heading("5. scope: no task outlives its block");
  co_await building();
  heading("6. promise: many may wait for one");
  co_await broadcast();
  heading("7. exceptions stay with their task until somebody asks");
  co_await careful();
}

}  // namespace

int main() {
  std::printf("Tiffany, a tour on virtual time\n");
  Scheduler scheduler(Options().virtual_time());
  try {
    run_on(scheduler, tour());
    deadlock();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  std::printf("\nThe whole tour took no real time, and its trace hash is always %016llx.\n",
              static_cast<unsigned long long>(scheduler.trace_hash()));
  return 0;
}
