// From the name of a host to its addresses, and to a connection.
//
//   Socket server = co_await connect_to("example.org", 443);
//
// Names are looked up as the system does it (/etc/hosts, DNS), on threads that do nothing else
// (ReactorOptions::name_threads, io/system_reactor.hpp): the system has no look-up that does not
// block. An address as text ("::1") needs no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/address.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {

// How a name is looked up: called on a thread, by value, as the function of offload() is. Throws
// when there is no such host.
using LookUp = std::function<std::vector<Address>(const std::string& host, std::uint16_t port)>;

// In the order in which they should be tried; never empty. Throws Errc::bad_address with what the
// resolver says.
//
// Cancel. Before start: nothing is looked up. While parked: a look-up that has begun is abandoned,
// and the task goes on at once; the thread ends when the resolver gives up (seconds, by
// resolv.conf). After completion: the result wins, and the next suspension throws.
Task<std::vector<Address>> resolve(std::string host, std::uint16_t port);
// The same, looked up in another way.
Task<std::vector<Address>> resolve_with(LookUp look_up, std::string host, std::uint16_t port);

class ConnectOptions {
 public:
  ConnectOptions() = default;
  // How long an address may take before the next one is tried beside it. Default: 250 ms, as RFC
  // 8305 recommends. Negative: Errc::bad_argument.
  ConnectOptions&& stagger(Duration delay) &&;
  // Default: as resolve().
  ConnectOptions&& look_up(LookUp how) && {
    look_up_ = std::move(how);
    return std::move(*this);
  }
  Duration stagger() const noexcept { return stagger_; }
  const LookUp& look_up() const noexcept { return look_up_; }

 private:
  Duration stagger_ = std::chrono::milliseconds(250);
  LookUp look_up_;
};

// Connects to the first of these addresses that answers ("happy eyeballs", RFC 8305): IPv6 and IPv4
// by turns, beginning with the kind of the first; the next one is tried when one has failed or is
// late, without giving up the late one. The others are cancelled, and have ended, when this
// returns. Throws an IoError with what each of them said when none answers.
//
// Cancel. Before start: nothing is tried. While parked: every attempt is cancelled and has ended
// before Cancelled goes on. After completion: the socket is delivered first.
Task<Socket> connect_any(std::vector<Address> addresses, ConnectOptions options = ConnectOptions());

// resolve() and connect_any() in one. A time limit is within(d, connect_to(...)). Cancel: as
// theirs.
Task<Socket> connect_to(std::string host, std::uint16_t port,
                        ConnectOptions options = ConnectOptions());

}  // namespace tiffany
