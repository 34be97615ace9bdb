// Mutual TLS: a server that asks clients who they are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/tls_support.hpp"

#ifdef TIFFANY_TLS

namespace tiffany::test {
namespace tls_client_certificates_test {

class TlsClientCertificates : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(TlsClientCertificates);

TlsContext asking_server() {
  return good_server().verify_clients(Certificates::get().authority().certificate);
}
TlsContext client_with(const TlsIdentity& identity) {
  return good_client().identity(identity.certificate, identity.key);
}

Task<std::string> greeted_as(TlsContext client, TlsContext server) {
  SocketPair sockets = co_await connected();
  TlsPair pair = co_await opened(std::move(sockets), client, server);
  co_await pair.client.write("hello");
  const std::string word = co_await read_exactly(pair.server, 5);
  std::string names;
  for (const std::string& name : pair.server.peer_names()) names += " " + name;
  co_return word + " from " + pair.server.peer_subject() + names;
}

TEST_P(TlsClientCertificates, AServerKnowsWhoItsClientIs) {
  EXPECT_EQ(run(greeted_as, client_with(Certificates::get().other_host()), asking_server()).value(),
            "hello from CN = other_host elsewhere.example *.wide.example");
}

TEST_P(TlsClientCertificates, AServerThatAsksNobodyKnowsNobody) {
  EXPECT_EQ(run(greeted_as, client_with(Certificates::get().good()), good_server()).value(),
            "hello from ");
}

TEST_P(TlsClientCertificates, AClientWithoutACertificateIsRefused) {
  const Ends ends = run(ends_of, good_client(), asking_server(), std::string("localhost")).value();
  expect_error(ends.server, Errc::tls_refused, "the client showed no certificate", "identity()");
}

TEST_P(TlsClientCertificates, AClientOfSomebodyElseIsRefused) {
  const Ends ends = run(ends_of, client_with(Certificates::get().self_signed()), asking_server(),
                        std::string("localhost"))
                        .value();
  expect_error(ends.server, Errc::tls_refused, "signed by itself", "verify_clients()");
}

TEST_P(TlsClientCertificates, AnExpiredClientIsRefused) {
  const Ends ends = run(ends_of, client_with(Certificates::get().expired()), asking_server(),
                        std::string("localhost"))
                        .value();
  expect_error(ends.server, Errc::tls_refused, "it expired on", "The client needs a new one");
}

// With TLS 1.3 a client has finished the handshake before the server looks; its next read fails.
Task<std::size_t> reads_after_the_handshake(TlsContext client) {
  SocketPair sockets = co_await connected();
  auto accepted = spawn(error_of_accept, std::move(sockets.server), asking_server());
  TlsStream tls = co_await tls_connect(std::move(sockets.client), client, "localhost");
  std::array<char, 8> room;
  const std::size_t n = co_await tls.read(room);
  static_cast<void>(co_await accepted);
  co_return n;
}

TEST_P(TlsClientCertificates, ARefusedClientIsToldWhy) {
  expect_error(run(reads_after_the_handshake, good_client()).error(), Errc::tls_failed,
               "the server wants a certificate of us", "identity()");
  expect_error(
      run(reads_after_the_handshake, client_with(Certificates::get().self_signed())).error(),
      Errc::tls_failed, "the server refused our certificate");
}

TEST_P(TlsClientCertificates, TheHandshakeCanBeCancelledAtEveryStep) {
  cancel_at_every_step(greeted_as, client_with(Certificates::get().good()), asking_server());
}

TEST(TlsClientSetup, EachSideHasItsOwnSettings) {
  const TlsIdentity& good = Certificates::get().good();
  expect_error(thrown_by([&] { good_server().identity(good.certificate, good.key); }),
               Errc::tls_setup, "is for clients");
  expect_error(thrown_by([&] { good_client().verify_clients(good.certificate); }), Errc::tls_setup,
               "is for servers");
  expect_error(thrown_by([&] { good_server().verify_clients("/no/such/file"); }), Errc::tls_setup,
               "/no/such/file");
  expect_error(thrown_by([&] {
                 good_client().identity(good.certificate, Certificates::get().expired().key);
               }),
               Errc::tls_setup, "is not the one of the certificate");
}

}  // namespace tls_client_certificates_test
}  // namespace tiffany::test

#endif
