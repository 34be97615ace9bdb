// Effects: questions that a task asks of whoever started it, answered by handlers.
//
//   struct AskUser {
//     using result = std::string;
//     std::string question;
//   };
//   std::string answer = co_await perform<AskUser>("Shall I go on?");
//
// An effect is a type with a `result`. perform makes one of its arguments, finds the innermost
// handler for it in the context, and gives what that returns. A handler takes the effect and
// returns its result or a Task of it. It is installed for a block or for a new task, and inherited
// like the rest of the context:
//
//   auto yes = [](const AskUser&) { return std::string("yes"); };
//   co_await with_handler<AskUser>(yes, [&]() -> Task<void> {...});
//   spawn.with_handler<AskUser>(yes)(f, x);
//
// A handler runs as part of the task that performs, in the context that was there where it was
// installed, without itself: when it performs the same effect, the next outer handler answers. What
// it throws is thrown from the perform.
//
// Lifetime: a handler is stored, and lives until its block and every task that inherited it have
// ended; what it captures by reference must live as long.
//
// Cancel of a perform. Before start: the handler begins, and its first suspension throws. While
// parked: thrown where the handler is suspended. After completion: the result is delivered first.
// Cancel of a block with a handler: as `with` (structure/with.hpp).
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "tiffany/base/type_name.hpp"
#include "tiffany/core/context.hpp"
#include "tiffany/core/spawner.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/structure/after.hpp"
#include "tiffany/structure/with.hpp"

namespace tiffany {

template <class E>
concept Effect = std::is_class_v<E> && requires { typename E::result; };

namespace detail {

template <class E>
inline constexpr ContextKeyBase effect_key{type_name<E>()};

template <class E>
class HandlerNode : public ContextNode {
 public:
  virtual Task<typename E::result> handle(E effect) = 0;

 protected:
  HandlerNode() noexcept : ContextNode(effect_key<E>) {}
  ~HandlerNode() = default;
};

template <class E, class H>
class StoredHandler final : public HandlerNode<E> {
  using R = typename E::result;
  static_assert(std::is_invocable_v<H&, E>, "a handler of an effect is called with the effect");
  using Given = std::invoke_result_t<H&, E>;

 public:
  template <class From>
  explicit StoredHandler(From&& from) : handler_(std::forward<From>(from)) {}

  Task<R> handle(E effect) override {
    if constexpr (IsTask<Given>::value) {
      static_assert(std::is_same_v<typename Given::value_type, R>,
                    "a handler returns the result of its effect, or a Task of it");
      co_return co_await handler_(std::move(effect));
    } else if constexpr (std::is_void_v<R>) {
      handler_(std::move(effect));
      co_return;
    } else {
      static_assert(std::is_convertible_v<Given, R>,
                    "a handler returns the result of its effect, or a Task of it");
      co_return handler_(std::move(effect));
    }
  }

 private:
  void dispose() noexcept override { unmake(this); }
  H handler_;
};

// The handler for an effect in the context of the running task; an error when there is none.
ContextNode& handler_for(const ContextKeyBase& effect);

template <class E>
Task<typename E::result> performed(E effect) {
  auto& handler = static_cast<HandlerNode<E>&>(handler_for(effect_key<E>));
  // The block keeps the context that the handler is a part of.
  ContextBlock outside(ContextBlock::replace, Ref<ContextNode>(handler.outer()));
  co_return co_await handler.handle(std::move(effect));
}

}  // namespace detail

template <Effect E, class... Args>
Task<typename E::result> perform(Args&&... args) {
  (detail::refuse_owning_aggregate<Args>(), ...);
  if constexpr (std::is_aggregate_v<E>) {
    return detail::performed<E>(E{std::forward<Args>(args)...});
  } else {
    return detail::performed<E>(E(std::forward<Args>(args)...));
  }
}

template <Effect E, class H, class Body>
auto with_handler(H&& handler, Body&& body) {
  static_assert(
      !detail::owns_captures<H>(),
      "keep a handler that owns its captures in a variable and pass that (GCC 12 destroys "
      "owning captures twice in an awaited expression)");
  using R = typename detail::BlockResult<Body>::type;
  using Node = detail::StoredHandler<E, std::decay_t<H>>;
  Arena& arena = Scheduler::require("with_handler()").arena();
  return detail::in_context<R, std::decay_t<Body>>(
      Ref<ContextNode>::adopt(make_in<Node>(arena, std::forward<H>(handler))),
      std::forward<Body>(body));
}

template <class Engine>
template <class E, class H>
ContextSpawnerOf<Engine> ContextSpawnerOf<Engine>::with_handler(H&& handler) const {
  return ContextSpawnerOf(base_,
                          context_.template around<detail::StoredHandler<E, std::decay_t<H>>>(
                              std::forward<H>(handler)));
}

template <class Engine, class... Hs>
template <class E, class H>
SpawnerAfterOf<Engine, Hs...> SpawnerAfterOf<Engine, Hs...>::with_handler(H&& handler) const {
  SpawnerAfterOf changed = *this;
  changed.context_ = context().template around<detail::StoredHandler<E, std::decay_t<H>>>(
      std::forward<H>(handler));
  return changed;
}

}  // namespace tiffany
