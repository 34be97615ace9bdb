// Which addresses are those of the public internet (the registries of IANA for special purposes).
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "tiffany/agent/fetch_tool.hpp"

namespace tiffany::agent {
namespace {

struct Special4 {
  std::uint32_t from;
  int bits;
};
constexpr std::array kSpecial4{
    Special4{0x00000000, 8},   // this network
    Special4{0x0A000000, 8},   // private
    Special4{0x64400000, 10},  // shared by carriers
    Special4{0x7F000000, 8},   // this machine
    Special4{0xA9FE0000, 16},  // of a link, among them the metadata of clouds
    Special4{0xAC100000, 12},  // private
    Special4{0xC0000000, 24},  // protocols
    Special4{0xC0000200, 24},  // examples
    Special4{0xC0586300, 24},  // relays of 6to4
    Special4{0xC0A80000, 16},  // private
    Special4{0xC6120000, 15},  // benchmarks
    Special4{0xC6336400, 24},  // examples
    Special4{0xCB007100, 24},  // examples
    Special4{0xE0000000, 3},   // groups, and reserved
};

bool is_public4(std::uint32_t address) noexcept {
  for (const Special4& each : kSpecial4) {
    if ((address ^ each.from) >> (32 - each.bits) == 0) return false;
  }
  return true;
}

// Of IPv6 only 2000::/3 is given out; in it are networks that lead to others.
bool is_public6(const in6_addr& address) noexcept {
  const auto* const byte = address.s6_addr;
  if ((byte[0] & 0xE0U) != 0x20U) return false;
  if (byte[0] == 0x20 && byte[1] == 0x02) return false;                    // 6to4
  if (byte[0] == 0x20 && byte[1] == 0x01 && byte[2] < 0x02) return false;  // protocols, Teredo
  if (byte[0] == 0x20 && byte[1] == 0x01 && byte[2] == 0x0d && byte[3] == 0xb8) return false;
  return !(byte[0] == 0x3f && byte[1] == 0xff && byte[2] < 0x10);  // examples
}

}  // namespace

bool is_public(const Address& address) noexcept {
  if (address.family() == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, address.data(), sizeof four);
    return is_public4(ntohl(four.sin_addr.s_addr));
  }
  if (address.family() != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, address.data(), sizeof six);
  return is_public6(six.sin6_addr);
}

}  // namespace tiffany::agent
