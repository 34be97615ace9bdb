// Internal.
#pragma once

#include "app/api.hpp"
#include "app/durable_events.hpp"
#include "tiffany/observe/metrics.hpp"

namespace tiffany::app {

// Both outlive the guard.
observe::Metrics::Collector collect(observe::Metrics& metrics, const Api& api,
                                    const DurableEvents& events);

}  // namespace tiffany::app
