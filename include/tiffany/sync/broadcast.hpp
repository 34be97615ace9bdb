// A broadcast: values from tasks to many receivers, each of which gets every value.
//
//   Broadcast<Price> prices(64);
//   auto receiver = prices.subscribe();               // gets what is sent from now on
//   while (auto price = co_await receiver.recv()) {
//     if (price.missed() > 0) resync();               // so many were lost before this one
//     show(*price);
//   }
//   prices.send(price);                               // never waits
//
// The newest `capacity` values are kept, whoever has received them. A receiver that lags further
// behind than that goes on with the oldest that is kept, and is told how many it missed. Those who
// wait go on in the order they came. Values are copied to the receivers: send large ones as
// std::shared_ptr<const T>. For one receiver of each value, and senders that wait, use a channel.
//
// The end. After close(), or when the Broadcast is destroyed, receivers get what is kept and then
// an empty result. A receiver may outlive its Broadcast, and a call its receiver. A copy of a
// receiver is where the original is, and goes on by itself. Of two tasks that wait through one
// receiver both get the value: give each a copy. Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/ref.hpp"
#include "tiffany/sync/hold.hpp"
#include "tiffany/sync/parking_call.hpp"
#include "tiffany/sync/shared.hpp"

namespace tiffany {

// What a receiver of a broadcast gets: a value, and how many were lost before it. No value: it is
// closed and everything was received.
template <class T>
class [[nodiscard]] Heard {
 public:
  Heard() noexcept = default;
  Heard(const T& value, std::uint64_t missed) : value_(value), missed_(missed) {}

  explicit operator bool() const noexcept { return value_.has_value(); }
  bool has_value() const noexcept { return value_.has_value(); }
  // An error (std::bad_optional_access) when there is none.
  T& value() & { return value_.value(); }
  const T& value() const& { return value_.value(); }
  T&& value() && { return std::move(value_).value(); }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return *std::move(value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

  // Values that were sent after the one that was received last, and are kept no more.
  std::uint64_t missed() const noexcept { return missed_; }

 private:
  std::optional<T> value_;
  std::uint64_t missed_ = 0;
};

namespace detail {

[[noreturn]] void throw_broadcast_closed();
[[noreturn]] void throw_broadcast_of_none();

template <class T>
class BroadcastState final : public Shared<BroadcastState<T>> {
 public:
  explicit BroadcastState(std::size_t capacity) : slots_(capacity) {}

  std::size_t capacity() const noexcept { return slots_.size(); }
  // Numbers of values: the oldest that is kept, and the next that will be sent.
  std::uint64_t oldest() const noexcept {
    return next_ - std::min<std::uint64_t>(next_, capacity());
  }
  std::uint64_t next() const noexcept { return next_; }
  const T& at(std::uint64_t number) const noexcept { return *slots_[number % capacity()]; }

  void send(T& value) {
    std::optional<T>& slot = slots_[next_ % capacity()];
    // What is pushed out goes last: its destructor may do anything.
    [[maybe_unused]] const std::optional<T> old =
        std::exchange(slot, std::optional<T>(std::move(value)));
    ++next_;
    tell_all(waiters);
  }

  bool closed = false;
  WaiterList waiters;

 private:
  std::vector<std::optional<T>> slots_;
  std::uint64_t next_ = 0;
};

template <class T>
class BroadcastCursor final : public Shared<BroadcastCursor<T>> {
 public:
  BroadcastCursor(Ref<BroadcastState<T>> of, std::uint64_t number) noexcept
      : state(std::move(of)), next(number) {}

  // What comes next, when the last that was received is the one before `from`. The position moves
  // only when the value has been copied.
  Heard<T> take(std::uint64_t from) {
    const std::uint64_t number = std::max(from, state->oldest());
    if (number == state->next()) return Heard<T>();
    Heard<T> heard(state->at(number), number - from);
    next = std::max(next, number + 1);
    return heard;
  }

  const Ref<BroadcastState<T>> state;
  std::uint64_t next;
};

}  // namespace detail

// co_await receiver.recv().
//
// Cancel. Before start: a value that is there is received, else Cancelled is thrown. While parked:
// the wait is withdrawn; the receiver stays where it was. After completion: the value is returned;
// the next suspension throws.
template <class T>
class [[nodiscard("recv does nothing until awaited: co_await receiver.recv()")]] BroadcastRecv final
    : public detail::ParkingCall<BroadcastRecv<T>> {
 public:
  using value_type = Heard<T>;
  static constexpr CallName call_name{"recv_broadcast"};

  explicit BroadcastRecv(Ref<detail::BroadcastCursor<T>> cursor) noexcept
      : cursor_(std::move(cursor)) {}
  BroadcastRecv(BroadcastRecv&&) noexcept = default;

  bool answer(TaskRecord&) noexcept {
    from_ = cursor_->next;
    return from_ < cursor_->state->next() || cursor_->state->closed;
  }
  void enlist(TaskRecord& asker) noexcept { cursor_->state->waiters.push(*this, asker); }
  void leave() noexcept { cursor_->state->waiters.remove(*this); }
  Heard<T> finish() { return cursor_->take(from_); }
  std::string describe() const override {
    return "value " + std::to_string(from_) + " of a broadcast";
  }

 private:
  Ref<detail::BroadcastCursor<T>> cursor_;
  std::uint64_t from_ = 0;
};

// One place in a broadcast.
template <class T>
class BroadcastReceiver {
 public:
  BroadcastReceiver() noexcept = default;  // of no broadcast
  explicit BroadcastReceiver(Ref<detail::BroadcastCursor<T>> cursor) noexcept
      : cursor_(std::move(cursor)) {}
  BroadcastReceiver(const BroadcastReceiver& other) : cursor_(copy_of(other)) {}
  BroadcastReceiver(BroadcastReceiver&&) noexcept = default;
  BroadcastReceiver& operator=(BroadcastReceiver other) noexcept {
    std::swap(cursor_, other.cursor_);
    return *this;
  }

  // Awaited: the next value, with how many were missed before it; no value when the broadcast is
  // closed and everything was received.
  BroadcastRecv<T> recv() const { return BroadcastRecv<T>(Ref(&cursor())); }
  // Without waiting; no value when there is none.
  Heard<T> try_recv() const { return cursor().take(cursor().next); }

  // How many values this receiver has not received and that are kept.
  std::size_t size() const {
    const detail::BroadcastState<T>& state = *cursor().state;
    return static_cast<std::size_t>(state.next() - std::max(cursor().next, state.oldest()));
  }
  bool closed() const { return cursor().state->closed; }
  explicit operator bool() const noexcept { return static_cast<bool>(cursor_); }

 private:
  static Ref<detail::BroadcastCursor<T>> copy_of(const BroadcastReceiver& other) {
    if (!other.cursor_) return {};
    return Ref(new detail::BroadcastCursor<T>(other.cursor_->state, other.cursor_->next));
  }
  detail::BroadcastCursor<T>& cursor() const {
    if (!cursor_) [[unlikely]]
      detail::throw_holds_nothing("A receiver of a broadcast");
    return *cursor_;
  }
  Ref<detail::BroadcastCursor<T>> cursor_;
};

template <class T>
class Broadcast {
 public:
  static_assert(std::is_copy_constructible_v<T>,
                "each receiver of a broadcast gets a copy: send std::shared_ptr<const T>");
  using Receiver = BroadcastReceiver<T>;

  // Keeps so many values. None is an error (Errc::bad_argument).
  explicit Broadcast(std::size_t capacity)
      : state_((capacity > 0 ? void() : detail::throw_broadcast_of_none(),
                new detail::BroadcastState<T>(capacity))) {}
  ~Broadcast() { close(); }
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;

  // A receiver of what is sent from now on.
  Receiver subscribe() const {
    return Receiver(Ref(new detail::BroadcastCursor<T>(state_, state_->next())));
  }
  // From inside and outside of tasks; never waits. An error (Errc::channel_closed) after close().
  void send(T value) {
    if (state_->closed) detail::throw_broadcast_closed();
    const Ref<detail::BroadcastState<T>> state = state_;
    state->send(value);
  }
  // No value goes in any more; what is kept is still received.
  void close() noexcept {
    state_->closed = true;
    detail::tell_all(state_->waiters);
  }
  bool closed() const noexcept { return state_->closed; }
  std::size_t capacity() const noexcept { return state_->capacity(); }

 private:
  const Ref<detail::BroadcastState<T>> state_;
};

}  // namespace tiffany
