// What Tiffany itself tells through metrics: schedulers, PAL, the log, spans.
//
//   const auto guard = observe::collect(metrics, scheduler);
//
// Nothing is counted for this that is not counted anyway; the numbers are read when a text is asked
// for. Each guard goes before what it reads. All names: docs/19-observing.md.
#pragma once

#include "tiffany/core/scheduler.hpp"
#include "tiffany/observe/metrics.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/observe/span.hpp"

namespace tiffany::observe {

Metrics::Collector collect(Metrics& metrics, const Scheduler& scheduler);
Metrics::Collector collect(Metrics& metrics, const Pal& pal);
Metrics::Collector collect(Metrics& metrics, const Tracer& tracer);
// The log of the process, and which Tiffany this is.
Metrics::Collector collect_process(Metrics& metrics);

}  // namespace tiffany::observe
