// Back-pressure: when too much is on its way, tasks stop taking in more.
//
//   Pressure pressure(64, 256);          // low and high mark, in whatever unit
//   client.hold_at(pressure);
//   ...
//   pressure.add(1);                     // where work comes into being
//   pressure.remove(1);                  // where it is done
//
// At the high mark the gate closes: reads and accepts on descriptors that are tagged with it are
// not begun any more, and their tasks wait; those under way end as they do. At the low mark it
// opens again, and they go on in the order they came. Between the marks everything stays as it is,
// so that it does not flutter. Writes are never held: they are how the pressure falls.
//
// A task that is held can be cancelled like any other, and closing its descriptor ends the held
// operation with an IoError. The gate must outlive the operations on the descriptors it is given
// to, and belongs to the scheduler of the tasks that use it. Without I/O: co_await pressure.pass().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/core/operation.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"

namespace tiffany {

class Pressure {
 public:
  // Throws Errc::bad_argument unless low < high.
  Pressure(std::size_t low, std::size_t high);
  ~Pressure();
  Pressure(const Pressure&) = delete;
  Pressure& operator=(const Pressure&) = delete;

  void add(std::size_t amount) noexcept;
  // More than there is counts as all there is.
  void remove(std::size_t amount);

  std::size_t level() const noexcept { return level_; }
  bool closed() const noexcept { return closed_; }
  // How often the gate closed, how many operations it has held in all, and how many now.
  std::uint64_t closings() const noexcept { return closings_; }
  std::uint64_t held() const noexcept { return held_; }
  std::size_t waiting() const noexcept { return waiting_count_; }

  // For tasks that take in work in another way than by reading. Cancel. Before start and while
  // held: thrown here. It has no result that could win.
  class Pass;
  Pass pass() noexcept;

  // For operations.
  void hold(Operation& operation) noexcept;
  void let_go(Operation& operation) noexcept;
  // A descriptor that was tagged with `gate` is about to be closed: ends what is held of it. The
  // gate may be gone already.
  static void closing(Pressure* gate, std::uint32_t incarnation) noexcept;

 private:
  void open();
  void end_held(Scheduler& scheduler, std::uint32_t incarnation) noexcept;

  std::size_t low_;
  std::size_t high_;
  std::size_t level_ = 0;
  bool closed_ = false;
  std::uint64_t closings_ = 0;
  std::uint64_t held_ = 0;
  std::size_t waiting_count_ = 0;
  OperationQueue waiting_;
};

class [[nodiscard(
    "pass does nothing until awaited: co_await pressure.pass()")]] Pressure::Pass final
    : public SystemCall,
      private Operation {
 public:
  static constexpr CallName call_name{"pressure"};
  explicit Pass(Pressure& gate) noexcept;
  Answer start(Scheduler& scheduler, TaskRecord& task) noexcept;
  void withdraw(TaskRecord& task) noexcept override;
  void finish() const noexcept {}
  std::string describe() const override;
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::io; }

 private:
  static void on_done(Scheduler& scheduler, Operation& operation) noexcept;
  Pressure& gate_;
  TaskRecord* task_ = nullptr;
};

inline Pressure::Pass Pressure::pass() noexcept { return Pass(*this); }

}  // namespace tiffany
