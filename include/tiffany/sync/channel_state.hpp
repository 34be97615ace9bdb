// What the two halves of a channel share, and the queues of those who wait at either end.
// Everything that users see is in sync/channel.hpp.
//
// Values are numbered in the order they came in. Those that nobody has taken lie in a ring. At any
// time one of these holds:
//   - receivers wait, and there is no value;
//   - senders wait, each with its value, and the ring is full (or there is none, capacity 0);
//   - nobody waits.
// So a value is handed to a waiting receiver at once, without the ring, and a value of a waiting sender
// goes into the ring as soon as one was taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/base/ref.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany::detail {

// The part that knows nothing of the values.
class ChannelCore {
 public:
  ChannelCore(const ChannelCore&) = delete;
  ChannelCore& operator=(const ChannelCore&) = delete;

  // Halves and calls that have begun keep it.
  void add_ref() noexcept { ++refs_; }
  void release() noexcept {
    if (--refs_ == 0) delete this;
  }

  void add_sender() noexcept { ++senders_; }
  void add_receiver() noexcept { ++receivers_; }
  void drop_sender() noexcept;
  void drop_receiver() noexcept;
  void close() noexcept;

  bool has_receivers() const noexcept { return receivers_ > 0; }
  // No value can go in any more.
  bool closed() const noexcept { return closed_ || senders_ == 0 || receivers_ == 0; }
  std::size_t capacity() const noexcept { return capacity_; }

  std::string describe_send() const;
  std::string describe_recv() const;

  WaiterList sending;
  WaiterList receiving;

 protected:
  ChannelCore(std::size_t capacity, std::size_t value_size);
  virtual ~ChannelCore() = default;
  // Nobody can receive any more.
  virtual void drop_values() noexcept = 0;

  std::uint64_t head_ = 0;  // the number of the oldest value in the ring
  std::uint64_t tail_ = 0;  // the number that the next value gets
  std::size_t room_;        // how many values may be in the ring: none when closed
  std::size_t mask_;
  std::size_t capacity_;

 private:
  void stop_senders() noexcept;

  std::size_t refs_ = 0;
  std::size_t senders_ = 0;
  std::size_t receivers_ = 0;
  bool closed_ = false;
};

// A send, as the channel knows it.
template <class T>
class SendCall : public SyncCall {
 public:
  T* offered = nullptr;  // while parked

 protected:
  SendCall() noexcept = default;
  SendCall(SendCall&&) noexcept = default;
  ~SendCall() = default;
};

template <class T>
class ChannelState;

// A receive, as the channel knows it. A value that has been handed to a call whose task is dropped before
// it goes on, as can happen when its scheduler is destroyed, goes back to where it was.
template <class T>
class RecvCall : public SyncCall {
 public:
  std::optional<T> value;
  std::uint64_t number = 0;

 protected:
  explicit RecvCall(Ref<ChannelState<T>> state) noexcept : state_(std::move(state)) {}
  RecvCall(RecvCall&&) noexcept = default;
  ~RecvCall() {
    if (value) state_->give_back(*this);
  }

  Ref<ChannelState<T>> state_;
};

template <class T>
class ChannelState final : public ChannelCore {
 public:
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "a channel moves its values from task to task, which must not fail: make the move "
                "constructor noexcept, or send a std::unique_ptr");

  explicit ChannelState(std::size_t capacity)
      : ChannelCore(capacity, sizeof(T)), slots_(std::allocator<T>().allocate(mask_ + 1)) {}

  std::size_t size() const noexcept {
    std::size_t count = static_cast<std::size_t>(tail_ - head_);
    for (const Returned* at = returned_; at != nullptr; at = at->next) ++count;
    return count;
  }

  // Moves the value in, if there is room for it or somebody to take it.
  bool put(T& value) noexcept {
    if (tail_ - head_ < room_ && receiving.empty()) [[likely]] {
      std::construct_at(slot(tail_), std::move(value));
      ++tail_;
      return true;
    }
    return hand_over(value);
  }

  // Moves the oldest value out, if there is one.
  bool take(RecvCall<T>& into) noexcept {
    if (head_ != tail_ && returned_ == nullptr) [[likely]] {
      T& oldest = *slot(head_);
      into.value.emplace(std::move(oldest));
      std::destroy_at(&oldest);
      into.number = head_++;
      if (!sending.empty()) [[unlikely]]
        let_sender_in();
      return true;
    }
    return take_back(into) || take_from_sender(into);
  }

  void give_back(RecvCall<T>& from) noexcept;

 private:
  struct Returned {
    Returned(T v, std::uint64_t n, Returned* after) noexcept
        : value(std::move(v)), number(n), next(after) {}
    T value;
    std::uint64_t number;
    Returned* next;
  };

  ~ChannelState() { std::allocator<T>().deallocate(slots_, mask_ + 1); }
  T* slot(std::uint64_t number) const noexcept { return slots_ + (number & mask_); }
  void give(Waiter& receiver, T& value, std::uint64_t number) noexcept {
    auto& call = static_cast<RecvCall<T>&>(receiver);
    call.value.emplace(std::move(value));
    call.number = number;
    arrived(receiver);
  }
  [[gnu::noinline]] bool hand_over(T& value) noexcept;
  [[gnu::noinline]] void let_sender_in() noexcept;
  [[gnu::noinline]] bool take_back(RecvCall<T>& into) noexcept;
  [[gnu::noinline]] bool take_from_sender(RecvCall<T>& into) noexcept;
  void drop_values() noexcept override;

  T* slots_;
  Returned* returned_ = nullptr;  // what came back from tasks that were dropped, the oldest first
};

template <class T>
bool ChannelState<T>::hand_over(T& value) noexcept {
  Waiter* const receiver = receiving.pop();
  if (receiver == nullptr) return false;
  ++head_;
  give(*receiver, value, tail_++);
  return true;
}

template <class T>
void ChannelState<T>::let_sender_in() noexcept {
  Waiter* const sender = sending.pop();
  std::construct_at(slot(tail_), std::move(*static_cast<SendCall<T>*>(sender)->offered));
  ++tail_;
  arrived(*sender);
}

template <class T>
bool ChannelState<T>::take_from_sender(RecvCall<T>& into) noexcept {
  Waiter* const sender = sending.pop();
  if (sender == nullptr) return false;
  into.value.emplace(std::move(*static_cast<SendCall<T>*>(sender)->offered));
  into.number = tail_++;
  ++head_;
  arrived(*sender);
  return true;
}

template <class T>
void ChannelState<T>::give_back(RecvCall<T>& from) noexcept {
  if (!has_receivers()) return;
  if (Waiter* receiver = receiving.pop()) return give(*receiver, *from.value, from.number);
  Returned** place = &returned_;
  while (*place != nullptr && (*place)->number < from.number) place = &(*place)->next;
  *place = new Returned(std::move(*from.value), from.number, *place);
}

template <class T>
bool ChannelState<T>::take_back(RecvCall<T>& into) noexcept {
  if (returned_ == nullptr) return false;
  const std::unique_ptr<Returned> oldest(std::exchange(returned_, returned_->next));
  into.value.emplace(std::move(oldest->value));
  into.number = oldest->number;
  return true;
}

// One by one, and each out of the channel before it is destroyed: it may own a half of this channel.
template <class T>
void ChannelState<T>::drop_values() noexcept {
  while (returned_ != nullptr) {
    const std::unique_ptr<Returned> oldest(std::exchange(returned_, returned_->next));
  }
  while (head_ != tail_) {
    T& oldest = *slot(head_++);
    [[maybe_unused]] const T dropped(std::move(oldest));
    std::destroy_at(&oldest);
  }
}

}  // namespace tiffany::detail
