// The other side of a TLS stream, straight on OpenSSL, for what a well-behaved peer does not do.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "io/tls_support.hpp"

namespace tiffany::test {

class RawServer {
 public:
  explicit RawServer(Socket socket)
      : socket_(std::move(socket)), context_(SSL_CTX_new(TLS_method())) {
    const TlsIdentity& files = Certificates::get().good();
    SSL_CTX_use_certificate_chain_file(context(), files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context(), files.key.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_set_security_level(context(), 0);
  }
  SSL_CTX* context() { return context_.get(); }
  SSL* ssl() { return ssl_.get(); }

  Task<void> handshake() {
    ssl_.reset(SSL_new(context()));
    SSL_set_bio(ssl(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl());
    for (;;) {
      const int result = SSL_do_handshake(ssl());
      const int error = SSL_get_error(ssl(), result);
      if (result == 1) co_return;  // what is left, tickets, is for the test to send
      co_await flush();
      if (error != SSL_ERROR_WANT_READ) throw std::runtime_error("the handshake failed");
      co_await fill();
    }
  }
  // What OpenSSL has written, taken from it.
  std::string output() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(ssl())), '\0');
    if (!bytes.empty()) BIO_read(SSL_get_wbio(ssl()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  Task<void> flush() {
    const std::string bytes = output();
    co_await socket_.write(bytes);
  }
  Task<void> fill() {
    std::array<char, 4096> room;
    const std::size_t n = co_await socket_.read(room);
    if (n == 0) throw std::runtime_error("the client has closed");
    BIO_write(SSL_get_rbio(ssl()), room.data(), static_cast<int>(n));
  }
  Task<std::string> read(std::size_t size) {
    std::string got;
    while (got.size() < size) {
      std::array<char, 4096> room;
      std::size_t n = 0;
      if (SSL_read_ex(ssl(), room.data(), std::min(room.size(), size - got.size()), &n) == 1) {
        got.append(room.data(), n);
      } else {
        co_await flush();
        co_await fill();
      }
    }
    co_return got;
  }
  void write(const std::string& text) {
    std::size_t n = 0;
    SSL_write_ex(ssl(), text.data(), text.size(), &n);
  }
  Socket& socket() { return socket_; }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  Socket socket_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace tiffany::test
