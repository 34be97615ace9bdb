// The daemon: an App that listens. Internal; docs/decisions/0026-daemon.md.
#pragma once

#include <string>

#include "app/settings.hpp"
#include "tiffany/app/app.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::app {

// Runs until a signal or a client ends it. Gives the exit status. Throws an Error when it cannot
// start.
Task<int> serve(App& app, Settings settings);

// For systemd: "READY=1", "STATUS=...". Nothing happens when nobody asked for it (NOTIFY_SOCKET).
Task<void> notify(std::string state);
// Whether systemd wants to hear at intervals that the daemon lives (WATCHDOG_USEC); and says so,
// twice in the time that it was given.
bool watchdog_wants_food();
Task<void> feed_watchdog();

}  // namespace tiffany::app
