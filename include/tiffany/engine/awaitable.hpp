// The one awaitable protocol: what can be awaited, and what that gives.
//
// Everything that a task can wait for is one of four things:
//
//   a call       an object that derives from SystemCall: sleep(1s), socket.read(room),
//                channel.recv(), box.next(), offload(f), gather(a, b). It does nothing until
//                awaited, and may be moved until then.
//   a Task       a coroutine that has not begun: fetch(url), within(1s, x), race(x, y).
//   a handle     of something that goes on by itself: Handle<T>, Future<T>.
//   yield()
//
// co_await, await (in fibers), and the combinators within, shield, race, any, gather and
// all_settled take all of them, mixed. Calls and Tasks are given as rvalues: where they are made,
// or moved. What a combinator begins (a call, a Task) it also ends, before it returns; what a
// handle refers to goes on.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "tiffany/core/sleep.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/waitable_handle.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

template <class A>
concept Awaitable = !std::is_void_v<decltype(detail::Awaiters::of(std::declval<A>()))> &&
                    (WaitableHandle<std::remove_cvref_t<A>> || !std::is_lvalue_reference_v<A> ||
                     std::is_same_v<std::remove_cvref_t<A>, Yield>) &&
                    std::move_constructible<std::remove_cvref_t<A>>;

namespace detail {

// What awaiting one gives.
template <class A>
struct AwaitedBy {
  using type = std::remove_cvref_t<decltype(Awaiters::of(std::declval<A>()).await_resume())>;
};
template <class T>
struct AwaitedBy<Task<T>> {
  using type = T;
};
template <WaitableHandle H>
struct AwaitedBy<H> {
  using type = typename H::value_type;
};
template <class A>
using Awaited = typename AwaitedBy<std::remove_cvref_t<A>>::type;

// Makes a task of an operation: spawn(carry<A>, operation).
template <class A>
Task<Awaited<A>> carry(A operation) {
  co_return co_await std::move(operation);
}

template <class A>
constexpr void require_awaitable() {
  if constexpr (std::is_lvalue_reference_v<A> && Awaitable<std::remove_cvref_t<A>>) {
    static_assert(Awaitable<A>,
                  "a call or a Task is given to a combinator where it is made, as race(f(x), "
                  "sleep(1s)), or moved: race(std::move(task), ...)");
  } else {
    static_assert(Awaitable<A>,
                  "this cannot be awaited: combinators take Tasks, handles, futures, and system "
                  "calls that can be moved until they have begun");
  }
}

// What a combinator returns whose arguments were refused: of the type that it would have with
// others, so that the sentence above is the only error. Never defined.
template <class T>
T refused() noexcept;
template <class A>
struct AwaitedOrUnit {
  using type = Unit;
};
template <Awaitable A>
struct AwaitedOrUnit<A> {
  using type = Awaited<A>;
};
template <class A>
using RefusedResult = typename AwaitedOrUnit<std::remove_cvref_t<A>>::type;

}  // namespace detail

}  // namespace tiffany
