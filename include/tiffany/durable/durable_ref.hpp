// A durable task as those outside hold it, with the type of its result:
//
//   const DurableRef<Receipt> ref = co_await host.start(order, x);
//   const Receipt receipt = co_await ref.result();
//   ...
//   const auto same = host.attach(order, id);      // elsewhere, by the id
//
// A value: it may be copied and kept, and dropping it is harmless. It keeps nothing alive: when the
// host is gone, every call is refused (Errc::durable_misuse), as it is of an empty one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/host_options.hpp"
#include "tiffany/durable/names.hpp"
#include "tiffany/durable/step.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

class Flow;
class HostCore;

namespace detail {

// A function of a durable task, as what it is compared by.
using AnyFunction = void (*)();
template <class R, class... As>
AnyFunction any_function(Durable<R> (*body)(Flow&, As...)) noexcept {
  return reinterpret_cast<AnyFunction>(body);
}

template <class T>
Task<T> decoded(Task<std::string> json) {
  const std::string text = co_await std::move(json);
  if constexpr (!std::is_void_v<T>) co_return from_json<T>(text);
}

// The parameters of a durable task behind its Flow&.
template <class... As>
struct Parameters {
  // Arguments as the JSON that the task reads.
  template <class... Args>
  static std::string json(const Args&... args) {
    static_assert(sizeof...(As) == sizeof...(Args),
                  "a durable task is started with the arguments that its function has behind "
                  "Flow&, all of them");
    if constexpr (sizeof...(As) == sizeof...(Args)) {
      static_assert((kFits<As, Args> && ...),
                    "an argument of this start is not what the function of the durable task takes "
                    "in its place");
      return arguments_json(static_cast<const std::decay_t<As>&>(args)...);
    }
  }
};

}  // namespace detail

// What every DurableRef can do, whatever the result.
class AnyDurableRef {
 public:
  AnyDurableRef() noexcept = default;
  AnyDurableRef(std::weak_ptr<HostCore> host, const Uuid& id) noexcept
      : host_(std::move(host)), id_(id) {}

  // The nil UUID for an empty one.
  const Uuid& id() const noexcept { return id_; }

  template <class T, class V>
  Task<void> signal(const SignalName<T>& name, V&& value) const {
    detail::refuse_destroyed_twice<V>();
    static_assert(detail::kFits<T, detail::Unmoved<V>>,
                  "the value is not of the type that the signal carries");
    const T& typed = static_cast<const T&>(detail::unmoved(value));
    return signal_json(name.string(), to_json(typed));
  }
  // What the code of the task answers now. See Host::ask.
  template <class T>
  Task<T> ask(const QueryName<T>& name) const {
    return detail::decoded<T>(ask_json(name.string()));
  }
  // What the task does with the request, which it may refuse. See Host::update.
  template <class Q, class A, class V>
  Task<A> update(const UpdateName<Q, A>& name, V&& request, Uuid update = Uuid()) const {
    detail::refuse_destroyed_twice<V>();
    static_assert(detail::kFits<Q, detail::Unmoved<V>>,
                  "the request is not of the type that the update takes");
    const Q& typed = static_cast<const Q&>(detail::unmoved(request));
    return detail::decoded<A>(update_json(name.string(), to_json(typed), update));
  }
  Task<void> cancel(std::string why) const;
  std::optional<DurableInfo> info() const;

 protected:
  Task<std::string> result_json() const;

 private:
  Task<void> signal_json(std::string name, std::string value) const;
  Task<std::string> ask_json(std::string name) const;
  Task<std::string> update_json(std::string name, std::string request, Uuid update) const;

  std::weak_ptr<HostCore> host_;
  Uuid id_;
};

template <class R>
class DurableRef : public AnyDurableRef {
 public:
  using value_type = R;
  using AnyDurableRef::AnyDurableRef;
  // Waits until the task has ended. Any number may wait, now or after the end, here or after a
  // restart. See Host::result.
  Task<R> result() const { return detail::decoded<R>(result_json()); }
};

namespace detail {

template <class R>
Task<DurableRef<R>> started(std::weak_ptr<HostCore> host, Task<Uuid> start) {
  const Uuid id = co_await std::move(start);
  co_return DurableRef<R>(std::move(host), id);
}

}  // namespace detail

}  // namespace tiffany
