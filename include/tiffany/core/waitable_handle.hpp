// What refers to something that settles by itself: Handle<T> of a task, Future<T> of a promise.
// Everything that waits for several of them at once asks for one of these concepts.
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <utility>

#include "tiffany/base/outcome.hpp"
#include "tiffany/core/waitable.hpp"

namespace tiffany {

template <class H>
concept WaitableHandle = requires(const H& handle) {
  typename H::value_type;
  { handle.waitable() } -> std::same_as<Waitable&>;
  { handle.value(true) } -> std::same_as<ValueOf<typename H::value_type>>;
};

namespace detail {

// Several waits may want the same result: each gets a copy.
template <class H>
constexpr void require_copyable() {
  using T = typename H::value_type;
  static_assert(std::is_void_v<T> || std::is_copy_constructible_v<ValueOf<T>>,
                "this task's result can only be moved: await its handle alone, as "
                "co_await std::move(handle)");
}

template <class R>
using HandleOf = std::remove_cvref_t<decltype(*std::begin(std::declval<R&>()))>;

}  // namespace detail

template <class R>
concept WaitableRange =
    requires(R& range) { std::end(range); } && WaitableHandle<detail::HandleOf<R>>;

}  // namespace tiffany
