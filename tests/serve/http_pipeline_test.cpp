// Requests that are sent behind one another: what is read meanwhile, and how answers are sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::http_pipeline_test {

using http::Exchange;
using http::Response;
using namespace std::chrono_literals;

std::string request_for(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

// /wait answers when there was a /go, everything else at once; /slow after a second.
class Gate : public http::Handler {
 public:
  Task<void> handle(Exchange& exchange) override {
    const std::string target = exchange.request().target;
    if (target == "/wait") co_await open_.wait();
    if (target == "/slow") co_await sleep(1s);
    if (target == "/go") open_.set();
    co_await exchange.respond(Response(200, "text/plain", "<" + target + ">"));
  }

 private:
  ManualResetEvent open_;
};

// What the client reads is shared with the test, because a server keeps its stream for itself.
struct Wire {
  std::string to_server;
  bool ended = false;  // the client sends no more
  ManualResetEvent more;
  std::string to_client;
  int writes = 0;
  Duration of_write{};
};
class WireStream {
 public:
  explicit WireStream(Wire& wire) noexcept : wire_(&wire) {}
  Task<std::size_t> read(Room room) {
    while (wire_->to_server.empty() && !wire_->ended && !closed_) {
      wire_->more.reset();
      co_await wire_->more.wait();
    }
    const std::size_t size = std::min(room.size(), wire_->to_server.size());
    std::memcpy(room.data(), wire_->to_server.data(), size);
    wire_->to_server.erase(0, size);
    co_return size;
  }
  Task<std::size_t> write(Bytes bytes) {
    ++wire_->writes;
    co_await sleep(wire_->of_write);
    wire_->to_client.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    co_return bytes.size();
  }
  void close() noexcept {
    closed_ = true;
    wire_->more.set();
  }

 private:
  Wire* wire_;
  bool closed_ = false;
};

std::string bodies_in(const std::string& answers) {
  std::string bodies;
  for (std::size_t at = 0; (at = answers.find('<', at)) != std::string::npos; ++at) {
    bodies += answers.substr(at, answers.find('>', at) + 1 - at);
  }
  return bodies;
}

using Script = Task<void> (*)(Wire& wire, http::Server& server);
void serve_wire(Wire& wire, Script script, http::Limits limits = http::Limits()) {
  MemoryWorld world;
  Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
  scheduler.spawn(
      [](Wire* line, Script client, http::Limits bounds) -> Task<void> {
        Gate gate;
        http::Server server(gate, bounds);
        auto serving = spawn(
            [](http::Server* what, Wire* on) -> Task<void> {
              co_await what->serve_stream(AnyStream(WireStream(*on)));
            },
            &server, line);
        co_await client(*line, server);
        co_await serving;
        EXPECT_EQ(server.connections(), 0u);
      },
      &wire, script, limits);
  scheduler.run();
}

void say(Wire& wire, const std::string& text) {
  wire.to_server += text;
  wire.more.set();
}
void hang_up(Wire& wire) {
  wire.ended = true;
  wire.more.set();
}

TEST(HttpPipelineReading, ARequestIsHandledWhileThoseBeforeItAre) {
  Wire wire;
  serve_wire(wire, [](Wire& line, http::Server&) -> Task<void> {
    say(line, request_for("/wait") + request_for("/a"));
    co_await sleep(1s);
    EXPECT_EQ(line.to_client, "") << "/a is not answered before /wait";
    say(line, request_for("/go"));
    co_await sleep(1s);
    EXPECT_EQ(bodies_in(line.to_client), "</wait></a></go>");
    hang_up(line);
  });
}

TEST(HttpPipelineReading, AClientThatWaitsForItsAnswersIsNotIdle) {
  Wire wire;
  http::Limits limits;
  limits.idle_time = 10s;
  serve_wire(
      wire,
      [](Wire& line, http::Server&) -> Task<void> {
        say(line, request_for("/wait") + request_for("/a"));
        co_await sleep(60s);
        say(line, request_for("/go"));
        co_await sleep(1s);
        EXPECT_EQ(bodies_in(line.to_client), "</wait></a></go>");
        co_await sleep(60s);  // and now it is: the connection ends
      },
      limits);
}

TEST(HttpPipelineReading, AServerThatStopsAnswersWhatIsUnderWayAndEndsTheConnection) {
  Wire wire;
  serve_wire(wire, [](Wire& line, http::Server& server) -> Task<void> {
    say(line, request_for("/slow") + request_for("/a"));
    co_await sleep(500ms);
    server.stop();
  });
  EXPECT_EQ(bodies_in(wire.to_client), "</slow></a>");
}

TEST(HttpPipelineWriting, AnswersThatAreThereTogetherAreSentTogether) {
  Wire wire;
  wire.of_write = 1ms;
  serve_wire(wire, [](Wire& line, http::Server&) -> Task<void> {
    std::string requests;
    for (int i = 0; i < 100; ++i) requests += request_for("/slow");
    say(line, requests);
    co_await sleep(10s);
    hang_up(line);
  });
  EXPECT_EQ(bodies_in(wire.to_client).size(), 100 * std::string("</slow>").size());
  EXPECT_LE(wire.writes, 3);
}

TEST(HttpPipelineWriting, AClientThatReadsNothingIsGivenUpAndHoldsOnlySoMuch) {
  Wire wire;
  wire.of_write = 1h;  // longer than Limits::write_time
  serve_wire(wire, [](Wire& line, http::Server& server) -> Task<void> {
    for (int i = 0; i < 1000; ++i) say(line, request_for("/a"));
    co_await sleep(100s);
    EXPECT_EQ(server.connections(), 0u);
  });
  EXPECT_EQ(wire.to_client, "");
}

// ---- Streams ----

// Writes a line each 15 seconds, until the client is gone; notes when that was.
class Ticker : public http::Handler {
 public:
  Task<void> handle(Exchange& exchange) override {
    if (exchange.request().target != "/ticks") {
      co_await exchange.respond(Response(200, "text/plain", "<other>"));
      co_return;
    }
    co_await exchange.begin(Response(200));
    co_await race(tick(exchange), exchange.closed());
    ended = Scheduler::current()->now() - begun;
  }
  Time begun{};
  std::optional<Duration> ended;

 private:
  static Task<void> tick(Exchange& exchange) {
    for (int i = 0; i < 4; ++i) {
      co_await exchange.write("tick\n");
      co_await sleep(15s);
    }
  }
};

std::optional<Duration> end_of_stream(Wire& wire, const std::string& requests, bool closes) {
  MemoryWorld world;
  Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
  Ticker ticker;
  scheduler.spawn(
      [](Ticker* handler, Wire* line, const std::string* text, bool hangs_up) -> Task<void> {
        http::Server server(*handler);
        handler->begun = Scheduler::current()->now();
        auto serving = spawn(
            [](http::Server* what, Wire* on) -> Task<void> {
              co_await what->serve_stream(AnyStream(WireStream(*on)));
            },
            &server, line);
        say(*line, *text);
        co_await sleep(3s);
        if (hangs_up) {
          hang_up(*line);
        } else {
          say(*line, request_for("/next"));
          co_await sleep(120s);
          hang_up(*line);
        }
        co_await serving;
      },
      &ticker, &wire, &requests, closes);
  scheduler.run();
  return ticker.ended;
}

TEST(HttpStream, AClientThatIsGoneIsNoticedAtOnceAlthoughNothingIsWritten) {
  Wire wire;
  const std::optional<Duration> alone = end_of_stream(wire, request_for("/ticks"), true);
  ASSERT_TRUE(alone);
  EXPECT_EQ(*alone, Duration(3s));
  Wire other;
  const auto in_line = end_of_stream(other, request_for("/a") + request_for("/ticks"), true);
  ASSERT_TRUE(in_line);
  EXPECT_EQ(*in_line, Duration(3s));
}

TEST(HttpStream, ARequestThatComesDuringAStreamIsAnsweredBehindIt) {
  for (const std::string& first : {std::string(), request_for("/a")}) {
    Wire wire;
    const std::optional<Duration> ended = end_of_stream(wire, first + request_for("/ticks"), false);
    ASSERT_TRUE(ended);
    EXPECT_EQ(*ended, Duration(60s));
    EXPECT_TRUE(wire.to_client.ends_with("<other>")) << wire.to_client;
  }
}

}  // namespace tiffany::http_pipeline_test
