// What systemd is told: see sd_notify(3), whose protocol is a datagram of `NAME=value` lines.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "app/daemon.hpp"
#include "tiffany/core/sleep.hpp"
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

namespace {

std::chrono::microseconds watchdog_time() {
  const char* const text = std::getenv("WATCHDOG_USEC");
  std::int64_t micros = 0;
  if (text != nullptr) {
    std::from_chars(text, text + std::char_traits<char>::length(text), micros);
  }
  return std::chrono::microseconds(micros);
}

}  // namespace

bool watchdog_wants_food() { return watchdog_time().count() > 0; }

Task<void> feed_watchdog() {
  for (;;) {
    co_await sleep(watchdog_time() / 2);
    co_await notify("WATCHDOG=1");
  }
}

}  // namespace tiffany::app
