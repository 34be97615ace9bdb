// HTTP over the world in memory: reads are split, completions delayed and reordered by seeds, and
// timeouts of a minute take no time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_client.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::http_test {

using http::Exchange;
using http::Request;
using http::Response;
using namespace std::chrono_literals;

constexpr int kSeeds = 30;

class Shop : public http::Handler {
 public:
  Task<void> handle(Exchange& exchange) override {
    const Request& request = exchange.request();
    if (request.path() == "/echo") {
      co_await exchange.respond(Response(200, "text/plain", request.body));
    } else if (request.path() == "/stream") {
      co_await exchange.begin(Response(200));
      for (int i = 0; i < 3; ++i) {
        co_await sleep(1s);
        co_await exchange.write("piece " + std::to_string(i) + "\n");
      }
    } else if (request.path() == "/refuse") {
      throw http::HttpError(409, "It is taken.");
    } else if (request.path() == "/fail") {
      throw std::runtime_error("a secret of the server");
    } else if (request.path() == "/half") {
      co_await exchange.begin(Response(200));
      co_await exchange.write("half of it");
      throw std::runtime_error("the other half is lost");
    } else if (request.path() == "/twice") {
      co_await exchange.respond(Response(200));
      co_await exchange.respond(Response(200));
    } else if (request.path() == "/big") {
      co_await exchange.respond(Response(200, "text/plain", std::string(3'000'000, 'x')));
    } else if (request.path() != "/nothing") {
      co_await exchange.respond(Response(404, "text/plain", "no such page\n"));
    }
  }
};

// Runs `client` against the shop, in memory, with that seed.
using Client = std::function<Task<void>(Address)>;
std::vector<std::string> run(const Client& client, std::uint64_t seed,
                             http::Limits limits = http::Limits()) {
  MemoryWorld world(MemoryWorldOptions().seed(seed));
  std::vector<std::string> reports;
  Scheduler scheduler(Options().clock(world.reactor()).log_to([&](const LogLine& line) {
    reports.emplace_back(line.message);
  }));
  scheduler.spawn(
      [](const Client* code, http::Limits bounds) -> Task<void> {
        Shop shop;
        http::Server server(shop, bounds);
        Listener listener = Listener::bind(Address::loopback(0));
        const Address where = listener.local();
        auto serving =
            spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                  &server, &listener);
        co_await (*code)(where);
        server.stop();
        co_await serving;
        EXPECT_EQ(server.connections(), 0u);
      },
      &client, limits);
  scheduler.run();
  return reports;
}
void over_seeds(const Client& client, http::Limits limits = http::Limits()) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto reports = run(client, seed, limits);
    EXPECT_TRUE(reports.empty()) << reports.front();
    if (::testing::Test::HasFailure()) return;
  }
}

// Sends bytes as they are, and gives everything that comes until the server closes.
Task<std::string> raw(Address where, std::string bytes) {
  Socket socket = co_await connect(where);
  co_await socket.write(bytes);
  std::string all;
  std::array<char, 1000> room;
  while (const std::size_t came = co_await socket.read(room)) all.append(room.data(), came);
  co_return all;
}

TEST(Http, ARequestIsAnswered) {
  over_seeds([](Address where) -> Task<void> {
    Request request("POST", "/echo?x=1");
    request.body = std::string(100'000, 'b');
    const Response answer = co_await http::fetch(where, request);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, request.body);
    EXPECT_EQ(answer.headers.find("Content-Type").value_or(""), "text/plain");
    EXPECT_TRUE(answer.headers.has("date"));
  });
}

TEST(Http, RequestsOnOneConnectionAreAnsweredInOrderAlsoWhenTheyAreSentAtOnce) {
  over_seeds([](Address where) -> Task<void> {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      const std::string body = "number " + std::to_string(i);
      text += "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) +
              "\r\n" + (i == 19 ? "connection: close\r\n" : "") + "\r\n" + body;
    }
    const std::string all = co_await raw(where, text);
    std::size_t at = 0;
    for (int i = 0; i < 20; ++i) {
      const std::size_t found = all.find("\r\n\r\nnumber " + std::to_string(i), at);
      EXPECT_NE(found, std::string::npos) << i;
      at = found;
    }
  });
}

// What a client sees of a server that has said its answer and closed: nothing more can be written.
class ClosedConnection {
 public:
  explicit ClosedConnection(std::string answer, bool closed = true)
      : left_(std::move(answer)), closed_(closed) {}
  Task<std::size_t> read(Room room) {
    const std::size_t count = std::min<std::size_t>({room.size(), left_.size(), 7});
    std::copy_n(left_.data(), count, reinterpret_cast<char*>(room.data()));
    left_.erase(0, count);
    co_return count;
  }
  Task<std::size_t> write(Bytes bytes) {
    if (closed_) throw IoError(EPIPE, "write", "the test");
    co_return bytes.size();
  }
  void close() noexcept {}

 private:
  std::string left_;
  bool closed_;
};
// "status body" of a streamed answer on such a connection.
std::string streamed(ClosedConnection connection) {
  Scheduler scheduler;
  return run_on(scheduler, [](ClosedConnection from) -> Task<std::string> {
    AnyStream stream(std::move(from));
    http::StreamedAnswer answer =
        co_await http::StreamedAnswer::open(std::move(stream), Request("POST", "/"));
    std::string all = std::to_string(answer.head().status) + " ";
    for (std::string piece; !(piece = co_await answer.read()).empty();) all += piece;
    co_return all;
  }(std::move(connection)));
}

TEST(Http, AStreamedAnswerComesBehindTheInformationOfAServer) {
  EXPECT_EQ(streamed(ClosedConnection(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
                false)),
            "200 ok");
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_THROW(streamed(ClosedConnection(endless + "HTTP/1.1 204 No Content\r\n\r\n", false)),
               http::HttpError);
}

TEST(Http, AStreamedAnswerIsReadAlsoWhenTheServerDoesNotWantAllOfTheRequest) {
  EXPECT_EQ(streamed(ClosedConnection("HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno")),
            "401 no");
  EXPECT_THROW(streamed(ClosedConnection("")), IoError);
  EXPECT_THROW(streamed(ClosedConnection("HTTP/1.1 401 Unau")), IoError);
}

TEST(Http, AChunkedBodyIsPutTogether) {
  over_seeds([](Address where) -> Task<void> {
    const std::string all = co_await raw(
        where,
        "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        "5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\n\r\n");
    EXPECT_TRUE(all.ends_with("\r\n\r\nhello, world")) << all;
  });
}

TEST(Http, AnAnswerInPiecesIsSentAsItIsMade) {
  over_seeds([](Address where) -> Task<void> {
    const Time before = now();
    const Response answer = co_await http::fetch(where, Request("GET", "/stream"));
    EXPECT_EQ(answer.body, "piece 0\npiece 1\npiece 2\n");
    EXPECT_GE(now() - before, 3s);
    AnyStream stream(co_await connect(where));
    const Response kept = co_await http::ask_on(stream, Request("GET", "/stream"));
    EXPECT_EQ(kept.body, answer.body);
    const Response next = co_await http::ask_on(stream, Request("GET", "/elsewhere"));
    EXPECT_EQ(next.status, 404);
  });
}

TEST(Http, AnAnswerIsReadPieceByPieceAsItComes) {
  over_seeds([](Address where) -> Task<void> {
    AnyStream stream(co_await connect(where));
    http::StreamedAnswer answer =
        co_await http::StreamedAnswer::open(std::move(stream), Request("GET", "/stream"));
    EXPECT_EQ(answer.head().status, 200);
    for (int i = 0; i < 3; ++i) {
      const Time before = now();
      std::string piece;  // the network may cut it into several
      while (!piece.ends_with('\n')) piece += co_await answer.read();
      EXPECT_EQ(piece, "piece " + std::to_string(i) + "\n");
      EXPECT_LE(now() - before, 2s) << "it does not wait for the end";
    }
    EXPECT_EQ(co_await answer.read(), "");
  });
}

Task<void> close_at_once(Listener* listener) {
  for (int i = 0; i < 2; ++i) {
    Socket client = co_await listener->accept();
    client.close();
  }
}

TEST(Http, AStreamThatWaitsKeepsNoMemoryOfItsRequest) {
  run(
      [](Address where) -> Task<void> {
        AnyStream stream(co_await connect(where));
        const http::Limits limits;
        const http::Peer peer;
        std::string rest;
        rest.reserve(4000);
        Exchange exchange(stream, Request("GET", "/stream"), limits, false, peer, &rest);
        auto waits = spawn([](Exchange* of) -> Task<void> { co_await of->closed(); }, &exchange);
        co_await sleep(1s);
        EXPECT_LT(rest.capacity(), 64u);
        waits.cancel("seen");
        co_await waits.outcome();
      },
      1);
}

TEST(Http, AServerThatGoesBeforeItAnswersIsAnErrorOfTheClient) {
  over_seeds([](Address) -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    auto closing = spawn(close_at_once, &listener);
    for (int i = 0; i < 2; ++i) {
      bool failed = false;
      try {
        AnyStream stream(co_await connect(listener.local()));
        if (i == 0) {
          (void)co_await http::ask_on(stream, Request("GET", "/"));
        } else {
          (void)co_await http::StreamedAnswer::open(std::move(stream), Request("GET", "/"));
        }
      } catch (const Error&) {
        failed = true;
      }
      EXPECT_TRUE(failed);
    }
    co_await closing;
  });
}

TEST(Http, AnOldClientGetsAnAnswerWithoutChunks) {
  over_seeds([](Address where) -> Task<void> {
    const std::string all = co_await raw(where, "GET /stream HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(all.ends_with("\r\n\r\npiece 0\npiece 1\npiece 2\n")) << all;
    EXPECT_NE(all.find("connection: close\r\n"), std::string::npos);
  });
}

TEST(Http, HeadGetsTheHeadAndNothingElse) {
  over_seeds([](Address where) -> Task<void> {
    const std::string all =
        co_await raw(where,
                     "HEAD /big HTTP/1.1\r\nhost: x\r\n\r\nHEAD /stream HTTP/1.1\r\nhost: x\r\n"
                     "connection: close\r\n\r\n");
    EXPECT_NE(all.find("content-length: 3000000\r\n"), std::string::npos);
    EXPECT_EQ(all.find("xxx"), std::string::npos);
    EXPECT_EQ(all.find("piece"), std::string::npos);
    EXPECT_TRUE(all.ends_with("\r\n\r\n"));
  });
}

TEST(Http, AClientThatWaitsForAWordBeforeItsBodyGetsIt) {
  over_seeds([](Address where) -> Task<void> {
    AnyStream stream(co_await connect(where));
    co_await stream.write(std::string_view(
        "POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"));
    std::string all;
    std::array<char, 100> room;
    while (all.find("\r\n\r\n") == std::string::npos) {
      const std::size_t came = co_await stream.read(room);
      all.append(room.data(), came);
    }
    EXPECT_EQ(all, "HTTP/1.1 100 Continue\r\n\r\n");
    co_await stream.write(std::string_view("body"));
    std::string answer;
    while (!answer.ends_with("body")) {
      const std::size_t came = co_await stream.read(room);
      answer.append(room.data(), came);
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  });
}

TEST(Http, HandlersThatRefuseFailOrForgetAreAnswersToo) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto reports = run(
        [](Address where) -> Task<void> {
          const Response refused = co_await http::fetch(where, Request("GET", "/refuse"));
          EXPECT_EQ(refused.status, 409);
          EXPECT_EQ(refused.body, "It is taken.\n");
          const Response failed = co_await http::fetch(where, Request("GET", "/fail"));
          EXPECT_EQ(failed.status, 500);
          EXPECT_EQ(failed.body.find("secret"), std::string::npos);
          const Response nothing = co_await http::fetch(where, Request("GET", "/nothing"));
          EXPECT_EQ(nothing.status, 500);
          const Response twice = co_await http::fetch(where, Request("GET", "/twice"));
          EXPECT_EQ(twice.status, 200);
        },
        seed);
    ASSERT_EQ(reports.size(), 2u);  // /fail and /twice
    EXPECT_NE(reports[0].find("a secret of the server"), std::string::npos);
  }
}

TEST(Http, AnAnswerThatFailsInTheMiddleIsSeenToBeCut) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    run(
        [](Address where) -> Task<void> {
          std::string why;
          try {
            co_await http::fetch(where, Request("GET", "/half"));
          } catch (const Error& error) {
            why = error.what();
          }
          EXPECT_FALSE(why.empty());
        },
        seed);
  }
}

TEST(Http, WhatTwoProgramsReadDifferentlyIsRefused) {
  const std::string good = "host: x\r\n";
  const std::vector<std::string> bad = {
      "GET / HTTP/1.1\r\n\r\n",                        // no host
      "GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",  // two
      "POST / HTTP/1.1\r\n" + good + "content-length: 1\r\ncontent-length: 1\r\n\r\na",
      "POST / HTTP/1.1\r\n" + good + "content-length: 1\r\ncontent-length: 2\r\n\r\nab",
      "POST / HTTP/1.1\r\n" + good + "content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
      "POST / HTTP/1.1\r\n" + good + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\n" + good + "content-length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\n" + good + "content-length: +1\r\n\r\na",
      "POST / HTTP/1.1\r\n" + good + "content-length: 1x\r\n\r\na",
      "POST / HTTP/1.1\r\n" + good + "transfer-encoding: chunked\r\n\r\nxyz\r\n",
      "GET / HTTP/1.1\r\n" + good + "a: b\r\n c\r\n\r\n",  // folded
      "GET / HTTP/1.1\r\n" + good + "a b: c\r\n\r\n",
      "GET / HTTP/1.1\r\n" + good + ": c\r\n\r\n",
      "GET / HTTP/1.1\r\n" + good + "no colon\r\n\r\n",
      "GET  / HTTP/1.1\r\n" + good + "\r\n",
      "GET /a b HTTP/1.1\r\n" + good + "\r\n",
      "GET / HTTP/2.0\r\n" + good + "\r\n",
      "GET / HTTP/1.1\r\n" + good + std::string("x: a\0b\r\n\r\n", 10),
      "\x16\x03\x01 this is TLS\r\n\r\n",
      "{\"json\":1}\r\n\r\n",
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    run(
        [&](Address where) -> Task<void> {
          for (const std::string& text : bad) {
            const std::string all = co_await raw(where, text);
            EXPECT_TRUE(all.starts_with("HTTP/1.1 4") || all.starts_with("HTTP/1.1 501")) << text;
          }
        },
        seed);
  }
}

TEST(Http, EverythingHasABound) {
  http::Limits limits;
  limits.head = 1000;
  limits.body = 5000;
  over_seeds(
      [](Address where) -> Task<void> {
        std::string all = co_await raw(
            where, "GET / HTTP/1.1\r\nhost: x\r\na: " + std::string(2000, 'x') + "\r\n\r\n");
        EXPECT_TRUE(all.starts_with("HTTP/1.1 431")) << all;
        all = co_await raw(where, "GET /" + std::string(100'000, 'x'));
        EXPECT_TRUE(all.starts_with("HTTP/1.1 431")) << all;
        Request request("POST", "/echo");
        request.body = std::string(5001, 'x');
        const Response long_body = co_await http::fetch(where, request);
        EXPECT_EQ(long_body.status, 413);
        all = co_await raw(where,
                           "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
                           "\r\n2000\r\n" +
                               std::string(0x2000, 'x') + "\r\n0\r\n\r\n");
        EXPECT_TRUE(all.starts_with("HTTP/1.1 413")) << all;
        request.body = std::string(5000, 'x');
        const Response fits = co_await http::fetch(where, request);
        EXPECT_EQ(fits.status, 200);
      },
      limits);
}

TEST(Http, AClientThatIsSlowIsNotWaitedForForEver) {
  over_seeds([](Address where) -> Task<void> {
    // A byte of the head every nine seconds: never silent for long, and never done.
    Socket slow = co_await connect(where);
    const Time before = now();
    std::string all;
    auto reading = spawn(
        [](Socket* from, std::string* to) -> Task<void> {
          std::array<char, 1000> space;
          while (const std::size_t came = co_await from->read(space))
            to->append(space.data(), came);
        },
        &slow, &all);
    for (int i = 0; i < 3 && all.empty(); ++i) {
      const std::string byte = "G";
      co_await slow.write(byte);
      co_await sleep(9s);
    }
    co_await reading;
    EXPECT_TRUE(all.starts_with("HTTP/1.1 408")) << all;
    EXPECT_LE(now() - before, 30s);

    // Nothing at all: closed without a word.
    EXPECT_EQ(co_await raw(where, ""), "");
    // Half a body.
    const std::string half =
        co_await raw(where, "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc");
    EXPECT_TRUE(half.starts_with("HTTP/1.1 408")) << half;
  });
}

TEST(Http, AClientThatDoesNotReadItsAnswerIsLeft) {
  over_seeds([](Address where) -> Task<void> {
    Socket stuck = co_await connect(where);
    const std::string text = "GET /big HTTP/1.1\r\nhost: x\r\n\r\n";
    co_await stuck.write(text);
    co_await sleep(2min);
    std::array<char, 4096> room;
    std::size_t all = 0;
    try {
      while (const std::size_t came = co_await stuck.read(room)) all += came;
    } catch (const IoError&) {
    }
    EXPECT_LT(all, 3'000'000u);
  });
}

TEST(Http, AClientThatGoesInTheMiddleLeavesNothing) {
  over_seeds([](Address where) -> Task<void> {
    for (const char* text :
         {"", "GET", "GET / HTTP/1.1\r\nhost: x\r\n", "GET /stream HTTP/1.1\r\nhost: x\r\n\r\n",
          "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab"}) {
      Socket client = co_await connect(where);
      const std::string bytes = text;
      if (!bytes.empty()) co_await client.write(bytes);
      client.close();
    }
    co_await sleep(2min);
  });
}

TEST(Http, StopLetsWhatRunsFinishAndClosesWhatIsIdle) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    MemoryWorld world(MemoryWorldOptions().seed(seed));
    Scheduler scheduler(Options().clock(world.reactor()));
    scheduler.spawn([]() -> Task<void> {
      Shop shop;
      http::Server server(shop);
      Listener listener = Listener::bind(Address::loopback(0));
      const Address where = listener.local();
      auto serving =
          spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                &server, &listener);
      AnyStream idle(co_await connect(where));
      co_await http::ask_on(idle, Request("GET", "/echo"));
      auto busy = spawn(
          [](Address to) -> Task<Response> {
            co_return co_await http::fetch(to, Request("GET", "/stream"));
          },
          where);
      co_await sleep(1500ms);
      server.stop();
      const Time before = now();
      co_await serving;
      EXPECT_LE(now() - before, 5s);
      const Response answer = co_await busy;
      EXPECT_EQ(answer.body, "piece 0\npiece 1\npiece 2\n");
    });
    scheduler.run();
  }
}

TEST(Http, NoTextOfAUserBecomesAHeader) {
  http::Headers headers;
  EXPECT_THROW(headers.add("x", "a\r\nset-cookie: b"), Error);
  EXPECT_THROW(headers.add("x y", "a"), Error);
  EXPECT_THROW(headers.add("", "a"), Error);
  EXPECT_THROW(headers.set("x", std::string("a\0b", 3)), Error);
  headers.add("X-One", "1").set("x-one", "2");
  EXPECT_EQ(headers.find("x-ONE"), "2");
  EXPECT_EQ(headers.size(), 1u);
  headers.add("accept", "text/html, Application/JSON ,*/*");
  EXPECT_TRUE(headers.has_word("Accept", "application/json"));
  EXPECT_FALSE(headers.has_word("accept", "text"));
}

TEST(Http, QueriesAreDecoded) {
  const Request request("GET", "/a?x=1&na%6De=a+b%2Fc&empty&bad=%zz");
  EXPECT_EQ(request.path(), "/a");
  EXPECT_EQ(request.parameter("x"), "1");
  EXPECT_EQ(request.parameter("name"), "a b/c");
  EXPECT_EQ(request.parameter("empty"), "");
  EXPECT_EQ(request.parameter("bad"), std::nullopt);
  EXPECT_EQ(request.parameter("none"), std::nullopt);
}

TEST(Http, AClientRefusesToSendWhatWouldBeTwoRequests) {
  over_seeds([](Address where) -> Task<void> {
    for (const char* target : {"/a b", "/a\r\nx: y", ""}) {
      bool refused = false;
      try {
        co_await http::fetch(where, Request("GET", target));
      } catch (const Error& error) {
        refused = error.code() == Errc::bad_argument;
      }
      EXPECT_TRUE(refused) << target;
    }
  });
}

}  // namespace tiffany::http_test
