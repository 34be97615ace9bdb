#include "tiffany/observe/pal_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tiffany/io/buffered.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::pal_socket_test {

using observe::Pal;
using observe::PalEvent;
using observe::PalRequest;
namespace stage = observe::stage;
using namespace std::chrono_literals;

const Uuid kTask = *Uuid::parse("6d0f0000-0000-4000-8000-000000000001");

TEST(PalSocket, ARequestIsUnderstoodOrRefusedWithASentence) {
  EXPECT_TRUE(PalRequest::parse("").filter.agent);
  EXPECT_FALSE(PalRequest::parse("  ").filter.sched);
  const PalRequest all = PalRequest::parse(
      R"({"task":"6d0f0000-0000-4000-8000-000000000001","kinds":["sched"],"after":"1-2"})");
  EXPECT_EQ(all.filter.task, kTask);
  EXPECT_TRUE(all.filter.sched);
  EXPECT_FALSE(all.filter.agent);
  EXPECT_EQ(all.after, "1-2");
  for (const char* bad :
       {"hello", "[]", "{", R"({"task":"x"})", R"({"task":7})", R"({"kinds":["all"]})",
        R"({"kinds":"agent"})", R"({"what":1})", R"({} {})", R"({"kinds":[[[[[]]]]]})"}) {
    EXPECT_THROW(PalRequest::parse(bad), Error) << bad;
  }
}

std::string path_for(const char* name) {
  return "/tmp/tiffany-pal-" + std::string(name) + "-" + std::to_string(::getpid());
}

Task<void> serve_one(Pal* pal, Listener* listener) { co_await observe::serve_pal(*pal, *listener); }

TEST(PalSocket, AClientGetsASnapshotAndThenEventsALineEach) {
  Scheduler scheduler;
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    const Address where = Address::unix_path(path_for("lines"));
    Listener listener = Listener::bind(where);
    auto server = spawn(serve_one, &pal, &listener);
    Socket client = co_await connect(where);
    const std::string request = "{\"kinds\":[\"agent\"]}\n";
    co_await client.write(request);
    BufferedReader<Socket> reader(client);
    const auto first = co_await reader.line();
    EXPECT_NE(first.value_or("").find("\"type\":\"snapshot\""), std::string::npos);
    pal.emit(PalEvent(kTask, stage::kIdle, "a\nb"));
    pal.emit(PalEvent(kTask, stage::kIdle, "second"));
    const auto second = co_await reader.line();
    EXPECT_NE(second.value_or("").find("a\\nb"), std::string::npos);
    const auto third = co_await reader.line();
    EXPECT_NE(third.value_or("").find("second"), std::string::npos);
    client.close();
    while (pal.counts().subscribers > 0) co_await sleep(1ms);  // though no event comes
    listener.close();
    cancel(server, "the test ends");
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

TEST(PalSocket, ABadRequestIsAnsweredAndTheOthersGoOn) {
  Scheduler scheduler;
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    const Address where = Address::unix_path(path_for("bad"));
    Listener listener = Listener::bind(where);
    auto server = spawn(serve_one, &pal, &listener);
    Socket good = co_await connect(where);
    const std::string empty = "\n";
    co_await good.write(empty);
    BufferedReader<Socket> lines(good);
    co_await lines.line();
    for (const std::string& request :
         {std::string("nonsense\n"), std::string(10000, 'x'), std::string("{\"kinds\":[1]}\n")}) {
      Socket bad = co_await connect(where);
      co_await bad.write(request);
      BufferedReader<Socket> answer(bad);
      const auto line = co_await answer.line();
      EXPECT_NE(line.value_or("").find("\"type\":\"error\""), std::string::npos) << request;
      const auto end = co_await answer.line();
      EXPECT_FALSE(end.has_value());
    }
    Socket silent = co_await connect(where);
    silent.close();
    pal.emit(PalEvent(kTask, stage::kIdle, "still here"));
    const auto line = co_await lines.line();
    EXPECT_NE(line.value_or("").find("still here"), std::string::npos);
    listener.close();
    cancel(server, "the test ends");
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

TEST(PalSocket, AClientThatDoesNotReadLosesEventsAndHoldsNobodyUp) {
  Scheduler scheduler;
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    const Address where = Address::unix_path(path_for("slow"));
    Listener listener = Listener::bind(where);
    auto server = spawn(serve_one, &pal, &listener);
    Socket stuck = co_await connect(where);
    const std::string empty = "\n";
    co_await stuck.write(empty);
    while (pal.counts().subscribers == 0) co_await yield();
    for (int i = 0; i < 20000; ++i) {
      pal.emit(PalEvent(kTask, stage::kIdle, "many words that nobody reads"));
      if (i % 100 == 0) co_await yield();
    }
    EXPECT_GT(pal.counts().dropped, 0u);
    // Read at last: whole lines, and it is told what it missed.
    BufferedReader<Socket> reader(stuck);
    bool lagged = false;
    for (int i = 0; i < 20000 && !lagged; ++i) {
      const auto line = co_await reader.line();
      EXPECT_TRUE(line.has_value() && line->front() == '{' && line->back() == '}');
      lagged = line->find("\"type\":\"lagged\"") != std::string::npos;
    }
    EXPECT_TRUE(lagged);
    listener.close();
    cancel(server, "the test ends");
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

// A client that goes in the middle of its request, or in the middle of a line that it reads.
Task<void> comes_and_goes(Address where, int how) {
  Socket client = co_await connect(where);
  const std::string request = how == 0 ? "{\"kinds\":[\"ag" : "\n";
  co_await client.write(request);
  char room[7];
  if (how == 2) co_await client.read(room);
}

TEST(PalSocket, ClientsThatComeAndGoInTheMiddleOfALineLeaveNothing) {
  Scheduler scheduler;
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    const Address where = Address::unix_path(path_for("restless"));
    Listener listener = Listener::bind(where);
    auto server = spawn(serve_one, &pal, &listener);
    const auto rest = [&]() -> Task<std::size_t> {
      for (int i = 0; i < 5000 && Scheduler::current()->live_tasks() > 2; ++i) {
        co_await sleep(1ms);
      }
      co_return Scheduler::current()->arena().live_blocks();
    };
    std::size_t blocks = 0;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 60; ++i) {
        pal.emit(PalEvent(kTask, stage::kIdle, "while they come and go"));
        co_await comes_and_goes(where, i % 3);
      }
      const std::size_t now = co_await rest();
      EXPECT_EQ(Scheduler::current()->live_tasks(), 2u) << "this one and the server";
      EXPECT_EQ(pal.counts().subscribers, 0u);
      if (round > 0) {
        EXPECT_EQ(now, blocks) << "nothing is left of a client";
      }
      blocks = now;
    }
    listener.close();
    cancel(server, "the test ends");
  });
  scheduler.run();
}

TEST(PalSocket, ManyClientsAtOnceEachGetEveryEvent) {
  Scheduler scheduler;
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    const Address where = Address::unix_path(path_for("many"));
    Listener listener = Listener::bind(where);
    auto server = spawn(serve_one, &pal, &listener);
    constexpr std::size_t kClients = 200;
    static int complete = 0;
    complete = 0;
    co_await scope([&](Scope& all) -> Task<void> {
      for (std::size_t i = 0; i < kClients; ++i) {
        all.spawn(
            [](Address at) -> Task<void> {
              Socket client = co_await connect(at);
              const std::string empty = "\n";
              co_await client.write(empty);
              BufferedReader<Socket> reader(client);
              for (;;) {
                const auto line = co_await reader.line();
                if (!line) co_return;
                if (line->find("\"seq\":20,") == std::string::npos) continue;
                ++complete;
                co_return;
              }
            },
            where);
      }
      while (pal.counts().subscribers < kClients) co_await sleep(1ms);
      for (int i = 0; i < 20; ++i) pal.emit(PalEvent(kTask, stage::kIdle, "for all"));
    });
    EXPECT_EQ(complete, static_cast<int>(kClients));
    EXPECT_EQ(pal.counts().dropped, 0u);
    listener.close();
    cancel(server, "the test ends");
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

}  // namespace tiffany::pal_socket_test
