// Graceful shutdown: no new work, time to finish, a cancel with a reason, and an honest report.
//
//   Task<int> program() {
//     spawn(serve_orders);
//     const observe::ShutdownReport report = co_await observe::shut_down_on_signals();
//     log::info(report.text());
//     co_return report.abandoned == 0 ? 0 : 1;
//   }
//
// What it does:
//   1. hosts of durable tasks that are open are closed: their tasks stop where they wait, and go on
//      in the next host. Then spawns into the root scope are refused (SpawnDenied,
//      Limit::shutdown); tasks that a scope belongs to may go on spawning into it;
//   2. tasks have ShutdownOptions::drain, from the beginning of step 1, to finish by themselves;
//      daemons are not waited for;
//   3. whatever is left is cancelled, CancelCause::shutdown with the reason, and has
//      ShutdownOptions::unwind to end;
//   4. what has not ended then is abandoned: Scheduler::run() returns when its turn is over, and
//      the destructor of the scheduler drops it by force.
//
// The task that calls this, and those whose scopes it is in, are not shut down. A second signal, or
// Shutdown::hurry(), ends steps 1 and 2 at once; a third one ends step 3.
//
// Under a virtual clock time does not pass while tasks are ready. There a step also ends when tasks
// have been ready for Shutdown::kRounds rounds.
//
// Cancel of the one who calls. Before start: nothing has happened. While parked: thrown; hosts are
// closed and new work is refused as far as that has come, and the tasks go on. After completion:
// the report is delivered first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/state.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/observe/pal.hpp"

namespace tiffany::observe {

class ShutdownOptions {
 public:
  ShutdownOptions() = default;
  Duration drain = std::chrono::seconds(30);
  Duration unwind = std::chrono::seconds(5);
  std::string reason = "the program is shutting down";
  std::size_t most_listed = 1000;  // tasks in the report by name; all are counted
  Pal* pal = nullptr;              // hears ShutdownBegin and ShutdownComplete
};

struct ShutdownReport {
  struct Line {
    TaskId task{};
    std::string name{};        // empty: it has none
    std::string spawned_at{};  // `shop.cpp:40`
    // Where it was, and what it waited for, when it was cancelled; empty when it finished before.
    std::string place{};
    TaskState state = TaskState::pending;  // in the end; not final: it was abandoned
  };

  std::string reason{};
  std::uint64_t there = 0;      // tasks when it began, but for those that are not shut down
  std::uint64_t spawned = 0;    // tasks that others spawned into their scopes since
  std::uint64_t refused = 0;    // spawns that were denied since
  std::uint64_t finished = 0;   // have completed, or failed
  std::uint64_t failed = 0;     // of those
  std::uint64_t cancelled = 0;  // have ended because of a cancel
  std::uint64_t abandoned = 0;
  Duration took{};
  std::vector<Line> lines{};  // of those that were there, in the order of their slots

  bool adds_up() const noexcept { return there + spawned == finished + cancelled + abandoned; }
  // Sentences: the numbers, then a line for each task that was cancelled or abandoned.
  std::string text() const;
};

class Shutdown {
 public:
  // See above.
  static constexpr std::size_t kRounds = 64;

  explicit Shutdown(ShutdownOptions options = ShutdownOptions());
  ~Shutdown();
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // Once, in a task. The object outlives the call.
  Task<ShutdownReport> run();
  // Ends the step that goes on. On the thread of the scheduler, from another task.
  void hurry() noexcept;
  // Not to be shut down, as the task that calls run().
  void spare(TaskId task) { spared_.push_back(task); }

 private:
  class Wait;
  struct Kept;

  bool is_spared(const TaskRecord& task) const noexcept;
  void look(Scheduler& scheduler);
  // Waits until those tasks have ended, or the step is over. True: they have.
  Task<bool> wait_for_all(Time deadline, bool also_daemons);
  Task<bool> wait_for_each(const std::vector<TaskId>* tasks, Time deadline);
  Task<void> close_first(Time deadline);
  void cancel_all(Scheduler& scheduler);
  ShutdownReport report(Scheduler& scheduler, const Counters& before);

  ShutdownOptions options_;
  std::vector<TaskId> spared_;
  std::vector<Kept> kept_;
  std::uint64_t there_ = 0;
  std::size_t rounds_ = 0;  // under a virtual clock: how often tasks were ready
  bool hurried_ = false;
  Wait* waiting_ = nullptr;
};

Task<ShutdownReport> shut_down(ShutdownOptions options = ShutdownOptions());
// Waits for SIGTERM or SIGINT first.
Task<ShutdownReport> shut_down_on_signals(ShutdownOptions options = ShutdownOptions());

}  // namespace tiffany::observe
