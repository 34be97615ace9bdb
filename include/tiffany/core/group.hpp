// Waiting for several handles at once: gather, all_settled, race. The same functions take
// everything else that can be awaited, mixed with handles: engine/combine.hpp.
//
//   auto [x, y] = co_await gather(a, b);      Gathered; x and y as named, or both.get<0>()
//   auto all  = co_await gather(handles);     std::vector<T>, in the order of the handles
//   auto ends = co_await all_settled(handles) std::vector<Outcome<T>>; never throws
//   auto [which, value, rest] = co_await race(handles)   Won: won.index, won.value, won.rest
//
// gather fails fast: the first failure (or cancellation) is thrown at once, and the others go on.
// race is decided by the first to settle, errors included; of several that are settled already the
// one with the lowest index. Nothing is cancelled: the handles are the caller's.
//
// gather and all_settled append what the awaited tasks have told (core/store.hpp) to the log of the
// task that awaits, in the order of the arguments: gather when it succeeds; all_settled of those
// that were not cancelled. A task that is awaited twice gives its value twice, and its entries too.
//
// Cancel. Before start: no wait is begun. While parked: all waits are withdrawn, nothing awaited is
// touched. After completion: the result is delivered first. Cost: linear in the number awaited.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/group_call.hpp"
#include "tiffany/core/group_results.hpp"
#include "tiffany/core/handle.hpp"

namespace tiffany {

// Anything that gather and its kin accept: Handle<T>, Future<T>.
template <class H>
concept WaitableHandle = requires(const H& handle) {
  typename H::value_type;
  { handle.waitable() } -> std::same_as<Waitable&>;
  { handle.value(true) } -> std::same_as<ValueOf<typename H::value_type>>;
};

namespace detail {
template <class R>
using HandleOf = std::remove_cvref_t<decltype(*std::begin(std::declval<R&>()))>;
}

template <class R>
concept WaitableRange =
    requires(R& range) { std::end(range); } && WaitableHandle<detail::HandleOf<R>>;

namespace detail {

template <class H>
constexpr void require_copyable() {
  using T = typename H::value_type;
  static_assert(std::is_void_v<T> || std::is_copy_constructible_v<ValueOf<T>>,
                "this task's result can only be moved: await its handle alone, as "
                "co_await std::move(handle)");
}

// Over a fixed number of handles, perhaps of different types.
template <GroupMode kMode, class... Hs>
class FixedGroup : public GroupCall {
 protected:
  explicit FixedGroup(const Hs&... handles) : GroupCall(kMode), handles_(handles...) {
    std::size_t i = 0;
    std::apply([&](auto&... h) { ((entries_[i++].target = &h.waitable()), ...); }, handles_);
  }
  FixedGroup(FixedGroup&&) = default;
  ~FixedGroup() = default;

 public:
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    attach(entries_.data(), entries_.size());
    return GroupCall::start(scheduler, task);
  }

 protected:
  std::tuple<Hs...> handles_;
  std::array<Entry, sizeof...(Hs)> entries_;
};

// Over any number of handles of one type.
template <GroupMode kMode, class H>
class RangeGroup : public GroupCall {
 protected:
  explicit RangeGroup(std::vector<H> handles)
      : GroupCall(kMode), handles_(std::move(handles)), entries_(handles_.size()) {
    for (std::size_t i = 0; i < handles_.size(); ++i) entries_[i].target = &handles_[i].waitable();
  }
  RangeGroup(RangeGroup&&) = default;
  ~RangeGroup() = default;

 public:
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    attach(entries_.data(), entries_.size());
    return GroupCall::start(scheduler, task);
  }

 protected:
  std::vector<H> handles_;
  std::vector<Entry> entries_;
};

[[noreturn]] void throw_empty_race(const char* what);

}  // namespace detail

template <class... Hs>
class [[nodiscard("gather waits only when awaited: co_await gather(...)")]] GatherFixed final
    : public detail::FixedGroup<GroupMode::gather, Hs...> {
 public:
  static constexpr CallName call_name{"gather"};
  explicit GatherFixed(const Hs&... handles)
      : detail::FixedGroup<GroupMode::gather, Hs...>(handles...) {}
  Gathered<typename Hs::value_type...> finish() {
    this->throw_decided();
    typename GroupCall::LogMerge logs(*this);
    auto results = std::apply(
        [](auto&... h) { return Gathered<typename Hs::value_type...>(h.value(true)...); },
        this->handles_);
    logs.commit();
    return results;
  }
};

template <class H>
class [[nodiscard("gather waits only when awaited: co_await gather(...)")]] GatherRange final
    : public detail::RangeGroup<GroupMode::gather, H> {
 public:
  static constexpr CallName call_name{"gather"};
  using T = typename H::value_type;
  explicit GatherRange(std::vector<H> handles)
      : detail::RangeGroup<GroupMode::gather, H>(std::move(handles)) {}
  auto finish() {
    this->throw_decided();
    typename GroupCall::LogMerge logs(*this);
    if constexpr (!std::is_void_v<T>) {
      std::vector<T> values;
      values.reserve(this->handles_.size());
      for (H& handle : this->handles_) values.push_back(handle.value(true));
      logs.commit();
      return values;
    } else {
      logs.commit();
    }
  }
};

template <class H>
class [[nodiscard("all_settled waits only when awaited")]] SettledRange final
    : public detail::RangeGroup<GroupMode::settled, H> {
 public:
  static constexpr CallName call_name{"all_settled"};
  explicit SettledRange(std::vector<H> handles)
      : detail::RangeGroup<GroupMode::settled, H>(std::move(handles)) {}
  std::vector<Outcome<typename H::value_type>> finish() {
    typename GroupCall::LogMerge logs(*this);
    std::vector<Outcome<typename H::value_type>> outcomes;
    outcomes.reserve(this->handles_.size());
    for (H& handle : this->handles_) outcomes.push_back(outcome_of(handle, true));
    logs.commit();
    return outcomes;
  }
};

template <class... Hs>
class [[nodiscard("all_settled waits only when awaited")]] SettledFixed final
    : public detail::FixedGroup<GroupMode::settled, Hs...> {
 public:
  static constexpr CallName call_name{"all_settled"};
  explicit SettledFixed(const Hs&... handles)
      : detail::FixedGroup<GroupMode::settled, Hs...>(handles...) {}
  Gathered<Outcome<typename Hs::value_type>...> finish() {
    typename GroupCall::LogMerge logs(*this);
    auto outcomes = std::apply(
        [](auto&... h) {
          return Gathered<Outcome<typename Hs::value_type>...>(outcome_of(h, true)...);
        },
        this->handles_);
    logs.commit();
    return outcomes;
  }
};

template <class H>
class [[nodiscard("race waits only when awaited: co_await race(...)")]] RaceRange final
    : public detail::RangeGroup<GroupMode::race, H> {
 public:
  static constexpr CallName call_name{"race"};
  explicit RaceRange(std::vector<H> handles)
      : detail::RangeGroup<GroupMode::race, H>(std::move(handles)) {
    if (this->handles_.empty()) detail::throw_empty_race("race()");
  }
  Raced<H> finish() {
    this->throw_decided();
    const std::size_t won = this->decided();
    auto value = this->handles_[won].value(false);
    this->handles_.erase(this->handles_.begin() + static_cast<std::ptrdiff_t>(won));
    return Raced<H>(won, std::move(value), std::move(this->handles_));
  }
};

template <class... Hs>
class [[nodiscard("race waits only when awaited: co_await race(...)")]] RaceFixed final
    : public detail::FixedGroup<GroupMode::race, Hs...> {
 public:
  static constexpr CallName call_name{"race"};
  explicit RaceFixed(const Hs&... handles)
      : detail::FixedGroup<GroupMode::race, Hs...>(handles...) {}
  using Result = typename detail::OneOf<typename Hs::value_type...>::type;
  Won<Result> finish() {
    this->throw_decided();
    return pick(std::index_sequence_for<Hs...>());
  }

 private:
  using Value = ValueOf<Result>;
  template <std::size_t... Is>
  Won<Result> pick(std::index_sequence<Is...>) {
    std::optional<Value> won;
    (void)(... || (Is == this->decided() && (put<Is>(won), true)));
    return Won<Result>(this->decided(), std::move(*won));
  }
  template <std::size_t I>
  void put(std::optional<Value>& won) {
    auto value = std::get<I>(this->handles_).value(false);
    if constexpr (std::is_same_v<decltype(value), Value>) {
      won.emplace(std::move(value));
    } else {
      won.emplace(std::in_place_index<I>, std::move(value));
    }
  }
};

namespace detail {

template <WaitableRange R>
auto to_vector(R&& range) {
  using H = HandleOf<R>;
  if constexpr (std::is_same_v<std::remove_cvref_t<R>, std::vector<H>>) {
    return std::vector<H>(std::forward<R>(range));
  } else {
    std::vector<H> handles;
    for (auto&& handle : range) handles.push_back(handle);
    return handles;
  }
}

}  // namespace detail

template <WaitableHandle... Hs>
auto gather(const Hs&... handles) {
  (detail::require_copyable<Hs>(), ...);
  return GatherFixed<Hs...>(handles...);
}
template <WaitableRange R>
auto gather(R&& handles) {
  detail::require_copyable<detail::HandleOf<R>>();
  return GatherRange<detail::HandleOf<R>>(detail::to_vector(std::forward<R>(handles)));
}

template <WaitableHandle... Hs>
auto all_settled(const Hs&... handles) {
  (detail::require_copyable<Hs>(), ...);
  return SettledFixed<Hs...>(handles...);
}
template <WaitableRange R>
auto all_settled(R&& handles) {
  detail::require_copyable<detail::HandleOf<R>>();
  return SettledRange<detail::HandleOf<R>>(detail::to_vector(std::forward<R>(handles)));
}

template <WaitableHandle H, WaitableHandle... Hs>
auto race(const H& first, const Hs&... rest) {
  (detail::require_copyable<Hs>(), ..., detail::require_copyable<H>());
  return RaceFixed<H, Hs...>(first, rest...);
}
template <WaitableRange R>
auto race(R&& handles) {
  detail::require_copyable<detail::HandleOf<R>>();
  return RaceRange<detail::HandleOf<R>>(detail::to_vector(std::forward<R>(handles)));
}

}  // namespace tiffany
