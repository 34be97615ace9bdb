// `spawn(f, args...)`: the one way a task comes into being. `spawn_fiber(f, args...)` is the same
// for plain functions (engine/fiber.hpp), and what is said here of `spawn` holds for both.
//
// The callable and the arguments are stored with the task, so nothing dangles: what `f` takes by
// reference refers to the stored copy, which lives as long as the task's code. An argument that has
// to be converted for that is converted when it is stored; only where `f` has several call
// operators, and its parameters cannot be known, must the types of the arguments fit as they are.
// The caller goes on; the new task is queued. The handle may be dropped: the task belongs to its
// scope.
//
// Borrowed views (std::string_view, std::span, ...) are refused, because the task may outlive what
// they look at: pass the owner (std::string, std::vector), or say `borrowed(view)`.
//
// `spawn.after(a, b)(f, args...)`: the task begins when a and b have ended; what becomes of it when
// one of them fails is said by if_failed (core/dependency.hpp). `spawn.from(a, b)(f, args...)`: the
// same, and f is called with their values before the other arguments. What they come after is a
// handle, a future, a range of such, or for after() also the id of a task.
//
// `spawn.with(key, value)(f, args...)` gives the task a value in its context. All of these can be
// combined, in any order: `spawn.with(kUser, "ann").after(a).with_priority(3)(f, args...)`.
#pragma once

#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/base/ref.hpp"
#include "tiffany/core/context.hpp"

namespace tiffany {

class Heritage;
class Scheduler;
class Scope;
class Waitable;

// What runs the code of a task: see engine/spawn.hpp, engine/fiber.hpp and engine/poll.hpp.
struct CoroutineEngine;
struct FiberEngine;
struct AgentEngine;

template <class Engine>
class ContextSpawnerOf;
template <class Engine, class... Hs>
class SpawnerAfterOf;

namespace detail {

// Where the running task was spawned.
std::source_location caller_site() noexcept;

// A function object rather than a function, so that every arity can end with the place it was
// called from. `Derived::start` does the work; see engine/spawn.hpp.
template <class Derived>
class SpawnCall {
 public:
  using Site = std::source_location;

  template <class F>
  auto operator()(F&& f, Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f));
  }
  template <class F, class A>
  auto operator()(F&& f, A&& a, Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a));
  }
  template <class F, class A, class B>
  auto operator()(F&& f, A&& a, B&& b, Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b));
  }
  template <class F, class A, class B, class C>
  auto operator()(F&& f, A&& a, B&& b, C&& c, Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c));
  }
  template <class F, class A, class B, class C, class D>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d));
  }
  template <class F, class A, class B, class C, class D, class E>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d), std::forward<E>(e));
  }
  template <class F, class A, class B, class C, class D, class E, class G>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, G&& g,
                  Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
                        std::forward<G>(g));
  }
  template <class F, class A, class B, class C, class D, class E, class G, class H>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h,
                  Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
                        std::forward<G>(g), std::forward<H>(h));
  }
  template <class F, class A, class B, class C, class D, class E, class G, class H, class I>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i,
                  Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
                        std::forward<G>(g), std::forward<H>(h), std::forward<I>(i));
  }
  template <class F, class A, class B, class C, class D, class E, class G, class H, class I,
            class J>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i, J&& j,
                  Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
                        std::forward<G>(g), std::forward<H>(h), std::forward<I>(i),
                        std::forward<J>(j));
  }
  template <class F, class A, class B, class C, class D, class E, class G, class H, class I,
            class J, class K>
  auto operator()(F&& f, A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i, J&& j, K&& k,
                  Site site = Site::current()) const {
    return self().start(site, std::forward<F>(f), std::forward<A>(a), std::forward<B>(b),
                        std::forward<C>(c), std::forward<D>(d), std::forward<E>(e),
                        std::forward<G>(g), std::forward<H>(h), std::forward<I>(i),
                        std::forward<J>(j), std::forward<K>(k));
  }
  // A default argument cannot follow any number of others: beyond ten the place of the call is not
  // known, and reports name the place from which the caller was spawned.
  template <class F, class... As>
    requires(sizeof...(As) > 10)
  auto operator()(F&& f, As&&... as) const {
    return self().start(caller_site(), std::forward<F>(f), std::forward<As>(as)...);
  }
  // Nothing to call: says so, instead of listing every overload.
  template <class Self = Derived>
  auto operator()() const {
    static_assert(!std::is_same_v<Self, Derived>,
                  "spawn takes the callable and its arguments: spawn(f, x)");
  }

 private:
  constexpr const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }
};

// What a spawner that gives more to the context of its tasks does, whatever the engine.
class SpawnContext {
 public:
  explicit SpawnContext(Scope* scope);

  template <class Node, class... Args>
  SpawnContext around(Args&&... args) const {
    Ref<ContextNode> node =
        Ref<ContextNode>::adopt(make_in<Node>(arena(), std::forward<Args>(args)...));
    node->set_outer(context_);
    return SpawnContext(scope_, std::move(node));
  }
  // What the task shall have, made before the task is, so that nothing can fail after.
  Ref<Heritage> heritage() const;
  static void give(Waitable& task, Ref<Heritage> heritage) noexcept;

 private:
  SpawnContext(Scope* scope, Ref<ContextNode> context) noexcept
      : scope_(scope), context_(std::move(context)) {}
  Scheduler& scheduler() const;
  Arena& arena() const;

  Scope* scope_;
  Ref<ContextNode> context_;
};

}  // namespace detail

template <class Engine>
class SpawnerOf : public detail::SpawnCall<SpawnerOf<Engine>> {
 public:
  using typename detail::SpawnCall<SpawnerOf>::Site;

  // No scope: the nearest one around the running task.
  constexpr explicit SpawnerOf(Scope* scope = nullptr, std::uint8_t priority = 10) noexcept
      : scope_(scope), priority_(priority) {}

  // 0 is the most urgent, 10 the default, 255 the least.
  constexpr SpawnerOf with_priority(std::uint8_t priority) const noexcept {
    return SpawnerOf(scope_, priority);
  }
  constexpr SpawnerOf system() const noexcept { return with_priority(0); }

  // The task begins when these have ended; see above.
  template <class... Ds>
  SpawnerAfterOf<Engine> after(const Ds&... dependencies) const;
  template <class... Hs>
  SpawnerAfterOf<Engine, Hs...> from(const Hs&... dependencies) const;

  // Gives the task a value in its context (core/context.hpp), besides what it inherits:
  // `spawn.with(kUser, "ann")(f, x)`. As often as there are values to give.
  template <class T, class V = T>
  ContextSpawnerOf<Engine> with(const ContextKey<T>& key, V&& value) const {
    return ContextSpawnerOf<Engine>(*this).with(key, std::forward<V>(value));
  }
  // The same for a handler of an effect (structure/effect.hpp): `spawn.with_handler<E>(handler)(f,
  // x)`.
  template <class E, class H>
  ContextSpawnerOf<Engine> with_handler(H&& handler) const {
    return ContextSpawnerOf<Engine>(*this).template with_handler<E>(std::forward<H>(handler));
  }

 protected:
  template <class F, class... Args>
  auto start(const Site& site, F&& f, Args&&... args) const;

 private:
  friend class detail::SpawnCall<SpawnerOf>;
  friend class ContextSpawnerOf<Engine>;
  template <class E, class... Hs>
  friend class SpawnerAfterOf;

  Scope* scope_;
  std::uint8_t priority_;
};

// A spawner with more for the context of its tasks: what was given, inside of the context of the
// task that called `with`.
template <class Engine>
class ContextSpawnerOf : public detail::SpawnCall<ContextSpawnerOf<Engine>> {
 public:
  using typename detail::SpawnCall<ContextSpawnerOf>::Site;

  explicit ContextSpawnerOf(const SpawnerOf<Engine>& base) : base_(base), context_(base.scope_) {}

  ContextSpawnerOf with_priority(std::uint8_t priority) const noexcept {
    return ContextSpawnerOf(base_.with_priority(priority), context_);
  }
  ContextSpawnerOf system() const noexcept { return with_priority(0); }
  template <class T, class V = T>
  ContextSpawnerOf with(const ContextKey<T>& key, V&& value) const {
    return ContextSpawnerOf(base_,
                            context_.template around<ContextValue<T>>(key, std::forward<V>(value)));
  }
  template <class E, class H>
  ContextSpawnerOf with_handler(H&& handler) const;
  template <class... Ds>
  SpawnerAfterOf<Engine> after(const Ds&... dependencies) const;
  template <class... Hs>
  SpawnerAfterOf<Engine, Hs...> from(const Hs&... dependencies) const;

 private:
  friend class detail::SpawnCall<ContextSpawnerOf>;
  ContextSpawnerOf(const SpawnerOf<Engine>& base, detail::SpawnContext context) noexcept
      : base_(base), context_(std::move(context)) {}

  template <class F, class... Args>
  auto start(const Site& site, F&& f, Args&&... args) const {
    Ref<Heritage> given = context_.heritage();
    auto handle = base_.start(site, std::forward<F>(f), std::forward<Args>(args)...);
    detail::SpawnContext::give(handle.waitable(), std::move(given));
    return handle;
  }

  SpawnerOf<Engine> base_;
  detail::SpawnContext context_;
};

using Spawner = SpawnerOf<CoroutineEngine>;
using FiberSpawner = SpawnerOf<FiberEngine>;
using AgentSpawner = SpawnerOf<AgentEngine>;

// Into the nearest scope around the running task.
inline constexpr Spawner spawn{};
inline constexpr FiberSpawner spawn_fiber{};

}  // namespace tiffany
