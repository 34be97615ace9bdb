// OpenSSL's objects as C++ ones. Internal.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

namespace tiffany::io {

template <auto kFree>
struct FreeWith {
  template <class T>
  void operator()(T* object) const noexcept {
    kFree(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeWith<&BIO_free>>;
using SslPtr = std::unique_ptr<SSL, FreeWith<&SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeWith<&SSL_CTX_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<&X509_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<&GENERAL_NAMES_free>>;

}  // namespace tiffany::io
