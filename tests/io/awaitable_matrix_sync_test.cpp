// Rows of the matrix of awaitables: calls of module sync, and those that are like them.
#include "io/awaitable_matrix.hpp"
#include "tiffany/core/interval.hpp"
#include "tiffany/io/pressure.hpp"
#include "tiffany/sync/barrier.hpp"
#include "tiffany/sync/broadcast.hpp"
#include "tiffany/sync/latch.hpp"
#include "tiffany/sync/rate_limiter.hpp"
#include "tiffany/sync/semaphore.hpp"
#include "tiffany/sync/watch.hpp"

namespace tiffany::matrix {
namespace awaitable_matrix_sync_test {

struct OfRecv {
  static constexpr const char* name = "recv";
  static auto make(Stage& stage) { return stage.values.receiver.recv(); }
  static Task<void> fulfil(Stage& stage) { co_await stage.values.sender.send(1); }
};
struct OfSend {
  static constexpr const char* name = "send";
  static auto make(Stage& stage) { return stage.full.sender.send(1); }
  static Task<void> fulfil(Stage& stage) {
    const auto got = co_await stage.full.receiver.recv();
    EXPECT_EQ(got, 1);
  }
};
struct OfLock {  // its result can only be moved
  static constexpr const char* name = "lock";
  static auto make(Stage& stage) { return stage.mutex.lock(); }
  static Task<void> fulfil(Stage& stage) {
    stage.held.reset();
    co_return;
  }
};
struct OfEvent {
  static constexpr const char* name = "event";
  static auto make(Stage& stage) { return stage.event.wait(); }
  static Task<void> fulfil(Stage& stage) {
    stage.event.set();
    co_return;
  }
};
struct OfSemaphore {
  static constexpr const char* name = "semaphore";
  struct Empty : Extra {
    Semaphore semaphore{1};
    std::optional<Semaphore::Permit> held = semaphore.try_acquire();
  };
  static auto make(Stage& stage) { return stage.extra<Empty>().semaphore.acquire(); }
  static Task<void> fulfil(Stage& stage) {
    stage.extra<Empty>().held.reset();
    co_return;
  }
};
struct OfLatch {
  static constexpr const char* name = "latch";
  struct Closed : Extra {
    Latch latch{1};
  };
  static auto make(Stage& stage) { return stage.extra<Closed>().latch.wait(); }
  static Task<void> fulfil(Stage& stage) {
    stage.extra<Closed>().latch.count_down();
    co_return;
  }
};
struct OfBarrier {
  static constexpr const char* name = "barrier";
  struct ForTwo : Extra {
    Barrier barrier{2};
  };
  static auto make(Stage& stage) { return stage.extra<ForTwo>().barrier.arrive(); }
  static Task<void> fulfil(Stage& stage) {
    static_cast<void>(co_await stage.extra<ForTwo>().barrier.arrive());
  }
};
struct OfWatch {
  static constexpr const char* name = "watch";
  struct Watched : Extra {
    Watch<int> value;
    Watch<int>::Reader reader = value.reader();
  };
  static auto make(Stage& stage) { return stage.extra<Watched>().reader.changed(); }
  static Task<void> fulfil(Stage& stage) {
    stage.extra<Watched>().value.set(1);
    co_return;
  }
};
struct OfBroadcast {
  static constexpr const char* name = "broadcast";
  struct Sent : Extra {
    Broadcast<int> values{2};
    Broadcast<int>::Receiver receiver = values.subscribe();
  };
  static auto make(Stage& stage) { return stage.extra<Sent>().receiver.recv(); }
  static Task<void> fulfil(Stage& stage) {
    stage.extra<Sent>().values.send(1);
    co_return;
  }
};
struct OfRateLimiter {
  static constexpr const char* name = "rate limiter";
  struct Spent : Extra {
    Spent() { EXPECT_TRUE(limiter.try_acquire()); }
    RateLimiter limiter{1, 3ms, 1};
  };
  static auto make(Stage& stage) { return stage.extra<Spent>().limiter.acquire(); }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfInterval {
  static constexpr const char* name = "interval";
  struct Ticks : Extra {
    Interval ticks{3ms};
  };
  static auto make(Stage& stage) { return stage.extra<Ticks>().ticks.next(); }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfPressure {
  static constexpr const char* name = "pressure";
  struct Closed : Extra {
    Closed() { gate.add(1); }
    Pressure gate{0, 1};
  };
  static auto make(Stage& stage) { return stage.extra<Closed>().gate.pass(); }
  static Task<void> fulfil(Stage& stage) {
    stage.extra<Closed>().gate.remove(1);
    co_return;
  }
};

}  // namespace awaitable_matrix_sync_test
using namespace awaitable_matrix_sync_test;

void add_sync_rows(Cells& cells) {
  add_rows<OfRecv, OfSend, OfLock>(cells);
  add_short_rows<OfEvent, OfSemaphore, OfLatch, OfBarrier, OfWatch, OfBroadcast, OfRateLimiter,
                 OfInterval, OfPressure>(cells);
}

}  // namespace tiffany::matrix
