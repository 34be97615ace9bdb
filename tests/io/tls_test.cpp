#include "tiffany/io/tls.hpp"

#include <gtest/gtest.h>

#ifndef TIFFANY_TLS
TEST(TlsTest, IsNotBuilt) { GTEST_SKIP() << "TIFFANY_TLS is off"; }
#else

#include <functional>
#include <string>
#include <vector>

#include "io/tls_support.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace tls_test {

using namespace test;

class TlsTest : public OnEveryReactor {
 protected:
  template <class F>
  void run(F program) {
    run_program(program, options());
  }
};
TIFFANY_ON_EVERY_REACTOR(TlsTest);

// ---- Bytes ----

TEST_P(TlsTest, C3_BytesOfManySizesComeBackAsTheyWereThroughTinyBuffers) {
  run([]() -> Task<void> {
    const std::vector<std::size_t> sizes = {1,     2,     15,    16,    17,    255,   4096,
                                            16383, 16384, 16385, 65535, 65536, 65537, 300000};
    TlsPair pair = co_await opened_tiny();
    auto echo = spawn(
        [](TlsStream* on) -> Task<void> {
          std::string room(7777, '\0');
          for (;;) {
            const std::size_t n = co_await on->read(room);
            if (n == 0) break;
            co_await on->write(room.data(), n);
          }
          co_await on->shutdown();
        },
        &pair.server);
    unsigned seed = 1;
    for (const std::size_t size : sizes) {
      const std::string sent = random_bytes(size, ++seed);
      auto writer = spawn(
          [](TlsStream* to, const std::string* bytes) -> Task<void> { co_await to->write(*bytes); },
          &pair.client, &sent);
      const std::string got = co_await read_exactly(pair.client, size);
      EXPECT_TRUE(got == sent) << "of " << size << " bytes";
      co_await writer;
    }
    co_await pair.client.shutdown();
    const std::string rest = co_await read_all(pair.client, 1);
    EXPECT_EQ(rest, "");
    co_await echo;
    EXPECT_EQ(pair.client.version(), "TLSv1.3");
  });
}

TEST_P(TlsTest, C3_BytesComeThroughTcpWithTinyBuffersToo) {
  run([]() -> Task<void> {
    SocketPair sockets = co_await connected();
    use_tiny_buffers(sockets.client);
    use_tiny_buffers(sockets.server);
    TlsPair pair = co_await opened(std::move(sockets), good_client(), good_server());
    const std::string sent = random_bytes(20000, 1);
    auto writer = spawn(
        [](TlsStream* to, const std::string* bytes) -> Task<void> {
          return write_and_shut_down(*to, *bytes);
        },
        &pair.server, &sent);
    const std::string got = co_await read_all(pair.client, 2);
    EXPECT_TRUE(got == sent);
    co_await writer;
  });
}

TEST_P(TlsTest, C3_BothEndsReadAndWriteAtTheSameTime) {
  run([]() -> Task<void> {
    TlsPair pair = co_await opened_tiny();
    const std::string to_server = random_bytes(700001, 1);
    const std::string to_client = random_bytes(500003, 2);
    const auto write = [](TlsStream* to, const std::string* bytes) -> Task<void> {
      return write_and_shut_down(*to, *bytes);
    };
    auto one = spawn(write, &pair.client, &to_server);
    auto two = spawn(write, &pair.server, &to_client);
    const auto read = [](TlsStream* from) -> Task<std::string> { return read_all(*from, 3); };
    auto at_server = spawn(read, &pair.server);
    auto at_client = spawn(read, &pair.client);
    const std::string got_by_server = co_await at_server;
    const std::string got_by_client = co_await at_client;
    EXPECT_TRUE(got_by_server == to_server);
    EXPECT_TRUE(got_by_client == to_client);
    co_await gather(one, two);
    EXPECT_EQ(pair.client.written(), to_server.size());
    EXPECT_EQ(pair.client.unsent(), 0u);
  });
}

TEST_P(TlsTest, C3_AShutdownEndsOneDirectionOnly) {
  run([]() -> Task<void> {
    TlsPair pair = co_await opened();
    co_await pair.client.write("the question");
    co_await pair.client.shutdown();
    const std::string question = co_await read_all(pair.server, 1);
    EXPECT_EQ(question, "the question");
    co_await pair.server.write("the answer");
    co_await pair.server.shutdown();
    const std::string answer = co_await read_all(pair.client, 1);
    EXPECT_EQ(answer, "the answer");
    std::array<char, 8> room;
    const std::size_t again = co_await pair.client.read(room);
    EXPECT_EQ(again, 0u) << "the end stays the end";
    const auto late = co_await error_of(pair.client.write("more"));
    expect_error(late, Errc::tls_closed, "\"localhost\"", "after its shutdown()");
  });
}

TEST_P(TlsTest, C3_AnEndWithoutAWordIsAnErrorAndNotAnEnd) {
  run([]() -> Task<void> {
    TlsPair pair = co_await opened();
    co_await pair.server.write("only a part");
    pair.server.close();
    const std::string part = co_await read_exactly(pair.client, 11);
    EXPECT_EQ(part, "only a part");
    std::array<char, 8> room;
    for (int i = 0; i < 2; ++i) {
      const auto error = co_await error_of(pair.client.read(room));
      expect_error(error, Errc::tls_truncated, "\"localhost\" (tcp ", "may not be all");
    }
  });
}

TEST_P(TlsTest, C3_TwoTasksInTheSameDirectionAreTold) {
  run([]() -> Task<void> {
    TlsPair pair = co_await opened_tiny();
    std::array<char, 8> room;
    auto first = spawn([](TlsStream* from,
                          Room into) -> Task<std::size_t> { co_return co_await from->read(into); },
                       &pair.client, Room(room));
    const std::string large = random_bytes(1000000, 1);
    auto writer = spawn(
        [](TlsStream* to, const std::string* bytes) -> Task<void> { co_await to->write(*bytes); },
        &pair.client, &large);
    co_await yield();
    co_await yield();
    std::array<char, 8> other;
    expect_error(co_await error_of(pair.client.read(other)), Errc::tls_busy, "Two tasks read from",
                 "unix");
    expect_error(co_await error_of(pair.client.write("x")), Errc::tls_busy, "Two tasks wrote to");
    expect_error(co_await error_of(pair.client.shutdown()), Errc::tls_busy);
    const std::string got = co_await read_exactly(pair.server, large.size());
    EXPECT_TRUE(got == large);
    co_await writer;
    co_await pair.server.write("hello");
    const std::size_t n = co_await first;
    EXPECT_EQ(std::string(room.data(), n), "hello");
  });
}

TEST_P(TlsTest, C3_ClosingAStreamEndsTheReadOfAnotherTask) {
  run([]() -> Task<void> {
    TlsPair pair = co_await opened();
    std::array<char, 8> room;
    auto reader = spawn(
        [](TlsStream* from, Room into) -> Task<std::exception_ptr> {
          co_return co_await error_of(from->read(into));
        },
        &pair.client, Room(room));
    co_await yield();
    pair.client.close();
    expect_error(co_await reader, Errc::io_failed, "read on");
    expect_error(co_await error_of(pair.client.read(room)), Errc::tls_closed, "close()");
    expect_error(co_await error_of(pair.client.write("x")), Errc::tls_closed, "close()");
    TlsStream none;
    EXPECT_FALSE(none);
    expect_error(thrown_by([&] { static_cast<void>(none.read(room)); }), Errc::tls_closed,
                 "never opened");
  });
}

TEST_P(TlsTest, C3_AStreamMayBeDestroyedWhileAnotherTaskReadsIt) {
  run([]() -> Task<void> {
    TlsPair pair = co_await opened();
    std::array<char, 8> room;
    auto reader = spawn(
        [](TlsStream* from, Room into) -> Task<std::exception_ptr> {
          co_return co_await error_of(from->read(into));
        },
        &pair.client, Room(room));
    co_await yield();
    pair.client = TlsStream();
    expect_error(co_await reader, Errc::io_failed, "read on");
  });
}

TEST_P(TlsTest, C3_ARecordThatWasChangedOnItsWayIsRefused) {
  run([]() -> Task<void> {
    SocketPair near = co_await connected();
    SocketPair far = co_await connected();
    // Between the two ends: passes everything on, but changes a bit of what comes after a mark.
    bool evil = false;
    const auto relay = [](Socket* from, Socket* to, bool* changes) -> Task<void> {
      std::array<char, 4096> room;
      try {
        for (;;) {
          const std::size_t n = co_await from->read(room);
          if (n == 0) break;
          if (*changes) room[n - 1] ^= 1;
          co_await to->write(room.data(), n);
        }
      } catch (const IoError&) {
      }
      to->close();
    };
    bool never = false;
    auto there = spawn(relay, &near.server, &far.client, &evil);
    auto back = spawn(relay, &far.client, &near.server, &never);
    auto accepted = spawn(
        [](Socket socket) -> Task<TlsStream> {
          co_return co_await tls_accept(std::move(socket), good_server());
        },
        std::move(far.server));
    TlsStream client = co_await tls_connect(std::move(near.client), good_client(), "localhost");
    TlsStream server = co_await std::move(accepted);
    co_await client.write("fine");
    const std::string fine = co_await read_exactly(server, 4);
    EXPECT_EQ(fine, "fine");
    evil = true;
    co_await client.write("changed");
    std::array<char, 8> room;
    expect_error(co_await error_of(server.read(room)), Errc::tls_failed, "damaged or forged");
    expect_error(co_await error_of(server.read(room)), Errc::tls_failed, "damaged or forged");
    expect_error(co_await error_of(server.write("x")), Errc::tls_failed, "damaged or forged");
    // The other side hears of it.
    expect_error(co_await error_of(client.read(room)), Errc::tls_failed, "bad record mac");
    client.close();
    server.close();
    co_await gather(there, back);
  });
}

// ---- Protocols and set-up ----

TEST_P(TlsTest, C3_TheFirstProtocolOfTheServerThatTheClientOffersIsChosen) {
  run([]() -> Task<void> {
    const TlsContext client = good_client().alpn({"http/1.1", "h2"});
    const TlsContext server = good_server().alpn({"h2", "http/1.1"});
    const TlsPair pair = co_await opened(connected_tiny(), client, server);
    EXPECT_EQ(pair.client.alpn(), "h2");
    EXPECT_EQ(pair.server.alpn(), "h2");
    const TlsPair plain = co_await opened(connected_tiny(), good_client(), server);
    EXPECT_EQ(plain.client.alpn(), "");
    const TlsContext strange = good_client().alpn({"gopher"});
    const Ends ends = co_await ends_of(strange, server, "localhost");
    expect_error(ends.client, Errc::tls_failed, "no protocol that both sides offer");
    expect_error(ends.server, Errc::tls_failed, "no protocol that both sides offer");
  });
}

void expect_setup_error(const std::function<void()>& make, const std::string& part) {
  expect_error(thrown_by(make), Errc::tls_setup, part);
}

TEST(TlsSetupTest, C3_FilesThatCannotBeUsedAreNamed) {
  const Certificates& at = Certificates::get();
  const std::string none = at.directory() + "/none.pem";
  expect_setup_error([&] { TlsContext::server(none, at.good().key); },
                     "No certificate could be loaded from \"" + none + "\": No such file");
  expect_setup_error([&] { TlsContext::server(at.good().certificate, none); },
                     "No key could be loaded from \"" + none + "\": No such file");
  expect_setup_error([&] { TlsContext::server(at.good().certificate, at.expired().key); },
                     "is not the one of the certificate");
  const auto& locked = at.with_pass_phrase();
  expect_setup_error([&] { TlsContext::server(locked.certificate, locked.key); },
                     "has no pass phrase");
  expect_setup_error([&] { TlsContext::client().trust(none); }, "No such file");
  expect_setup_error([&] { TlsContext::client().trust(at.good().key); }, "PEM file");
  expect_setup_error([] { TlsContext::client().trust_pem("hello"); }, "Certificate 1 of a text");
  const std::string good = file_text(at.authority().certificate);
  expect_setup_error(
      [&] { TlsContext::client().trust_pem(good + good.substr(0, good.size() / 2)); },
      "Certificate 2 of a text");
}

TEST(TlsSetupTest, C3_AContextIsSetUpBeforeItIsSharedAndForItsOwnSide) {
  TlsContext first = TlsContext::client();
  const TlsContext second = first;
  expect_setup_error([&] { std::move(first).without_verification(); }, "copied");
  expect_setup_error([] { good_server().without_verification(); }, "is for clients");
  expect_setup_error([] { good_server().trust("x"); }, "is for clients");
  expect_setup_error([] { good_client().alpn({}); }, "at least one");
  expect_setup_error([] { good_client().alpn({""}); }, "1 to 255 bytes");
  const auto connect_with = [](const TlsContext& context, std::string_view host) {
    static_cast<void>(tls_connect(Socket(), context, host));
  };
  expect_setup_error([&] { connect_with(good_server(), "localhost"); }, "TlsContext::client()");
  expect_setup_error([] { static_cast<void>(tls_accept(Socket(), good_client())); },
                     "TlsContext::server(");
  for (const char* host : {"", "localhost:443", "https://localhost", "a b"}) {
    expect_setup_error([&] { connect_with(good_client(), host); }, "needs the name or IP address");
  }
}

}  // namespace tls_test
}  // namespace tiffany

#endif
