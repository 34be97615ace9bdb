// What has happened in a scheduler since it was made, in numbers: scheduler.counters().
//
// Each transition of a task happens in one function of the scheduler, which counts it. Reading the
// numbers costs time in proportion to the number of priorities, not of tasks.
#pragma once

#include <cstdint>

#include "tiffany/core/wait_kind.hpp"

namespace tiffany {

struct Counters {
  // ---- Transitions of tasks ----
  std::uint64_t admitted = 0;   // spawned
  std::uint64_t runs = 0;       // how often a task was given the processor
  std::uint64_t parks = 0;      // waits that began
  std::uint64_t wakes = 0;      // waits that ended because what was awaited came
  std::uint64_t cancels = 0;    // tasks that were asked to stop while they lived
  std::uint64_t withdrawn = 0;  // waits that a cancel ended
  std::uint64_t yields = 0;     // calls of yield()
  std::uint64_t completed = 0;  // ends
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;

  // ---- By what was waited for, indexed by WaitKind ----
  std::uint64_t parks_by[kWaitKinds] = {};      // adds up to parks
  std::uint64_t wakes_by[kWaitKinds] = {};      // adds up to wakes
  std::uint64_t withdrawn_by[kWaitKinds] = {};  // adds up to withdrawn
  // Tasks that wait now; with `held`, what is neither ready nor running.
  std::uint64_t waiting[kWaitKinds] = {};
  std::uint64_t held = 0;  // tasks that come after others, which have not ended (spawn.after)

  // ---- What a watcher wants to know of ----
  std::uint64_t throttled = 0;  // a task spent its quantum and had to let others go first
  std::uint64_t denied = 0;     // a spawn was denied because of a limit
  std::uint64_t hogs = 0;       // a slice took longer than Options::watch says
  std::uint64_t spinners = 0;   // more calls without a wait than Options::watch_steps says
  std::uint64_t unseen_failures =
      0;                           // failures that were reported because nobody had looked at them
  std::uint64_t circles = 0;       // closed circles of waits (Options::circles)
  std::uint64_t quiet_spells = 0;  // everything waited for outside (Options::quiet_limit)
  std::uint64_t lost_log_lines = 0;  // the sink of the log (Options::log_to) threw
};

}  // namespace tiffany
