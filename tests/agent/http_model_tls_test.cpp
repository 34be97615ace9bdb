#ifdef TIFFANY_TLS

#include "io/tls_certificates.hpp"
#include "model_world.hpp"
#include "tiffany/agent/fetch_tool.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany::agent {
namespace model_test {
namespace {

// One connection: a handshake, a question, an answer.
Task<void> answer_encrypted(Listener* listener, const TlsContext* context) {
  Socket socket = co_await listener->accept();
  try {
    TlsStream stream = co_await tls_accept(std::move(socket), *context);
    std::string all;
    std::array<char, 4096> room;
    while (all.find("\"stream\":true") == std::string::npos) {
      const std::size_t came = co_await stream.read(room);
      if (came == 0) co_return;
      all.append(room.data(), came);
    }
    const std::string answer = stream_of(
        "data: {\"choices\":[{\"delta\":{\"content\":\"safe\"},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n");
    co_await stream.write(answer);
    co_await stream.shutdown();
  } catch (const Error&) {
    co_return;  // the client refused the certificate
  }
}

// What a question comes to at a server with that certificate.
Result ask_encrypted(const test::Certificates::Identity& who, const std::string& trust,
                     std::uint64_t seed) {
  Result result;
  in_world(seed, [&]() -> Task<void> {
    const TlsContext context = TlsContext::server(who.certificate, who.key);
    Listener listener = Listener::bind(Address::loopback(0));
    Endpoint endpoint("https://" + listener.local().text(), "m");
    endpoint.trust = trust;
    HttpModel model(endpoint);
    auto answering = spawn(answer_encrypted, &listener, &context);
    Request request;
    request.messages.push_back(Message::user("hi"));
    result = co_await result_of(&model, request);
    co_await answering;
  });
  return result;
}

TEST(HttpModelTls, AsksOverTlsAndOnlyWhomItTrusts) {
  const auto& made = test::Certificates::get();
  const std::string& authority = made.authority().certificate;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Result result = ask_encrypted(made.good(), authority, seed);
    EXPECT_EQ(result.reply.message.text, "safe") << result.sentence;
  }
  const Result unknown = ask_encrypted(made.good(), "", 1);
  EXPECT_EQ(unknown.kind, "model_failed");
  EXPECT_NE(unknown.sentence.find("certificate"), std::string::npos) << unknown.sentence;
  const Result other = ask_encrypted(made.other_host(), authority, 1);
  EXPECT_EQ(other.kind, "model_failed");
  EXPECT_NE(other.sentence.find("127.0.0.1"), std::string::npos) << other.sentence;
}

Task<void> answer_fetch(Listener* listener, const TlsContext* context) {
  Socket socket = co_await listener->accept();
  try {
    TlsStream stream = co_await tls_accept(std::move(socket), *context);
    std::array<char, 4096> room;
    std::string all;
    while (all.find("\r\n\r\n") == std::string::npos) {
      const std::size_t came = co_await stream.read(room);
      if (came == 0) co_return;
      all.append(room.data(), came);
    }
    const std::string answer = answer_of(200, "content-type: text/plain\r\n", "safe");
    co_await stream.write(answer);
    co_await stream.shutdown();
  } catch (const Error&) {
    co_return;  // the client refused the certificate
  }
}

TEST(FetchToolTls, FetchesOverTlsAndOnlyFromWhomItTrusts) {
  const auto& made = test::Certificates::get();
  const std::string& authority = made.authority().certificate;
  const auto fetched = [&](const test::Certificates::Identity& who, const std::string& trust) {
    ToolAnswer answer;
    in_world(1, [&]() -> Task<void> {
      const TlsContext context = TlsContext::server(who.certificate, who.key);
      Listener listener = Listener::bind(Address::loopback(0));
      FetchOptions options;
      options.hosts = {listener.local().text()};
      options.trust = trust;
      ToolSet tools;
      add_fetch_tool(tools, options);
      auto answering = spawn(answer_fetch, &listener, &context);
      const std::string url = "{\"url\":\"https://" + listener.local().text() + "/\"}";
      answer = co_await tools.find("fetch")->run(ToolContext(), url);
      co_await answering;
    });
    return answer;
  };
  EXPECT_EQ(fetched(made.good(), authority).text, "safe");
  EXPECT_TRUE(fetched(made.good(), "").failed) << "nobody trusts that authority";
  EXPECT_TRUE(fetched(made.other_host(), authority).failed) << "another host";
  FetchOptions nowhere;
  nowhere.hosts = {"docs.example.org"};
  nowhere.trust = "/nowhere.pem";
  ToolSet tools;
  EXPECT_THROW(add_fetch_tool(tools, nowhere), Error);
}

}  // namespace
}  // namespace model_test
}  // namespace tiffany::agent

#endif
