// A part of a file into a stream, without a detour through the memory of this process.
//
//   const File page = co_await open_file("index.html");
//   co_await send_file(client, page, 0, page.size());
//
// To a Socket the kernel copies (sendfile), on a thread of the pool, because a file may be slow;
// where it cannot, and to every other stream, the file is read and written in pieces of 64 KiB. A
// socket that was sent a file is non-blocking from then on, also for others who share it.
//
// Gives the number of bytes: `count`, or fewer when the file ends before or it was cancelled.
//
// Cancel. Before start: nothing is sent. While parked: the wait for the socket is given up, a piece
// that a thread sends is waited for; the number of bytes that went is given, and the next
// suspension throws. After completion: the number is given, and the next suspension throws. To
// other streams than sockets: what had not gone of the last piece is decided by their write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

Task<std::uint64_t> send_file(const Socket& to, const File& from, std::uint64_t at,
                              std::uint64_t count);

template <WriteStream S>
  requires(!std::is_base_of_v<Socket, S>)
Task<std::uint64_t> send_file(S& to, const File& from, std::uint64_t at, std::uint64_t count) {
  constexpr std::size_t kPiece = 65536;
  std::string room(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, count)), '\0');
  std::uint64_t sent = 0;
  while (sent < count) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), count - sent));
    const std::size_t got = co_await from.read_at(at + sent, Room(room.data(), want));
    if (got == 0) break;
    const std::size_t went = co_await to.write(Bytes(room.data(), got));
    sent += went;
    if (went < got) break;  // cancelled on the way
  }
  co_return sent;
}

}  // namespace tiffany
