// The statements of a generated program that wait for tasks and promises, on the real library.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/library_world.hpp"

namespace model {

// The handles and futures among the targets that are there at this moment.
class Present {
 public:
  Present(const World& world, const std::vector<Target>& targets) {
    for (const Target& target : targets) {
      if (target.promise) {
        if (world.futures[target.index]) futures.push_back(world.futures[target.index]);
      } else if (world.handles[target.index]) {
        handles.push_back(world.handles[target.index]);
      }
    }
  }
  bool mixed() const { return !handles.empty() && !futures.empty(); }
  bool none() const { return handles.empty() && futures.empty(); }

  std::vector<tiffany::Handle<int>> handles;
  std::vector<tiffany::Future<int>> futures;
};

inline std::string text_of(const std::vector<int>& values) {
  std::string out = "values";
  for (const int value : values) out += " " + std::to_string(value);
  return out;
}

inline std::string text_of_race(std::size_t index, int value, std::size_t rest) {
  return "index " + std::to_string(index) + " value " + std::to_string(value) + " rest " +
         std::to_string(rest);
}

inline std::string text_of(const tiffany::Timed<int>& timed) {
  return timed.timed_out() ? "timed out" : "value " + std::to_string(timed.value());
}

inline std::string text_of(const World& world, const std::vector<tiffany::Outcome<int>>& outcomes) {
  std::string out = "outcomes";
  for (const auto& outcome : outcomes) out += " " + world.text_of(outcome);
  return out;
}

// gather, all_settled and race over what exists already.
inline tiffany::Task<std::string> run_gather(Present targets) {
  if (targets.mixed()) {
    auto both = co_await tiffany::gather(targets.handles[0], targets.futures[0]);
    std::vector<int> values;
    values.push_back(both.get<0>());
    values.push_back(both.get<1>());
    co_return text_of(values);
  }
  if (!targets.futures.empty()) {
    const std::vector<int> values = co_await tiffany::gather(targets.futures);
    co_return text_of(values);
  }
  const std::vector<int> values = co_await tiffany::gather(targets.handles);
  co_return text_of(values);
}

inline tiffany::Task<std::string> run_all_settled(World& world, Present targets) {
  if (targets.mixed()) {
    auto both = co_await tiffany::all_settled(targets.handles[0], targets.futures[0]);
    std::vector<tiffany::Outcome<int>> outcomes;
    outcomes.push_back(std::get<0>(both));
    outcomes.push_back(std::get<1>(both));
    co_return text_of(world, outcomes);
  }
  if (!targets.futures.empty()) {
    const auto outcomes = co_await tiffany::all_settled(targets.futures);
    co_return text_of(world, outcomes);
  }
  const auto outcomes = co_await tiffany::all_settled(targets.handles);
  co_return text_of(world, outcomes);
}

inline tiffany::Task<std::string> run_race(Present targets) {
  if (targets.mixed()) {
    auto won = co_await tiffany::race(targets.handles[0], targets.futures[0]);
    co_return text_of_race(won.index, won.index == 0 ? won.get<0>() : won.get<1>(), 1);
  }
  if (!targets.futures.empty()) {
    const auto won = co_await tiffany::race(targets.futures);
    co_return text_of_race(won.index, won.value, won.rest.size());
  }
  const auto won = co_await tiffany::race(targets.handles);
  co_return text_of_race(won.index, won.value, won.rest.size());
}

// A wait for one target, in the form that the statement asks for.
template <class H>
tiffany::Task<std::string> run_wait(World& world, const Statement& s, H target) {
  if (s.op == Op::outcome) {
    const tiffany::Outcome<int> outcome = co_await target.outcome();
    co_return world.text_of(outcome);
  }
  if (s.op == Op::within_target) {
    const tiffany::Timed<int> timed = co_await tiffany::within(tiffany::Duration(s.delay), target);
    co_return text_of(timed);
  }
  int value = 0;
  if (s.op == Op::shield_target) {
    value = co_await tiffany::shield(target);
  } else if (s.op == Op::take) {
    value = co_await std::move(target);
  } else {
    value = co_await target;
  }
  co_return "value " + std::to_string(value);
}

}  // namespace model
