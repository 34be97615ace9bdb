// The recorder: level 1 of observing one scheduler, switched on and off at run time.
//
//   observe::Recorder recorder(scheduler);          // off
//   const auto guard = recorder.collect(metrics);   // histograms of run, ready and completion time
//   recorder.start();                               // from now on every transition is an event
//   ...
//   recorder.stop();
//
// While it is on, each transition of a task is written into the event ring
// (observe/event_ring.hpp), and each slice is measured. While it is off, the scheduler runs as if
// there were no recorder. What a program does, its order and its trace hash are the same in both
// cases.
//
// What is lost: nothing that Counters has. Of tasks that were there before start() the recorder
// knows no class and no spawn time until they run; a time that began before start() is not known,
// and is in no histogram. The slice in which start() was called is not told, and of the one in
// which stop() was called only the beginning is.
//
// A class of tasks is those with one name, and of the tasks without a name those that were spawned
// in one place. There are at most RecorderOptions::most_classes; further ones are in the class
// "other".
//
// Time is real time, of the monotonic clock; under a virtual clock that of the scheduler, so that
// tests can compare it. It decides nothing.
//
// Thread safety: none; a recorder belongs to the thread of its scheduler. It may go before or after
// the scheduler. A scheduler has at most one recorder that is on: start() of a second one throws
// Errc::bad_argument.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/detail/core/observer.hpp"
#include "tiffany/detail/world/tick_clock.hpp"
#include "tiffany/observe/event_ring.hpp"
#include "tiffany/observe/metrics.hpp"

namespace tiffany::observe {

class RecorderOptions {
 public:
  RecorderOptions() = default;
  std::size_t events = std::size_t{1} << 16;  // 64 bytes each
  std::size_t most_classes = 100;
  std::function<Duration()> clock{};  // in the place of the one above
};

// Durations in buckets, added up by one thread.
template <std::size_t kBounds>
struct Durations {
  std::array<std::uint64_t, kBounds + 1> in_bucket{};
  std::uint64_t sum_ns = 0;
};

// What is known of the tasks of one class.
struct ClassTimes {
  std::string name{};
  Durations<13> run{};         // a slice
  Durations<13> ready{};       // before a slice
  Durations<17> completion{};  // from the spawn to the end
};

class Recorder final : private tiffany::detail::Observer {
 public:
  explicit Recorder(Scheduler& scheduler, RecorderOptions options = RecorderOptions());
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void start();
  void stop() noexcept;
  bool on() const noexcept { return on_; }

  const EventRing& ring() const noexcept { return ring_; }
  // Null when it is gone.
  Scheduler* scheduler() const noexcept { return scheduler_; }
  // By Event::task_class: [0] is for tasks whose class was not known, [1] is "other".
  const std::vector<ClassTimes>& classes() const noexcept { return classes_; }
  // Now, on the clock of the recorder.
  std::int64_t now() const { return ticks_ ? ticks_->now() : other_now(); }
  // Since when a task is ready; Event::kUnknown when it is not, or that is not known.
  std::int64_t ready_since(TaskId task) const noexcept;
  // task_run_latency_seconds, task_wait_time_seconds, task_completion_latency_seconds by class, and
  // how many events there were. The recorder outlives the guard.
  Metrics::Collector collect(Metrics& metrics) const;

 private:
  // What is known of the task in a slot.
  struct Known {
    TaskId task{};
    std::int64_t spawned = Event::kUnknown;
    std::int64_t ready = Event::kUnknown;   // since when it is
    std::int64_t parked = Event::kUnknown;  // since when it is
    std::uint16_t task_class = 0;
  };
  static constexpr std::uint16_t kOther = 1;

  void admitted(const TaskRecord& task) noexcept override;
  void held(const TaskRecord& task) noexcept override;
  void released(const TaskRecord& task) noexcept override;
  void slice_begins(const TaskRecord& task) noexcept override;
  void slice_ends(const TaskRecord& task, TaskState how) noexcept override;
  void slice_switches(const TaskRecord& from, const TaskRecord& to) noexcept override;
  void parked(const TaskRecord& task, const SystemCall& call, const CallName& name,
              WaitKind kind) noexcept override;
  void woken(const TaskRecord& task, WaitKind kind, bool cancelled) noexcept override;
  void throttled(const TaskRecord& task) noexcept override;
  void cancel_asked(const TaskRecord& task) noexcept override;
  void ended(const TaskRecord& task, TaskState how) noexcept override;
  void denied(SpawnDenied::Limit limit) noexcept override;
  void scheduler_gone() noexcept override;

  Known& known(TaskId task) noexcept {
    const std::size_t slot = task.slot() - 1;
    if (slot < slots_ && tasks_[slot].task == task) [[likely]]
      return tasks_[slot];
    return unknown(task);
  }
  std::uint16_t class_of(const TaskRecord& task) noexcept;
  std::uint16_t class_named(std::string_view name);
  std::int64_t other_now() const;
  // Each member is written once: half of a slice is this.
  static void fill(Event& made, EventKind kind, TaskId task, std::uint16_t task_class,
                   std::int64_t at, std::int64_t duration, unsigned detail,
                   std::uint32_t ready) noexcept;
  Event& event(EventKind kind, TaskId task, const Known& of, std::int64_t at) noexcept;
  Known& unknown(TaskId task) noexcept;
  // `ready`: how many tasks are, after this.
  void begin_slice(Event& made, const TaskRecord& task, std::int64_t at,
                   std::uint32_t ready) noexcept;
  void end_slice(Event& made, const TaskRecord& task, TaskState how, std::int64_t at,
                 std::uint32_t ready) noexcept;

  Scheduler* scheduler_;
  RecorderOptions options_;
  // None: the clock of the options, or the time of the scheduler. Reading the clock changes only
  // what the clock knows of its rate.
  mutable std::optional<tiffany::detail::TickClock> ticks_;
  EventRing ring_;
  bool on_ = false;
  std::uint32_t ready_ = 0;    // how many tasks are
  TaskId running_{};           // whose slice was seen to begin
  std::int64_t begun_ = 0;     // when it did
  bool first_ = false;         // it is the first one of its task
  std::int64_t stopped_ = -1;  // when the slice before ended, in this turn
  Time turn_{};                // the time of the scheduler then
  std::vector<Known> tasks_;   // by slots,
  std::size_t slots_ = 0;      // of which there are so many
  Known nowhere_;              // for a task that there was no memory for
  std::vector<ClassTimes> classes_;
  std::unordered_map<std::string, std::uint16_t> names_;
  struct Place {
    const char* file = nullptr;
    std::uint32_t line = 0;
    std::uint16_t task_class = 0;
  };
  std::array<Place, 256> places_{};  // classes by where tasks were spawned, found by a hash
};

}  // namespace tiffany::observe
