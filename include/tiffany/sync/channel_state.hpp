// What the two halves of a channel share, and the queues of those who wait at either end.
// Everything that users see is in sync/channel.hpp.
//
// Values are numbered in the order they came in. Those that nobody has taken lie in a ring. At any
// time one of these holds:
//   - receivers wait, and there is no value;
//   - senders wait, each with its value, and the ring is full (or there is none, capacity 0);
//   - nobody waits.
// So a value is handed to a waiting receiver at once, without the ring, and a value of a waiting
// sender goes into the ring as soon as one was taken out.
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
  T* offered;  // while parked

 protected:
  SendCall() noexcept = default;
  SendCall(SendCall&&) noexcept = default;
  ~SendCall() = default;
};

template <class T>
class ChannelState;

// A receive, as the channel knows it. It has a value in two ways. Answered inline, it finds the
// value in the ring when it finishes. Otherwise the value was given to it before; and when its task
// is dropped before it goes on, as can happen while its scheduler is destroyed, the value goes back
// to where it was.
template <class T>
class RecvCall : public SyncCall {
 public:
  bool answer_inline() noexcept { return state_->has_value_inline(); }
  bool begin() noexcept {
    state_->add_ref();  // until the end: what was given may have to go back
    stage_ = Stage::waiting;
    if (state_->give_oldest(*this)) return true;
    if (!state_->closed()) return false;
    stage_ = Stage::ended;
    return true;
  }
  // From the channel.
  void give(T& value, std::uint64_t number) noexcept {
    std::construct_at(std::addressof(value_), std::move(value));
    number_ = number;
    stage_ = Stage::arrived;
  }

 protected:
  explicit RecvCall(ChannelState<T>& state) noexcept : state_(&state) {}
  RecvCall(RecvCall&& other) noexcept : state_(other.state_) {}
  ~RecvCall() {
    if (stage_ != Stage::fresh) [[unlikely]]
      end();
  }

  bool has_value() const noexcept { return stage_ == Stage::fresh || stage_ == Stage::arrived; }
  // How many values it was given: none when it was answered inline.
  std::size_t taken() const noexcept { return stage_ == Stage::arrived ? 1 : 0; }
  T take() noexcept {
    if (stage_ == Stage::fresh) [[likely]]
      return state_->take_inline();
    T value(std::move(value_));
    std::destroy_at(std::addressof(value_));
    stage_ = Stage::waiting;
    return value;
  }

  ChannelState<T>* state_;

 private:
  [[gnu::noinline]] void end() noexcept {
    if (stage_ == Stage::arrived) {
      state_->take_back(value_, number_);
      std::destroy_at(std::addressof(value_));
    }
    state_->release();
  }

  std::uint64_t number_;
  union {
    T value_;
  };
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

  // Moves a value in, where that is nothing but a store.
  bool put_inline(T& value) noexcept {
    if (tail_ - head_ >= room_ || !receiving.empty()) [[unlikely]]
      return false;
    std::construct_at(slot(tail_), std::move(value));
    ++tail_;
    return true;
  }
  // Moves a value in, if there is room for it or somebody to take it.
  bool put(T& value) noexcept { return put_inline(value) || hand_over(value); }

  // There is a value, and taking it is nothing but a load.
  bool has_value_inline() const noexcept {
    return head_ != tail_ && sending.empty() && returned_ == nullptr;
  }
  T take_inline() noexcept {
    T& oldest = *slot(head_);
    ++head_;
    T value(std::move(oldest));
    std::destroy_at(&oldest);
    return value;
  }
  // Gives the oldest value away, if there is one, with its number.
  template <class To>
  bool give_oldest(To& to) noexcept;
  std::optional<T> take_if_any() noexcept {
    struct {
      void give(T& value, std::uint64_t) noexcept { taken.emplace(std::move(value)); }
      std::optional<T> taken;
    } to;
    give_oldest(to);
    return std::move(to.taken);
  }
  // A value that had been given to a call comes back.
  void take_back(T& value, std::uint64_t number) noexcept;

 private:
  struct Returned {
    Returned(T v, std::uint64_t n, Returned* after) noexcept
        : value(std::move(v)), number(n), next(after) {}
    T value;
    std::uint64_t number;
    Returned* next;
  };

  ~ChannelState() override { std::allocator<T>().deallocate(slots_, mask_ + 1); }
  T* slot(std::uint64_t number) const noexcept { return slots_ + (number & mask_); }
  static T& offered_by(Waiter& sender) noexcept {
    return *static_cast<SendCall<T>&>(sender).offered;
  }
  void hand(Waiter& receiver, T& value, std::uint64_t number) noexcept {
    static_cast<RecvCall<T>&>(receiver).give(value, number);
    arrived(receiver);
  }
  bool hand_over(T& value) noexcept;
  void drop_values() noexcept override;

  T* slots_;
  Returned* returned_ = nullptr;  // what came back from tasks that were dropped, the oldest first
};

template <class T>
bool ChannelState<T>::hand_over(T& value) noexcept {
  Waiter* const receiver = receiving.pop();
  if (receiver == nullptr) return false;
  ++head_;
  hand(*receiver, value, tail_++);
  return true;
}

template <class T>
template <class To>
bool ChannelState<T>::give_oldest(To& to) noexcept {
  if (returned_ != nullptr) {
    const std::unique_ptr<Returned> oldest(std::exchange(returned_, returned_->next));
    to.give(oldest->value, oldest->number);
    return true;
  }
  if (head_ != tail_) {
    const std::uint64_t number = head_;
    T oldest = take_inline();
    to.give(oldest, number);
    if (Waiter* sender = sending.pop()) {
      std::construct_at(slot(tail_), std::move(offered_by(*sender)));
      ++tail_;
      arrived(*sender);
    }
    return true;
  }
  if (Waiter* sender = sending.pop()) {  // there is no ring
    ++head_;
    to.give(offered_by(*sender), tail_++);
    arrived(*sender);
    return true;
  }
  return false;
}

template <class T>
void ChannelState<T>::take_back(T& value, std::uint64_t number) noexcept {
  if (!has_receivers()) return;
  if (Waiter* receiver = receiving.pop()) return hand(*receiver, value, number);
  Returned** place = &returned_;
  while (*place != nullptr && (*place)->number < number) place = &(*place)->next;
  *place = new Returned(std::move(value), number, *place);
}

// One by one, and each out of the channel before it is destroyed: it may own a half of this
// channel.
template <class T>
void ChannelState<T>::drop_values() noexcept {
  while (returned_ != nullptr) {
    const std::unique_ptr<Returned> oldest(std::exchange(returned_, returned_->next));
  }
  while (head_ != tail_) static_cast<void>(take_inline());
}

}  // namespace tiffany::detail
