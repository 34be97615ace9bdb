// spawn.after(a, b)(f, args...) and spawn.from(a, b)(f, args...): tasks that begin when others have
// ended. See core/dependency.hpp for what that means, and for what a cancel does.
//
//   auto page  = spawn(fetch, url);
//   auto saved = spawn.after(page)(report, "the page is here");  // only the order
//   auto title = spawn.from(page)(find_title);                   // find_title gets the page
//   spawn.after(page, title).if_failed(IfFailed::run)(clean_up); // however they end
//   spawn.with(kUser, "ann").after(page)(greet);                 // with a value in its context
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/core/dependency.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/spawner.hpp"
#include "tiffany/core/waitable_handle.hpp"
#include "tiffany/engine/spawn.hpp"

namespace tiffany {

namespace detail {

// A callable with its arguments, to be called with the values of what it comes after before them.
// They are taken when it is called, and stay as long as the task's code.
template <class F, class Handles, class Values, class Rest>
class FlowCall;
template <class F, class... Hs, class... Vs, class... Args>
class FlowCall<F, std::tuple<Hs...>, Params<Vs...>, Params<Args...>> {
 public:
  template <class G, class... As>
  FlowCall(G&& f, std::tuple<Hs...> handles, As&&... args)
      : f_(std::forward<G>(f)), handles_(std::move(handles)), args_(std::forward<As>(args)...) {}
  auto operator()() {
    std::apply([this](Hs&... handles) { values_.emplace(value_now(handles)...); }, handles_);
    return std::apply(
        [this](auto&... all) -> decltype(auto) {
          return std::invoke(std::move(f_), std::move(all)...);
        },
        std::tuple_cat(std::apply([](Vs&... vs) { return std::tie(vs...); }, *values_),
                       std::apply([](Args&... as) { return std::tie(as...); }, args_)));
  }

 private:
  [[no_unique_address]] F f_;
  std::tuple<Hs...> handles_;
  [[no_unique_address]] std::tuple<Args...> args_;
  std::optional<std::tuple<Vs...>> values_;
};

// As what the values and the arguments are kept, where the parameters of the callable are known.
template <class Signature, class F, class Handles, class Values, class Rest>
struct FlowOf {
  using type = FlowCall<F, Handles, Values, Rest>;
};
template <class... Ps, class F, class Handles, class... Vs, class... Args>
  requires(sizeof...(Ps) == sizeof...(Vs) + sizeof...(Args))
struct FlowOf<Params<Ps...>, F, Handles, Params<Vs...>, Params<Args...>> {
  template <std::size_t I, class A>
  using KeptAs = Kept<std::tuple_element_t<I, std::tuple<Ps...>>, A>;
  template <class V, class R>
  struct At;
  template <std::size_t... Is, std::size_t... Js>
  struct At<std::index_sequence<Is...>, std::index_sequence<Js...>> {
    using type = FlowCall<F, Handles, Params<KeptAs<Is, Vs>...>,
                          Params<KeptAs<sizeof...(Vs) + Js, Args>...>>;
  };
  using type = typename At<std::index_sequence_for<Vs...>, std::index_sequence_for<Args...>>::type;
};

template <class D>
void depend_on(DependencyList& list, Scope* scope, const D& dependency) {
  if constexpr (std::is_same_v<D, TaskId>) {
    list.add(scope != nullptr ? scope->scheduler() : Scheduler::require("spawn.after()"),
             dependency);
  } else if constexpr (WaitableHandle<D>) {
    list.add(dependency.waitable());
  } else if constexpr (WaitableRange<const D>) {
    for (const auto& one : dependency) list.add(one.waitable());
  } else {
    static_assert(always_false<D>,
                  "a task comes after handles, futures, ranges of them, or ids of tasks: write "
                  "spawn.after(handle)(f, args...)");
  }
}

}  // namespace detail

// What spawn.after() and spawn.from() give. Called with a callable and its arguments it spawns the
// task; it may be kept, and called more than once.
template <class Engine, class... Hs>
class [[nodiscard("after() spawns nothing by itself: write spawn.after(a, b)(f, args...)")]]
SpawnerAfterOf : public detail::SpawnCall<SpawnerAfterOf<Engine, Hs...>> {
 public:
  using typename detail::SpawnCall<SpawnerAfterOf>::Site;

  SpawnerAfterOf(SpawnerOf<Engine> spawner, DependencyList list, std::tuple<Hs...> handles)
      : spawner_(spawner), list_(std::move(list)), handles_(std::move(handles)) {}

  // As for spawn itself.
  SpawnerAfterOf with_priority(std::uint8_t priority) const {
    SpawnerAfterOf changed = *this;
    changed.spawner_ = spawner_.with_priority(priority);
    return changed;
  }
  SpawnerAfterOf system() const { return with_priority(0); }
  template <class T, class V = T>
  SpawnerAfterOf with(const ContextKey<T>& key, V&& value) const {
    SpawnerAfterOf changed = *this;
    changed.context_ = context().template around<ContextValue<T>>(key, std::forward<V>(value));
    return changed;
  }
  template <class E, class H>
  SpawnerAfterOf with_handler(H&& handler) const;

  // More that it comes after.
  template <class... Ds>
  SpawnerAfterOf after(const Ds&... dependencies) const {
    SpawnerAfterOf more = *this;
    (detail::depend_on(more.list_, spawner_.scope_, dependencies), ...);
    return more;
  }
  // What becomes of the task when one of them fails or is cancelled. After from(), with
  // IfFailed::run, it fails with the error of the value that is not there.
  SpawnerAfterOf if_failed(IfFailed policy) const {
    SpawnerAfterOf changed = *this;
    changed.list_.if_failed = policy;
    return changed;
  }
  // How much the task counts in a chain; 1 unless told otherwise. Only longest_path_order() asks.
  SpawnerAfterOf cost(std::uint32_t units) const {
    SpawnerAfterOf changed = *this;
    changed.list_.cost = units;
    return changed;
  }

 private:
  friend class detail::SpawnCall<SpawnerAfterOf>;
  friend class ContextSpawnerOf<Engine>;

  SpawnerAfterOf in(detail::SpawnContext context) && {
    context_ = std::move(context);
    return std::move(*this);
  }
  template <class F, class... Args>
  auto start(const Site& site, F&& f, Args&&... args) const {
    using Spawned = typename Engine::template Spawnable<std::decay_t<F>, typename Hs::value_type...,
                                                        std::decay_t<Args>...>;
    if constexpr (Spawned::template check<Engine>()) {
      return spawn_closure(site, closure(std::forward<F>(f), std::forward<Args>(args)...));
    }
  }
  template <class F, class... Args>
  auto closure(F&& f, Args&&... args) const {
    using Fn = std::decay_t<F>;
    if constexpr (sizeof...(Hs) == 0) {
      return Engine::template Spawnable<Fn, std::decay_t<Args>...>::closure(
          std::forward<F>(f), std::forward<Args>(args)...);
    } else {
      using Closure =
          typename detail::FlowOf<typename detail::SignatureOf<Fn>::type, Fn, std::tuple<Hs...>,
                                  detail::Params<typename Hs::value_type...>,
                                  detail::Params<std::decay_t<Args>...>>::type;
      return Closure(std::forward<F>(f), handles_, std::forward<Args>(args)...);
    }
  }
  template <class Closure>
  auto spawn_closure(const Site& site, Closure&& closure) const {
    using T = typename Engine::template Result<Closure>;
    const detail::Target target(spawner_.scope_, Engine::spawn_name);
    Engine::allow(target.scheduler);
    Ref<Heritage> given = context_ ? context_->heritage() : Ref<Heritage>();
    auto& record =
        target.scheduler.template make_task_after<typename Engine::template Record<Closure>>(
            list_, target.scope, spawner_.priority_, site, std::move(closure));
    if (given) detail::SpawnContext::give(record, std::move(given));
    return Handle<T>::adopt(record);
  }
  detail::SpawnContext context() const {
    return context_ ? *context_ : detail::SpawnContext(spawner_.scope_);
  }

  SpawnerOf<Engine> spawner_;
  DependencyList list_;
  std::tuple<Hs...> handles_;
  std::optional<detail::SpawnContext>
      context_;  // more for the context of its tasks; see ContextSpawnerOf
};

template <class Engine>
template <class... Ds>
SpawnerAfterOf<Engine> SpawnerOf<Engine>::after(const Ds&... dependencies) const {
  DependencyList list;
  (detail::depend_on(list, scope_, dependencies), ...);
  return SpawnerAfterOf<Engine>(*this, std::move(list), std::tuple<>());
}

template <class Engine>
template <class... Hs>
SpawnerAfterOf<Engine, Hs...> SpawnerOf<Engine>::from(const Hs&... dependencies) const {
  static_assert((WaitableHandle<Hs> && ...), "values come from handles and futures");
  static_assert((!std::is_void_v<typename Hs::value_type> && ...),
                "a task that returns nothing has no value to hand over: use after() for it");
  DependencyList list;
  (list.add(dependencies.waitable()), ...);
  return SpawnerAfterOf<Engine, Hs...>(*this, std::move(list), std::tuple<Hs...>(dependencies...));
}

template <class Engine>
template <class... Ds>
SpawnerAfterOf<Engine> ContextSpawnerOf<Engine>::after(const Ds&... dependencies) const {
  return base_.after(dependencies...).in(context_);
}

template <class Engine>
template <class... Hs>
SpawnerAfterOf<Engine, Hs...> ContextSpawnerOf<Engine>::from(const Hs&... dependencies) const {
  return base_.from(dependencies...).in(context_);
}

}  // namespace tiffany
