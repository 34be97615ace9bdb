// A pipe inside this process: what is written to one end is read from the other.
#pragma once

#include <utility>

#include "tiffany/io/stream.hpp"

namespace tiffany {

struct Pipe {
  Pipe(ByteStream from, ByteStream to) noexcept
      : read_end(std::move(from)), write_end(std::move(to)) {}
  ByteStream read_end;
  ByteStream write_end;
};

// Throws IoError. A write to a pipe whose read end is closed is an IoError (EPIPE): this ignores
// SIGPIPE in the whole process, unless somebody has a handler for it.
Pipe make_pipe();

}  // namespace tiffany
