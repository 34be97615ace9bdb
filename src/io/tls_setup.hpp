// What a TlsContext holds. Internal.
#pragma once

#include <string>

#include "io/openssl.hpp"

namespace tiffany::io {

class TlsSetup {
 public:
  explicit TlsSetup(bool for_server);
  TlsSetup(const TlsSetup&) = delete;
  TlsSetup& operator=(const TlsSetup&) = delete;

  SslContextPtr context;
  std::string alpn;  // each protocol behind a byte with its length, as on the wire
  bool server;
  bool verifies = true;  // of a client: the server's certificate
  bool verifies_clients = false;
};

}  // namespace tiffany::io
