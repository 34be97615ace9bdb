// What only the world in memory promises: the same run again, virtual time, loss of power.
#include "tiffany/world/memory_world.hpp"

#include <cerrno>
#include <thread>

#include "support/harness.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/resolve.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "world/every_world.hpp"

namespace tiffany {
namespace memory_world_test {

using namespace std::chrono_literals;
using test::what_of;

template <class F, class... Args>
auto run_in(MemoryWorld& world, F&& f, Args&&... args) {
  Scheduler scheduler(Options().clock(world.reactor()));
  auto handle = scheduler.spawn(std::forward<F>(f), std::forward<Args>(args)...);
  scheduler.run();
  return outcome_of(handle, false).value();
}

TEST(MemoryWorld, AProgramInWhichEverybodyWaitsForASocketIsADeadlockAtOnce) {
  MemoryWorld world;
  std::string report;
  try {
    run_in(world, []() -> Task<void> {
      Listener listener = Listener::bind(Address::loopback(0));
      co_await listener.accept();
    });
  } catch (const Deadlock& deadlock) {
    report = deadlock.what();
  }
  EXPECT_NE(report.find("accept on tcp 127.0.0.1:49152"), std::string::npos) << report;
}

TEST(MemoryWorld, ATimerThatIsStillToComeIsNoDeadlock) {
  MemoryWorld world;
  const Time end = run_in(world, []() -> Task<Time> {
    Pipe pipe = make_pipe();
    char room[8];
    const auto nothing = co_await within(1h, pipe.read_end.read(room));
    EXPECT_TRUE(nothing.timed_out());
    co_return now();
  });
  EXPECT_EQ(end, Time(1h));
}

TEST(MemoryWorld, AnExternalCompletionFromAThreadIsWaitedFor) {
  MemoryWorld world;
  std::thread other;
  const int got = run_in(
      world,
      [](std::thread* thread) -> Task<int> {
        ExternalPromise<int> promise;
        *thread = std::thread([promise]() mutable { promise.complete(7); });
        co_return co_await promise.future();
      },
      &other);
  other.join();
  EXPECT_EQ(got, 7);
}

// How a long text came in: the sizes of the reads.
Task<std::vector<std::size_t>> sizes_of_reads() {
  Ends ends = co_await connected();
  co_await ends.client.write(long_text(3000));
  ends.client.close();
  std::vector<std::size_t> sizes;
  char room[1024];
  while (const std::size_t n = co_await ends.server.read(room)) sizes.push_back(n);
  co_return sizes;
}
TEST(MemoryWorld, ASeedSplitsReadsInTheSameWayEachTime) {
  const auto sizes = [](std::optional<std::uint64_t> seed) {
    MemoryWorldOptions options;
    if (seed) options = MemoryWorldOptions().seed(*seed);
    MemoryWorld world(std::move(options));
    return run_in(world, sizes_of_reads);
  };
  EXPECT_EQ(sizes(std::nullopt), (std::vector<std::size_t>{1024, 1024, 952}));
  EXPECT_GT(sizes(1).size(), 3u);
  EXPECT_EQ(sizes(1), sizes(1));
  EXPECT_NE(sizes(1), sizes(2));
}

Task<void> chatter(Listener* listener, int number) {
  const Socket client = co_await connect(listener->local());
  for (int i = 0; i < number; ++i) {
    co_await client.write("hello");
    co_await read_exactly(&client, 5);
  }
}
Task<void> answer(Socket client) {
  char room[5];
  while (const std::size_t n = co_await client.read(room)) co_await client.write(room, n);
}
Task<void> busy_program() {
  Listener listener = Listener::bind(Address::loopback(0));
  co_await scope([&](Scope& s) -> Task<void> {
    for (int i = 1; i < 6; ++i) s.spawn(chatter, &listener, i);
    for (int i = 1; i < 6; ++i) {
      Socket client = co_await listener.accept();
      s.spawn(answer, std::move(client));
    }
  });
}
std::uint64_t trace_of(std::uint64_t seed) {
  MemoryWorld world(MemoryWorldOptions().seed(seed));
  Scheduler scheduler(Options().clock(world.reactor()));
  scheduler.spawn(busy_program);
  scheduler.run();
  return scheduler.trace_hash();
}
TEST(MemoryWorld, ASeedGivesTheSameScheduleAgainAndAnotherSeedAnother) {
  EXPECT_EQ(trace_of(1), trace_of(1));
  std::set<std::uint64_t> traces;
  for (std::uint64_t seed = 0; seed < 20; ++seed) traces.insert(trace_of(seed));
  EXPECT_GT(traces.size(), 15u);
}

TEST(MemoryWorld, TheWallClockGoesWithVirtualTimeAndEntropyIsTheSameInEachRun) {
  const auto drawn = [] {
    MemoryWorld world(MemoryWorldOptions().wall_clock_us(1'000'000).process_id(42));
    run_in(world, []() -> Task<void> { co_await sleep(2s); });
    EXPECT_EQ(world.wall_clock_us(), 3'000'000);
    world.pause(1s);
    EXPECT_EQ(world.wall_clock_us(), 4'000'000);
    EXPECT_EQ(world.process_id(), 42);
    std::uint64_t number = 0;
    EXPECT_TRUE(world.entropy(&number, sizeof number));
    return number;
  };
  EXPECT_EQ(drawn(), drawn());
}

TEST(MemoryWorld, BytesThatWereNotSyncedAreLostWithThePower) {
  MemoryWorld world;
  const auto write = [](std::string text, bool sync) -> Task<void> {
    const File file = co_await open_file("/tmp/file", FileMode::write);
    co_await file.write_at(0, text);
    if (sync) co_await file.sync_data();
  };
  const auto content = [&] {
    return run_in(world, []() -> Task<std::string> { return read_file("/tmp/file"); });
  };
  run_in(world, write, std::string("kept bytes"), true);
  run_in(world, write, std::string("lost and longer than before"), false);
  EXPECT_EQ(content(), "lost and longer than before");
  world.lose_unsynced();
  EXPECT_EQ(content(), "kept bytes");
  run_in(world, []() -> Task<void> {
    const File file = co_await open_file("/tmp/file", FileMode::truncate);
    co_await file.write_at(0, "x");
  });
  world.lose_unsynced();
  EXPECT_EQ(content(), "kept bytes");
}

Task<void> serve_one(Address* at) {
  Listener listener = Listener::bind(Address::loopback(0));
  *at = listener.local();
  const Socket client = co_await listener.accept();
  co_await client.write("from the other scheduler");
}
TEST(MemoryWorld, TwoSchedulersOfOneWorldReachEachOther) {
  MemoryWorld world;
  Scheduler one(Options().clock(world.reactor()));
  Scheduler other(Options().clock(world.reactor()));
  Address at = Address::loopback(1);
  one.spawn(serve_one, &at);
  one.step_until_idle();
  auto read = other.spawn(
      [](Address to) -> Task<std::string> {
        const Socket server = co_await connect(to);
        co_return co_await read_all(&server);
      },
      at);
  for (int turn = 0; turn < 10 && !read.done(); ++turn) {
    other.step_until_idle();
    one.step_until_idle();
  }
  EXPECT_EQ(outcome_of(read, false).value(), "from the other scheduler");
}

TEST(MemoryWorld, OffloadRunsOnTheThreadOfTheSchedulerAfterItsTaskHasParked) {
  MemoryWorld world;
  std::vector<std::string> order;
  run_in(
      world,
      [](std::vector<std::string>* said) -> Task<void> {
        auto beside = spawn(
            [](std::vector<std::string>* s) -> Task<void> {
              s->push_back("another task");
              co_return;
            },
            said);
        const auto id = std::this_thread::get_id();
        const bool same = co_await offload([said, id] {
          said->push_back("the function");
          return std::this_thread::get_id() == id;
        });
        EXPECT_TRUE(same);
        co_await beside;
      },
      &order);
  EXPECT_EQ(order, (std::vector<std::string>{"another task", "the function"}));
}

TEST(MemoryWorld, HostsThatWereAddedAreFoundAndOthersAreNot) {
  MemoryWorld world;
  world.add_host("server", "10.0.0.1");
  world.add_host("server", "fd00::1");
  run_in(world, []() -> Task<void> {
    const std::vector<Address> found = co_await resolve("server", 80);
    EXPECT_EQ(found.size(), 2u);
    bool unknown = false;
    try {
      co_await resolve("elsewhere", 80);
    } catch (const Error&) {
      unknown = true;
    }
    EXPECT_TRUE(unknown);
  });
}

TEST(MemoryWorld, AFullBacklogHoldsAConnectUntilAnAccept) {
  MemoryWorld world;
  run_in(world, []() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0), ListenOptions().backlog(1));
    const Socket first = co_await connect(listener.local());
    const auto second = co_await within(1ms, connect(listener.local()));
    EXPECT_TRUE(second.timed_out());
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(
          [](Listener* on) -> Task<void> { const Socket third = co_await connect(on->local()); },
          &listener);
      co_await yield();
      const Socket accepted = co_await listener.accept();
    });
  });
}

TEST(MemoryWorld, WhatItDoesNotHaveSaysSo) {
  MemoryWorld world;
  run_in(world, []() -> Task<void> {
    int number = 0;
    try {
      co_await run_command(Command("true"));
    } catch (const IoError& error) {
      number = error.number();
    }
    EXPECT_EQ(number, ENOSYS);
  });
}

TEST(MemoryWorld, ItsDescriptorsAreNoneOfTheOperatingSystem) {
  MemoryWorld world;
  int ends[2];
  ASSERT_EQ(world.files().pipe(ends), 0);
  struct stat found{};
  EXPECT_EQ(os_world().files().status(ends[0], found), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(world.files().status(0, found), -1);
  EXPECT_EQ(errno, EBADF);
  world.files().close(ends[0]);
  world.files().close(ends[0]);  // twice is no harm
  EXPECT_EQ(world.open_descriptors(), 1u);
}

}  // namespace memory_world_test
}  // namespace tiffany
