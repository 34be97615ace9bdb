// Blocks of structured concurrency for plain functions in a fiber: what scope, within, shield and
// with are for coroutines (structure/blocks.hpp, structure/with.hpp). The block is a plain function
// too, and may capture as it likes.
//
//   fiber::scope([&](Scope& s) { s.spawn_fiber(serve, 1); s.spawn(tick); });
//   auto page = fiber::within(5ms, [&] { return fetch(url); });   Timed: page.timed_out()
//   fiber::shield([&] { say_goodbye(); });
//   fiber::with(kUser, "ann", [&] { handle_request(); });
//
// Each does to cancels, failures and deadlines what its namesake does.
#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "tiffany/base/outcome.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/context.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/engine/fiber.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::fiber {

template <ScopePolicy kPolicy, class Body>
auto scope(detail::PolicyTag<kPolicy>, Body&& body, Site at = __builtin_source_location()) {
  using R = std::invoke_result_t<Body&, Scope&>;
  static_assert(!detail::IsTask<R>::value,
                "the block of fiber::scope is a plain function: [&](Scope& s) { ... }");
  static_assert(kPolicy != ScopePolicy::first_success || std::is_void_v<R>,
                "the block of a first_success scope returns nothing, because it may be cut short");
  Scope scope(kPolicy);
  std::optional<ValueOf<R>> result;
  try {
    if constexpr (std::is_void_v<R>) {
      body(scope);
      result.emplace();
    } else {
      result.emplace(body(scope));
    }
  } catch (const detail::FiberDropped&) {
    throw;
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  await(detail::close_scope(scope), at);
  if constexpr (kPolicy == ScopePolicy::first_success) {
    return scope.winner();
  } else if constexpr (!std::is_void_v<R>) {
    return std::move(*result);
  }
}
template <class Body>
auto scope(Body&& body, Site at = __builtin_source_location()) {
  return fiber::scope(fail_fast, std::forward<Body>(body), at);
}

// Cancels from outside wait until the block has ended.
template <class Body>
decltype(auto) shield(Body&& body) {
  const CancelRegion region(CancelRegion::Kind::shield);
  return body();
}

// What the block returns, or TimedOut when it takes longer; it has been unwound then.
template <class Body>
auto within(Duration limit, Body&& body,
            std::source_location site = std::source_location::current()) {
  using T = std::invoke_result_t<Body&>;
  detail::TimedRegion region(limit, site);
  try {
    if constexpr (std::is_void_v<T>) {
      body();
      return Timed<T>(Unit());
    } else {
      return Timed<T>(body());
    }
  } catch (const Cancelled&) {
    if (!region.expired()) throw;
  }
  return Timed<T>(TimedOut());
}

// The value is in the context of the block and of what is spawned there.
template <class T, class V, class Body>
decltype(auto) with(const ContextKey<T>& key, V&& value, Body&& body) {
  Arena& arena = Scheduler::require("fiber::with()").arena();
  const ContextBlock block(ContextBlock::push, Ref<ContextNode>::adopt(make_in<ContextValue<T>>(
                                                   arena, key, std::forward<V>(value))));
  return body();
}

}  // namespace tiffany::fiber
