// Many children of one type, at most so many at a time.
//
//   std::vector<int> sizes = co_await map_children<int>(flow, 20, "measure", pages);
//
// Results are in the order of the arguments. The first failure is thrown: no other child is begun
// then, and those under way are cancelled with the end of the task. For limits that hold for all
// tasks of a type use those of the host.
//
// Crash: children that have ended are not begun again; the others go on.
//
// Cancel. Before start: no child is begun, and DurableCancelled is thrown. While parked: the same,
// and the children under way are cancelled with the end of the task. After completion: the results
// are given; the next durable call throws.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/flow.hpp"

namespace tiffany {

// `limit` zero: Errc::bad_argument.
template <class R, class A>
Durable<std::vector<ValueOf<R>>> map_children(Flow& flow, std::size_t limit, std::string type,
                                              std::vector<A> arguments) {
  if (limit == 0) {
    throw Error(Errc::bad_argument, "map_children needs room for at least one child at a time.");
  }
  std::vector<std::optional<ValueOf<R>>> results(arguments.size());
  std::vector<DurableHandle<R>> running;
  std::vector<std::size_t> places;  // of those that run, in the results
  for (std::size_t next = 0; next < arguments.size() || !running.empty();) {
    if (next < arguments.size() && running.size() < limit) {
      running.push_back(co_await flow.spawn<R>(type, arguments[next]));
      places.push_back(next++);
      continue;
    }
    auto first = co_await flow.race(running);
    const auto at = static_cast<std::ptrdiff_t>(first.index);
    results[places[first.index]].emplace(std::move(first.value));
    running.erase(running.begin() + at);
    places.erase(places.begin() + at);
  }
  std::vector<ValueOf<R>> all;
  all.reserve(results.size());
  for (auto& each : results) all.push_back(std::move(*each));
  co_return all;
}

}  // namespace tiffany
