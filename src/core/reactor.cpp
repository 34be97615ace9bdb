#include "tiffany/core/reactor.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany {

bool Reactor::submit(Scheduler&, Operation&) {
  throw Error(Errc::no_io,
              "An operation on a file, socket or process was awaited, but this scheduler runs on a "
              "clock alone (virtual_time(), real_clock()). Use the default reactor for real I/O.");
}
bool Reactor::take_back(Operation&) noexcept { return true; }
void Reactor::drop(Operation&) noexcept {}
bool Reactor::await_taken_back(Scheduler&) noexcept { return false; }
void Reactor::collect(Scheduler&, bool) noexcept {}
void Reactor::closing(int) noexcept {}
World& Reactor::world() noexcept { return virtual_time() ? repeatable_world() : os_world(); }

}  // namespace tiffany
