// Requests behind one another, over the world in memory: how many are handled at a time, and that
// they are answered in their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::http_order_test {

using http::Exchange;
using http::Response;
using namespace std::chrono_literals;

constexpr int kSeeds = 30;

// Answers after so many seconds as the target says, and notes when it began.
class Slow : public http::Handler {
 public:
  Task<void> handle(Exchange& exchange) override {
    const std::string target = exchange.request().target;
    most = std::max(most, ++under_way);
    co_await sleep(1s * (target[1] - '0'));
    --under_way;
    if (target.ends_with("fail")) throw std::runtime_error("no answer to " + target);
    if (target.ends_with("end")) exchange.close_after();
    co_await exchange.respond(Response(200, "text/plain", "<" + target + ">"));
  }
  int under_way = 0;
  int most = 0;
};

struct Pipelined {
  std::string bodies;
  std::string all;
  int most = 0;
  Duration took{};
};
// `later` is sent a minute after the requests.
Pipelined pipeline(const std::string& requests, std::uint64_t seed,
                   http::Limits limits = http::Limits(), const std::string& later = "") {
  MemoryWorld world(MemoryWorldOptions().seed(seed));
  Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
  Pipelined out;
  scheduler.spawn(
      [](const std::string* text, const std::string* rest, http::Limits bounds,
         Pipelined* found) -> Task<void> {
        Slow slow;
        http::Server server(slow, bounds);
        Listener listener = Listener::bind(Address::loopback(0));
        auto serving =
            spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                  &server, &listener);
        const Time begun = Scheduler::current()->now();
        {
          Socket client = co_await connect(listener.local());
          co_await client.write(*text);
          std::array<char, 4096> room;
          std::string& all = found->all;
          try {
            if (!rest->empty()) {
              co_await sleep(60s);
              while (all.find('>') == std::string::npos) {
                const std::size_t n = co_await client.read(room);
                all.append(room.data(), n);
                if (n == 0) break;
              }
              co_await client.write(*rest);
            }
            client.shutdown_write();
            while (const std::size_t n = co_await client.read(room)) all.append(room.data(), n);
          } catch (const IoError&) {
            all += "(reset)";
          }
          for (std::size_t at = 0; (at = all.find('<', at)) != std::string::npos; ++at) {
            found->bodies += all.substr(at, all.find('>', at) + 1 - at);
          }
        }
        found->took = Scheduler::current()->now() - begun;
        server.stop();
        co_await serving;
        found->most = slow.most;
      },
      &requests, &later, limits, &out);
  scheduler.run();
  return out;
}
std::string ask_for(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

TEST(HttpPipeline, RequestsAreHandledBesideOneAnotherAndAnsweredInTheirOrder) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Pipelined found =
        pipeline(ask_for("/3a") + ask_for("/1b") + ask_for("/2c") + ask_for("/0d"), seed);
    EXPECT_EQ(found.bodies, "</3a></1b></2c></0d>") << seed;
  }
  // When they come in one piece, they take as long as the longest.
  const Pipelined found =
      pipeline(ask_for("/3a") + ask_for("/1b") + ask_for("/2c") + ask_for("/0d"), 0);
  EXPECT_LT(found.took, 4s);
  EXPECT_GT(found.most, 1);
}

TEST(HttpPipeline, SoManyAtATimeAsTheLimitSays) {
  http::Limits limits;
  limits.pipelined = 3;
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += ask_for("/1");
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Pipelined found = pipeline(requests, seed, limits);
    EXPECT_EQ(found.bodies.size(), 20 * std::string("</1>").size());
    EXPECT_LE(found.most, 3);
  }
}

TEST(HttpPipeline, NothingIsAnsweredBehindTheLastOrBehindAFailure) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(pipeline(ask_for("/1a") + ask_for("/2end") + ask_for("/0b"), seed).bodies,
              "</1a></2end>")
        << seed;
    const std::string failed =
        pipeline(ask_for("/1a") + ask_for("/2fail") + ask_for("/0b"), seed).bodies;
    EXPECT_EQ(failed.find("/0b"), std::string::npos) << failed;
  }
}

TEST(HttpPipeline, WhatIsNoRequestBehindGoodOnesIsRefusedAfterThem) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(pipeline(ask_for("/1a") + ask_for("/0b") + "nonsense\r\n\r\n", seed).bodies,
              "</1a></0b>")
        << seed;
  }
}

TEST(HttpPipeline, WhatChangesSomethingIsHandledAloneAndInItsTurn) {
  const auto change = [](const std::string& target) {
    return "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
  };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Pipelined found =
        pipeline(change("/3a") + change("/1b") + ask_for("/2c") + change("/0d"), seed);
    EXPECT_EQ(found.bodies, "</3a></1b></2c></0d>") << seed;
    EXPECT_EQ(found.most, 1) << seed;
  }
}

TEST(HttpPipeline, ABodyThatStopsInTheMiddleIsNotFollowedByARequest) {
  const std::string head = "POST /0b HTTP/1.1\r\nHost: x\r\n";
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Pipelined found = pipeline(ask_for("/1a") + head + "Content-Length: 200\r\n\r\n0123456789",
                               seed, http::Limits(), ask_for("/0hidden"));
    EXPECT_TRUE(found.bodies.starts_with("</1a>")) << seed << found.all;
    EXPECT_EQ(found.all.find("hidden"), std::string::npos) << seed << found.all;
    found = pipeline(ask_for("/1a") + head + "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n" +
                         "zz\r\n" + ask_for("/0hidden"),
                     seed);
    EXPECT_EQ(found.bodies, "</1a>") << seed;
  }
}

TEST(HttpPipeline, AWordBeforeABodyIsNotSaidInTheMiddleOfAnAnswer) {
  http::Limits patient;
  patient.body_time = 2min;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Pipelined found = pipeline(
        ask_for("/3a") +
            "POST /0b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n",
        seed, patient, "ok");
    EXPECT_EQ(found.bodies, "</3a></0b>") << seed;
    EXPECT_LT(found.all.find("</3a>"), found.all.find("100 Continue")) << found.all;
  }
}

}  // namespace tiffany::http_order_test
