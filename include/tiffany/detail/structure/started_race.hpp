// A race over operations of which some run as child tasks; see detail/structure/started.hpp.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/detail/structure/race_calls.hpp"
#include "tiffany/detail/structure/started.hpp"

namespace tiffany::detail {

template <class A>
Racer<A> racer_for(Scope& scope, A& operation) {
  if constexpr (Raceable<A> || WaitableHandle<A>) {
    return Racer<A>(std::move(operation));
  } else {
    return Racer<A>(begin_child(scope, std::move(operation)));
  }
}

// A race that goes on after it was decided, until its losers have ended.
template <class... As>
class StartedRace final : public RaceCore<Racer<As>...> {
 public:
  static constexpr CallName call_name{"race"};
  StartedRace(Scope& scope, std::tuple<As...>& operations)
      : StartedRace(scope, operations, std::index_sequence_for<As...>()) {}
  void finish() const noexcept {}

  WonBy<As...> result() {
    const std::size_t winner = this->winner();
    auto value = this->pick();
    return WonBy<As...>(winner, std::move(value), rest(std::index_sequence_for<As...>()));
  }

 private:
  template <std::size_t... Is>
  StartedRace(Scope& scope, std::tuple<As...>& operations, std::index_sequence<Is...>)
      // In braces, so that they are started in their order.
      : RaceCore<Racer<As>...>(
            std::tuple<Racer<As>...>{racer_for(scope, std::get<Is>(operations))...}) {}
  template <std::size_t... Is>
  LateOf<As...> rest(std::index_sequence<Is...>) {
    if constexpr (std::is_same_v<LateOf<As...>, Unit>) {
      return Unit();
    } else {
      return LateOf<As...>{late<Is>()...};
    }
  }
  template <std::size_t I>
  auto late() {
    using R = std::tuple_element_t<I, std::tuple<Racer<As>...>>;
    std::optional<ValueOf<typename R::value_type>> left;
    if constexpr (requires(R& racer) { racer.late(); }) {
      if (I != this->winner()) left = std::get<I>(this->racers_).late();
    }
    return left;
  }
};

template <class... As>
Task<WonBy<As...>> race_started(std::tuple<As...> operations) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  std::optional<StartedRace<As...>> race;
  try {
    race.emplace(scope, operations);
    co_await std::move(*race);
    cancel_losers(scope);
    scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  co_return race->result();
}

}  // namespace tiffany::detail
