// What waiting for several things at once gives: Gathered and Won. Both destructure.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/outcome.hpp"

namespace tiffany {

// What gather and all_settled give: a std::tuple with get<I>(), so that `auto [a, b] = co_await
// gather(x, y)` and `both.get<0>()` mean the same. Unit stands for void.
template <class... Ts>
class Gathered : public std::tuple<ValueOf<Ts>...> {
 public:
  explicit Gathered(ValueOf<Ts>... values) : std::tuple<ValueOf<Ts>...>(std::move(values)...) {}

  template <std::size_t I>
  auto& get() noexcept {
    return std::get<I>(tuple());
  }
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(tuple());
  }
  std::tuple<ValueOf<Ts>...>& tuple() noexcept { return *this; }
  const std::tuple<ValueOf<Ts>...>& tuple() const noexcept { return *this; }
};

// What race and any give: which contender was decided, its value, and what is left of the others.
//
//   auto [which, value, rest] = co_await race(a, b);
//
// `value` is a T when all contenders give a T, else a std::variant with one alternative for each
// contender; Unit stands for void. `rest` depends on what was raced: a std::vector of the handles
// that did not win, when a range of handles was raced; what the losers have given all the same,
// when calls were started that cannot be taken back in the same instant (structure/combine.hpp);
// else nothing.
template <class T, class Rest = Unit>
struct Won {
  using Value = ValueOf<T>;
  Won(std::size_t which, Value what, Rest others = Rest())
      : index(which), value(std::move(what)), rest(std::move(others)) {}

  // The value of the I-th contender, which must be the one that was decided.
  template <std::size_t I>
  auto& get() {
    if constexpr (requires { std::get_if<I>(&value); }) {
      return std::get<I>(value);
    } else {
      return value;
    }
  }

  std::size_t index;
  Value value;
  [[no_unique_address]] Rest rest;
};

// The winner of a race over a range of handles.
template <class H>
using Raced = Won<typename H::value_type, std::vector<H>>;

namespace detail {

template <class First, class... Rest>
inline constexpr bool all_same = (std::is_same_v<First, Rest> && ...);

// The one type of all results, or a variant of them.
template <class... Ts>
struct OneOf {
  using type = std::variant<ValueOf<Ts>...>;
};
template <class T, class... Ts>
  requires all_same<T, Ts...>
struct OneOf<T, Ts...> {
  using type = T;
};

}  // namespace detail

}  // namespace tiffany

// As the standard has it for types that are taken apart by structured bindings.
// NOLINTBEGIN(bugprone-std-namespace-modification)
template <class... Ts>
struct std::tuple_size<tiffany::Gathered<Ts...>>
    : std::integral_constant<std::size_t, sizeof...(Ts)> {};
template <std::size_t I, class... Ts>
struct std::tuple_element<I, tiffany::Gathered<Ts...>>
    : std::tuple_element<I, std::tuple<tiffany::ValueOf<Ts>...>> {};
// NOLINTEND(bugprone-std-namespace-modification)
