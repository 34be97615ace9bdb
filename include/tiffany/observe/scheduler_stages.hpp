// Scheduler stages in PAL: what the tasks of a scheduler do, for whoever subscribes to `sched`.
//
//   spawn(observe::tell_stages, &recorder, &pal, 20ms).daemon();
//
// Reads the event ring of the recorder at intervals and emits Spawn, Yield, BudgetThrottle, Sleep,
// IoWait, JoinWait, EventWait, Wake, Done, Panic, Cancelled and SpawnDenied (docs/19-observing.md).
// While nobody subscribes to `sched` the recorder is off, unless somebody else has started it, and
// nothing is emitted. What the ring overwrites between two looks is counted in PAL as a Lint of the
// runtime, with the number.
//
// What the telling task itself does is not told; what the tasks of subscribers do is, each time.
#pragma once

#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/observe/recorder.hpp"

namespace tiffany::observe {

// Ends when it is cancelled, which is thrown between two looks. Both outlive the call.
Task<void> tell_stages(Recorder* recorder, Pal* pal, Duration every);

// One event as PAL tells it; false when it has no stage (run, throttle, stop before a wait or an
// end, hold, release, and a cancel, which is told when the task ends).
bool tell_stage(const Event& event, Pal& pal);

}  // namespace tiffany::observe
