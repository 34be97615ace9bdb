// Several pieces of memory in one system call.
//
//   co_await write_parts(socket, {header, body});   // one call, one packet where it fits
//
// Cancel: as for Socket::read and Socket::write.
#pragma once

#include <cstddef>
#include <vector>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {

// Writes all parts, in order. Gives the number of bytes: all, or fewer when it was cancelled on the
// way. The memory must outlive the await. At most 1024 parts.
Task<std::size_t> write_parts(const Socket& to, std::vector<Bytes> parts);
// Fills the parts one after the other with what comes; gives the number of bytes, 0 at the end.
Task<std::size_t> read_parts(const Socket& from, std::vector<Room> parts);

}  // namespace tiffany
