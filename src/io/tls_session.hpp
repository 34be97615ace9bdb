// A TLS stream from the inside. Internal.
//
// Every call of OpenSSL happens between two awaits, on memory (tls_wire.hpp). The coroutines hold
// the session they work for, so that a TlsStream may be moved, or destroyed, while they are parked.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "io/openssl.hpp"
#include "io/tls_error.hpp"
#include "io/tls_lane.hpp"
#include "io/tls_setup.hpp"
#include "io/tls_wire.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany::io {

class TlsSession {
 public:
  using Ptr = std::shared_ptr<TlsSession>;

  static Ptr client(Socket socket, const TlsContext& context, std::string_view host);
  static Ptr server(Socket socket, const TlsContext& context);
  // Public for make_shared only.
  TlsSession(Socket on, const TlsContext& context, bool as_server);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  static Task<TlsStream> open(Ptr session);
  static Task<std::size_t> read(Ptr session, Room room);
  static Task<std::size_t> write(Ptr session, Bytes bytes);
  static Task<void> shutdown(Ptr session);

  Socket socket;
  std::uint64_t written = 0;
  SSL* ssl() const noexcept { return ssl_.get(); }
  const TlsWire& wire() const noexcept { return wire_; }

 private:
  // What OpenSSL has to say to a call.
  enum class Step : std::uint8_t { done, needs_input, ended, failed };
  Step step_of(int result) noexcept;
  Step step_read(Room room, std::size_t& count) noexcept;
  Step step_write(Bytes bytes, std::size_t& count) noexcept;

  void set_host(std::string_view host);
  void require_open() const;
  // All encrypted bytes go to the socket.
  Task<void> flush();
  // Some encrypted bytes come from the socket.
  Task<void> fill();
  // Goes through the handshake, or through the rest of a message that came after it.
  Task<void> shake_hands();
  // OpenSSL has given up. Tells the other side why, and throws.
  Task<void> give_up(bool in_handshake);
  Error failure(bool in_handshake);
  std::string whom() const;

  static int on_certificate(int good, X509_STORE_CTX* store) noexcept;

  std::shared_ptr<TlsSetup> setup_;
  TlsWire wire_;
  SslPtr ssl_;  // after the wire, which it uses until it is gone
  TlsLane filling_;
  TlsLane flushing_;
  std::size_t answers_ = 0;  // bytes that reading has made OpenSSL write, and are still here
  std::string host_;
  Verdict verdict_;
  std::exception_ptr broken_;       // nothing can be read or written any more
  std::exception_ptr cannot_send_;  // the socket has failed in this direction
  bool server_;
  bool socket_ended_ = false;
  bool shut_down_ = false;
  bool reading_ = false;
  bool writing_ = false;
};

}  // namespace tiffany::io
