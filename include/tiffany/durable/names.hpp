// Names of signals, queries and updates together with the type of what they carry, for both sides:
//
//   inline constexpr SignalName<Change> changed{"changed"};
//   inline constexpr QueryName<Cart> cart{"cart"};
//   inline constexpr UpdateName<Item, int> add{"add"};                     // request and answer
//
//   const Change change = co_await flow.signal(changed);                   // in the task
//   const auto guard = flow.on_query(cart, [&] { return items; });
//   const auto adds = flow.on_update(add, [&](const Item& item) { return put(items, item); });
//
//   co_await host.signal(id, changed, change);                             // outside
//   const Cart now = co_await host.ask(id, cart);
//   const int count = co_await host.update(id, add, item);
//
// Only the name is in the log and on the wire. A constant with a name that cannot be one does not
// compile. Programs that do not know the types use the forms with text.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "tiffany/base/error.hpp"
#include "tiffany/durable/limits.hpp"

namespace tiffany {
namespace detail {

// What the name is of is in the type of the constant.
class TypedName {
 public:
  constexpr std::string_view text() const noexcept { return text_; }
  std::string string() const { return std::string(text_); }

 protected:
  explicit constexpr TypedName(std::string_view text) : text_(text) {
    if (text.empty() || text.size() > kLongestName) {
      throw Error(Errc::bad_argument, "A name has 1 to 200 bytes.");
    }
  }

 private:
  std::string_view text_;
};

}  // namespace detail

// The name must stay where it is: a literal.
template <class T>
class SignalName : public detail::TypedName {
 public:
  static_assert(!std::is_reference_v<T> && !std::is_const_v<T>, "a signal carries a value");
  using value_type = T;
  explicit constexpr SignalName(std::string_view text) : TypedName(text) {}
};

template <class T>
class QueryName : public detail::TypedName {
 public:
  static_assert(!std::is_reference_v<T> && !std::is_void_v<T>, "a query is answered with a value");
  using value_type = T;
  explicit constexpr QueryName(std::string_view text) : TypedName(text) {}
};

// Of a request of type Q that is answered with an A, which may be void.
template <class Q, class A>
class UpdateName : public detail::TypedName {
 public:
  static_assert(!std::is_reference_v<Q> && !std::is_const_v<Q> && !std::is_void_v<Q>,
                "the request of an update is a value");
  static_assert(!std::is_reference_v<A> && !std::is_const_v<A>,
                "an update is answered with a value, or with nothing");
  using request_type = Q;
  using answer_type = A;
  explicit constexpr UpdateName(std::string_view text) : TypedName(text) {}
};

namespace detail {

// What a call is given for a parameter of a durable task, or for the value of a signal: something
// that converts, and loses no fraction on the way.
template <class To, class From>
inline constexpr bool kFits =
    std::is_convertible_v<From, std::decay_t<To>> &&
    !(std::is_integral_v<std::decay_t<To>> && std::is_floating_point_v<std::decay_t<From>>);

}  // namespace detail

}  // namespace tiffany
