// Lints: tasks in trouble, each with one sentence that says what is wrong and what to do.
//
//   observe::Linter linter(scheduler, &recorder);
//   for (const observe::Lint& lint : linter.scan()) log::warn(lint.text);
//
//   deadlock       tasks that wait for one another in a circle and for nothing else, while others
//                  live
//   hoarder        has waited for long, and others wait for a lock that it holds
//   starved        is ready and does not get the processor
//   stall          one slice was too long
//   busy-yield     most of what it does is to yield
//   never-yielded  ran for very long from its beginning on, and did not give way once
//   lost-wake      what it waits for has come, or nothing is left that could come, in two scans
//   fat-frame      has made a coroutine frame that is larger than a page
//
// starved, stall, busy-yield and never-yielded need a recorder that is on (observe/recorder.hpp);
// without one they are not looked for. A scan looks at every task, and at the events since the scan
// before; of events that the ring has overwritten in between nothing is known. Of fat frames those
// of the last 64 tasks are known, more or less. It decides nothing.
//
// While a task does not give way, no task can look for it: see observe/watchdog.hpp.
//
// Thread safety: none; a linter belongs to the thread of its scheduler, which outlives it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/observe/event_ring.hpp"
#include "tiffany/observe/metrics.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/observe/recorder.hpp"

namespace tiffany::observe {

enum class LintKind : std::uint8_t {
  deadlock,
  hoarder,
  starved,
  stall,
  busy_yield,
  never_yielded,
  lost_wake,
  fat_frame,
};
inline constexpr std::size_t kLintKinds = 8;
// deadlock, hoarder, starved, stall, busy-yield, never-yielded, lost-wake, fat-frame.
std::string_view name_of(LintKind kind) noexcept;

struct Lint {
  LintKind kind = LintKind::deadlock;
  TaskId task{};
  std::string text{};
};

class LintOptions {
 public:
  LintOptions() = default;
  Duration hoarder = std::chrono::seconds(10);        // on the clock of the scheduler
  Duration starved = std::chrono::milliseconds(100);  // on that of the recorder
  Duration stall = std::chrono::milliseconds(50);     // the same
  std::uint64_t busy_yields = 100;                    // since the scan before
  Duration never_yielded = std::chrono::seconds(1);   // on the clock of the recorder
};

class Linter {
 public:
  explicit Linter(const Scheduler& scheduler, const Recorder* recorder = nullptr,
                  LintOptions options = LintOptions());

  // What is the case now, by kind and then by task; what is found by events: since the scan before.
  std::vector<Lint> scan();
  // "2 tasks in trouble: 2 deadlock."; empty when there is none.
  static std::string summary(const std::vector<Lint>& lints);
  // As events of the stage Lint, those of which the scan before did not have one of the same kind
  // for the same task.
  void tell(const std::vector<Lint>& lints, Pal& pal);
  // tiffany_lints_active, as the last scan has found it. The linter outlives the guard.
  Metrics::Collector collect(Metrics& metrics) const;

 private:
  void find_circles(std::vector<Lint>& out) const;
  void find_hoarders(std::vector<Lint>& out) const;
  void find_starved(std::vector<Lint>& out) const;
  void read_events(std::vector<Lint>& out);
  void find_lost_wakes(std::vector<Lint>& out);
  void find_fat_frames(std::vector<Lint>& out) const;

  // A wait that should be over.
  struct Overdue {
    TaskId task;
    const SystemCall* call;
    Time since;
    bool operator==(const Overdue&) const = default;
  };
  const Scheduler& scheduler_;
  const Recorder* recorder_;
  LintOptions options_;
  EventRing none_{1};
  EventReader reader_;
  std::array<std::uint64_t, kLintKinds> active_{};
  std::vector<std::pair<LintKind, TaskId>> told_;
  std::vector<Overdue> overdue_;  // in the scan before
};

}  // namespace tiffany::observe
