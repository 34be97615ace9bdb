// Which signal the code of a task waits for, by its log. Internal.
#pragma once

#include <optional>

#include "tiffany/durable/host.hpp"

namespace tiffany::app {

// `co_await flow.signal(name)` waits in a frame, and not in a slot that Host::waits() could list:
// that it waits is what its last records say.
std::optional<DurableWait> awaited_signal(const Host& host, const DurableInfo& task);

}  // namespace tiffany::app
