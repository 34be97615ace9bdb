// Descriptors that a thread still works on. Closing one of them waits for that thread: otherwise
// the number could be given to another file, and the thread would read from that one. Process-wide,
// and safe for threads. Internal.
#pragma once

namespace tiffany::world {

// Counted: as many let_go() as hold_open().
void hold_open(int fd) noexcept;
// The last one closes the descriptor when close_later() has been called meanwhile.
void let_go(int fd) noexcept;
// True: a thread has the descriptor, and the last let_go() will close it. Costs one load otherwise.
bool close_later(int fd) noexcept;

}  // namespace tiffany::world
