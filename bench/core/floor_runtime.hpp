// The bare floor: the least that a single-threaded coroutine runtime can do. Frames from free
// lists, a ready queue, join, and nothing else: no cancellation, no exceptions, no ids, no
// accounting. It is what the clock shows when nothing but the mechanism is left.
#pragma once

#include <array>
#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace bare {

// One free list per 16-byte size class, refilled by cutting up large chunks, so that frames made
// one after the other lie one after the other. Memory is never given back.
class FramePool {
 public:
  static void* allocate(std::size_t size) {
    const std::size_t index = class_of(size);
    if (Block* block = free_[index]) {
      free_[index] = block->next;
      return block;
    }
    return cut(index * class_bytes);
  }

  static void release(void* memory, std::size_t size) {
    Block*& head = free_[class_of(size)];
    head = new (memory) Block{head};
  }

 private:
  struct Block {
    Block* next;
  };
  static constexpr std::size_t class_bytes = 16;
  static constexpr std::size_t class_count = 64;
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

  static std::size_t class_of(std::size_t size) {
    const std::size_t index = (size + class_bytes - 1) / class_bytes;
    if (index >= class_count) std::abort();
    return index;
  }

  static void* cut(std::size_t size) {
    if (static_cast<std::size_t>(chunk_end_ - chunk_) < size) {
      chunk_ = static_cast<char*>(std::malloc(chunk_bytes));
      if (chunk_ == nullptr) std::abort();
      chunk_end_ = chunk_ + chunk_bytes;
    }
    return std::exchange(chunk_, chunk_ + size);
  }

  static inline std::array<Block*, class_count> free_{};
  static inline char* chunk_ = nullptr;
  static inline char* chunk_end_ = nullptr;
};

struct PooledFrame {
  static void* operator new(std::size_t size) { return FramePool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) { FramePool::release(memory, size); }
};

// Ready queues hold promises; the intrusive ones link them through `promise.next`.

template <class Promise>
class FifoQueue {
 public:
  void push(Promise* promise) {
    promise->next = nullptr;
    *tail_ = promise;
    tail_ = &promise->next;
  }
  Promise* pop() {
    Promise* promise = head_;
    if (promise == nullptr) return nullptr;
    head_ = promise->next;
    if (head_ == nullptr) tail_ = &head_;
    return promise;
  }

 private:
  Promise* head_ = nullptr;
  Promise** tail_ = &head_;
};

template <class Promise>
class LifoQueue {
 public:
  void push(Promise* promise) { promise->next = std::exchange(head_, promise); }
  Promise* pop() {
    if (head_ == nullptr) return nullptr;
    return std::exchange(head_, head_->next);
  }

 private:
  Promise* head_ = nullptr;
};

// A ring of pointers: who comes next is known without touching the frame before it, so that the
// frames of the next few tasks can be fetched from memory while the present one runs.
template <class Promise>
class RingQueue {
 public:
  // Must come before the first push; capacity never grows.
  void reserve(std::size_t tasks) {
    slots_.assign(std::bit_ceil(tasks + prefetch_ahead + 1), nullptr);
    mask_ = slots_.size() - 1;
  }
  void push(Promise* promise) { slots_[tail_++ & mask_] = promise; }
  Promise* pop() {
    if (head_ == tail_) return nullptr;
    const auto* ahead = reinterpret_cast<const char*>(slots_[(head_ + prefetch_ahead) & mask_]);
    __builtin_prefetch(ahead - frame_header_bytes, 1);
    __builtin_prefetch(ahead + 32, 1);
    return slots_[head_++ & mask_];
  }
  // Puts the tasks into the given order; only before any was popped.
  template <class Order>
  void reorder(const Order& order) {
    const std::vector<Promise*> before = slots_;
    for (std::size_t i = 0; i < order.size(); ++i) slots_[i] = before[order[i]];
  }

 private:
  // A miss costs as long as many yields of warm frames: of 1M shuffled tasks a yield took 29 ns
  // with 3, 17 ns with 8 and 15 ns with 16 ahead.
  static constexpr std::size_t prefetch_ahead = 8;
  // The two function pointers before the promise; a frame spans two cache lines at most.
  static constexpr std::ptrdiff_t frame_header_bytes = 16;

  std::vector<Promise*> slots_;
  std::size_t mask_ = 0;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

// Suspends the running coroutine and puts it at the end of its queue.
struct Yield {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    Promise::ready.push(&self.promise());
  }
  void await_resume() const noexcept {}
};

// Resumes what is ready until nothing is.
template <class Coroutine>
void run() {
  using Promise = typename Coroutine::promise_type;
  while (Promise* promise = Promise::ready.pop()) {
    std::coroutine_handle<Promise>::from_promise(*promise).resume();
  }
}

// A coroutine nobody joins: calling it makes it ready, its end frees it.
template <template <class> class Queue>
struct Job {
  struct promise_type : PooledFrame {
    promise_type* next;
    static inline Queue<promise_type> ready;

    Job get_return_object() {
      ready.push(this);
      return {};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::abort(); }
  };
};

// A coroutine with a result that exactly one other joins: calling it makes it ready, awaiting it
// joins it and frees it. The joiner comes back through the ready queue.
template <template <class> class Queue>
class Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct End {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle self) const noexcept {
      if (promise_type* joiner = self.promise().joiner) promise_type::ready.push(joiner);
    }
    void await_resume() const noexcept {}
  };

  struct promise_type : PooledFrame {
    promise_type* next;
    promise_type* joiner = nullptr;
    std::uint64_t value;
    static inline Queue<promise_type> ready;

    Task get_return_object() {
      ready.push(this);
      return Task{Handle::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    End final_suspend() const noexcept { return {}; }
    void return_value(std::uint64_t result) noexcept { value = result; }
    void unhandled_exception() const noexcept { std::abort(); }
  };

  bool await_ready() const noexcept { return handle_.done(); }
  void await_suspend(Handle joiner) const noexcept { handle_.promise().joiner = &joiner.promise(); }
  std::uint64_t await_resume() const noexcept { return take(); }

  // For whoever is no coroutine: result of a task that has ended.
  std::uint64_t take() const noexcept {
    const std::uint64_t value = handle_.promise().value;
    handle_.destroy();
    return value;
  }

  Task() = default;

 private:
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// A sub-coroutine: starts when awaited and goes straight back to its caller at its end.
class Call {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Return {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle self) const noexcept {
      return self.promise().caller;
    }
    void await_resume() const noexcept {}
  };

  struct promise_type : PooledFrame {
    std::coroutine_handle<> caller;
    int value;

    Call get_return_object() { return Call{Handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Return final_suspend() const noexcept { return {}; }
    void return_value(int result) noexcept { value = result; }
    void unhandled_exception() const noexcept { std::abort(); }
  };

  bool await_ready() const noexcept { return false; }
  Handle await_suspend(std::coroutine_handle<> caller) const noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  int await_resume() const noexcept {
    const int value = handle_.promise().value;
    handle_.destroy();
    return value;
  }

 private:
  explicit Call(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// Lets one waiter through per set(); a set() without a waiter is remembered, once.
template <class Promise>
class AutoResetEvent {
 public:
  void set() {
    if (waiter_ != nullptr) {
      Promise::ready.push(std::exchange(waiter_, nullptr));
    } else {
      set_ = true;
    }
  }

  bool await_ready() noexcept { return std::exchange(set_, false); }
  void await_suspend(std::coroutine_handle<Promise> self) noexcept { waiter_ = &self.promise(); }
  void await_resume() const noexcept {}

 private:
  Promise* waiter_ = nullptr;
  bool set_ = false;
};

}  // namespace bare
