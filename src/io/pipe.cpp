#include "tiffany/io/pipe.hpp"

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {

Pipe make_pipe() {
  World& world = World::current();
  world.processes().ignore_broken_pipes();
  int ends[2];
  const int done = world.files().pipe(ends);
  Descriptor from = take_descriptor(done == 0 ? ends[0] : -1, "pipe", "a new pipe");
  Descriptor to = take_descriptor(ends[1], "pipe", "a new pipe");
  return Pipe(ByteStream(std::move(from), false), ByteStream(std::move(to), false));
}

}  // namespace tiffany
