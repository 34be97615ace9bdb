// TLS under cancellation: at every suspension of a handshake and of a transfer, and again and
// again.
#ifdef TIFFANY_TLS

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>

#include "io/tls_support.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany {
namespace tls_cancel_test {

using namespace test;

class TlsCancelTest : public OnEveryReactor {
 protected:
  // Every call is a switch, and every turn has one slice of one task, so that a cancel can come
  // between any two.
  Options one_at_a_time() { return options().quantum(1).turn(1); }
};
TIFFANY_ON_EVERY_REACTOR(TlsCancelTest);

bool run_one(Scheduler& scheduler) { return scheduler.poll(scheduler.now() + 10s); }

// Runs everything, and cancels the victim after so many slices. True when it was still there.
template <class T>
bool run_and_cancel(Scheduler& scheduler, const Handle<T>& victim, std::uint64_t slices) {
  const std::uint64_t when = scheduler.slices() + slices;
  while (scheduler.slices() < when && scheduler.live_tasks() > 0) run_one(scheduler);
  const bool hit = !victim.done();
  victim.cancel("the test wants it");
  return hit;
}

Task<void> accept_into(Socket socket, TlsContext context, TlsStream* out) {
  *out = co_await tls_accept(std::move(socket), context);
}
Task<void> connect_into(Socket socket, TlsContext context, TlsStream* out) {
  *out = co_await tls_connect(std::move(socket), context, "localhost");
}

// Passes on a few bytes at a time, so that both ends suspend as often as they can.
Task<void> drip(Socket* from, Socket* to) {
  std::array<char, 60> room;
  try {
    for (;;) {
      const std::size_t n = co_await from->read(room);
      if (n == 0) break;
      co_await to->write(room.data(), n);
      co_await yield();
    }
  } catch (const IoError&) {
  }
  to->close();
}

void open(Scheduler& scheduler, const TlsContext& client, const TlsContext& server,
          TlsPair& streams) {
  SocketPair sockets = connected_tiny();
  scheduler.spawn(accept_into, std::move(sockets.server), server, &streams.server);
  scheduler.spawn(connect_into, std::move(sockets.client), client, &streams.client);
  scheduler.run();
}

TEST_P(TlsCancelTest, C3_AHandshakeCanBeCancelledAtEverySuspension) {
  const TlsContext client = good_client();
  const TlsContext server = good_server();
  for (const bool victim_is_client : {true, false}) {
    std::uint64_t slices = 0;
    for (bool hit = true; hit; ++slices) {
      TlsPair streams;
      Scheduler scheduler(one_at_a_time().log_to([](const LogLine&) {}));
      {
        SocketPair near = connected_tiny();
        SocketPair far = connected_tiny();
        scheduler.spawn(drip, &near.server, &far.client);
        scheduler.spawn(drip, &far.client, &near.server);
        auto accepted =
            scheduler.spawn(accept_into, std::move(far.server), server, &streams.server);
        auto connected =
            scheduler.spawn(connect_into, std::move(near.client), client, &streams.client);
        const auto& victim = victim_is_client ? connected : accepted;
        const auto& other = victim_is_client ? accepted : connected;
        hit = run_and_cancel(scheduler, victim, slices);
        while (!accepted.done() || !connected.done()) run_one(scheduler);
        // A handshake that was over when the cancel came is over.
        const TlsStream& made = victim_is_client ? streams.client : streams.server;
        EXPECT_EQ(victim.state() == TaskState::completed, static_cast<bool>(made));
        EXPECT_TRUE(other.done());
        EXPECT_TRUE(hit || other.state() == TaskState::completed);
        other.waitable().mark_observed();
        streams = TlsPair();
        scheduler.run();
      }
      EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
      expect_nothing_left(scheduler);
    }
    EXPECT_GT(slices, 60u) << "so it was cancelled on its way";
  }
}

// ---- Transfers ----

// What two tasks that were cancelled and their successors do together.
struct Transfer {
  explicit Transfer(std::size_t size) : sent(random_bytes(size, 7)) {}
  std::string sent;
  std::string got;
  bool all_read = false;
  bool all_written = false;
  TlsPair streams;
};

Task<void> read_on(Transfer* all) {
  std::array<char, 5000> room;
  while (!all->all_read) {
    const std::size_t n = co_await all->streams.server.read(room);
    all->got.append(room.data(), n);
    all->all_read = n == 0;
  }
}
Task<void> write_on(Transfer* all) {
  TlsStream& to = all->streams.client;
  // An empty write sends what was left, also after a shutdown.
  const std::size_t from = to.written();
  const std::size_t n = co_await to.write(Bytes(all->sent).subspan(from).data(),  //
                                          all->sent.size() - from);
  EXPECT_EQ(n, all->sent.size() - from);
  co_await to.shutdown();
  all->all_written = true;
}

TEST_P(TlsCancelTest, C3_ATransferSurvivesACancelAtEverySuspension) {
  const TlsContext client = good_client();
  const TlsContext server = good_server();
  for (const bool victim_reads : {true, false}) {
    std::uint64_t slices = 0;
    for (bool hit = true; hit; ++slices) {
      Transfer all(90000);
      Scheduler scheduler(one_at_a_time());
      open(scheduler, client, server, all.streams);
      {
        auto reader = scheduler.spawn(read_on, &all);
        auto writer = scheduler.spawn(write_on, &all);
        hit = run_and_cancel(scheduler, victim_reads ? reader : writer, slices);
        if (hit) {
          while (!(victim_reads ? reader : writer).done()) run_one(scheduler);
          if (victim_reads ? !all.all_read : !all.all_written) {
            scheduler.spawn(victim_reads ? read_on : write_on, &all);
          }
        }
        scheduler.run();
      }
      ASSERT_TRUE(all.all_read && all.all_written);
      ASSERT_TRUE(all.got == all.sent) << "cancelled after " << slices << " slices";
      EXPECT_EQ(all.streams.client.unsent(), 0u);
      EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
      expect_nothing_left(scheduler);
    }
    EXPECT_GT(slices, 20u) << "so it was cancelled on its way";
  }
}

TEST_P(TlsCancelTest, C3_ATransferGetsThroughAStormOfCancels) {
  const TlsContext client = good_client();
  const TlsContext server = good_server();
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::minstd_rand engine(seed);
    Transfer all(600000);
    Scheduler scheduler(one_at_a_time());
    open(scheduler, client, server, all.streams);
    int cancels = 0;
    {
      std::optional<Handle<void>> reader;
      std::optional<Handle<void>> writer;
      while (!all.all_read || !all.all_written) {
        if (!all.all_read && (!reader || reader->done())) {
          reader = scheduler.spawn(read_on, &all);
        }
        if (!all.all_written && (!writer || writer->done())) {
          writer = scheduler.spawn(write_on, &all);
        }
        for (auto gap = 1 + engine() % 12; gap > 0 && scheduler.live_tasks() > 0; --gap) {
          run_one(scheduler);
        }
        const auto& victim = engine() % 2 == 0 ? reader : writer;
        if (victim && !victim->done()) {
          victim->cancel("storm");
          ++cancels;
          while (!victim->done()) run_one(scheduler);
        }
      }
      scheduler.run();
    }
    EXPECT_GT(cancels, 10);
    ASSERT_TRUE(all.got == all.sent) << "seed " << seed;
    EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
    expect_nothing_left(scheduler);
  }
}

TEST_P(TlsCancelTest, C3_WhatACancelledWriteHasTakenGoesFirstWithTheNextOne) {
  Scheduler scheduler(options());
  TlsPair streams;
  open(scheduler, good_client(), good_server(), streams);
  const auto program = [](TlsPair* both) -> Task<void> {
    const std::string large = random_bytes(200000, 1);
    auto cut_short = co_await within(1ms, both->client.write(large));
    EXPECT_TRUE(cut_short.timed_out());
    const std::uint64_t taken = both->client.written();
    EXPECT_GT(taken, 0u);
    EXPECT_LT(taken, large.size());
    EXPECT_GT(both->client.unsent(), 0u);
    auto writer = spawn(
        [](TlsStream* to) -> Task<void> {
          co_await to->write("next");
          co_await to->shutdown();
        },
        &both->client);
    const std::string got = co_await read_all(both->server, 1);
    EXPECT_TRUE(got == large.substr(0, taken) + "next");
    co_await writer;
  };
  auto handle = scheduler.spawn(program, &streams);
  scheduler.run();
  EXPECT_EQ(handle.state(), TaskState::completed);
}

TEST_P(TlsCancelTest, C3_AWriteThatIsCancelledBeforeItBeginsTakesNothing) {
  Scheduler scheduler(options());
  TlsPair streams;
  open(scheduler, good_client(), good_server(), streams);
  auto late = scheduler.spawn(
      [](TlsStream* to) -> Task<void> {
        this_task::cancel("too late");
        co_await to->write("nothing of this");
      },
      &streams.client);
  scheduler.run();
  EXPECT_EQ(late.state(), TaskState::cancelled);
  EXPECT_EQ(streams.client.written(), 0u);
  EXPECT_EQ(streams.client.unsent(), 0u);
}

TEST_P(TlsCancelTest, C3_ASchedulerMayGoWhileItsTasksUseTls) {
  for (std::uint64_t slices = 0; slices < 12; ++slices) {
    Transfer all(90000);
    Scheduler scheduler(one_at_a_time().log_to([](const LogLine&) {}));
    SocketPair sockets = connected_tiny();
    scheduler.spawn(
        [](Socket socket, Transfer* with) -> Task<void> {
          co_await accept_into(std::move(socket), good_server(), &with->streams.server);
          co_await read_on(with);
        },
        std::move(sockets.server), &all);
    scheduler.spawn(
        [](Socket socket, Transfer* with) -> Task<void> {
          co_await connect_into(std::move(socket), good_client(), &with->streams.client);
          co_await write_on(with);
        },
        std::move(sockets.client), &all);
    for (std::uint64_t i = 0; i < slices; ++i) run_one(scheduler);
  }
}

}  // namespace tls_cancel_test
}  // namespace tiffany

#endif
