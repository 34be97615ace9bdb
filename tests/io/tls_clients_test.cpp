// Our server, as the clients of others see it: curl and openssl s_client, where they are installed.
#ifdef TIFFANY_TLS

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>

#include "io/tls_support.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany {
namespace tls_clients_test {

using namespace test;

struct Finished {
  int code = -1;
  std::string output;
};

Finished run_command(const std::string& command) {
  Finished finished;
  std::FILE* const out = popen((command + " 2>&1").c_str(), "r");
  if (out == nullptr) return finished;
  std::array<char, 4096> room;
  while (const std::size_t n = std::fread(room.data(), 1, room.size(), out)) {
    finished.output.append(room.data(), n);
  }
  const int status = pclose(out);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return finished;
}

bool installed(const std::string& program) {
  return run_command("command -v " + program).code == 0;
}

class TlsClientsTest : public OnEveryReactor {
 protected:
  // Serves one connection while the command runs; PORT in the command is where.
  void serve(const TlsIdentity& identity, std::string command) {
    Scheduler scheduler(options());
    Listener listener = Listener::bind(Address::loopback(0));
    const std::string port = std::to_string(listener.local().port());
    for (std::size_t at = 0; (at = command.find("PORT", at)) != std::string::npos;) {
      command.replace(at, 4, port);
    }
    const auto serve_one = [](Listener* at, TlsContext context) -> Task<void> {
      Socket socket = co_await at->accept();
      TlsStream tls = co_await tls_accept(std::move(socket), context);
      std::string request;
      std::array<char, 512> room;
      while (request.find("\r\n\r\n") == std::string::npos) {
        const std::size_t n = co_await tls.read(room);
        if (n == 0) break;
        request.append(room.data(), n);
      }
      co_await tls.write("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n");
      co_await tls.write(random_text());
      co_await tls.shutdown();
    };
    auto server = scheduler.spawn(
        [](Task<void> serving) -> Task<void> {
          auto in_time = co_await within(30s, std::move(serving));
          EXPECT_FALSE(in_time.timed_out()) << "nobody came";
        },
        serve_one(&listener, server_of(identity)));
    std::thread client([&] { finished_ = run_command("timeout 25 " + command); });
    scheduler.run();
    client.join();
    server.waitable().mark_observed();
    server_error_ = server.waitable().error();
  }

  static std::string random_text() {
    std::string text = random_bytes(100000, 5);
    for (char& c : text) c = static_cast<char>('a' + (static_cast<unsigned char>(c) % 26));
    return text;
  }
  static std::string curl(const std::string& options, const std::string& host = "localhost") {
    return "curl --silent --show-error --noproxy '*' --ipv4 " + options + " https://" + host +
           ":PORT/";
  }
  static std::string trusting() {
    return "--cacert " + Certificates::get().authority().certificate;
  }

  Finished finished_;
  std::exception_ptr server_error_;
};
TIFFANY_ON_EVERY_REACTOR(TlsClientsTest);

TEST_P(TlsClientsTest, C3_CurlAcceptsOurServerByNameAndByAddress) {
  if (!installed("curl")) GTEST_SKIP() << "curl is not installed";
  for (const char* host : {"localhost", "127.0.0.1"}) {
    for (const char* version : {"--tlsv1.3", "--tls-max 1.2"}) {
      serve(Certificates::get().good(), curl(trusting() + " " + version, host));
      EXPECT_EQ(finished_.code, 0) << finished_.output;
      EXPECT_TRUE(finished_.output == random_text()) << finished_.output.substr(0, 300);
      EXPECT_EQ(server_error_, nullptr) << what_of(server_error_);
    }
  }
}

TEST_P(TlsClientsTest, C3_CurlRefusesWhatItShouldAndOurServerSaysSo) {
  if (!installed("curl")) GTEST_SKIP() << "curl is not installed";
  constexpr int kRefused = 60;  // CURLE_PEER_FAILED_VERIFICATION
  const Certificates& made = Certificates::get();
  for (const TlsIdentity* one : {&made.expired(), &made.other_host(), &made.self_signed()}) {
    serve(*one, curl(trusting()));
    EXPECT_EQ(finished_.code, kRefused) << finished_.output;
    // At the name it looks when the handshake is over, and leaves without a reason.
    EXPECT_TRUE(server_error_ != nullptr || one == &made.other_host()) << one->certificate;
  }
  serve(made.good(), curl(""));
  EXPECT_EQ(finished_.code, kRefused) << finished_.output;
  expect_error(server_error_, Errc::tls_failed, "the client refused our certificate (unknown CA)");
}

TEST_P(TlsClientsTest, C3_CurlSpeakingPlainHttpGetsNoAnswerAndOurServerSaysWhy) {
  if (!installed("curl")) GTEST_SKIP() << "curl is not installed";
  serve(Certificates::get().good(), "curl --silent --noproxy '*' http://127.0.0.1:PORT/");
  EXPECT_NE(finished_.code, 0);
  expect_error(server_error_, Errc::tls_failed, "plain HTTP", "https://");
}

TEST_P(TlsClientsTest, C3_OpensslAcceptsOurServerAndSeesItsEnd) {
  if (!installed("openssl")) GTEST_SKIP() << "openssl is not installed";
  const std::string authority = Certificates::get().authority().certificate;
  for (const char* version : {"-tls1_3", "-tls1_2"}) {
    serve(Certificates::get().good(),
          "sh -c \"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | openssl s_client -connect 127.0.0.1:PORT "
          "-servername localhost -verify_hostname localhost -verify_return_error -ign_eof " +
              std::string(version) + " -CAfile " + authority + "\"");
    EXPECT_EQ(finished_.code, 0) << finished_.output;
    EXPECT_NE(finished_.output.find("Verify return code: 0 (ok)"), std::string::npos)
        << finished_.output;
    EXPECT_NE(finished_.output.find(random_text()), std::string::npos);
    EXPECT_EQ(finished_.output.find("unexpected eof"), std::string::npos);
    EXPECT_EQ(server_error_, nullptr) << what_of(server_error_);
  }
}

TEST_P(TlsClientsTest, C3_OpensslWithTls11IsRefused) {
  if (!installed("openssl")) GTEST_SKIP() << "openssl is not installed";
  serve(Certificates::get().good(),
        "openssl s_client -connect 127.0.0.1:PORT -tls1_1 -cipher ALL:@SECLEVEL=0");
  EXPECT_NE(finished_.code, 0);
  expect_error(server_error_, Errc::tls_failed, "no version that both sides speak");
}

}  // namespace tls_clients_test
}  // namespace tiffany

#endif
