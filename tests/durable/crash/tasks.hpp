// The tasks of a crash campaign: a bit of everything that a durable task can do. What each returns
// depends on its number alone, however often the process was killed on the way.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/crash/protocol.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::crash {

using namespace std::chrono_literals;
using Value = std::int64_t;

inline Line* line = nullptr;  // of the worker

constexpr int kSignals = 4;
constexpr int kRounds = 9;

// What a service makes of a value.
inline Value made_of(Value value) { return (value * 31 + 7) % 1'000'000'007; }

class Effect {
 public:
  Effect(std::string whose, int number, Value given)
      : who(std::move(whose)), index(number), value(given) {}
  std::string who;
  int index;
  Value value;
  std::string name() const { return who + "." + std::to_string(index); }
};

inline Value take_effect(char kind, const Effect& effect, const std::string& key) {
  line->ask(std::string(1, kind) + " " + effect.name() + " " + key + " " +
            std::to_string(effect.value));
  return made_of(effect.value);
}

// The process is killed more often than a step of a real one may be.
inline StepOptions patient() { return StepOptions().crashes(1000); }

// ---- The three classes of effects, each at once and with waits ----

inline Durable<Value> idempotent(Flow& flow, Effect effect) {
  if (effect.index % 2 == 0) {
    co_return co_await flow.step("effect", patient(), [&](Attempt& attempt) {
      return take_effect('I', effect, attempt.key());
    });
  }
  co_return co_await flow.step("slow-effect", patient(), [&](Attempt& attempt) -> Task<Value> {
    co_await sleep(1ms);
    const Value made = take_effect('I', effect, attempt.key());
    co_await yield();
    co_return made;
  });
}

// The answer is lost at first, and the service is out of order before that.
inline Durable<Value> with_retries(Flow& flow, Effect effect) {
  const auto try_once = [&](Attempt& attempt) {
    if (attempt.number() == 1) throw std::runtime_error("out of order");
    const Value made = take_effect('I', effect, attempt.key());
    if (attempt.number() == 2) throw std::runtime_error("no answer");
    return made;
  };
  if (effect.index % 2 == 0) {
    co_return co_await flow.step("tried", patient().retry(Retry(4, 1ms)), try_once);
  }
  co_return co_await flow.step("slowly-tried", patient().retry(Retry(4, 1ms)).timeout(10s),
                               [&](Attempt& attempt) -> Task<Value> {
                                 co_await sleep(1ms);
                                 co_return try_once(attempt);
                               });
}

inline Durable<Value> at_most_once(Flow& flow, Effect effect) {
  std::optional<Value> made;
  try {
    made = co_await flow.step("once", StepOptions().at_most_once(), [&](Attempt& attempt) {
      return take_effect('M', effect, attempt.key());
    });
  } catch (const Error& e) {
    if (e.code() != Errc::step_unknown) throw;
  }
  if (made) co_return *made;
  co_await flow.step("reconcile", patient(), [&] { line->ask("U " + effect.name()); });
  co_return made_of(effect.value);
}

inline std::optional<std::string> find_in_database(const std::string& key) {
  const std::string found = line->ask("F " + key);
  if (found == "none") return std::nullopt;
  return std::to_string(made_of(std::stoll(found)));
}

inline Durable<Value> transactional(Flow& flow, Effect effect) {
  if (effect.index % 2 == 0) {
    co_return co_await flow.step(
        "transaction", patient().transactional(&find_in_database),
        [&](Attempt& attempt) { return take_effect('T', effect, attempt.key()); });
  }
  co_return co_await flow.step("long-transaction", patient().transactional(&find_in_database),
                               [&](Attempt& attempt) -> Task<Value> {
                                 co_await sleep(1ms);
                                 co_return take_effect('T', effect, attempt.key());
                               });
}

// ---- Tasks ----

inline Durable<Value> chain(Flow& flow, int number) {
  Effect effect{std::to_string(number), 0, number};
  for (effect.index = 1; effect.index <= 10; ++effect.index) {
    effect.value = co_await idempotent(flow, effect);
  }
  co_return effect.value;
}

inline Durable<Value> stubborn(Flow& flow, int number) {
  Effect effect{std::to_string(number), 0, number};
  for (effect.index = 1; effect.index <= 4; ++effect.index) {
    effect.value = co_await with_retries(flow, effect);
  }
  co_return effect.value;
}

inline Durable<Value> sleeper(Flow& flow, int number) {
  Effect effect{std::to_string(number), 0, number};
  WallTime last = flow.now();
  for (effect.index = 1; effect.index <= 6; ++effect.index) {
    co_await flow.sleep(std::chrono::milliseconds(flow.random().below(15)));
    if (flow.now() < last) throw std::logic_error("time went back");
    last = flow.now();
    effect.value = co_await idempotent(flow, effect);
  }
  auto soon = co_await flow.timer(2ms);
  auto late = co_await flow.timer(1h);
  const auto first = co_await flow.race(late, soon);
  co_return effect.value * 2 + static_cast<Value>(first.index);
}

inline Durable<Value> approved(Flow& flow, int number) {
  Effect effect{std::to_string(number), 1, number};
  effect.value = co_await at_most_once(flow, effect);
  auto approval = co_await flow.promise<Value>("approval");
  const Uuid id = approval.id();
  co_await flow.step("ask", patient(),
                     [&] { line->ask("P " + std::to_string(number) + " " + id.text()); });
  auto too_late = co_await flow.timer(1h);
  auto first = co_await flow.race(approval, too_late);
  if (first.index != 0) throw std::logic_error("an hour is over");
  effect.value += first.get<0>();
  effect.index = 2;
  co_return co_await transactional(flow, effect);
}

inline Durable<Value> child(Flow& flow, std::string who, Value value) {
  Effect effect{std::move(who), 1, value};
  effect.value = co_await at_most_once(flow, effect);
  effect.index = 2;
  co_return co_await idempotent(flow, effect);
}

// Five children, two at a time, and two more that are gathered.
inline Durable<Value> parent(Flow& flow, int number) {
  const auto name = [number](int k) { return std::to_string(number) + "/" + std::to_string(k); };
  std::vector<DurableHandle<Value>> running;
  Value sum = 0;
  for (int k = 0; k < 5; ++k) {
    if (running.size() == 2) {
      const auto first = co_await flow.race(running);
      sum += first.value;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(first.index));
    }
    running.push_back(co_await flow.spawn<Value>("child", name(k), Value{k}));
  }
  for (const auto& each : running) sum += co_await each;
  auto a = co_await flow.spawn<Value>("child", name(5), Value{5});
  auto b = co_await flow.spawn<Value>("child", name(6), Value{6});
  const auto both = co_await flow.gather(a, b);
  co_return sum + std::get<0>(both) * std::get<1>(both);
}

inline Durable<void> endless(Flow& flow, std::string who) {
  Effect effect{std::move(who), 1, 1};
  auto never = co_await flow.promise<Value>("never");
  bool cancelled = false;
  try {
    co_await never;
  } catch (const DurableCancelled&) {
    cancelled = true;
  }
  if (!cancelled) co_return;
  const auto shield = flow.shield();
  co_await idempotent(flow, effect);  // puts in order what it leaves
}

// Leaves a child behind, which is cancelled and puts things in order.
inline Durable<Value> careless(Flow& flow, int number) {
  auto left = co_await flow.spawn<void>("endless", std::to_string(number) + "/0");
  Effect effect{std::to_string(number), 0, number};
  for (effect.index = 1; effect.index <= 3; ++effect.index) {
    effect.value = co_await transactional(flow, effect);
  }
  co_return effect.value;
}

inline Durable<Value> listener(Flow& flow, int number) {
  Effect effect{std::to_string(number), 0, number};
  std::set<int> heard;
  while (heard.size() < kSignals) {
    heard.insert(co_await flow.signal<int>("mail"));  // some come twice
    effect.index = static_cast<int>(heard.size());
  }
  for (effect.index = 1; effect.index <= 3; ++effect.index) {
    effect.value = co_await idempotent(flow, effect);
  }
  co_return effect.value;
}

struct Progress {
  int round = 0;
  Value value = 0;
  std::vector<int> heard{};
};
TIFFANY_JSON(Progress, round, value, heard);

// Forgets its history after each round, and hears signals meanwhile.
inline Durable<Value> rounds(Flow& flow, int number) {
  Progress state = flow.state(Progress{0, number, {}});
  const std::string who = std::to_string(number);
  while (state.round < kRounds) {
    // Drawn anew by whoever comes back, and the same as before.
    const Value drawn = static_cast<Value>(flow.random().below(1000));
    co_await idempotent(flow, Effect(who, 3 * state.round + 1, drawn));
    state.value = co_await at_most_once(flow, Effect(who, 3 * state.round + 2, state.value));
    state.value = co_await transactional(flow, Effect(who, 3 * state.round + 3, state.value));
    auto one =
        co_await flow.spawn<Value>("child", who + "/" + std::to_string(state.round), state.value);
    state.value = co_await one;
    one = DurableHandle<Value>();
    if (state.round % 2 == 0 && state.heard.size() < kSignals) {
      const int k = co_await flow.signal<int>("mail");
      const std::set<int> heard(state.heard.begin(), state.heard.end());
      if (heard.count(k) == 0) state.heard.push_back(k);
    }
    ++state.round;
    co_await flow.checkpoint(state);
  }
  while (state.heard.size() < kSignals) {
    const int k = co_await flow.signal<int>("mail");
    const std::set<int> heard(state.heard.begin(), state.heard.end());
    if (heard.count(k) == 0) state.heard.push_back(k);
  }
  co_return state.value;
}

inline const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all = {"chain",  "stubborn", "sleeper",  "approved",
                                               "parent", "careless", "listener", "rounds",
                                               "trip",   "cart",     "fan_out",  "brood"};
  return all;
}
inline std::string kind_of(int number) {
  return kinds()[static_cast<std::size_t>(number) % kinds().size()];
}

inline Registry all_types() {
  Registry types;
  types.add("chain", 1, chain);
  types.add("stubborn", 1, stubborn);
  types.add("sleeper", 1, sleeper);
  types.add("approved", 1, approved);
  types.add("child", 1, child);
  types.add("parent", 1, parent);
  types.add("endless", 1, endless);
  types.add("careless", 1, careless);
  types.add("listener", 1, listener);
  types.add("rounds", 1, rounds);
  return types;
}

}  // namespace tiffany::crash
