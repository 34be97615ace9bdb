// What went wrong with TLS, in sentences. Internal.
#pragma once

#include <string>
#include <vector>

#include "io/openssl.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::io {

// Why a certificate was refused: X509_V_OK until one was.
struct Verdict {
  int error = X509_V_OK;
  CertificatePtr certificate;
  int depth = 0;  // 0: the one of the other side; more: further up its chain
};

// The cause in OpenSSL's words, from the errors it has noted. Forgets them.
std::string last_tls_error();

// `host`: what it must be for. `whom`: "\"localhost\" (tcp 127.0.0.1:4 to 127.0.0.1:5 (fd 7))".
Error certificate_refused(const Verdict& verdict, const std::string& host, const std::string& whom,
                          bool we_are_server);

// Whom a certificate is for.
std::string subject_of(const X509& certificate);
std::vector<std::string> alternative_names_of(const X509& certificate);

// For the errors that OpenSSL has noted; forgets them. `what`: "The TLS handshake with ...".
Error tls_failure(const std::string& what, bool we_are_server);

}  // namespace tiffany::io
