// `spawn(f, args...)`: the one way a task comes into being.
//
// The callable and the arguments are stored with the task, so nothing dangles: what `f` takes by
// reference refers to the stored copy, which lives as long as the task's code. An argument that has to
// be converted for that is converted when it is stored; only where `f` has several call operators,
// and its parameters cannot be known, must the types of the arguments fit as they are. The caller goes
// on; the new task is queued. The handle may be dropped: the task belongs to its scope.
//
// Borrowed views (std::string_view, std::span, ...) are refused, because the task may outlive what
// they look at: pass the owner (std::string, std::vector), or say `borrowed(view)`.
//
// `spawn.after(a, b)(f, args...)`: the task begins when a and b have ended; what becomes of it when one
// of them fails is said by if_failed (core/dependency.hpp). `spawn.from(a, b)(f, args...)`: the same,
// and f is called with their values before the other arguments. What they come after is a handle, a
// future, a range of such, or for after() also the id of a task.
#pragma once

#include <cstdint>
#include <source_location>
#include <tuple>
#include <utility>

#include "tiffany/base/ref.hpp"
#include "tiffany/core/context.hpp"

namespace tiffany {

class ContextSpawner;
class Heritage;
class Scheduler;
class Scope;
class Waitable;
template <class... Hs>
class SpawnerAfter;

namespace detail {

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

 private:
  constexpr const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }
};

}  // namespace detail

class Spawner : public detail::SpawnCall<Spawner> {
 public:
  // No scope: the nearest one around the running task.
  constexpr explicit Spawner(Scope* scope = nullptr, std::uint8_t priority = 10) noexcept
      : scope_(scope), priority_(priority) {}

  // 0 is the most urgent, 10 the default, 255 the least.
  constexpr Spawner with_priority(std::uint8_t priority) const noexcept {
    return Spawner(scope_, priority);
  }
  constexpr Spawner system() const noexcept { return with_priority(0); }

  // The task begins when these have ended; see above.
  template <class... Ds>
  SpawnerAfter<> after(const Ds&... dependencies) const;
  template <class... Hs>
  SpawnerAfter<Hs...> from(const Hs&... dependencies) const;

  // Gives the task a value in its context (core/context.hpp), besides what it inherits:
  // `spawn.with(kUser, "ann")(f, x)`. As often as there are values to give.
  template <class T, class V = T>
  ContextSpawner with(const ContextKey<T>& key, V&& value) const;
  // The same for a handler of an effect (engine/effect.hpp): `spawn.with_handler<E>(handler)(f, x)`.
  template <class E, class H>
  ContextSpawner with_handler(H&& handler) const;

 private:
  friend class detail::SpawnCall<Spawner>;
  friend class ContextSpawner;
  template <class... Hs>
  friend class SpawnerAfter;
  template <class F, class... Args>
  auto start(const Site& site, F&& f, Args&&... args) const;

  Scope* scope_;
  std::uint8_t priority_;
};

// A spawner with more for the context of its tasks: what was given, inside of the context of the task
// that called `with`.
class ContextSpawner : public detail::SpawnCall<ContextSpawner> {
 public:
  explicit ContextSpawner(const Spawner& base);

  ContextSpawner with_priority(std::uint8_t priority) const noexcept {
    return ContextSpawner(base_.with_priority(priority), context_);
  }
  ContextSpawner system() const noexcept { return with_priority(0); }
  template <class T, class V = T>
  ContextSpawner with(const ContextKey<T>& key, V&& value) const {
    return around<ContextValue<T>>(key, std::forward<V>(value));
  }
  template <class E, class H>
  ContextSpawner with_handler(H&& handler) const;

 private:
  friend class detail::SpawnCall<ContextSpawner>;
  ContextSpawner(const Spawner& base, Ref<ContextNode> context) noexcept
      : base_(base), context_(std::move(context)) {}

  Scheduler& scheduler() const;
  Arena& arena() const;
  template <class Node, class... Args>
  ContextSpawner around(Args&&... args) const {
    Ref<ContextNode> node =
        Ref<ContextNode>::adopt(make_in<Node>(arena(), std::forward<Args>(args)...));
    node->set_outer(context_);
    return ContextSpawner(base_, std::move(node));
  }
  // What the task shall have, made before the task is, so that nothing can fail after.
  Ref<Heritage> heritage() const;
  static void give(Waitable& task, Ref<Heritage> heritage) noexcept;
  template <class F, class... Args>
  auto start(const Site& site, F&& f, Args&&... args) const {
    Ref<Heritage> given = heritage();
    auto handle = base_.start(site, std::forward<F>(f), std::forward<Args>(args)...);
    give(handle.waitable(), std::move(given));
    return handle;
  }

  Spawner base_;
  Ref<ContextNode> context_;
};

template <class T, class V>
ContextSpawner Spawner::with(const ContextKey<T>& key, V&& value) const {
  return ContextSpawner(*this).with(key, std::forward<V>(value));
}

// Into the nearest scope around the running task.
inline constexpr Spawner spawn{};

}  // namespace tiffany
