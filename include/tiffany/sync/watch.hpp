// A watch: the newest of the values that somebody sets, for any number of readers.
//
//   Watch<Config> config(load());
//   auto reader = config.reader();                    // has seen the value of now
//   while (auto next = co_await reader.changed()) {   // waits for a newer one
//     apply(*next);
//   }
//   config.set(load());                               // all who wait go on, in the order they came
//
// A value that is replaced before a reader looks is never seen by that reader; the newest always
// is. Each set() makes a new version, also with an equal value. Values are copied to the readers:
// keep large ones as Watch<std::shared_ptr<const T>>.
//
// The end. After close(), or when the Watch is destroyed, a reader that has not seen the newest
// value gets it, and then an empty optional. A reader may outlive its Watch, and a call its reader.
// A copy of a reader has seen what the original has, and goes on by itself. Of two tasks that wait
// through one reader both get the value. Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/base/ref.hpp"
#include "tiffany/sync/hold.hpp"
#include "tiffany/sync/parking_call.hpp"
#include "tiffany/sync/shared.hpp"

namespace tiffany {

namespace detail {

template <class T>
class WatchState final : public Shared<WatchState<T>> {
 public:
  explicit WatchState(T first) : value(std::move(first)) {}

  T value;
  std::uint64_t version = 0;
  bool closed = false;
  WaiterList waiters;
};

template <class T>
class WatchCursor final : public Shared<WatchCursor<T>> {
 public:
  WatchCursor(Ref<WatchState<T>> of, std::uint64_t version) noexcept
      : state(std::move(of)), seen(version) {}

  const Ref<WatchState<T>> state;
  std::uint64_t seen;
};

}  // namespace detail

// co_await reader.changed().
//
// Cancel. Before start: answered when there is a newer value or the watch is closed, else Cancelled
// is thrown. While parked: the wait is withdrawn; the reader has seen nothing new. After
// completion: the newest value is returned; the next suspension throws.
template <class T>
class [[nodiscard("changed does nothing until awaited: co_await reader.changed()")]]
WatchChanged final : public detail::ParkingCall<WatchChanged<T>> {
 public:
  using value_type = std::optional<T>;
  static constexpr CallName call_name{"changed"};

  explicit WatchChanged(Ref<detail::WatchCursor<T>> cursor) noexcept : cursor_(std::move(cursor)) {}
  WatchChanged(WatchChanged&&) noexcept = default;

  bool answer(TaskRecord&) noexcept {
    since_ = cursor_->seen;
    return cursor_->state->version > since_ || cursor_->state->closed;
  }
  void enlist(TaskRecord& asker) noexcept { cursor_->state->waiters.push(*this, asker); }
  void leave() noexcept { cursor_->state->waiters.remove(*this); }
  std::optional<T> finish() {
    const detail::WatchState<T>& state = *cursor_->state;
    if (state.version == since_) return std::nullopt;  // closed
    std::optional<T> newest(std::in_place, state.value);
    cursor_->seen = state.version;
    return newest;
  }
  std::string describe() const override {
    return "a value of a watch that is newer than version " + std::to_string(since_);
  }

 private:
  Ref<detail::WatchCursor<T>> cursor_;
  std::uint64_t since_ = 0;
};

// What one reader has seen.
template <class T>
class WatchReader {
 public:
  WatchReader() noexcept = default;  // of no watch
  explicit WatchReader(Ref<detail::WatchCursor<T>> cursor) noexcept : cursor_(std::move(cursor)) {}
  WatchReader(const WatchReader& other) : cursor_(copy_of(other)) {}
  WatchReader(WatchReader&&) noexcept = default;
  WatchReader& operator=(WatchReader other) noexcept {
    std::swap(cursor_, other.cursor_);
    return *this;
  }

  // Awaited: the newest value, as an optional, once it is newer than what this reader has seen; it
  // is seen then. Empty when the watch is closed and its last value was seen.
  WatchChanged<T> changed() const { return WatchChanged<T>(Ref(&cursor())); }
  // The newest value, which is seen then.
  T latest() const {
    T newest = cursor().state->value;
    cursor().seen = cursor().state->version;
    return newest;
  }
  // Without having seen it. The reference is good until the next suspension.
  const T& peek() const { return cursor().state->value; }
  // There is a newer value than this reader has seen.
  bool has_changed() const { return cursor().state->version > cursor().seen; }
  std::uint64_t seen() const { return cursor().seen; }
  bool closed() const { return cursor().state->closed; }
  explicit operator bool() const noexcept { return static_cast<bool>(cursor_); }

 private:
  static Ref<detail::WatchCursor<T>> copy_of(const WatchReader& other) {
    if (!other.cursor_) return {};
    return Ref(new detail::WatchCursor<T>(other.cursor_->state, other.cursor_->seen));
  }
  detail::WatchCursor<T>& cursor() const {
    if (!cursor_) [[unlikely]]
      detail::throw_holds_nothing("A reader of a watch");
    return *cursor_;
  }
  Ref<detail::WatchCursor<T>> cursor_;
};

template <class T>
class Watch {
 public:
  static_assert(std::is_copy_constructible_v<T>,
                "each reader of a watch gets a copy: use Watch<std::shared_ptr<const T>>");
  using Reader = WatchReader<T>;

  // The first value is version 0.
  explicit Watch(T first = T()) : state_(new detail::WatchState<T>(std::move(first))) {}
  ~Watch() { close(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // A reader that has seen the present value.
  Reader reader() const { return Reader(Ref(new detail::WatchCursor<T>(state_, state_->version))); }
  // A new value and version. From inside and outside of tasks. After close() still the newest
  // value, which nobody waits for any more.
  void set(T value) {
    // What was there goes last: its destructor may do anything.
    const Ref<detail::WatchState<T>> state = state_;
    [[maybe_unused]] const T old = std::exchange(state->value, std::move(value));
    ++state->version;
    detail::tell_all(state->waiters);
  }
  void close() noexcept {
    state_->closed = true;
    detail::tell_all(state_->waiters);
  }

  // The reference is good until the next set().
  const T& value() const noexcept { return state_->value; }
  std::uint64_t version() const noexcept { return state_->version; }
  bool closed() const noexcept { return state_->closed; }

 private:
  const Ref<detail::WatchState<T>> state_;
};

}  // namespace tiffany
