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

namespace tiffany {

class Scope;
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

 private:
  friend class detail::SpawnCall<Spawner>;
  template <class... Hs>
  friend class SpawnerAfter;
  template <class F, class... Args>
  auto start(const Site& site, F&& f, Args&&... args) const;

  Scope* scope_;
  std::uint8_t priority_;
};

// Into the nearest scope around the running task.
inline constexpr Spawner spawn{};

}  // namespace tiffany
