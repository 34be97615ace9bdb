// The encrypted bytes of a TLS stream on their way between OpenSSL and the socket. Internal.
//
// OpenSSL reads and writes memory here and never waits. What it has written is sent from a buffer
// of its own: that one belongs to the kernel while a send is in flight, and OpenSSL may write on
// meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "io/openssl.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany::io {

class TlsWire {
 public:
  TlsWire() noexcept = default;
  TlsWire(const TlsWire&) = delete;
  TlsWire& operator=(const TlsWire&) = delete;

  // For OpenSSL; must not outlive this object.
  BioPtr make_bio();

  // ---- From the socket. Only while nothing is left of what came before ----
  Room room() noexcept { return Room(in_.data(), in_.size()); }
  void came(std::size_t size) noexcept;

  // ---- To the socket ----
  std::size_t unsent() const noexcept { return out_.size() + sending_.size() - sent_; }
  // What to send next; stays where it is until it has been sent.
  Bytes next();
  void sent(std::size_t size) noexcept;
  // Makes room for so many bytes that OpenSSL is about to write.
  void expect(std::size_t size) { out_.reserve(out_.size() + size); }

 private:
  static BIO_METHOD* method();
  static int on_read(BIO* bio, char* to, int size) noexcept;
  static int on_write(BIO* bio, const char* from, int size) noexcept;
  static long on_control(BIO* bio, int command, long, void*) noexcept;

  // Room for the largest record: 16 KiB, at most 256 bytes around it, and its header.
  std::array<std::byte, 16 * 1024 + 512> in_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::vector<std::byte> out_;
  std::vector<std::byte> sending_;
  std::size_t sent_ = 0;
};

}  // namespace tiffany::io
