// Internal.
#pragma once

namespace tiffany::io {

// Writes to a pipe cannot say MSG_NOSIGNAL. Leaves a handler of the program's own alone.
void ignore_sigpipe() noexcept;

}  // namespace tiffany::io
