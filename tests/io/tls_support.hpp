// What the tests of TLS share: two ends of a stream, and random bytes to send through it.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>

#include "io/reactors.hpp"
#include "io/tls_certificates.hpp"
#include "support/harness.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany::test {

using TlsIdentity = Certificates::Identity;

inline TlsContext server_of(const TlsIdentity& identity) {
  return TlsContext::server(identity.certificate, identity.key);
}
inline TlsContext good_server() { return server_of(Certificates::get().good()); }
// Trusts the private authority.
inline TlsContext good_client() {
  return TlsContext::client().trust(Certificates::get().authority().certificate);
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The same for the same seed.
inline std::string random_bytes(std::size_t size, unsigned seed) {
  std::minstd_rand engine(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(engine() >> 7);
  return bytes;
}

// So that every transfer has to stop in the middle of records, again and again.
inline void use_tiny_buffers(const Socket& socket) {
  const int tiny = 1;  // the kernel takes its least
  setsockopt(socket.descriptor().fd(), SOL_SOCKET, SO_SNDBUF, &tiny, sizeof tiny);
  setsockopt(socket.descriptor().fd(), SOL_SOCKET, SO_RCVBUF, &tiny, sizeof tiny);
}

// Both ends of a connection.
struct SocketPair {
  SocketPair() = default;
  Socket client;
  Socket server;
};
inline Task<SocketPair> connected() {
  Listener listener = Listener::bind(Address::loopback(0));
  SocketPair pair;
  pair.client = co_await connect(listener.local());
  pair.server = co_await listener.accept();
  co_return pair;
}
// Over TCP every few thousand bytes through tiny buffers take 40 ms; over unix sockets they do not.
inline SocketPair connected_tiny() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) std::abort();
  SocketPair pair;
  pair.client = Socket(Descriptor(fds[0]));
  pair.server = Socket(Descriptor(fds[1]));
  use_tiny_buffers(pair.client);
  use_tiny_buffers(pair.server);
  return pair;
}

struct TlsPair {
  TlsPair() = default;
  TlsStream client;
  TlsStream server;
};
inline Task<TlsPair> opened(SocketPair sockets, TlsContext client, TlsContext server) {
  auto accepted = spawn(
      [](Socket socket, TlsContext context) -> Task<TlsStream> {
        co_return co_await tls_accept(std::move(socket), context);
      },
      std::move(sockets.server), server);
  TlsPair pair;
  pair.client = co_await tls_connect(std::move(sockets.client), client, "localhost");
  pair.server = co_await std::move(accepted);
  co_return pair;
}
inline Task<TlsPair> opened_tiny() {
  return opened(connected_tiny(), good_client(), good_server());
}
inline Task<TlsPair> opened() {
  SocketPair sockets = co_await connected();
  co_return co_await opened(std::move(sockets), good_client(), good_server());
}

// Its number, and what its sentence contains.
template <class... Parts>
void expect_error(const std::exception_ptr& error, Errc code, const Parts&... parts) {
  EXPECT_EQ(code_of(error), code) << what_of(error);
  [[maybe_unused]] const auto contains = [&](const std::string& part) {
    EXPECT_NE(what_of(error).find(part), std::string::npos)
        << "\"" << part << "\" is not in: " << what_of(error);
  };
  (contains(parts), ...);
}

// How both ends of a handshake ended; no error where it went well.
struct Ends {
  Ends() = default;
  std::exception_ptr client;
  std::exception_ptr server;
};
inline Task<std::exception_ptr> error_of_accept(Socket socket, TlsContext context) {
  std::exception_ptr error;
  try {
    const TlsStream stream = co_await tls_accept(std::move(socket), context);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  co_return error;
}
inline Task<std::exception_ptr> error_of_connect(Socket socket, TlsContext context,
                                                 std::string host) {
  std::exception_ptr error;
  try {
    const TlsStream stream = co_await tls_connect(std::move(socket), context, host);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  co_return error;
}
inline Task<Ends> ends_of(TlsContext client, TlsContext server, std::string host) {
  SocketPair sockets = co_await connected();
  auto accepted = spawn(error_of_accept, std::move(sockets.server), server);
  Ends ends;
  ends.client = co_await error_of_connect(std::move(sockets.client), client, host);
  ends.server = co_await accepted;
  co_return ends;
}

// Everything until the end, in pieces of changing size.
inline Task<std::string> read_all(TlsStream& from, unsigned seed) {
  std::minstd_rand engine(seed);
  std::string all;
  std::string room;
  for (;;) {
    room.resize(1 + engine() % 20000);
    const std::size_t n = co_await from.read(room);
    if (n == 0) co_return all;
    all.append(room, 0, n);
  }
}
inline Task<std::string> read_exactly(TlsStream& from, std::size_t size) {
  std::string all(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const std::size_t n = co_await from.read(Room(all.data() + got, size - got));
    if (n == 0) break;
    got += n;
  }
  all.resize(got);
  co_return all;
}
inline Task<void> write_and_shut_down(TlsStream& to, const std::string& bytes) {
  const std::size_t n = co_await to.write(bytes);
  EXPECT_EQ(n, bytes.size());
  co_await to.shutdown();
}

}  // namespace tiffany::test
