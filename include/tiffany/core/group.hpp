// Waiting for several handles at once: gather, all_settled, race. The same functions take everything
// else that can be awaited, mixed with handles: engine/combine.hpp.
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
// task that awaits, in the order of the arguments: gather when it succeeds; all_settled of those that
// were not cancelled. A task that is awaited twice gives its value twice, and its entries too.
//
// Cancel. Before start: no wait is begun. While parked: all waits are withdrawn, nothing awaited is
// touched. After completion: the result is delivered first. Cost: linear in the number awaited.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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

enum class GroupMode : std::uint8_t {
  gather,   // until all have completed, or one has not
  settled,  // until all have settled
  race,     // until one has settled
  any,      // until one has completed, or all have not
};

// The part that knows no types: a call that registers with a number of waitables.
class GroupCall : public SystemCall {
 public:
  // One for each awaited waitable; the derived call owns the array, or who made it.
  struct Entry {
    Waiter waiter;
    Waitable* target = nullptr;
  };

  Answer start(Scheduler& scheduler, TaskRecord& task);
  void withdraw(TaskRecord& task) noexcept override;
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override;
  std::string describe() const override;
  void visit_waits(WaitVisitor& visitor) const override;
  bool needs_all() const noexcept override {
    return mode_ == GroupMode::gather || mode_ == GroupMode::settled;
  }

 protected:
  explicit GroupCall(GroupMode mode) noexcept : mode_(mode) {}
  GroupCall(GroupCall&& other) noexcept : SystemCall(), mode_(other.mode_) {}
  ~GroupCall() = default;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // The one that decided, or kNone when all had to be waited for.
  std::size_t decided() const noexcept { return decided_; }
  // Throws the error of the one that decided a gather or race, if it has one.
  void throw_decided() const;

  // What the awaited tasks have told, for the log of the running one. In two steps, so that a result
  // that cannot be copied leaves the log as it was: everything that can fail is done when this is
  // made, before the results are taken.
  class LogMerge {
   public:
    explicit LogMerge(const GroupCall& call) {
      if (call.told_) [[unlikely]]
        prepare(call);
    }
    void commit() noexcept {
      if (log_ != nullptr) [[unlikely]]
        log_->set_told(std::move(last_));
    }

   private:
    void prepare(const GroupCall& call);
    TaskLog* log_ = nullptr;
    Ref<LogLink> last_;
  };

  void attach(Entry* entries, std::size_t count) noexcept {
    entries_ = entries;
    count_ = count;
  }

 private:
  bool decides(TaskState state) const noexcept;

  Entry* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t left_ = 0;
  std::size_t decided_ = kNone;
  GroupMode mode_;
  bool told_ = false;  // one of those that settled left something for the log
};

// What gather and all_settled give: a std::tuple with get<I>(), so that `auto [a, b] = co_await
// gather(x, y)` and `both.get<0>()` mean the same. Unit stands for void.
template <class... Ts>
class Gathered : public std::tuple<ValueOf<Ts>...> {
 public:
  explicit Gathered(ValueOf<Ts>... values) : std::tuple<ValueOf<Ts>...>(std::move(values)...) {}

  template <std::size_t I>
  auto& get() noexcept {
    return std::get<I>(tuple());
  }
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(tuple());
  }
  std::tuple<ValueOf<Ts>...>& tuple() noexcept { return *this; }
  const std::tuple<ValueOf<Ts>...>& tuple() const noexcept { return *this; }
};

// What race and any give: which contender was decided, its value, and what is left of the others.
//
//   auto [which, value, rest] = co_await race(a, b);
//
// `value` is a T when all contenders give a T, else a std::variant with one alternative for each
// contender; Unit stands for void. `rest` depends on what was raced: a std::vector of the handles that
// did not win, when a range of handles was raced; what the losers have given all the same, when calls
// were started that cannot be taken back in the same instant (engine/combine.hpp); else nothing.
template <class T, class Rest = Unit>
struct Won {
  using Value = ValueOf<T>;
  Won(std::size_t which, Value what, Rest others = Rest())
      : index(which), value(std::move(what)), rest(std::move(others)) {}

  // The value of the I-th contender, which must be the one that was decided.
  template <std::size_t I>
  auto& get() {
    if constexpr (requires { std::get_if<I>(&value); }) {
      return std::get<I>(value);
    } else {
      return value;
    }
  }

  std::size_t index;
  Value value;
  [[no_unique_address]] Rest rest;
};

// The winner of a race over a range of handles.
template <class H>
using Raced = Won<typename H::value_type, std::vector<H>>;

namespace detail {

template <class First, class... Rest>
inline constexpr bool all_same = (std::is_same_v<First, Rest> && ...);

// The one type of all results, or a variant of them.
template <class... Ts>
struct OneOf {
  using type = std::variant<ValueOf<Ts>...>;
};
template <class T, class... Ts>
  requires all_same<T, Ts...>
struct OneOf<T, Ts...> {
  using type = T;
};

}  // namespace detail

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

// The same wait over waitables that somebody else keeps, with no types: detail/engine/started.hpp is built
// of it. Kept in a variable, and asked for what came of it after the wait.
template <GroupMode kMode>
class GroupWait final : public GroupCall {
 public:
  static constexpr CallName call_name{kMode == GroupMode::gather    ? "gather"
                                      : kMode == GroupMode::settled ? "all_settled"
                                      : kMode == GroupMode::race    ? "race"
                                                                    : "any"};
  using GroupCall::decided;
  using GroupCall::kNone;
  using GroupCall::LogMerge;
  using GroupCall::throw_decided;

  GroupWait() noexcept : GroupCall(kMode) {}
  // The entries must outlive the wait, and everything that is asked after it.
  void over(std::span<Entry> entries) noexcept { attach(entries.data(), entries.size()); }
  void finish() const noexcept {}
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

template <class... Ts>
struct std::tuple_size<tiffany::Gathered<Ts...>>
    : std::integral_constant<std::size_t, sizeof...(Ts)> {};
template <std::size_t I, class... Ts>
struct std::tuple_element<I, tiffany::Gathered<Ts...>>
    : std::tuple_element<I, std::tuple<tiffany::ValueOf<Ts>...>> {};
