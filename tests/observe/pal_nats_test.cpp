#include "tiffany/observe/pal_nats.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tiffany/io/io_error.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::pal_nats_test {

using namespace std::chrono_literals;
using observe::NatsOptions;
using observe::Pal;
using observe::PalEvent;
using observe::PalKind;
using observe::PalNatsSink;
using observe::PalSinkCounts;
namespace stage = observe::stage;

const Uuid kTask = *Uuid::parse("6d0f0000-0000-4000-8000-000000000001");
constexpr const char* kInfo = "INFO {\"server_id\":\"S\",\"max_payload\":1000,\"a\":[{}]}\r\n";

// A server that says and keeps what it is told to.
struct Server {
  std::string first = kInfo;          // when somebody connects
  std::string before_pong{};          // in front of each PONG
  bool answers = true;                // PING
  std::uint64_t closes_after = 0;     // so many events on a connection; 0: never
  bool silent_then = false;           // closes without having confirmed the last one
  std::vector<std::string> events{};  // "subject payload"
  std::vector<std::string> other{};   // lines that are neither PING nor PUB
  std::vector<Time> connects{};
};

Task<void> talk(Socket client, Server* server) {
  server->connects.push_back(now());
  std::uint64_t here = 0;
  try {
    co_await client.write(server->first);
    BufferedReader<Socket> reader(client);
    for (;;) {
      const auto line = co_await reader.line();
      if (!line) co_return;
      if (*line == "PING") {
        const bool last = server->closes_after != 0 && here >= server->closes_after;
        if (last && server->silent_then) co_return;
        const std::string pong = server->before_pong + "PONG\r\n";
        if (server->answers) co_await client.write(pong);
        if (last) co_return;
      } else if (line->starts_with("PUB ")) {
        const std::size_t space = line->rfind(' ');
        const std::string payload = co_await reader.exactly(std::stoul(line->substr(space)) + 2);
        const std::string subject = line->substr(4, space - 4);
        server->events.push_back(subject + " " + payload.substr(0, payload.size() - 2));
        ++here;
      } else {
        server->other.push_back(*line);
      }
    }
  } catch (const IoError&) {  // the sink is gone
  }
}

Task<void> serve_nats(Listener* listener, Server* server) {
  co_await serve(*listener, talk, server);
}

struct Outcome {
  PalSinkCounts counts{};
  observe::PalCounts pal{};
  std::uint64_t connections = 0;
  Time end{};
};

class PalNats : public ::testing::Test {
 protected:
  PalNats() : nowhere_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    observe::log::Settings settings;
    settings.descriptor = nowhere_;
    observe::log::configure(settings);
  }
  ~PalNats() override {
    observe::log::configure(observe::log::Settings());
    ::close(nowhere_);
  }

  // A program that emits an event a second, beside a sink and the server.
  // `away`: how long nobody listens.
  Outcome run(Server& server, int events, Duration away = 0s, std::string data = "x") {
    Outcome outcome;
    MemoryWorld world(MemoryWorldOptions().seed(5));
    Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
    scheduler.spawn([&]() -> Task<void> {
      Listener listener = Listener::bind(Address::loopback(0));
      const std::uint16_t port = listener.local().port();
      if (away > 0s) listener.close();
      observe::PalOptions options;
      options.queue = 8;
      Pal pal(options);
      PalNatsSink sink(NatsOptions("127.0.0.1", port));
      auto feeding = spawn(observe::feed, &pal, &sink, &outcome.counts, observe::PalFilter(),
                           observe::PalSinkOptions());
      Handle<void> serving;
      if (away == 0s) serving = spawn(serve_nats, &listener, &server);
      while (pal.counts().subscribers == 0) co_await yield();
      for (int i = 0; i < events; ++i) {
        if (!listener && now() >= Time(away)) {
          listener = Listener::bind(Address::loopback(port));
          serving = spawn(serve_nats, &listener, &server);
        }
        pal.emit(PalEvent(kTask, stage::kIdle, data));
        co_await sleep(1s);
      }
      outcome.end = now();
      outcome.pal = pal.counts();
      outcome.connections = sink.connections();
      cancel(feeding, "the end");
      co_await all_settled(feeding);
      if (listener) {
        cancel(serving, "the end");
        co_await all_settled(serving);
      }
    });
    scheduler.run();
    EXPECT_EQ(scheduler.counters().failed, 0u);
    EXPECT_EQ(outcome.end, Time(std::chrono::seconds(events))) << "whoever emits never waits";
    return outcome;
  }

 private:
  int nowhere_;
};

TEST_F(PalNats, EachEventIsPublishedToTheSubjectOfItsChannelAndKind) {
  Server server;
  server.before_pong = "PING\r\nINFO {}\r\n+OK\r\n";  // as servers may at any time
  Outcome outcome = run(server, 3);
  EXPECT_EQ(outcome.counts.given, 4u) << "a snapshot, which is left out, and the events";
  EXPECT_EQ(outcome.connections, 1u);
  ASSERT_EQ(server.events.size(), 3u);
  const std::string subject = "tiffany.pal.agent.6d0f0000-0000-4000-8000-000000000001 {\"ts\":";
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(server.events[i].starts_with(subject)) << server.events[i];
    EXPECT_NE(server.events[i].find("\"seq\":" + std::to_string(i + 1)), std::string::npos);
  }
  ASSERT_GE(server.other.size(), 4u);
  EXPECT_TRUE(server.other[0].starts_with("CONNECT {\"verbose\":false")) << server.other[0];
  EXPECT_EQ(server.other[1], "PONG") << "a PING of the server is answered";
}

TEST_F(PalNats, AConnectionThatTheServerClosedIsMadeAgainAndNoEventIsLost) {
  Server server;
  server.closes_after = 1;
  Outcome outcome = run(server, 5);
  EXPECT_EQ(server.events.size(), 5u);
  EXPECT_EQ(outcome.counts.failed, 0u);
  EXPECT_EQ(outcome.connections, 5u);
}

TEST_F(PalNats, AnEventThatWasNotConfirmedIsPublishedAgain) {
  Server server;
  server.closes_after = 2;
  server.silent_then = true;
  Outcome outcome = run(server, 4);
  EXPECT_EQ(outcome.counts.given, 5u);
  EXPECT_EQ(outcome.counts.failed, 0u);
  EXPECT_EQ(server.events.size(), 7u) << "three of them twice";
  for (std::size_t i = 1; i < server.events.size(); i += 2) {
    ASSERT_LT(i + 1, server.events.size());
    EXPECT_EQ(server.events[i], server.events[i + 1]);
  }
}

TEST_F(PalNats, AServerThatIsAwayIsAskedAgainLaterEachTimeAndEventsWaitInABoundedQueue) {
  Server server;
  Outcome outcome = run(server, 100, 20s);
  EXPECT_EQ(outcome.connections, 1u);
  const std::uint64_t all =
      outcome.counts.given + outcome.counts.failed + outcome.counts.late + outcome.pal.dropped;
  EXPECT_GE(all, 101u) << "each event, and the snapshot, is given, failed, late or dropped";
  EXPECT_LE(all, 111u) << "and a few frames say what was dropped";
  EXPECT_GT(outcome.pal.dropped + outcome.counts.late + outcome.counts.failed, 0u);
  EXPECT_GE(server.events.size(), 80u);
  EXPECT_NE(server.events.back().find("\"seq\":100"), std::string::npos);
}

TEST_F(PalNats, AServerThatHangsRefusesOrIsNoneChangesNothingButACounter) {
  Server hangs;
  hangs.answers = false;
  Outcome outcome = run(hangs, 30);
  EXPECT_EQ(outcome.counts.late, 6u) << "each is given five seconds";
  EXPECT_GT(outcome.pal.dropped, 0u);
  for (const char* first :
       {"-ERR 'Authorization Violation'\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
        "INFO nothing\r\n", "INFO {\"tls_required\":true}\r\n", "INFO {\"max_payload\":-1}\r\n",
        ""}) {
    Server server;
    server.first = first;
    outcome = run(server, 30);
    EXPECT_EQ(outcome.connections, 0u) << first;
    EXPECT_TRUE(server.events.empty()) << first;
    EXPECT_GT(outcome.counts.failed + outcome.counts.late, 0u) << first;
    EXPECT_LT(server.connects.size(), 10u) << first << ": it is asked seldom";
  }
  Server endless;
  endless.first = "INFO " + std::string(200'000, 'x');
  outcome = run(endless, 30);
  EXPECT_GT(outcome.counts.failed, 0u) << "what a server says is bounded";
  Server refuses;
  refuses.before_pong = "-ERR 'Permissions Violation for Publish'\r\n";
  outcome = run(refuses, 30);
  EXPECT_EQ(outcome.counts.given, 1u) << "the snapshot";
}

TEST_F(PalNats, AnEventThatIsTooLongForTheServerIsCountedAndTheNextOnesGo) {
  Server server;
  server.first = "INFO {\"max_payload\":300}\r\n";
  Outcome outcome = run(server, 2, 0s, std::string(400, 'x'));
  EXPECT_EQ(outcome.counts.failed, 2u);
  EXPECT_EQ(outcome.connections, 1u) << "and the connection stays";
}

TEST_F(PalNats, APrefixThatIsNoSubjectIsRefused) {
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a b", "a.*", ">", "a\r\nPUB x 0", "\xc3"}) {
    NatsOptions options;
    options.prefix = bad;
    EXPECT_THROW(PalNatsSink{options}, Error) << bad;
  }
}

// With a real server, where there is one (Debian: nats-server).
TEST_F(PalNats, ARealServerDeliversToItsSubscribers) {
  const char* const program = "/usr/sbin/nats-server";
  if (::access(program, X_OK) != 0) GTEST_SKIP() << "nats-server is not installed";
  std::vector<std::string> heard;
  PalSinkCounts counts;
  Scheduler scheduler;
  scheduler.spawn([&]() -> Task<void> {
    Listener chosen = Listener::bind(Address::loopback(0));
    const Address at = chosen.local();
    chosen.close();
    Process server(Command(program)
                       .arg("--addr=127.0.0.1")
                       .arg("--port=" + std::to_string(at.port()))
                       .arg("--log=/dev/null"));
    Socket subscriber;
    for (int i = 0; i < 500 && !subscriber; ++i) {
      try {
        subscriber = co_await connect(at);
      } catch (const IoError&) {  // it has not begun to listen
      }
      if (!subscriber) co_await sleep(10ms);
    }
    EXPECT_TRUE(static_cast<bool>(subscriber));
    BufferedReader<Socket> lines(subscriber);
    co_await lines.line();  // INFO
    const std::string wants = "CONNECT {\"verbose\":false}\r\nSUB tiffany.pal.> 1\r\nPING\r\n";
    co_await subscriber.write(wants);
    co_await lines.line();  // PONG: from now on it hears
    Pal pal;
    PalNatsSink sink(NatsOptions("127.0.0.1", at.port()));
    auto feeding =
        spawn(observe::feed, &pal, &sink, &counts, observe::PalFilter(), observe::PalSinkOptions());
    while (pal.counts().subscribers == 0) co_await yield();
    for (int i = 0; i < 100; ++i) pal.emit(PalEvent(kTask, stage::kIdle, "still here"));
    while (heard.size() < 100) {
      const auto line = co_await lines.line();
      if (!line) break;
      if (line->starts_with("MSG ")) {
        const std::size_t space = line->rfind(' ');
        const std::string text = co_await lines.exactly(std::stoul(line->substr(space)) + 2);
        heard.push_back(line->substr(4, line->find(' ', 4) - 4) + " " + text);
      }
    }
    for (int i = 0; i < 500 && counts.given < 101; ++i) co_await sleep(1ms);
    cancel(feeding, "the end");
    co_await all_settled(feeding);
    server.kill(SIGKILL);
    co_await server.wait();
  });
  scheduler.run();
  ASSERT_EQ(heard.size(), 100u);
  EXPECT_TRUE(heard[99].starts_with("tiffany.pal.agent.6d0f0000-0000-4000-8000-000000000001 {"));
  EXPECT_NE(heard[99].find("\"seq\":100"), std::string::npos);
  EXPECT_EQ(counts.given, 101u);
}

}  // namespace tiffany::pal_nats_test
