#include <openssl/err.h>
#include <openssl/pem.h>

#include "io/tls_error.hpp"
#include "io/tls_setup.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany {
namespace io {
namespace {

[[noreturn]] void refuse_setup(const std::string& sentence) {
  throw Error(Errc::tls_setup, sentence);
}

// OpenSSL would ask at the terminal.
int no_pass_phrase(char*, int, int, void*) noexcept { return -1; }

int select_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* setup) noexcept {
  const std::string& ours = static_cast<const TlsSetup*>(setup)->alpn;
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(
      &found, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
      static_cast<unsigned>(ours.size()), offered, offered_size);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::string wire_form(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) {
      refuse_setup("A protocol for ALPN has 1 to 255 bytes, and \"" + protocol + "\" has " +
                   std::to_string(protocol.size()) + ".");
    }
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  if (wire.empty() || wire.size() > 65535) {
    refuse_setup("The protocols for ALPN are " + std::to_string(wire.size()) +
                 " bytes; there must be at least one, and at most 65535 bytes of them.");
  }
  return wire;
}

}  // namespace

TlsSetup::TlsSetup(bool for_server)
    : context(SSL_CTX_new(for_server ? TLS_server_method() : TLS_client_method())),
      server(for_server) {
  if (context == nullptr) refuse_setup("OpenSSL cannot be used here: " + last_tls_error() + ".");
  SSL_CTX* const on = context.get();
  SSL_CTX_set_min_proto_version(on, TLS1_2_VERSION);
  SSL_CTX_set_options(on, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // An idle stream should cost little, and a record that was taken is never given a second time.
  SSL_CTX_set_mode(on, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  // Sessions are resumed by tickets, which the clients keep.
  SSL_CTX_set_session_cache_mode(on, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(on, &no_pass_phrase);
  // Who trusts a certificate trusts it, also when it is not the root of its chain.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(on), X509_V_FLAG_PARTIAL_CHAIN);
}

}  // namespace io

TlsContext TlsContext::client() {
  ERR_clear_error();
  auto setup = std::make_shared<io::TlsSetup>(false);
  if (SSL_CTX_set_default_verify_paths(setup->context.get()) != 1) {
    io::refuse_setup("The certificates that this system trusts could not be loaded: " +
                     io::last_tls_error() + ". Is the package ca-certificates installed?");
  }
  return TlsContext(std::move(setup));
}

namespace {

void load_identity(SSL_CTX* on, const std::string& certificate_file, const std::string& key_file,
                   const char* whose) {
  if (SSL_CTX_use_certificate_chain_file(on, certificate_file.c_str()) != 1) {
    io::refuse_setup("No certificate could be loaded from \"" + certificate_file +
                     "\": " + io::last_tls_error() + ". It must be a PEM file that begins with " +
                     "the certificate of the " + whose + ".");
  }
  // It also compares the two; but the error of a key that does not fit deserves other words.
  if (SSL_CTX_use_PrivateKey_file(on, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
                       ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH;
    const std::string why = io::last_tls_error();
    if (other) {
      io::refuse_setup("The key in \"" + key_file + "\" is not the one of the certificate in \"" +
                       certificate_file + "\".");
    }
    io::refuse_setup("No key could be loaded from \"" + key_file + "\": " + why +
                     ". It must be a PEM file, readable by this process, with a private key that "
                     "has no pass phrase.");
  }
}

}  // namespace

TlsContext TlsContext::server(const std::string& certificate_file, const std::string& key_file) {
  ERR_clear_error();
  auto setup = std::make_shared<io::TlsSetup>(true);
  load_identity(setup->context.get(), certificate_file, key_file, "server");
  return TlsContext(std::move(setup));
}

io::TlsSetup& TlsContext::for_setting(const char* what) const {
  ERR_clear_error();
  if (setup_ == nullptr || setup_.use_count() > 1) {
    io::refuse_setup(std::string(what) +
                     " was called on a TLS context that has been moved from, copied, or used for a "
                     "stream that still exists. Set it up where it is made.");
  }
  return *setup_;
}

namespace {

io::TlsSetup& of_a_client(io::TlsSetup& setup, const char* what) {
  if (setup.server) {
    io::refuse_setup(std::string(what) +
                     " was called on the context of a server, and is for clients. A server that "
                     "asks clients for certificates has verify_clients().");
  }
  return setup;
}

}  // namespace

TlsContext&& TlsContext::trust(const std::string& pem_file) && {
  const io::TlsSetup& setup = of_a_client(for_setting("trust()"), "trust()");
  if (SSL_CTX_load_verify_file(setup.context.get(), pem_file.c_str()) != 1) {
    io::refuse_setup("No certificate to be trusted could be loaded from \"" + pem_file +
                     "\": " + io::last_tls_error() + ". It must be a PEM file.");
  }
  return std::move(*this);
}

TlsContext&& TlsContext::trust_pem(std::string_view pem) && {
  const io::TlsSetup& setup = of_a_client(for_setting("trust_pem()"), "trust_pem()");
  X509_STORE* const store = SSL_CTX_get_cert_store(setup.context.get());
  const io::BioPtr text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  int found = 0;
  while (text != nullptr) {
    const io::CertificatePtr certificate(
        PEM_read_bio_X509(text.get(), nullptr, &io::no_pass_phrase, nullptr));
    if (certificate == nullptr || X509_STORE_add_cert(store, certificate.get()) != 1) break;
    ++found;
  }
  // Every text ends with "no start line"; it is an error only where a certificate should be.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (found == 0 || !at_end) {
    io::refuse_setup("Certificate " + std::to_string(found + 1) +
                     " of a text to be trusted could not be read: " + io::last_tls_error() +
                     ". It must be PEM (-----BEGIN CERTIFICATE-----).");
  }
  ERR_clear_error();
  return std::move(*this);
}

TlsContext&& TlsContext::alpn(const std::vector<std::string>& protocols) && {
  io::TlsSetup& setup = for_setting("alpn()");
  setup.alpn = io::wire_form(protocols);
  if (setup.server) {
    SSL_CTX_set_alpn_select_cb(setup.context.get(), &io::select_protocol, &setup);
  } else if (SSL_CTX_set_alpn_protos(setup.context.get(),
                                     reinterpret_cast<const unsigned char*>(setup.alpn.data()),
                                     static_cast<unsigned>(setup.alpn.size())) != 0) {
    io::refuse_setup("The protocols for ALPN were refused: " + io::last_tls_error() + ".");
  }
  return std::move(*this);
}

TlsContext&& TlsContext::identity(const std::string& certificate_file,
                                  const std::string& key_file) && {
  const io::TlsSetup& setup = of_a_client(for_setting("identity()"), "identity()");
  load_identity(setup.context.get(), certificate_file, key_file, "client");
  return std::move(*this);
}

TlsContext&& TlsContext::verify_clients(const std::string& pem_file) && {
  io::TlsSetup& setup = for_setting("verify_clients()");
  if (!setup.server) {
    io::refuse_setup(
        "verify_clients() was called on the context of a client, and is for servers. A client "
        "trusts servers by trust().");
  }
  SSL_CTX* const on = setup.context.get();
  // The names are sent to clients, so that one with several certificates knows which to show.
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(pem_file.c_str());
  if (names == nullptr || SSL_CTX_load_verify_file(on, pem_file.c_str()) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    io::refuse_setup("No certificate to verify clients by could be loaded from \"" + pem_file +
                     "\": " + io::last_tls_error() + ". It must be a PEM file.");
  }
  SSL_CTX_set_client_CA_list(on, names);
  // A ticket is good for the servers of this context only; without this none is.
  constexpr std::string_view kName = "tiffany";
  SSL_CTX_set_session_id_context(on, reinterpret_cast<const unsigned char*>(kName.data()),
                                 static_cast<unsigned>(kName.size()));
  setup.verifies_clients = true;
  return std::move(*this);
}

TlsContext&& TlsContext::without_verification() && {
  of_a_client(for_setting("without_verification()"), "without_verification()").verifies = false;
  return std::move(*this);
}

}  // namespace tiffany
