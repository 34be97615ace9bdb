// A semaphore: so many permits, which tasks take and give back.
//
//   Semaphore printers(2);
//   auto permit = co_await printers.acquire();   // or acquire(2)
//                                                // the permit goes: the next in line has it
//
// Served in the order they came: whoever asks for many is not overtaken by those who ask for few.
// Permits are handed over by whoever gives them back, so nobody can slip in between.
//
// Lifetime: a semaphore that is destroyed fails those who wait for it with Errc::primitive_gone,
// and leaves its permits empty. Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "tiffany/sync/hold.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class Semaphore {
 public:
  class Permit;
  class Acquire;

  // None is an error (Errc::bad_argument).
  explicit Semaphore(std::size_t permits);
  ~Semaphore();
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Awaited: a Permit for so many. None, or more than there are, is an error (Errc::bad_argument).
  Acquire acquire(std::size_t count = 1,
                  std::source_location site = std::source_location::current());
  // Without waiting; nothing when too few are free, or somebody is in line.
  std::optional<Permit> try_acquire(std::size_t count = 1,
                                    std::source_location site = std::source_location::current());

  std::size_t available() const noexcept { return free_; }
  std::size_t permits() const noexcept { return all_; }

 private:
  template <class P>
  friend class detail::Hold;
  bool has(std::size_t count) const noexcept { return waiters_.empty() && count <= free_; }
  void check(std::size_t count) const;
  void give(detail::Hold<Semaphore>& hold, std::size_t count, TaskId to,
            const std::source_location& site) noexcept {
    free_ -= count;
    hold.begin(*this, to, site, count);
  }
  void released(std::size_t count) noexcept;
  void admit() noexcept;

  const std::size_t all_;
  std::size_t free_;
  detail::HoldList holders_;
  WaiterList waiters_;
};

// Has its permits until it goes. May be moved.
class [[nodiscard(
    "a permit that is dropped is given back: keep it in a variable")]] Semaphore::Permit {
 public:
  Permit() noexcept = default;  // has nothing
  explicit Permit(detail::Hold<Semaphore> hold) noexcept : hold_(std::move(hold)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
  // Gives them back before the permit goes. Nothing happens when it has none.
  void release() noexcept { hold_.give_back(); }
  std::size_t count() const noexcept { return hold_.count(); }

 private:
  detail::Hold<Semaphore> hold_;
};

// Cancel. Before start: permits that are free are taken, else Cancelled is thrown. While parked:
// the task leaves the line, and those behind it go on if it was all they waited for. After
// completion: the permits have been handed over and are returned; the next suspension throws. A
// task that is dropped before it goes on lets the next in line have them.
class [[nodiscard(
    "acquire does nothing until awaited: auto permit = co_await s.acquire()")]] Semaphore::
    Acquire final : public detail::ParkingCall<Acquire> {
 public:
  using value_type = Permit;
  static constexpr CallName call_name{"acquire"};

  Acquire(Semaphore& semaphore, std::size_t count, const std::source_location& site) noexcept
      : semaphore_(&semaphore), count_(count), site_(site) {}
  Acquire(Acquire&&) noexcept = default;

  bool answer(TaskRecord& asker) noexcept {
    if (!semaphore_->has(count_)) return false;
    semaphore_->give(hold_, count_, asker.id(), site_);
    return true;
  }
  void enlist(TaskRecord& asker) noexcept { semaphore_->waiters_.push(*this, asker); }
  void leave() noexcept { semaphore_->waiters_.remove(*this); }
  void pass_on() noexcept { semaphore_->admit(); }
  Permit finish();
  std::string describe() const override;
  void visit_waits(WaitVisitor& visitor) const override;

 private:
  friend class Semaphore;
  Semaphore* semaphore_;
  std::size_t count_;
  std::source_location site_;
  detail::Hold<Semaphore> hold_;
};

}  // namespace tiffany
