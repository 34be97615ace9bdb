// The code of the tasks of random_program.hpp, made from a seed: which calls it makes, and what it
// sees of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/random_calls.hpp"
#include "tiffany/durable/crash_test.hpp"
#include "tiffany/durable/map_children.hpp"
#include "tiffany/durable/saga.hpp"

namespace tiffany::random_program {

using namespace std::chrono_literals;

// What the steps of one run did, by key: an effect that is applied again is the same effect.
inline std::set<std::string> effects;
// Promises that tasks wait for, by the name that the task gave them.
inline std::map<std::string, Uuid> open_promises;

struct State {
  int round = 0;
  std::string seen;
};
TIFFANY_JSON(State, round, seen)

// One task: `rounds` times some random calls, and a checkpoint between rounds in some of the
// programs.
class Body {
 public:
  Body(Flow& flow, std::uint64_t seed, int depth) : flow_(flow), seed_(seed), depth_(depth) {}

  Durable<std::string> run() {
    state_ = flow_.state(State());
    const bool checkpoints = seed_ % 3 == 0;
    bool cancelled = false;
    try {
      while (state_.round < 3) {
        choices_ = Random(seed_ * 1000 + static_cast<std::uint64_t>(state_.round), "choices");
        const std::uint64_t calls = 1 + choices_.below(5);
        for (std::uint64_t i = 0; i < calls; ++i) co_await call(choices_.below(22));
        ++state_.round;
        if (checkpoints && !left_children_) co_await flow_.checkpoint(state_);
      }
    } catch (const DurableCancelled&) {
      cancelled = true;
    }
    if (cancelled) {
      const auto shield = flow_.shield();
      co_await flow_.step("undo", [](Attempt& attempt) { note(attempt); });
      if (seed_ % 2 == 0) co_await flow_.sleep(1min);
      state_.seen += "undone";
    }
    co_return state_.seen;
  }

 private:
  static void note(Attempt& attempt) {
    if (CrashTest::alive()) effects.insert(attempt.key());
  }
  void see(const std::string& what) { state_.seen += what + " "; }

  Durable<void> call(std::uint64_t kind) {
    const int number = static_cast<int>(choices_.below(100));
    const auto path = flow_.enter("r" + std::to_string(state_.round));
    switch (kind) {
      case 0:
      case 1: {
        const int got = co_await flow_.step("plain", StepOptions().arguments(number),
                                            [number](Attempt& attempt) {
                                              note(attempt);
                                              return number;
                                            });
        see(std::to_string(got));
        break;
      }
      case 2: {
        const int got = co_await flow_.step("slow", [number](Attempt& attempt) -> Task<int> {
          co_await sleep(std::chrono::milliseconds(number));
          note(attempt);
          co_return number;
        });
        see(std::to_string(got));
        break;
      }
      case 3:
        try {
          co_await flow_.step("failing", StepOptions().retry(Retry(2, 1s)), [](Attempt& attempt) {
            note(attempt);
            throw std::runtime_error("fails");
          });
        } catch (const Error& e) {
          see(e.what());
        }
        break;
      case 4:
        co_await flow_.sleep(std::chrono::seconds(number));
        break;
      case 5: {
        see(std::to_string(flow_.random().below(1000)));
        see(flow_.uuid().text().substr(0, 4));
        see(std::to_string(flow_.version("v", 1, 2)));
        break;
      }
      case 6:
        if (depth_ == 0) break;
        co_await children(number);
        break;
      case 7:
        co_await race(number);
        break;
      case 8:
        see(std::to_string(co_await flow_.signal<int>("s")));
        break;
      case 9: {
        auto promise = co_await flow_.promise<int>("p");
        publish(promise.id());
        try {
          see(std::to_string(co_await promise));
        } catch (const Error& e) {
          if (e.code() == Errc::durable_cancelled) throw;
          see(e.what());
        }
        break;
      }
      case 10: {
        auto timer = co_await flow_.timer(std::chrono::seconds(number));
        auto other = co_await flow_.timer(std::chrono::seconds(50));
        const auto first = co_await flow_.race(timer, other);
        see(std::to_string(first.index));
        break;
      }
      case 11:
        co_await steps_at_once(number);
        break;
      case 12:
        co_await signals_at_once(number);
        break;
      case 13:
        co_await in_time(number);
        break;
      case 14:
        try {
          see(co_await run_saga(flow_, booked, number));
        } catch (const StepFailed& e) {
          see(e.what());
        }
        break;
      case 15: {
        if (depth_ == 0) break;
        const std::vector<int> arguments{number, number + 1, number + 2, number + 3};
        try {
          for (const int got : co_await map_children<int>(flow_, 3, "small", arguments)) {
            see(std::to_string(got));
          }
        } catch (const DurableCancelled&) {
          throw;
        } catch (const Error& e) {  // one of them was cancelled
          see(e.what());
          left_children_ = true;
        }
        break;
      }
      case 16:
        flow_.set_attribute("number", number);
        flow_.set_attribute("round", "r" + std::to_string(state_.round));
        break;
      case 17:
        see(co_await adds_updates(flow_, number));
        break;
      case 18:
        see(co_await serves_updates(flow_, number));
        break;
      case 19:
        // A checkpoint is refused while a child is under way.
        if (seed_ % 3 != 0 && depth_ > 0) see(co_await leaves_child(flow_, number));
        break;
      case 20:
        see(co_await starts_task(flow_, number));
        break;
      default:
        co_await flow_.step("once", StepOptions().retry(Retry(3, 1s)), [](Attempt& attempt) {
          if (attempt.number() < 2) throw std::runtime_error("not yet");
          note(attempt);
        });
    }
  }

  Durable<void> children(int number) {
    auto a = co_await flow_.spawn<std::string>("body", seed_ * 31 + 1, depth_ - 1);
    auto b = co_await flow_.spawn<std::string>("body", seed_ * 31 + 2, depth_ - 1);
    if (number % 3 == 0) {
      auto [x, y] = co_await flow_.gather(a, b);
      see(x + y);
    } else {
      const auto first = co_await flow_.race(a, b);
      see(std::to_string(first.index));
      see(co_await (first.index == 0 ? b : a));
      see(co_await (first.index == 0 ? a : b));
    }
  }

  Durable<void> race(int number) {
    std::vector<DurableHandle<int>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(co_await flow_.promise<int>("q"));
      publish(all.back().id());
    }
    if (number % 2 == 0) co_await flow_.sleep(std::chrono::seconds(number));
    while (!all.empty()) {
      std::size_t first = 0;
      std::string got;
      try {
        const auto won = co_await flow_.race(all);
        first = won.index;
        got = std::to_string(won.value);
      } catch (const Error& e) {
        if (e.code() == Errc::durable_cancelled) throw;
        while (!all[first].arrived()) ++first;
        got = e.what();
      }
      see(std::to_string(first) + ":" + got);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

  static Task<int> at_once(Attempt& attempt, int number) {
    co_await sleep(std::chrono::milliseconds(number * 37 % 100));
    note(attempt);
    if (number % 7 == 0) throw std::runtime_error("seven");
    co_return number;
  }
  static int plain_at_once(Attempt& attempt, int number) {
    note(attempt);
    return number;
  }
  // Steps that were begun, of which one is dropped and one may be left to the end of the task.
  Durable<void> steps_at_once(int number) {
    auto a = co_await flow_.begin_step("at once", at_once, number);
    auto b = co_await flow_.begin_step("at once", at_once, number + 1);
    auto c = co_await flow_.begin_step("plain at once", plain_at_once, number);
    {
      auto dropped = co_await flow_.begin_step("at once", at_once, number + 2);
    }
    auto late = co_await flow_.timer(50ms);
    try {
      const auto won = co_await flow_.race(a, b, late);
      see(std::to_string(won.index));
      auto [x, y, z] = co_await flow_.gather(a, b, c);
      see(std::to_string(x + y + z));
    } catch (const Error& e) {
      if (e.code() == Errc::durable_cancelled) throw;
      see(e.what());
    }
    // A checkpoint is refused while a step is under way.
    co_await flow_.sleep(1s);
  }

  // One of two signals of a name, or a timer; what has come and was not looked at goes back.
  Durable<void> signals_at_once(int number) {
    auto first = co_await flow_.begin_signal<int>("s");
    auto second = co_await flow_.begin_signal<int>("s");
    auto late = co_await flow_.timer(std::chrono::seconds(number));
    auto won = co_await flow_.race(first, second, late);
    see("s" + std::to_string(won.index));
    if (won.index == 0 && number % 2 == 0) see(std::to_string(won.get<0>()));
    co_await flow_.wait_until([&] { return late.arrived(); });
    see(std::to_string(first.arrived() ? 1 : 0) + std::to_string(second.arrived() ? 1 : 0));
  }

  // A wait that the end of a scope cuts off, or not.
  Durable<void> in_time(int number) {
    bool late = false;
    try {
      const auto scope = co_await flow_.scope(std::chrono::seconds(40));
      if (number % 3 == 0) co_await flow_.signal<int>("s");
      if (number % 3 == 1) co_await flow_.sleep(std::chrono::seconds(number));
      if (number % 3 == 2) {
        co_await flow_.step("in time", [number](Attempt& attempt) -> Task<void> {
          co_await sleep(std::chrono::seconds(number));
          note(attempt);
        });
      }
    } catch (const ScopeTimedOut&) {
      late = true;
    }
    see(late ? "late" : "in time");
  }

  static void unbook(Attempt& attempt, int) { note(attempt); }
  static Durable<std::string> booked(Flow& flow, Saga& saga, int number) {
    saga.undo("first", unbook, number);
    co_await flow.step("book", [](Attempt& attempt) { note(attempt); });
    saga.undo("second", unbook, number + 1);
    co_await flow.sleep(std::chrono::seconds(number));
    if (number % 2 == 0) {
      co_await flow.step("cannot", [] { throw NotRetryable("cannot"); });
    }
    co_return "booked";
  }

  void publish(const Uuid& id) {
    if (CrashTest::alive()) open_promises[id.text()] = id;
  }

  Flow& flow_;
  std::uint64_t seed_;
  int depth_;
  State state_;
  Random choices_{0};
  bool left_children_ = false;  // some are under way: a checkpoint would be refused
};

inline Durable<std::string> body(Flow& flow, std::uint64_t seed, int depth) {
  Body task(flow, seed, depth);
  co_return co_await task.run();
}

// Of which few run at a time.
inline Durable<int> small(Flow& flow, int number) {
  co_await flow.sleep(std::chrono::seconds(number % 7));
  co_return co_await flow.step("small", [number] { return number * 2; });
}

inline Registry types() {
  Registry all;
  all.add("body", 1, body);
  all.add("small", 1, small, TypeOptions().at_most(2).rate(4, 10s));
  add_more_types(all);
  return all;
}

}  // namespace tiffany::random_program
