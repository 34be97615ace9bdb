// A mutex: one task at a time, across suspensions.
//
//   Mutex mutex;
//   auto guard = co_await mutex.lock();
//   co_await write(ledger);                // nobody else is in here meanwhile
//                                          // the guard goes: the next in line has the lock
//
// Tasks of one scheduler take turns where they suspend and nowhere else, so a mutex is only needed
// around what suspends. Whoever lets go hands the lock to the first in line, who has it from then
// on, also before it runs; nobody can slip in between. The owner is the task that asked. When it
// asks again, that is an error (Errc::relock) that names both places, and not a wait for ever.
//
// Reports say who holds a mutex and where it was locked, and find circles of tasks that wait for
// each other's.
//
// Lifetime: a mutex that is destroyed fails those who wait for it with Errc::primitive_gone, and
// leaves its guard empty. Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "tiffany/sync/hold.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class Mutex {
 public:
  class Guard;
  class Lock;

  Mutex() noexcept = default;
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Awaited: a Guard.
  Lock lock(std::source_location site = std::source_location::current()) noexcept;
  // Without waiting; nothing when somebody else has it.
  std::optional<Guard> try_lock(std::source_location site = std::source_location::current());

  bool locked() const noexcept { return !holders_.empty(); }
  // The task that has it; none when nobody has.
  TaskId owner() const noexcept { return locked() ? holders_.first()->task : TaskId(); }

 private:
  template <class P>
  friend class detail::Hold;
  void released(std::size_t) noexcept;

  detail::HoldList holders_;  // one at the most
  WaiterList waiters_;
};

// Has the lock until it goes. May be moved, and then the task that locked still is the owner.
class [[nodiscard("a guard that is dropped unlocks: keep it in a variable")]] Mutex::Guard {
 public:
  Guard() noexcept = default;  // has nothing
  explicit Guard(detail::Hold<Mutex> hold) noexcept : hold_(std::move(hold)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
  // Lets go before the guard does. Nothing happens when it has nothing.
  void unlock() noexcept { hold_.give_back(); }
  // Null when it has nothing.
  Mutex* mutex() const noexcept { return hold_.primitive(); }

 private:
  detail::Hold<Mutex> hold_;
};

// Cancel. Before start: a lock that is free is taken, else Cancelled is thrown. While parked: the
// task leaves the line. After completion: the lock has been handed over and is returned; the next
// suspension throws. A task that is dropped before it goes on lets the next in line have it.
class [[nodiscard(
    "lock does nothing until awaited: auto guard = co_await mutex.lock()")]] Mutex::Lock final
    : public detail::ParkingCall<Lock> {
 public:
  using value_type = Guard;
  static constexpr CallName call_name{"lock"};

  Lock(Mutex& mutex, const std::source_location& site) noexcept : mutex_(&mutex), site_(site) {}
  Lock(Lock&&) noexcept = default;

  bool answer(TaskRecord& asker) {
    if (mutex_->locked()) {
      refuse_owner(asker);
      return false;
    }
    hold_.begin(*mutex_, asker.id(), site_);
    return true;
  }
  void enlist(TaskRecord& asker) noexcept { mutex_->waiters_.push(*this, asker); }
  void leave() noexcept { mutex_->waiters_.remove(*this); }
  Guard finish();
  std::string describe() const override;
  void visit_waits(WaitVisitor& visitor) const override;
  bool needs_all() const noexcept override { return true; }

 private:
  friend class Mutex;
  void refuse_owner(const TaskRecord& asker) const;

  Mutex* mutex_;
  std::source_location site_;
  detail::Hold<Mutex> hold_;
};

inline Mutex::Lock Mutex::lock(std::source_location site) noexcept { return Lock(*this, site); }

}  // namespace tiffany
