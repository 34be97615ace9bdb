// What systemd is told: see sd_notify(3), whose protocol is a datagram of `NAME=value` lines.
#include <cstdlib>
#include <string>
#include <utility>

#include "app/daemon.hpp"
#include "tiffany/io/datagram.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/observe/log.hpp"

namespace tiffany::app {

Task<void> notify(std::string state) {
  const char* const where = std::getenv("NOTIFY_SOCKET");
  if (where == nullptr || (*where != '/' && *where != '@')) co_return;
  std::string failed;
  try {
    const DatagramSocket socket = DatagramSocket::unbound(AF_UNIX);
    co_await socket.send(state, Address::unix_path(where));
  } catch (const Error& error) {
    failed = error.what();
  }
  if (!failed.empty()) observe::log::warn("systemd was not told", {{"error", failed}});
}

}  // namespace tiffany::app
