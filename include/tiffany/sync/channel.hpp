// A channel: values from tasks to tasks, through a ring of so many places.
//
//   auto jobs = channel<Job>(64);
//   spawn(produce, std::move(jobs.sender));        co_await sender.send(job);
//   spawn(consume, std::move(jobs.receiver));      auto job = co_await receiver.recv();
//
// Both halves can be copied: any number of tasks may send and receive. Values come out in the order
// they went in, each to one receiver; those who wait are served in the order they came. A send
// waits while the ring is full. With a capacity of 0 there is no ring, and a send waits until its
// value is taken: sender and receiver meet.
//
// The end. When the last sender has gone, or close() was called on either side, receivers get what
// is left and then an empty optional. Sending into a channel that was closed, or whose last
// receiver has gone, is an error (Errc::channel_closed); values that nobody can receive any more
// are destroyed. A task that keeps a sender it does not use keeps the channel open: move halves to
// where they are used.
//
// No value is lost to a cancel: it was sent, or it still is the sender's (send_from leaves it where
// it was); it was received, or it still is in the channel.
//
// To wait for several channels at once see race in structure/combine.hpp. A half must outlive the
// calls that are made through it: when the last one of its kind goes while a call is parked, that
// call fails with Errc::primitive_gone. From other threads use a Mailbox. Thread safety: none; see
// core/scheduler.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/ref.hpp"
#include "tiffany/base/temporaries.hpp"
#include "tiffany/core/posted.hpp"
#include "tiffany/sync/channel_state.hpp"
#include "tiffany/sync/hold.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

namespace detail {
[[noreturn]] void throw_channel_closed();
[[noreturn]] void throw_receives_none();
}  // namespace detail

// co_await sender.send(value). `Held`: T, or T& for send_from.
//
// Cancel. Before start: sent when there is room, else Cancelled is thrown. While parked: the send
// is withdrawn; the value was not sent. After completion: it was sent; the next suspension throws.
template <class T, class Held>
class [[nodiscard("send does nothing until awaited: co_await sender.send(value)")]] Send final
    : public detail::ParkingCall<Send<T, Held>, detail::SendCall<T>> {
 public:
  using value_type = void;
  static constexpr CallName call_name{"send"};

  Send(detail::ChannelState<T>& state, Held&& value) noexcept
      : state_(&state), value_(std::forward<Held>(value)) {}
  Send(Send&&) noexcept = default;

  bool answer_inline() noexcept { return state_->put_inline(value_); }
  bool answer(TaskRecord&) {
    if (state_->put(value_)) return true;
    if (state_->closed()) detail::throw_channel_closed();
    return false;
  }
  void enlist(TaskRecord& asker) noexcept {
    this->offered = std::addressof(value_);
    state_->sending.push(*this, asker);
  }
  void leave() noexcept { state_->sending.remove(*this); }
  void finish() const {
    if (this->stage_ == detail::Stage::ended) [[unlikely]]
      detail::throw_channel_closed();
    if (this->gone()) [[unlikely]]
      detail::throw_gone("room in a channel through a sender");
  }
  std::string describe() const override { return state_->describe_send(); }

 private:
  detail::ChannelState<T>* state_;
  Held value_;
};

// co_await receiver.recv().
//
// Cancel. Before start: a value that is there is taken, else Cancelled is thrown. While parked: the
// wait is withdrawn, and the next value goes to the next in line, or stays. After completion: the
// value has been handed over and is returned; the next suspension throws.
template <class T>
class [[nodiscard("recv does nothing until awaited: co_await receiver.recv()")]] Recv final
    : public detail::ParkingCall<Recv<T>, detail::RecvCall<T>> {
 public:
  using value_type = std::optional<T>;
  static constexpr CallName call_name{"recv"};

  explicit Recv(detail::ChannelState<T>& state) noexcept
      : detail::ParkingCall<Recv<T>, detail::RecvCall<T>>(state) {}
  Recv(Recv&&) noexcept = default;

  bool answer(TaskRecord&) noexcept { return this->begin(); }
  void enlist(TaskRecord& asker) noexcept { this->state_->receiving.push(*this, asker); }
  void leave() noexcept { this->state_->receiving.remove(*this); }
  std::optional<T> finish() {
    if (this->has_value()) [[likely]]
      return std::optional<T>(std::in_place, this->take());
    if (this->gone()) detail::throw_gone("a value in a channel through a receiver");
    return std::nullopt;
  }
  std::string describe() const override { return this->state_->describe_recv(); }
};

// co_await receiver.recv_many(max). Cancel: as recv.
template <class T>
class [[nodiscard("recv_many does nothing until awaited")]] RecvMany final
    : public detail::ParkingCall<RecvMany<T>, detail::RecvCall<T>> {
 public:
  using value_type = std::vector<T>;
  static constexpr CallName call_name{"recv_many"};

  RecvMany(detail::ChannelState<T>& state, std::size_t max) noexcept
      : detail::ParkingCall<RecvMany<T>, detail::RecvCall<T>>(state), max_(max) {}
  RecvMany(RecvMany&&) noexcept = default;

  bool answer(TaskRecord&) noexcept { return this->begin(); }
  void enlist(TaskRecord& asker) noexcept { this->state_->receiving.push(*this, asker); }
  void leave() noexcept { this->state_->receiving.remove(*this); }
  std::vector<T> finish() {
    std::vector<T> received;
    if (this->has_value()) {
      // The only thing that can fail, while everything still is where it was.
      const std::size_t most = std::min(max_, this->taken() + this->state_->size());
      received.reserve(most);
      received.push_back(this->take());
      while (received.size() < most) {
        std::optional<T> more = this->state_->take_if_any();
        if (!more) break;
        received.push_back(std::move(*more));
      }
    } else if (this->gone()) {
      detail::throw_gone("values in a channel through a receiver");
    }
    return received;
  }
  std::string describe() const override { return this->state_->describe_recv(); }

 private:
  std::size_t max_;
};

// The half that values go into.
template <class T>
class Sender {
 public:
  Sender() noexcept = default;  // of no channel
  explicit Sender(Ref<detail::ChannelState<T>> state) noexcept : state_(std::move(state)) {
    join();
  }
  Sender(const Sender& other) noexcept : state_(other.state_) { join(); }
  Sender(Sender&&) noexcept = default;
  Sender& operator=(Sender other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Sender() {
    if (state_) state_->drop_sender();
  }

  // Awaited: when the value is in the channel, or with the receiver. Takes whatever a T can be made
  // of.
  template <class U = T>
    requires std::is_convertible_v<U&&, T>
  Send<T, T> send(U&& value) const {
    detail::refuse_destroyed_twice<U>();
    return Send<T, T>(channel(), static_cast<T>(std::forward<U>(value)));
  }
  // The same, and the value is made here of these: co_await sender.emplace(1, text).
  template <class... Args>
  Send<T, T> emplace(Args&&... args) const {
    (detail::refuse_destroyed_twice<Args>(), ...);
    if constexpr (std::is_aggregate_v<T>) {
      return Send<T, T>(channel(), T{std::forward<Args>(args)...});
    } else {
      return Send<T, T>(channel(), T(std::forward<Args>(args)...));
    }
  }
  // The same, and `value` is only moved from when it has been sent: whoever is cancelled, or out of
  // time, still has it. It must outlive the call.
  Send<T, T&> send_from(T& value) const { return Send<T, T&>(channel(), value); }
  // Without waiting. Moved from only when it was accepted.
  Posted try_send(T&& value) const {
    detail::ChannelState<T>& state = channel();
    if (state.closed()) return Posted::closed;
    return state.put(value) ? Posted::accepted : Posted::full;
  }
  Posted try_send(const T& value) const { return try_send(T(value)); }

  // No value goes in any more, from whichever sender; what is in the channel is still received.
  void close() const { channel().close(); }
  bool closed() const { return channel().closed(); }
  std::size_t size() const { return channel().size(); }
  std::size_t capacity() const { return channel().capacity(); }
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }

 private:
  void join() noexcept {
    if (state_) state_->add_sender();
  }
  detail::ChannelState<T>& channel() const {
    if (!state_) [[unlikely]]
      detail::throw_holds_nothing("A sender");
    return *state_;
  }
  Ref<detail::ChannelState<T>> state_;
};

// The half that values come out of.
template <class T>
class Receiver {
 public:
  Receiver() noexcept = default;  // of no channel
  explicit Receiver(Ref<detail::ChannelState<T>> state) noexcept : state_(std::move(state)) {
    join();
  }
  Receiver(const Receiver& other) noexcept : state_(other.state_) { join(); }
  Receiver(Receiver&&) noexcept = default;
  Receiver& operator=(Receiver other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Receiver() {
    if (state_) state_->drop_receiver();
  }

  // Awaited: the oldest value as an optional, which is empty when the channel is closed and empty.
  Recv<T> recv() const { return Recv<T>(channel()); }
  // Awaited: what is in the channel, in its order, `max` at the most; waits only while there is
  // nothing. Empty when the channel is closed and empty. A `max` of 0 is an error
  // (Errc::bad_argument).
  RecvMany<T> recv_many(std::size_t max) const {
    if (max == 0) detail::throw_receives_none();
    return RecvMany<T>(channel(), max);
  }
  // Without waiting; nothing when there is nothing.
  std::optional<T> try_recv() const { return channel().take_if_any(); }

  // No value goes in any more, from whichever sender; what is in the channel is still received.
  void close() const { channel().close(); }
  bool closed() const { return channel().closed(); }
  std::size_t size() const { return channel().size(); }
  std::size_t capacity() const { return channel().capacity(); }
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }

 private:
  void join() noexcept {
    if (state_) state_->add_receiver();
  }
  detail::ChannelState<T>& channel() const {
    if (!state_) [[unlikely]]
      detail::throw_holds_nothing("A receiver");
    return *state_;
  }
  Ref<detail::ChannelState<T>> state_;
};

template <class T>
struct Channel {
  explicit Channel(Ref<detail::ChannelState<T>> state) noexcept
      : sender(state), receiver(std::move(state)) {}
  Sender<T> sender;
  Receiver<T> receiver;
};

// Both halves of a new channel. From anywhere, also outside of any task.
template <class T>
Channel<T> channel(std::size_t capacity) {
  return Channel<T>(Ref<detail::ChannelState<T>>(new detail::ChannelState<T>(capacity)));
}

}  // namespace tiffany
