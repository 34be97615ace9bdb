// TLS with other sides that are refused, that misbehave, or that speak something else.
#ifdef TIFFANY_TLS

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "io/tls_raw.hpp"
#include "io/tls_support.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany {
namespace tls_peers_test {

using namespace test;

class TlsPeersTest : public OnEveryReactor {
 protected:
  template <class F>
  void run(F program) {
    run_program(program, options());
  }
};
TIFFANY_ON_EVERY_REACTOR(TlsPeersTest);

// ---- Certificates ----

TEST_P(TlsPeersTest, C3_ACertificateIsRefusedWithWhatIsWrongAndWhatToDo) {
  run([]() -> Task<void> {
    const Certificates& made = Certificates::get();
    struct Row {
      const TlsIdentity& server;
      const char* host;
      const char* what;
      const char* advice;
    };
    const std::vector<Row> rows = {
        {made.expired(), "localhost", "it expired on 20", "needs a new one"},
        {made.future(), "localhost", "it is not valid before 20", "clock"},
        {made.other_host(), "localhost",
         "it is for elsewhere.example, *.wide.example, and not for localhost", "Connect by a name"},
        {made.other_host(), "a.b.wide.example", "and not for a.b.wide.example",
         "Connect by a name"},
        {made.good(), "127.0.0.2", "it is for localhost, 127.0.0.1, and not for 127.0.0.2",
         "Connect by a name"},
        {made.good(), "[::1]", "and not for ::1", "Connect by a name"},
        {made.self_signed(), "localhost", "signed by itself", "TlsContext::trust()"},
    };
    const TlsContext client = good_client();
    for (const Row& row : rows) {
      const TlsContext server = server_of(row.server);
      const Ends ends = co_await ends_of(client, server, row.host);
      expect_error(ends.client, Errc::tls_refused, "The certificate of \"", row.what, row.advice);
      expect_error(ends.server, Errc::tls_failed, "the client refused our certificate");
    }
  });
}

TEST_P(TlsPeersTest, C3_AnIssuerThatIsNotTrustedIsNamed) {
  run([]() -> Task<void> {
    const TlsContext stranger = TlsContext::client();
    const TlsContext server = good_server();
    const Ends ends = co_await ends_of(stranger, server, "localhost");
    expect_error(ends.client, Errc::tls_refused,
                 "issued by \"CN = Tiffany test authority\", which is not trusted",
                 "TlsContext::trust()");
    expect_error(ends.server, Errc::tls_failed, "the client refused our certificate (unknown CA)");
  });
}

TEST_P(TlsPeersTest, C3_ACertificateThatFitsIsAccepted) {
  run([]() -> Task<void> {
    const Certificates& made = Certificates::get();
    const TlsContext client = good_client();
    const TlsContext good = good_server();
    const TlsContext other = server_of(made.other_host());
    for (const char* host : {"localhost", "LOCALHOST", "localhost.", "127.0.0.1"}) {
      const Ends ends = co_await ends_of(client, good, host);
      EXPECT_EQ(ends.client, nullptr) << host << ": " << what_of(ends.client);
      EXPECT_EQ(ends.server, nullptr) << host << ": " << what_of(ends.server);
    }
    const Ends wide = co_await ends_of(client, other, "a.wide.example");
    EXPECT_EQ(wide.client, nullptr) << what_of(wide.client);
    const std::string pem = file_text(made.authority().certificate);
    const TlsContext by_text = TlsContext::client().trust_pem(pem);
    const Ends text = co_await ends_of(by_text, good, "localhost");
    EXPECT_EQ(text.client, nullptr) << what_of(text.client);
  });
}

TEST_P(TlsPeersTest, C3_ACertificateThatIsTrustedItselfIsAcceptedForItsNames) {
  run([]() -> Task<void> {
    const Certificates& made = Certificates::get();
    for (const TlsIdentity* one : {&made.self_signed(), &made.good()}) {
      const TlsContext client = TlsContext::client().trust(one->certificate);
      const TlsContext server = server_of(*one);
      const Ends ends = co_await ends_of(client, server, "localhost");
      EXPECT_EQ(ends.client, nullptr) << what_of(ends.client);
      const Ends other = co_await ends_of(client, server, "other.example");
      expect_error(other.client, Errc::tls_refused, "and not for other.example");
    }
  });
}

TEST_P(TlsPeersTest, C3_WithoutVerificationEverythingIsAccepted) {
  run([]() -> Task<void> {
    const Certificates& made = Certificates::get();
    const TlsContext careless = TlsContext::client().without_verification();
    for (const TlsIdentity* one : {&made.self_signed(), &made.expired(), &made.other_host()}) {
      const TlsContext server = server_of(*one);
      for (const char* host : {"localhost", ""}) {
        const Ends ends = co_await ends_of(careless, server, host);
        EXPECT_EQ(ends.client, nullptr) << what_of(ends.client);
        EXPECT_EQ(ends.server, nullptr) << what_of(ends.server);
      }
    }
  });
}

// ---- Something else than TLS ----

TEST_P(TlsPeersTest, C3_APlainTextClientIsRefusedWithAReason) {
  run([]() -> Task<void> {
    struct Row {
      const char* text;
      const char* what;
    };
    const std::vector<Row> rows = {
        {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "the client speaks plain HTTP"},
        {"EHLO somebody\r\n", "not TLS"},
        {"\x16\x03", "closed the connection in the middle"},
        {"", "closed the connection in the middle"},
    };
    const TlsContext server = good_server();
    for (const Row& row : rows) {
      SocketPair sockets = co_await connected();
      co_await sockets.client.write(row.text);
      sockets.client.shutdown_write();
      const std::exception_ptr error = co_await error_of_accept(std::move(sockets.server), server);
      expect_error(error, Errc::tls_failed, "The TLS handshake with tcp 127.0.0.1:", row.what);
    }
  });
}

TEST_P(TlsPeersTest, C3_APlainTextServerIsRefusedWithAReason) {
  run([]() -> Task<void> {
    SocketPair sockets = co_await connected();
    co_await sockets.server.write("220 mail.example ready\r\n");
    const std::exception_ptr error =
        co_await error_of_connect(std::move(sockets.client), good_client(), "localhost");
    expect_error(error, Errc::tls_failed, "The TLS handshake with \"localhost\" (tcp", "not TLS");
  });
}

// Passes on so many bytes, and then closes both sides.
Task<void> relay(Socket* from, Socket* to, std::size_t* left, Socket* other) {
  std::array<char, 4096> room;
  for (;;) {
    std::size_t n = 0;
    try {
      n = co_await from->read(Room(room.data(), std::min(room.size(), *left)));
      if (n == 0) break;
      co_await to->write(room.data(), n);
    } catch (const Error&) {
      break;
    }
    *left -= n;
    if (*left == 0) break;
  }
  if (*left != 0) co_return;
  from->close();
  other->close();
}

TEST_P(TlsPeersTest, C3_AHandshakeThatIsCutAnywhereEndsInAnErrorOnBothSides) {
  run([]() -> Task<void> {
    const TlsContext client = good_client();
    const TlsContext server = good_server();
    int cut = 0;
    for (std::size_t limit = 1; limit < 900; limit += 37) {
      SocketPair near = co_await connected();
      SocketPair far = co_await connected();
      std::size_t there = limit;      // from the client to the server
      std::size_t back = 100 * 1000;  // all
      auto one = spawn(relay, &near.server, &far.client, &there, &far.client);
      auto two = spawn(relay, &far.client, &near.server, &back, &far.client);
      auto accepted = spawn(error_of_accept, std::move(far.server), server);
      const std::exception_ptr at_client =
          co_await error_of_connect(std::move(near.client), client, "localhost");
      const std::exception_ptr at_server = co_await accepted;
      if (at_server != nullptr) ++cut;
      EXPECT_TRUE(limit >= 200 || at_client != nullptr) << limit;
      one.cancel("over");
      two.cancel("over");
      co_await one.outcome();
      co_await two.outcome();
    }
    EXPECT_GT(cut, 8);
  });
}

// ---- Peers that are allowed to do what they do ----

TEST_P(TlsPeersTest, C3_Tls12IsSpokenAndTls11IsNot) {
  run([]() -> Task<void> {
    const auto serve = [](Socket socket, int version) -> Task<std::string> {
      RawServer raw(std::move(socket));
      SSL_CTX_set_min_proto_version(raw.context(), TLS1_VERSION);
      SSL_CTX_set_max_proto_version(raw.context(), version);
      co_await raw.handshake();
      raw.write("hello");
      co_await raw.flush();
      co_return co_await raw.read(6);
    };
    SocketPair sockets = co_await connected();
    auto server = spawn(serve, std::move(sockets.server), TLS1_2_VERSION);
    TlsStream tls = co_await tls_connect(std::move(sockets.client), good_client(), "localhost");
    EXPECT_EQ(tls.version(), "TLSv1.2");
    const std::string hello = co_await read_exactly(tls, 5);
    EXPECT_EQ(hello, "hello");
    co_await tls.write("thanks");
    const std::string thanks = co_await server;
    EXPECT_EQ(thanks, "thanks");

    SocketPair old = co_await connected();
    auto refused = spawn(serve, std::move(old.server), TLS1_1_VERSION);
    const std::exception_ptr error =
        co_await error_of_connect(std::move(old.client), good_client(), "localhost");
    expect_error(error, Errc::tls_failed, "no version that both sides speak");
    const std::exception_ptr other = co_await error_of(refused);
    EXPECT_NE(other, nullptr);
  });
}

TEST_P(TlsPeersTest, C3_AClientMaySayItsWordAndBeGoneBeforeItIsAccepted) {
  run([]() -> Task<void> {
    SocketPair sockets = connected_tiny();
    auto server = spawn(
        [](Socket socket) -> Task<std::string> {
          TlsStream tls = co_await tls_accept(std::move(socket), good_server());
          co_return co_await read_all(tls, 1);
        },
        std::move(sockets.server));
    {
      TlsStream tls = co_await tls_connect(std::move(sockets.client), good_client(), "localhost");
      co_await tls.write("that is all");
      co_await tls.shutdown();
    }
    const std::string got = co_await server;
    EXPECT_EQ(got, "that is all");
  });
}

TEST_P(TlsPeersTest, C3_APeerMayAskForNewKeysAtAnyTime) {
  run([]() -> Task<void> {
    constexpr int kTimes = 400;
    const auto serve = [](Socket socket) -> Task<std::string> {
      RawServer raw(std::move(socket));
      co_await raw.handshake();
      for (int i = 0; i < kTimes; ++i) {
        SSL_key_update(raw.ssl(), SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(raw.ssl());
        raw.write("x");
      }
      co_await raw.flush();
      co_return co_await raw.read(3);
    };
    SocketPair sockets = co_await connected();
    auto server = spawn(serve, std::move(sockets.server));
    TlsStream tls = co_await tls_connect(std::move(sockets.client), good_client(), "localhost");
    const std::string got = co_await read_exactly(tls, kTimes);
    EXPECT_EQ(got, std::string(kTimes, 'x'));
    EXPECT_GT(tls.unsent(), 0u) << "answers wait for the next write";
    EXPECT_LT(tls.unsent(), 5000u) << "but not too many of them";
    co_await tls.write("end");
    EXPECT_EQ(tls.unsent(), 0u);
    const std::string end = co_await server;
    EXPECT_EQ(end, "end");
  });
}

// A ticket that is larger than a record, of which a part has come when the client wants to write.
// Only then does writing have to wait for something to read.
class HalfATicket {
 public:
  static Task<std::string> serve(Socket socket, Future<void> go_on) {
    RawServer raw(std::move(socket));
    const auto fill_ticket = [](SSL* ssl, void*) -> int {
      const std::string large(9000, 't');
      return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), large.data(), large.size());
    };
    SSL_CTX_set_session_ticket_cb(raw.context(), fill_ticket, nullptr, nullptr);
    SSL_CTX_set_num_tickets(raw.context(), 0);
    SSL_CTX_set_max_send_fragment(raw.context(), 1024);
    co_await raw.handshake();
    raw.write("mark");
    SSL_new_session_ticket(raw.ssl());
    SSL_do_handshake(raw.ssl());
    const std::string mark_and_ticket = raw.output();
    EXPECT_GT(mark_and_ticket.size(), 9000u);
    co_await raw.socket().write(mark_and_ticket.data(), 5000);
    co_await go_on;
    co_await raw.socket().write(mark_and_ticket.data() + 5000, mark_and_ticket.size() - 5000);
    raw.write("server");
    co_await raw.flush();
    co_return co_await raw.read(6);
  }
  static Task<void> write(TlsStream* to) { co_await to->write("client"); }
  static Task<std::string> read(TlsStream* from) { co_return co_await read_exactly(*from, 6); }
};

TEST_P(TlsPeersTest, C3_AWriteWaitsForTheRestOfAMessageOfTheProtocol) {
  run([]() -> Task<void> {
    for (const bool cancelled : {false, true}) {
      SocketPair sockets = co_await connected();
      Promise<void> go_on;
      auto server = spawn(HalfATicket::serve, std::move(sockets.server), go_on.future());
      TlsStream tls = co_await tls_connect(std::move(sockets.client), good_client(), "localhost");
      const std::string mark = co_await read_exactly(tls, 4);
      EXPECT_EQ(mark, "mark");
      auto reader = spawn(HalfATicket::read, &tls);
      auto writer = spawn(HalfATicket::write, &tls);
      co_await yield();
      if (cancelled) {
        // The writer takes over what the reader does for both.
        const auto outcome = co_await cancel_and_join(reader, "enough");
        EXPECT_TRUE(outcome.cancelled());
      }
      EXPECT_FALSE(writer.done());
      EXPECT_EQ(tls.written(), 0u);
      go_on.complete();
      co_await writer;
      if (cancelled) reader = spawn(HalfATicket::read, &tls);
      const std::string from_server = co_await reader;
      EXPECT_EQ(from_server, "server");
      const std::string from_client = co_await server;
      EXPECT_EQ(from_client, "client");
    }
  });
}

}  // namespace tls_peers_test
}  // namespace tiffany

#endif
