// Types of durable tasks: the function that is their code, under the name and the version that logs
// know them by.
//
//   Registry types;
//   types.add("order", 1, order);
//   types.add("refund", 3, refund, TypeOptions().accepts_from(2).priority(5));
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tiffany/base/codec.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/flow.hpp"

namespace tiffany {

namespace detail {
// A function of a durable task, as what it is compared by.
using AnyFunction = void (*)();
template <class R, class... As>
AnyFunction any_function(Durable<R> (*body)(Flow&, As...)) noexcept {
  return reinterpret_cast<AnyFunction>(body);
}
}  // namespace detail

struct DurableType {
  std::string name;
  int version = 1;
  int accepts = 1;                           // the oldest version whose logs this code goes on with
  std::uint8_t priority = kDefaultPriority;  // of its tasks; those before others are resumed first
  std::function<Durable<std::string>(Flow&, std::string_view arguments)> make;
  // How its arguments are read; they are checked where a task is started. None: they are not.
  const detail::ValueType* arguments = nullptr;
  detail::AnyFunction function = nullptr;  // what Host::start finds it by; none: by its name only
};

// What a type says besides its name, its version and its function.
class TypeOptions {
 public:
  TypeOptions() = default;
  // The oldest version whose logs this code goes on with. Without it: the version of the type only.
  TypeOptions&& accepts_from(int version) && {
    oldest_ = version;
    return std::move(*this);
  }
  // Of its tasks, if their start says no other. Small numbers first.
  TypeOptions&& priority(std::uint8_t number) && {
    priority_ = number;
    return std::move(*this);
  }

  void apply(DurableType& type) const {
    type.accepts = oldest_.value_or(type.version);
    type.priority = priority_;
  }

 private:
  std::optional<int> oldest_;
  std::uint8_t priority_ = kDefaultPriority;
};

namespace detail {

template <class R, class... As>
Durable<std::string> call_durable(Durable<R> (*body)(Flow&, As...), Flow* flow,
                                  std::tuple<std::decay_t<As>...> arguments) {
  Durable<R> call =
      std::apply([&](auto&... each) { return body(*flow, std::move(each)...); }, arguments);
  if constexpr (std::is_void_v<R>) {
    co_await std::move(call);
    co_return "null";
  } else {
    co_return to_json(co_await std::move(call));
  }
}

}  // namespace detail

class Registry {
 public:
  // `body` is a coroutine Durable<R> f(Flow&, arguments...), whose arguments and result have
  // codecs. A log says which version its task began with. When the code changes in a way that such
  // a log must know of, raise the version, and say in TypeOptions from which one on it can still go
  // on: see docs/18-durable-tasks.md. What is returned may be changed until a host is made.
  template <class R, class... As>
  DurableType& add(std::string name, int version, Durable<R> (*body)(Flow&, As...),
                   const TypeOptions& options = TypeOptions()) {
    DurableType type;
    type.name = std::move(name);
    type.version = version;
    options.apply(type);
    type.make = [body](Flow& flow, std::string_view arguments) {
      return detail::call_durable(body, &flow,
                                  from_json<std::tuple<std::decay_t<As>...>>(arguments));
    };
    type.arguments = &detail::kValueType<std::tuple<std::decay_t<As>...>>;
    type.function = detail::any_function(body);
    return add(std::move(type));
  }
  DurableType& add(DurableType type);
  // Null when there is none of that name.
  const DurableType* find(std::string_view name) const noexcept;
  // The type whose code the function is. Errc::unknown_type when there is none; Errc::bad_argument
  // when there are several, which only their names tell apart. `what` is its type, for the
  // sentence.
  const DurableType& require(detail::AnyFunction function, std::string_view what) const;

 private:
  std::map<std::string, DurableType, std::less<>> types_;
  std::unordered_map<detail::AnyFunction, std::string> names_;  // empty: of several types
};

}  // namespace tiffany
