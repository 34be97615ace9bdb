// Names of sockets and of hosts.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "world/memory/sockets.hpp"

namespace tiffany::world::memory {
namespace {

// A sockaddr out of bytes that need not be aligned.
template <class T>
T as(const std::string& bytes) noexcept {
  T address{};
  std::memcpy(&address, bytes.data(), std::min(bytes.size(), sizeof address));
  return address;
}

}  // namespace

int Name::family() const noexcept {
  return bytes_.size() < sizeof(sa_family_t) ? AF_UNSPEC : as<sockaddr_in>(bytes_).sin_family;
}
bool Name::complete() const noexcept {
  if (family() == AF_INET) return bytes_.size() >= sizeof(sockaddr_in);
  if (family() == AF_INET6) return bytes_.size() >= sizeof(sockaddr_in6);
  return family() == AF_UNIX;
}
// Both families have it at the same place.
std::uint16_t Name::port() const noexcept { return ntohs(as<sockaddr_in>(bytes_).sin_port); }
void Name::set_port(std::uint16_t port) noexcept {
  const in_port_t there = htons(port);
  std::memcpy(bytes_.data() + offsetof(sockaddr_in, sin_port), &there, sizeof there);
}
bool Name::any() const noexcept {
  if (family() == AF_INET) return as<sockaddr_in>(bytes_).sin_addr.s_addr == htonl(INADDR_ANY);
  const in6_addr address = as<sockaddr_in6>(bytes_).sin6_addr;
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address);
}
void Name::make_loopback() noexcept {
  if (!any()) return;
  if (family() == AF_INET) {
    const in_addr_t address = htonl(INADDR_LOOPBACK);
    std::memcpy(bytes_.data() + offsetof(sockaddr_in, sin_addr), &address, sizeof address);
  } else {
    const in6_addr address = IN6ADDR_LOOPBACK_INIT;
    std::memcpy(bytes_.data() + offsetof(sockaddr_in6, sin6_addr), &address, sizeof address);
  }
}
std::string Name::path() const {
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
  if (family() != AF_UNIX || bytes_.size() <= kBefore) return {};
  return std::string(bytes_.c_str() + kBefore);  // an abstract name begins with a zero
}
void Name::copy(sockaddr* to, socklen_t& size) const noexcept {
  std::memcpy(to, bytes_.data(), std::min<std::size_t>(size, bytes_.size()));
  size = static_cast<socklen_t>(bytes_.size());
}
bool Name::same_host(const Name& other) const noexcept {
  if (family() == AF_INET) {
    return as<sockaddr_in>(bytes_).sin_addr.s_addr == as<sockaddr_in>(other.bytes_).sin_addr.s_addr;
  }
  const in6_addr a = as<sockaddr_in6>(bytes_).sin6_addr;
  const in6_addr b = as<sockaddr_in6>(other.bytes_).sin6_addr;
  return IN6_ARE_ADDR_EQUAL(&a, &b);
}

// ---- Names of hosts ----

namespace {

// One entry of the answer, with the room for its address.
struct Found {
  addrinfo entry{};
  sockaddr_storage address{};
};

// False: the text is no address of that family.
bool fill(Found& found, int family, const std::string& ip, std::uint16_t port) noexcept {
  auto& v4 = reinterpret_cast<sockaddr_in&>(found.address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(found.address);
  const bool known = family == AF_INET ? inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1
                                       : inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr) == 1;
  if (!known) return false;
  found.address.ss_family = static_cast<sa_family_t>(family);
  (family == AF_INET ? v4.sin_port : v6.sin6_port) = htons(port);
  found.entry.ai_family = family;
  found.entry.ai_addrlen = family == AF_INET ? sizeof v4 : sizeof v6;
  found.entry.ai_addr = reinterpret_cast<sockaddr*>(&found.address);
  return true;
}

}  // namespace

int Sockets::look_up(const char* host, const char* service, const addrinfo& hints,
                     addrinfo*& found) noexcept {
  found = nullptr;
  std::uint16_t port = 0;
  if (service != nullptr) {
    const char* const end = service + std::strlen(service);
    const auto [last, error] = std::from_chars(service, end, port);
    if (error != std::errc() || last != end) return EAI_SERVICE;
  }
  const std::string name = host != nullptr ? host : "localhost";
  std::vector<std::string> all{name};  // it may be an address itself
  const auto known = state_.hosts.find(name);
  const bool by_number = (hints.ai_flags & AI_NUMERICHOST) != 0;
  if (known != state_.hosts.end() && !by_number) all = known->second;
  addrinfo** next = &found;
  for (const std::string& ip : all) {
    for (const int family : {AF_INET, AF_INET6}) {
      if (hints.ai_family != AF_UNSPEC && hints.ai_family != family) continue;
      auto made = std::make_unique<Found>();
      if (!fill(*made, family, ip, port)) continue;
      made->entry.ai_socktype = hints.ai_socktype;
      made->entry.ai_protocol = hints.ai_protocol;
      *next = &made.release()->entry;
      next = &(*next)->ai_next;
    }
  }
  return found != nullptr ? 0 : EAI_NONAME;
}

void Sockets::free_found(addrinfo* found) noexcept {
  while (found != nullptr) {
    addrinfo* const next = found->ai_next;
    delete reinterpret_cast<Found*>(found);  // its first member
    found = next;
  }
}

unsigned Sockets::interface_index(const char* name) noexcept {
  if (std::string_view(name) == "lo") return 1;
  errno = ENODEV;
  return 0;
}

}  // namespace tiffany::world::memory
