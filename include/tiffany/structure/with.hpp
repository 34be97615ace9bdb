// with: a value in the context for as long as a block runs.
//
//   co_await with(kUser, "ann", [&]() -> Task<void> {
//     co_await handle_request();   ask(kUser) is "ann" in here and in all that is spawned here
//   });
//
// The block runs as part of this task and gives what it returns. When it ends, in whatever way, the
// context is what it was. A task that was spawned in the block keeps the value, also when it
// outlives the block: what the value refers to must outlive it too.
//
// Cancel. Before start: the block begins, and throws at its first suspension. While parked: the
// block unwinds, then the context is what it was, then Cancelled goes on. After completion: the
// result is delivered first.
#pragma once

#include <type_traits>
#include <utility>

#include "tiffany/base/temporaries.hpp"
#include "tiffany/core/context.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

namespace detail {

template <class V>
constexpr void refuse_owning_aggregate() {
  static_assert(
      !destroyed_twice<V>(),
      "GCC 12 destroys an aggregate that owns something twice when it is made in an awaited "
      "expression: keep it in a variable and pass that");
}

// The result of a block that is run as part of the task; refuses what is not one.
template <class Body>
struct BlockResult {
  static_assert(
      !owns_captures<Body>(),
      "a block captures by reference: write [&], or keep the block in a variable and pass "
      "that (GCC 12 destroys owning captures twice in an awaited expression)");
  using Result = std::invoke_result_t<std::decay_t<Body>&>;
  static_assert(IsTask<Result>::value, "a block is a coroutine: [&]() -> Task<void> { ... }");
  using type = typename Result::value_type;
};

template <class R, class Body>
Task<R> in_context(Ref<ContextNode> node, Body body) {
  ContextBlock block(ContextBlock::push, std::move(node));
  co_return co_await body();
}

}  // namespace detail

template <class T, class V, class Body>
auto with(const ContextKey<T>& key, V&& value, Body&& body) {
  detail::refuse_owning_aggregate<V>();
  static_assert(std::is_constructible_v<T, V&&>,
                "with was given a value that this key's type cannot be made of");
  using R = typename detail::BlockResult<Body>::type;
  Arena& arena = Scheduler::require("with()").arena();
  return detail::in_context<R, std::decay_t<Body>>(
      Ref<ContextNode>::adopt(make_in<ContextValue<T>>(arena, key, std::forward<V>(value))),
      std::forward<Body>(body));
}

}  // namespace tiffany
