#include "io/tls_session.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <array>
#include <new>

#include "tiffany/io/io_error.hpp"

namespace tiffany::io {
namespace {

// A name with one of these is something else: an address with a port, a URL, two lines.
constexpr std::string_view kInNoName(":/@ \t\r\n\0", 8);

bool is_ip(const std::string& host) noexcept {
  std::array<unsigned char, 16> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

void check_kind(const TlsSetup* setup, bool server) {
  if (setup != nullptr && setup->server == server) return;
  throw Error(Errc::tls_setup,
              server
                  ? "tls_accept() needs a context of TlsContext::server(), and got another one."
                  : "tls_connect() needs a context of TlsContext::client(), and got another one.");
}

}  // namespace

TlsSession::TlsSession(Socket on, const TlsContext& context, bool as_server)
    : socket(std::move(on)), setup_(context.setup_), server_(as_server) {
  ERR_clear_error();
  check_kind(setup_.get(), server_);
  ssl_.reset(SSL_new(setup_->context.get()));
  if (ssl_ == nullptr) throw std::bad_alloc();
  BIO* const bio = wire_.make_bio().release();
  SSL_set_bio(ssl(), bio, bio);
  SSL_set_app_data(ssl(), this);
  server_ ? SSL_set_accept_state(ssl()) : SSL_set_connect_state(ssl());
}

TlsSession::Ptr TlsSession::client(Socket socket, const TlsContext& context,
                                   std::string_view host) {
  auto session = std::make_shared<TlsSession>(std::move(socket), context, false);
  session->set_host(host);
  return session;
}

TlsSession::Ptr TlsSession::server(Socket socket, const TlsContext& context) {
  auto session = std::make_shared<TlsSession>(std::move(socket), context, true);
  if (session->setup_->verifies_clients) {
    SSL_set_verify(session->ssl(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                   &TlsSession::on_certificate);
  }
  return session;
}

void TlsSession::set_host(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  host_ = host;
  const bool ip = is_ip(host_);
  const bool usable = ip || (!host_.empty() && host_.find_first_of(kInNoName) == std::string::npos);
  bool taken = usable;
  if (usable && !ip) taken = SSL_set_tlsext_host_name(ssl(), host_.c_str()) == 1;
  if (setup_->verifies) {
    SSL_set_verify(ssl(), SSL_VERIFY_PEER, &TlsSession::on_certificate);
    SSL_set_hostflags(ssl(),
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (ip) taken = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl()), host_.c_str()) == 1;
    if (usable && !ip) taken = taken && SSL_set1_host(ssl(), host_.c_str()) == 1;
  } else {
    SSL_set_verify(ssl(), SSL_VERIFY_NONE, nullptr);
    taken = taken || host_.empty();
  }
  if (taken) return;
  ERR_clear_error();
  throw Error(Errc::tls_setup,
              "tls_connect() needs the name or IP address of the host that the certificate must be "
              "for, without a port, and \"" +
                  host_ + "\" is none.");
}

// Keeps why, for the sentence; OpenSSL itself only keeps a number.
int TlsSession::on_certificate(int good, X509_STORE_CTX* store) noexcept {
  if (good != 0) return good;
  const auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Verdict& verdict = static_cast<TlsSession*>(SSL_get_app_data(ssl))->verdict_;
  verdict.error = X509_STORE_CTX_get_error(store);
  verdict.depth = X509_STORE_CTX_get_error_depth(store);
  X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  if (certificate != nullptr) X509_up_ref(certificate);
  verdict.certificate.reset(certificate);
  return 0;
}

// ---- One call of OpenSSL each. The list of errors belongs to the thread, and so to all streams
// ----

TlsSession::Step TlsSession::step_of(int result) noexcept {
  switch (SSL_get_error(ssl(), result)) {
    case SSL_ERROR_NONE:
      return Step::done;
    case SSL_ERROR_WANT_READ:
      return Step::needs_input;
    case SSL_ERROR_ZERO_RETURN:
      return Step::ended;
    default:
      return Step::failed;
  }
}

TlsSession::Step TlsSession::step_read(Room room, std::size_t& count) noexcept {
  const std::size_t before = wire_.unsent();
  ERR_clear_error();
  const Step step = step_of(SSL_read_ex(ssl(), room.data(), room.size(), &count));
  answers_ += wire_.unsent() - before;
  return step;
}

TlsSession::Step TlsSession::step_write(Bytes bytes, std::size_t& count) noexcept {
  ERR_clear_error();
  return step_of(SSL_write_ex(ssl(), bytes.data(), bytes.size(), &count));
}

// ---- Sentences ----

void TlsSession::require_open() const {
  if (socket) return;
  throw Error(Errc::tls_closed, "A TLS stream was used after its close().");
}

std::string TlsSession::whom() const {
  const std::string at = describe_descriptor(socket.descriptor().fd());
  return host_.empty() ? at : "\"" + host_ + "\" (" + at + ")";
}

Error TlsSession::failure(bool in_handshake) {
  if (verdict_.error != X509_V_OK) return certificate_refused(verdict_, host_, whom(), server_);
  return tls_failure((in_handshake ? "The TLS handshake with " : "The TLS stream with ") + whom(),
                     server_);
}

}  // namespace tiffany::io
