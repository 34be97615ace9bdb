// Types of durable tasks: the function that is their code, under the name and the version that logs
// know them by.
//
//   Registry types;
//   types.add("order", 1, order);
//   types.add("refund", 3, refund, TypeOptions().accepts_from(2).priority(5));
#pragma once

#include <cstddef>
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
#include "tiffany/base/time.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/detail/durable/durable_code.hpp"
#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/flow.hpp"

namespace tiffany {

// At most so many in that time.
struct RateLimit {
  std::uint32_t count = 0;  // zero: no limit
  Duration per{};
};
// How many tasks of a type may run. None of these refuses a start.
struct TypeLimits {
  std::optional<std::size_t> most{};
  std::optional<std::size_t> key_most{};
  RateLimit rate{};
  RateLimit key_rate{};
  bool any() const noexcept { return most || key_most || rate.count != 0 || key_rate.count != 0; }
};

struct DurableType {
  std::string name;
  int version = 1;
  int accepts = 1;                           // the oldest version whose logs this code goes on with
  std::uint8_t priority = kDefaultPriority;  // of its tasks; those before others are resumed first
  std::function<detail::DurableCode(Flow&, std::string_view arguments)> make;
  // How its arguments are read; they are checked where a task is started. None: they are not.
  const detail::ValueType* arguments = nullptr;
  TypeLimits limits{};
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

  // Limits delay, they never refuse: a start is acknowledged when it is on the disk, and the task
  // is `queued` until it may run. Small priorities run first, keys (StartOptions::key) take turns,
  // and tasks of one key run in the order of their starts; tasks without a key share one. A task
  // counts until it has ended or is paused, also while it waits. A child of a limited type counts
  // like every other: a parent that waits for children of its own limited type may wait for ever.
  // Crash case: tasks that had begun go on, and the queue is made anew in the order of the log.
  //
  // So many at a time.
  TypeOptions&& at_most(std::size_t tasks) && {
    limits_.most = tasks;
    return std::move(*this);
  }
  TypeOptions&& at_most_per_key(std::size_t tasks) && {
    limits_.key_most = tasks;
    return std::move(*this);
  }
  // So many beginnings in that time, as a bucket that holds so many and fills evenly. It is full
  // when a host is opened.
  TypeOptions&& rate(std::uint32_t tasks, Duration per) && {
    limits_.rate = {tasks, per};
    paced_ = true;
    return std::move(*this);
  }
  TypeOptions&& rate_per_key(std::uint32_t tasks, Duration per) && {
    limits_.key_rate = {tasks, per};
    key_paced_ = true;
    return std::move(*this);
  }

  // Throws Errc::bad_argument for a limit that lets nothing run.
  void apply(DurableType& type) const;

 private:
  std::optional<int> oldest_;
  std::uint8_t priority_ = kDefaultPriority;
  TypeLimits limits_;
  bool paced_ = false;
  bool key_paced_ = false;
};

namespace detail {

// The arguments live in the frame of the code, unless it takes references: they are kept then.
template <class R, class... As>
DurableCode call_durable(Durable<R> (*body)(Flow&, As...), Flow& flow,
                         std::tuple<std::decay_t<As>...> arguments) {
  const auto call = [&](auto&... each) { return body(flow, std::move(each)...); };
  if constexpr ((std::is_reference_v<As> || ...)) {
    auto kept = std::make_unique<std::tuple<std::decay_t<As>...>>(std::move(arguments));
    Durable<R> code = std::apply(call, *kept);
    return DurableCode::of(std::move(code), std::move(kept));
  } else {
    return DurableCode::of(std::apply(call, arguments));
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
      return detail::call_durable(body, flow,
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
