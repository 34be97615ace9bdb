// A shared mutex: any number of readers, or one writer.
//
//   SharedMutex mutex;
//   auto reading = co_await mutex.lock_shared();
//   auto writing = co_await mutex.lock();
//
// Served in the order they came, readers next to each other in the line together. A reader that
// comes while a writer waits stands behind the writer, so neither kind starves the other. A task
// that asks for what it would have to wait for itself to give back gets an error (Errc::relock)
// that names both places: for anything while it writes, for writing while it reads, and for reading
// once more when a writer has come in between.
//
// Lifetime: a shared mutex that is destroyed fails those who wait for it with Errc::primitive_gone,
// and leaves its guards empty. Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "tiffany/sync/hold.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class SharedMutex {
 public:
  // What a lock is for.
  enum class Access : bool { shared, exclusive };
  template <Access kAccess>
  class BasicGuard;
  template <Access kAccess>
  class BasicLock;
  using Guard = BasicGuard<Access::exclusive>;
  using SharedGuard = BasicGuard<Access::shared>;
  using Lock = BasicLock<Access::exclusive>;
  using LockShared = BasicLock<Access::shared>;

  SharedMutex() noexcept = default;
  ~SharedMutex();
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  // Awaited: a Guard, a SharedGuard.
  Lock lock(std::source_location site = std::source_location::current()) noexcept;
  LockShared lock_shared(std::source_location site = std::source_location::current()) noexcept;
  // Without waiting; nothing when that is not possible.
  std::optional<Guard> try_lock(std::source_location site = std::source_location::current());
  std::optional<SharedGuard> try_lock_shared(
      std::source_location site = std::source_location::current());

  bool locked() const noexcept { return written_; }
  std::size_t readers() const noexcept { return readers_; }

 private:
  template <class P>
  friend class detail::Hold;
  class Waiting;

  bool free_for(Access access) const noexcept {
    return !written_ && (access == Access::shared || readers_ == 0);
  }
  void give(detail::Hold<SharedMutex>& hold, Access access, TaskId to,
            const std::source_location& site) noexcept;
  template <Access kAccess>
  std::optional<BasicGuard<kAccess>> try_now(const std::source_location& site);
  void refuse_holder(const TaskRecord& asker, const std::source_location& site) const;
  // A hold counts as one reader, or as none when it is the writer's.
  void released(std::size_t readers) noexcept;
  void admit() noexcept;

  std::size_t readers_ = 0;
  bool written_ = false;
  bool closing_ = false;
  detail::HoldList holders_;
  WaiterList waiters_;
};

// Has the lock until it goes. May be moved, and then the task that locked still is the owner.
template <SharedMutex::Access kAccess>
class [[nodiscard("a guard that is dropped unlocks: keep it in a variable")]]
SharedMutex::BasicGuard {
 public:
  BasicGuard() noexcept = default;  // has nothing
  explicit BasicGuard(detail::Hold<SharedMutex> hold) noexcept : hold_(std::move(hold)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
  // Lets go before the guard does. Nothing happens when it has nothing.
  void unlock() noexcept { hold_.give_back(); }

 private:
  detail::Hold<SharedMutex> hold_;
};

// The part of a lock that does not depend on what it is for.
class SharedMutex::Waiting : public detail::ParkingCall<Waiting> {
 public:
  bool answer(TaskRecord& asker);
  void enlist(TaskRecord& asker) noexcept { mutex_->waiters_.push(*this, asker); }
  void leave() noexcept { mutex_->waiters_.remove(*this); }
  void pass_on() noexcept { mutex_->admit(); }
  std::string describe() const override;
  void visit_waits(WaitVisitor& visitor) const override;
  bool needs_all() const noexcept override { return true; }

 protected:
  Waiting(SharedMutex& mutex, Access access, const std::source_location& site) noexcept
      : mutex_(&mutex), site_(site), access_(access) {}
  Waiting(Waiting&&) noexcept = default;
  ~Waiting() = default;
  detail::Hold<SharedMutex> take();

 private:
  friend class SharedMutex;
  SharedMutex* mutex_;
  std::source_location site_;
  detail::Hold<SharedMutex> hold_;
  Access access_;
};

// Cancel. Before start: a lock that is free is taken, else Cancelled is thrown. While parked: the
// task leaves the line, and those behind it go on if it was all they waited for. After completion:
// the lock has been handed over and is returned; the next suspension throws. A task that is dropped
// before it goes on lets the next in line have it.
template <SharedMutex::Access kAccess>
class [[nodiscard("a lock does nothing until awaited: auto guard = co_await mutex.lock()")]]
SharedMutex::BasicLock final : public SharedMutex::Waiting {
 public:
  using value_type = BasicGuard<kAccess>;
  static constexpr CallName call_name{kAccess == Access::shared ? "lock_shared" : "lock_exclusive"};

  BasicLock(SharedMutex& mutex, const std::source_location& site) noexcept
      : Waiting(mutex, kAccess, site) {}
  BasicLock(BasicLock&&) noexcept = default;
  value_type finish() { return value_type(take()); }
};

inline SharedMutex::Lock SharedMutex::lock(std::source_location site) noexcept {
  return Lock(*this, site);
}
inline SharedMutex::LockShared SharedMutex::lock_shared(std::source_location site) noexcept {
  return LockShared(*this, site);
}

}  // namespace tiffany
