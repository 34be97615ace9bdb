// TLS over a socket, as a client or as a server. OpenSSL does the cryptography, Tiffany the
// waiting.
//
//   const TlsContext context = TlsContext::client();
//   Socket socket = co_await connect(address);
//   TlsStream tls = co_await tls_connect(std::move(socket), context, "example.org");
//   co_await tls.write("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
//   while (const std::size_t n = co_await tls.read(room)) print(room, n);
//
// The certificate of the server is verified, with its name, unless the context says in so many
// words that it is not. Both sides can show one (mutual TLS): identity() and verify_clients(). TLS
// 1.2 is the least that is spoken. docs/16-tls.md has more.
//
// Errors are Error with the codes tls_failed, tls_refused, tls_truncated, tls_busy, tls_setup and
// tls_closed, and IoError where the socket failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {

namespace io {
class TlsSetup;
class TlsSession;
}  // namespace io

// Whom to trust, or who one is. Made once, used for any number of streams, on any thread.
//
// Making one reads files, and so blocks: do it before serving. Copies are cheap and share what they
// were set up with, so a context is set up before it is copied or used; later is an error
// (tls_setup).
class TlsContext {
 public:
  // Trusts what the system trusts (on Debian: the package ca-certificates).
  static TlsContext client();
  // The certificate with its chain, the server's own first, and its key, both in PEM. The key has
  // no pass phrase.
  static TlsContext server(const std::string& certificate_file, const std::string& key_file);

  // Trusts the certificates in a PEM file, or text, besides.
  TlsContext&& trust(const std::string& pem_file) &&;
  TlsContext&& trust_pem(std::string_view pem) &&;
  // The protocols to be spoken inside, the preferred one first: {"h2", "http/1.1"}. A server
  // refuses a client that offers others only.
  TlsContext&& alpn(const std::vector<std::string>& protocols) &&;
  // Of a client: the certificate, with its chain, and the key that it shows to servers that ask for
  // one. PEM files, as for server().
  TlsContext&& identity(const std::string& certificate_file, const std::string& key_file) &&;
  // Of a server: every client must show a certificate that leads to one of those in this PEM file;
  // the handshake of any other fails (tls_refused). Who it is: TlsStream::peer_subject(),
  // peer_names().
  TlsContext&& verify_clients(const std::string& pem_file) &&;
  // Accepts whatever certificate is shown. Whoever can reach into the network can then read and
  // change everything, as without TLS. For tests, and for a first look at a broken server.
  TlsContext&& without_verification() &&;

 private:
  friend class io::TlsSession;
  explicit TlsContext(std::shared_ptr<io::TlsSetup> setup) noexcept : setup_(std::move(setup)) {}
  io::TlsSetup& for_setting(const char* what) const;

  std::shared_ptr<io::TlsSetup> setup_;
};

// An encrypted stream. One task may read and one may write at the same time; a second one in the
// same direction is an error (tls_busy).
//
// Destroying or closing it closes the socket, and the other side takes that for a stream that was
// cut off. co_await shutdown() first says that it was the end.
class TlsStream {
 public:
  TlsStream() noexcept = default;
  ~TlsStream() { close(); }
  TlsStream(TlsStream&&) noexcept = default;
  TlsStream& operator=(TlsStream&& other) noexcept {
    if (this != &other) {
      close();
      session_ = std::move(other.session_);
    }
    return *this;
  }

  // The number of bytes that came, at most as many as there is room. 0: the other side has said
  // that this was all. An end of the connection without that is an error (tls_truncated). Cancel.
  // Before start: nothing is read, unless it is there already. While parked: the wait is given up;
  // what has come of a record stays in the stream for the next read. After completion: the bytes
  // are delivered, and the next suspension throws.
  Task<std::size_t> read(Room room);

  // Writes everything, and gives its size.
  // Cancel. Before start: nothing is taken. While parked: what was encrypted already is owed to the
  // other side, so the part of it that the socket has not taken stays in the stream and goes first
  // with the next write (an empty one will do) or shutdown. written() tells how far it came. After
  // completion: the size is returned, and the next suspension throws.
  Task<std::size_t> write(Bytes bytes);
  Task<std::size_t> write(const void* memory, std::size_t size) {
    return write(Bytes(memory, size));
  }

  // Says that nothing more will be written (close_notify). Reading goes on as before. Cancel.
  // Before start and while parked: what is unsent stays in the stream; a second call sends it.
  // After completion: it has been said, and the next suspension throws.
  Task<void> shutdown();

  void close() noexcept;
  explicit operator bool() const noexcept { return session_ != nullptr; }

  // Bytes that writes have taken in all. A write that was cancelled is continued behind them.
  std::uint64_t written() const noexcept;
  // Encrypted bytes that go with the next write: what a cancelled one has left, and answers of the
  // protocol that nobody waits for.
  std::size_t unsent() const noexcept;
  // What was agreed on: "TLSv1.3", and a protocol of TlsContext::alpn ("" when none was).
  std::string version() const;
  std::string alpn() const;
  // Whom the verified certificate of the other side is for: its subject ("CN = anna, O = Example"),
  // and its alternative names (DNS, e-mail, URI, IP). Empty when it showed none, or none was
  // verified.
  std::string peer_subject() const;
  std::vector<std::string> peer_names() const;
  const Socket& socket() const;

 private:
  friend class io::TlsSession;
  explicit TlsStream(std::shared_ptr<io::TlsSession> session) noexcept
      : session_(std::move(session)) {}

  std::shared_ptr<io::TlsSession> session_;
};

// The handshake. `host` is the name or IP address that the certificate must be for; a name is also
// told to the server (SNI). A TCP socket is set to send small writes at once. Cancel, of both.
// Before start and while parked: the socket is closed. After completion: the stream is delivered,
// and the next suspension throws.
Task<TlsStream> tls_connect(Socket socket, const TlsContext& context, std::string_view host);
Task<TlsStream> tls_accept(Socket socket, const TlsContext& context);

}  // namespace tiffany
