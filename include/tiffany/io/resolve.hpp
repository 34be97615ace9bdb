// From the name of a host to its addresses, as the system resolves it (/etc/hosts, DNS), on a thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/address.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {

// In the order in which they should be tried; never empty. Throws Errc::bad_address with what the
// resolver says.
Task<std::vector<Address>> resolve(std::string host, std::uint16_t port);

// Connects to the first of the host's addresses that answers. Throws the last IoError when none does.
Task<Socket> connect_to(std::string host, std::uint16_t port);

}  // namespace tiffany
