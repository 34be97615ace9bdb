// Messages that two programs read differently: a request that one of them takes for the body of
// another is never handled here.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::smuggling_test {

class Noting : public http::Handler {
 public:
  Task<void> handle(http::Exchange& exchange) override {
    targets += exchange.request().target + " ";
    co_await exchange.respond(http::Response(200, "text/plain", "answered"));
  }
  std::string targets;
};

struct Outcome {
  std::string targets;  // that were handled
  std::string answers;
};

Outcome send(const std::string& bytes, std::uint64_t seed) {
  MemoryWorld world(MemoryWorldOptions().seed(seed));
  Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
  Outcome out;
  scheduler.spawn(
      [](const std::string* text, Outcome* found) -> Task<void> {
        Noting handler;
        http::Server server(handler);
        Listener listener = Listener::bind(Address::loopback(0));
        auto serving =
            spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                  &server, &listener);
        {
          Socket client = co_await connect(listener.local());
          try {
            co_await client.write(*text);
            client.shutdown_write();
            std::array<char, 4096> room;
            while (const std::size_t n = co_await client.read(room)) {
              found->answers.append(room.data(), n);
            }
          } catch (const IoError&) {
            found->answers += "(reset)";
          }
        }
        server.stop();
        co_await serving;
        found->targets = handler.targets;
      },
      &bytes, &out);
  scheduler.run();
  return out;
}

const std::string kHidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

std::string post_with(const std::string& headers, const std::string& body) {
  return "POST /first HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n\r\n" + body;
}

// Each is refused as a whole: with an answer of 4xx or 501, or by closing the connection.
std::vector<std::string> corpus() {
  const std::string chunks = "0\r\n\r\n" + kHidden;
  const std::string length = "Content-Length: " + std::to_string(chunks.size());
  std::vector<std::string> all;
  // A length and chunks, in both orders; codings that some do not see.
  all.push_back(post_with(length + "\r\nTransfer-Encoding: chunked", chunks));
  all.push_back(post_with("Transfer-Encoding: chunked\r\n" + length, chunks));
  all.push_back(post_with("Content-Length: 5\r\nTransfer-Encoding: chunked", chunks));
  for (const char* const coding :
       {"Transfer-Encoding: xchunked", "Transfer-Encoding : chunked",
        "Transfer-Encoding: chunked, x", "Transfer-Encoding: x, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: identity",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: \x0b"
        "chunked",
        "Transfer-Encoding:\n chunked", "X: y\nTransfer-Encoding: chunked",
        "X: y\rTransfer-Encoding: chunked", "X: y\r\n Transfer-Encoding: chunked",
        "Transfer-Encoding\n: chunked", "Transfer_Encoding: chunked\r\nTransfer-Encoding: gzip",
        "Transfer-Encoding: chunked;q=1", "Transfer-Encoding: chun\0ked", "Transfer-Encoding: "}) {
    all.push_back(post_with(coding, chunks));
    all.push_back(post_with(length + "\r\n" + coding, chunks));
  }
  // Lengths that are none, or are several.
  for (const char* const number : {"+5", "-1", "5, 5", "5, 6", "5 5", "0x5", "5;", "", "five",
                                   "5.0", "18446744073709551617", "99999999999999999999999",
                                   "\x0b"
                                   "5",
                                   "5\r\nContent-Length: 6", "5\r\nContent-Length: 5", "1e1"}) {
    all.push_back(post_with("Content-Length: " + std::string(number), chunks));
  }
  all.push_back(post_with("Content-Length : 5", chunks));
  all.push_back(post_with("Content-Length\t: 5", chunks));
  // Chunks that are none.
  for (const char* const chunk :
       {"0x0\r\n\r\n", "-0\r\n\r\n", "+0\r\n\r\n", "\r\n0\r\n\r\n", "00000000000000001x\r\n\r\n",
        "fffffffffffffffff0\r\n", "ffffffffffffffff\r\n", "0\n\r\n", "1\r\naX0\r\n\r\n",
        "1\naa\n0\r\n\r\n", "g\r\n\r\n", ";x\r\n\r\n"}) {
    all.push_back(post_with("Transfer-Encoding: chunked", chunk + kHidden));
  }
  all.push_back(
      post_with("Transfer-Encoding: chunked", "0\r\nContent-Length: 99\r\n\r\n" + kHidden));
  all.push_back(std::string(1, '\0') + "GET /first HTTP/1.1\r\nHost: x\r\n\r\n" + kHidden);
  // Heads that are none.
  for (const char* const head :
       {"GET /first HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "GET /first HTTP/1.1\r\n\r\n",
        "GET /first HTTP/1.1\r\nHost: x\r\nX\r\n\r\n",
        "GET /first HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
        "GET /first HTTP/1.1\r\nHost: x\r\nX y: z\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /first HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /first HTTP/2.0\r\nHost: x\r\n\r\n",
        "GET /first HTTP/11.1\r\nHost: x\r\n\r\n", "GET /first\r\nHost: x\r\n\r\n",
        "GET /first HTTP/1.1\nHost: x\n\n", "GET  /first HTTP/1.1\r\nHost: x\r\n\r\n",
        "G\x01T /first HTTP/1.1\r\nHost: x\r\n\r\n"}) {
    all.push_back(head + kHidden);
  }
  return all;
}

TEST(Smuggling, WhatCanBeReadInTwoWaysIsRefusedAndWhatIsBehindItIsNotHandled) {
  for (const std::string& bytes : corpus()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Outcome found = send(bytes, seed);
      EXPECT_EQ(found.targets, "") << bytes << "\nanswers: " << found.answers;
      const bool refused = found.answers.starts_with("HTTP/1.1 4") ||
                           found.answers.starts_with("HTTP/1.1 501") ||
                           found.answers == "(reset)" || found.answers.empty();
      EXPECT_TRUE(refused) << bytes << "\nanswers: " << found.answers;
      if (HasFailure()) break;
    }
  }
}

// What is clear is read in its one way: the hidden request is a body, or is one of its own.
TEST(Smuggling, WhatIsClearIsReadInItsOneWay) {
  const std::string body = std::to_string(kHidden.size());
  EXPECT_EQ(send(post_with("Content-Length: " + body, kHidden), 0).targets, "/first ");
  EXPECT_EQ(send(post_with("Content-Length:\t" + body, kHidden), 0).targets, "/first ");
  EXPECT_EQ(send(post_with("Content-Length: 0", kHidden), 0).targets, "/first /hidden ");
  EXPECT_EQ(send(post_with("Transfer-Encoding: CHUNKED", "0\r\n\r\n" + kHidden), 0).targets,
            "/first /hidden ");
}

}  // namespace tiffany::smuggling_test
