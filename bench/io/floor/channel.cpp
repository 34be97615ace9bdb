// The least that a channel can be: a ring, one who may wait at either end, and the ready queue.
#include "channel.hpp"

#include <array>
#include <coroutine>
#include <utility>

#include "core/floor_runtime.hpp"
#include "row.hpp"

namespace {

using Job = bare::Job<bare::FifoQueue>;
using Promise = Job::promise_type;

class Ring {
 public:
  struct Send {
    Ring& ring;
    std::uint64_t value;
    bool await_ready() const noexcept { return ring.tail_ - ring.head_ < channel_row::kCapacity; }
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      ring.sender_ = &self.promise();
    }
    void await_resume() const noexcept {
      ring.slots_[ring.tail_++ % channel_row::kCapacity] = value;
      wake(ring.receiver_);
    }
  };
  struct Receive {
    Ring& ring;
    bool await_ready() const noexcept { return ring.tail_ != ring.head_; }
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      ring.receiver_ = &self.promise();
    }
    std::uint64_t await_resume() const noexcept {
      const std::uint64_t value = ring.slots_[ring.head_++ % channel_row::kCapacity];
      wake(ring.sender_);
      return value;
    }
  };
  Send send(std::uint64_t value) noexcept { return Send{*this, value}; }
  Receive receive() noexcept { return Receive{*this}; }

 private:
  static void wake(Promise*& waiting) noexcept {
    if (waiting != nullptr) Promise::ready.push(std::exchange(waiting, nullptr));
  }

  std::array<std::uint64_t, channel_row::kCapacity> slots_{};
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  Promise* sender_ = nullptr;
  Promise* receiver_ = nullptr;
};

Job produce(Ring& ring, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) co_await ring.send(i);
}

Job consume(Ring& ring, std::uint64_t count, std::uint64_t& sum) {
  for (std::uint64_t i = 0; i < count; ++i) sum += co_await ring.receive();
}

double ns_per_message(const bench::Suite& suite) {
  const std::uint64_t count = channel_row::messages(suite);
  Ring ring;
  std::uint64_t sum = 0;
  const double ns = bench::cpu_ns_of([&] {
    produce(ring, count);
    consume(ring, count, sum);
    bare::run<Job>();
  });
  bench::check(sum == channel_row::sum_of(count), "nothing is lost");
  return ns / static_cast<double>(count);
}

const bench::Row row("channel", "ns", bench::Weight::light, ns_per_message);

}  // namespace
