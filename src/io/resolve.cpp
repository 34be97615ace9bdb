#include "tiffany/io/resolve.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <exception>
#include <memory>

#include "tiffany/base/error.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany {
namespace {

std::vector<Address> look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    throw Error(Errc::bad_address,
                "The host \"" + host + "\" could not be looked up: " +
                    (error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)) +
                    ". Check the name, and whether a name server is reachable.");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::vector<Address> all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    all.push_back(Address::from(each->ai_addr, each->ai_addrlen));
  }
  return all;
}

}  // namespace

Task<std::vector<Address>> resolve(std::string host, std::uint16_t port) {
  co_return co_await offload(look_up, host, port);
}

Task<Socket> connect_to(std::string host, std::uint16_t port) {
  const std::vector<Address> all = co_await resolve(host, port);
  std::exception_ptr last;
  for (const Address& address : all) {
    try {
      co_return co_await connect(address);
    } catch (const IoError&) {
      last = std::current_exception();
    }
  }
  std::rethrow_exception(last);
}

}  // namespace tiffany
