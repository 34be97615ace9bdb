#include "tiffany/io/resolve.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany {
namespace {

// RFC 1035 allows 253 bytes; what is longer cannot be a name and need not be shown in full.
constexpr std::size_t kLongestName = 253;

std::vector<Address> addresses_in(const addrinfo* found) {
  std::vector<Address> all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    all.push_back(Address::from(each->ai_addr, each->ai_addrlen));
  }
  return all;
}

std::vector<Address> look_up(World* world, const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error =
      world->sockets().look_up(host.c_str(), std::to_string(port).c_str(), hints, found);
  if (error == EAI_NONAME && (flags & AI_NUMERICHOST) != 0) return {};
  if (error != 0) {
    throw Error(Errc::bad_address,
                "The host \"" + host + "\" could not be looked up: " +
                    (error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)) +
                    ". Check the name, and whether a name server is reachable.");
  }
  const auto free = [world](addrinfo* all) { world->sockets().free_found(all); };
  const std::unique_ptr<addrinfo, decltype(free)> owner(found, free);
  return addresses_in(found);
}

void check_name(const std::string& host) {
  if (!host.empty() && host.size() <= kLongestName && host.find('\0') == std::string::npos) return;
  throw Error(
      Errc::bad_address,
      "\"" + host.substr(0, 40) + "\" (" + std::to_string(host.size()) +
          " bytes) is not the name of a host. A name has 1 to 253 bytes, none of them zero.");
}

// By turns of the two families, each in its own order, beginning with that of the first.
std::vector<Address> by_turns(const std::vector<Address>& all) {
  std::vector<Address> first;
  std::vector<Address> second;
  for (const Address& each : all) {
    (each.family() == all.front().family() ? first : second).push_back(each);
  }
  std::vector<Address> out;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) out.push_back(first[i]);
    if (i < second.size()) out.push_back(second[i]);
  }
  return out;
}

struct Attempts {
  std::optional<Socket> winner;
  std::size_t running = 0;
  std::exception_ptr last;
  int number = 0;     // of the last failure
  std::string texts;  // of all of them
  ManualResetEvent changed;
};

// Thrown when no address answers. When one does, the caller has what was asked for, and the
// failures of the others are no errors.
void note_failure(Attempts& all, const Address& of, const IoError& error) {
  all.last = std::current_exception();
  all.number = error.number();
  all.texts += (all.texts.empty() ? "" : ", ") + of.text() + ": " + std::strerror(error.number());
}

Task<void> attempt(Address to, Attempts* all) {
  try {
    Socket made = co_await connect(to);
    if (!all->winner) all->winner.emplace(std::move(made));
  } catch (const IoError& error) {
    note_failure(*all, to, error);
  }
  --all->running;
  all->changed.set();
}

Task<void> until_set(ManualResetEvent* event) { co_await event->wait(); }

}  // namespace

ConnectOptions&& ConnectOptions::stagger(Duration delay) && {
  if (delay < Duration::zero()) {
    throw Error(Errc::bad_argument,
                "ConnectOptions::stagger() was given " + std::to_string(delay.count()) +
                    " ns. The delay before the next address cannot be negative.");
  }
  stagger_ = delay;
  return std::move(*this);
}

Task<std::vector<Address>> resolve_with(LookUp how, std::string host, std::uint16_t port) {
  check_name(host);
  std::vector<Address> literal = look_up(&World::current(), host, port, AI_NUMERICHOST);
  if (!literal.empty()) co_return literal;
  std::vector<Address> found;
  if (how) {
    found = co_await detail::offload_to(Operation::kNames, false, how, host, port);
  } else {
    found = co_await detail::offload_to(Operation::kNames, false, look_up, &World::current(), host,
                                        port, AI_ADDRCONFIG);
  }
  if (found.empty()) {
    throw Error(Errc::bad_address, "The host \"" + host + "\" has no address.");
  }
  co_return found;
}

Task<std::vector<Address>> resolve(std::string host, std::uint16_t port) {
  return resolve_with(LookUp(), std::move(host), port);
}

Task<Socket> connect_any(std::vector<Address> addresses, ConnectOptions options) {
  if (addresses.empty()) {
    throw Error(Errc::bad_argument, "connect_any() was given no address to connect to.");
  }
  const std::vector<Address> order = by_turns(addresses);
  Attempts all;
  co_await scope([&](Scope& s) -> Task<void> {
    std::size_t next = 0;
    while (!all.winner && (next < order.size() || all.running > 0)) {
      all.changed.reset();
      const bool starts = next < order.size();
      if (starts) {
        ++all.running;
        s.spawn(attempt, order[next++], &all);
      }
      if (starts && next < order.size()) {
        co_await within(options.stagger(), until_set(&all.changed));
      } else {
        co_await all.changed.wait();
      }
    }
    s.cancel("another address answered first");
  });
  if (all.winner) co_return std::move(*all.winner);
  if (order.size() == 1) std::rethrow_exception(all.last);
  throw IoError(all.number, "connect", all.texts);
}

Task<Socket> connect_to(std::string host, std::uint16_t port, ConnectOptions options) {
  std::vector<Address> all = co_await resolve_with(options.look_up(), host, port);
  co_return co_await connect_any(std::move(all), std::move(options));
}

}  // namespace tiffany
