// The events of a recorder as a trace file, for Perfetto and chrome://tracing.
//
//   const std::string text = observe::trace_file(recorder);   // {"traceEvents":[...]}
//
// A row for each slot of a task: what ran there and for how long (X), what it waited for (b and e),
// which task woke it (s and f), how many tasks were ready (C), failures (i), names (M). What the
// ring has overwritten is missing. A wait that goes on ends where the trace does.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tiffany/observe/event_ring.hpp"
#include "tiffany/observe/recorder.hpp"

namespace tiffany::observe {

// The elements of "traceEvents", with commas between them, as those of spans (observe/span.hpp).
std::string trace_events(std::span<const Event> events, const std::vector<ClassTimes>& classes);
// The whole file, of everything that the ring has.
std::string trace_file(const Recorder& recorder);

}  // namespace tiffany::observe
