// The calls behind gather, all_settled and race over handles alone (structure/combine.hpp). They
// keep a copy of each handle, start no task, and allocate only for a range of handles.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/handle.hpp"
#include "tiffany/core/waitable_handle.hpp"
#include "tiffany/detail/structure/group_call.hpp"
#include "tiffany/structure/results.hpp"

namespace tiffany {

namespace detail {

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

}  // namespace tiffany
