// A condition: waits, with a mutex let go meanwhile, until another task says that something
// changed.
//
//   auto guard = co_await mutex.lock();
//   co_await condition.wait(guard, [&] { return !queue.empty(); });
//   // here the guard has the lock again, and the queue is not empty
//
// The lock is let go and taken again by wait(); between a look at what the mutex protects and the
// wait nobody can slip in. Those who wait are notified in the order they came, and then stand in
// line for the mutex like everybody else: use the form with a predicate, or look again. Nobody is
// woken without having been notified. In a single-threaded program most conditions are better
// written as a ManualResetEvent, a Latch or a channel.
//
// Cancel. Before start: Cancelled is thrown, and the lock is not let go. While parked: the wait is
// withdrawn, the lock is taken again (a cancel does not hold that up), and then Cancelled is
// thrown. After completion: it was notified; the lock is taken again, and the next suspension
// throws. A notification that comes to a task which is dropped before it goes on is passed to the
// next.
//
// Lifetime: a condition that is destroyed fails those who wait for it with Errc::primitive_gone,
// after they have the lock again. The mutex must outlive the wait: when it does not, the error of
// the lock is thrown, and an error that ended the wait before is reported to the log. Thread
// safety: none.
#pragma once

#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/engine/task.hpp"
#include "tiffany/sync/mutex.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class Condition {
 public:
  Condition() noexcept = default;
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  // A guard that has nothing is an error (Errc::holds_nothing).
  Task<void> wait(Mutex::Guard& guard, std::source_location site = std::source_location::current());
  // Until the predicate holds; it is only asked while the guard has the lock.
  template <class Predicate>
  Task<void> wait(Mutex::Guard& guard, Predicate&& holds,
                  std::source_location site = std::source_location::current()) {
    static_assert(!detail::owns_captures<Predicate>(),
                  "a predicate captures by reference: write [&], or keep it in a variable and pass "
                  "that (GCC 12 destroys owning captures twice in an awaited expression)");
    return wait_until<std::decay_t<Predicate>>(guard, std::forward<Predicate>(holds), site);
  }

  void notify_one() noexcept;
  void notify_all() noexcept;

 private:
  class Park;
  template <class Predicate>
  Task<void> wait_until(Mutex::Guard& guard, Predicate holds, std::source_location site) {
    while (!holds()) co_await wait(guard, site);
  }

  WaiterList waiters_;
  WaiterList notified_;  // by notify_one(), and have not gone on yet
};

}  // namespace tiffany
