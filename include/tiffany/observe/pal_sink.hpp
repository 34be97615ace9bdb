// Sinks of PAL: what gives events (observe/pal.hpp) to something outside, one after the other.
//
//   observe::PalLogSink log;
//   spawn(observe::feed, &pal, &log, &counts, PalFilter(), PalSinkOptions()).daemon();
//
// A sink that throws, hangs or is absent changes nothing but a counter: each frame is given to it
// once, for at most a limit; meanwhile further events wait in the queue of its subscription, and
// the oldest are dropped when that is full (the sink is told by a frame of type lagged). Whoever
// emits never waits.
//
// Readers that connect by themselves are served by observe/pal_socket.hpp instead.
//
// Thread safety: none; a sink belongs to the thread of its scheduler.
#pragma once

#include <cstdint>

#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/observe/pal.hpp"

namespace tiffany::observe {

class PalSink {
 public:
  virtual ~PalSink() = default;
  // One frame, which lives until the task has ended. What it throws is counted. Cancelled when the
  // limit is over: a frame that the sink has taken by then is not given again.
  virtual Task<void> take(const PalFrame& frame) = 0;

 protected:
  PalSink() = default;
};

class PalSinkOptions {
 public:
  PalSinkOptions() = default;
  Duration limit = std::chrono::seconds(5);  // for one frame
};

struct PalSinkCounts {
  std::uint64_t given = 0;   // frames that the sink has taken
  std::uint64_t failed = 0;  // it threw
  std::uint64_t late = 0;    // it took longer than the limit
};

// Gives the events that the filter takes to the sink, from now on until the hub is gone. All
// pointers outlive it.
//
// Cancel. Before start and while parked: the frame that the sink has is taken back, then Cancelled
// goes on. After completion: the hub is gone.
Task<void> feed(Pal* pal, PalSink* sink, PalSinkCounts* counts, PalFilter filter = PalFilter(),
                PalSinkOptions options = PalSinkOptions());

// Writes each event as a line of the structured log (observe/log.hpp), target tiffany::pal, level
// info: its message is that of the event (or the stage, when it has none), and the fields are
// stage, task_id and seq. Snapshots are left out; what was missed is a warning.
class PalLogSink final : public PalSink {
 public:
  PalLogSink() = default;
  Task<void> take(const PalFrame& frame) override;
};

}  // namespace tiffany::observe
