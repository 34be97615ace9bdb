// Subscribers of PAL that misbehave: slow, gone in the middle of a line, a thousand at once, coming
// and going. None of them changes what the program does, and nothing is left of them.
// TIFFANY_SUBSCRIBER_SECONDS=60 (./dev soak subscribers) lets them come and go for a minute.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/random.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/observe/pal_socket.hpp"
#include "tiffany/observe/recorder.hpp"
#include "tiffany/observe/scheduler_stages.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::subscriber_faults_test {

using namespace std::chrono_literals;
using observe::Pal;
using observe::PalEvent;
namespace stage = observe::stage;

enum class Fault { none, reads, slow, leaves_in_a_line, bad_request, says_nothing };

// One subscriber, once. With `patience` it is over by then in any case.
Task<void> subscribe(Address where, Fault fault, Duration patience) {
  try {
    Socket client = co_await connect(where);
    const std::string request = fault == Fault::bad_request ? "{\"kinds\":[\"ag" : "\n";
    if (fault != Fault::says_nothing) co_await client.write(request);
    char room[4096];
    char seven[7];
    switch (fault) {
      case Fault::leaves_in_a_line:
        co_await client.read(seven);
        break;
      case Fault::slow:  // reads a little, and then nothing for long
        co_await client.read(seven);
        co_await sleep(patience);
        break;
      case Fault::reads: {
        const auto all = [&]() -> Task<void> {
          for (;;) {
            const std::size_t came = co_await client.read(room);
            if (came == 0) co_return;
          }
        };
        co_await within(patience, all());
        break;
      }
      default:
        co_await sleep(patience);
    }
  } catch (const IoError&) {  // the program has ended
  }
}

// ---- The trace of the program

// What each task of the program did, when, and in which order.
using Trace = std::vector<std::string>;

Task<void> works(Pal* pal, int number, Trace* trace) {
  Random random(static_cast<std::uint64_t>(number), "works");
  const Uuid task = Uuid::derived(Uuid(), std::to_string(number));
  for (int i = 0; i < 30; ++i) {
    trace->push_back(std::to_string(number) + " " + std::to_string(i) + " at " +
                     std::to_string(now().time_since_epoch().count()));
    pal->emit(PalEvent(task, stage::kIdle, "still here"));
    if (random.below(3) == 0) {
      co_await yield();
    } else {
      co_await sleep(std::chrono::milliseconds(1 + random.below(20)));
    }
  }
}

Trace trace_with(Fault fault, std::size_t subscribers, std::uint64_t seed) {
  Trace trace;
  MemoryWorld world(MemoryWorldOptions().seed(seed).buffer(4096));
  Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
  scheduler.spawn([&]() -> Task<void> {
    observe::PalOptions options;
    options.queue = 16;
    Pal pal(options);
    const Address where = Address::unix_path("/pal");
    Listener listener = Listener::bind(where);
    auto server =
        spawn([](Pal* of, Listener* at) -> Task<void> { co_await observe::serve_pal(*of, *at); },
              &pal, &listener);
    co_await scope([&](Scope& all) -> Task<void> {
      Scope* const program = &all;
      for (std::size_t i = 0; i < subscribers; ++i) {
        program->spawn(subscribe, where, fault, Duration(10s));
      }
      co_await sleep(100ms);  // all of them have come
      const Time begin = now();
      EXPECT_EQ(begin, Time(100ms));
      for (int i = 0; i < 20; ++i) program->spawn(works, &pal, i, &trace);
    });
    EXPECT_LE(pal.counts().subscribers, subscribers);
    listener.close();
    cancel(server, "the test ends");
    co_await all_settled(server);
    EXPECT_EQ(pal.counts().subscribers, 0u) << "nothing is left of them";
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  return trace;
}

TEST(SubscriberFaults, NoSubscriberChangesWhatTheProgramDoesOrWhen) {
  const Trace alone = trace_with(Fault::none, 0, 1);
  ASSERT_EQ(alone.size(), 600u);
  for (const Fault fault : {Fault::reads, Fault::slow, Fault::leaves_in_a_line, Fault::bad_request,
                            Fault::says_nothing}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EXPECT_EQ(trace_with(fault, 5, seed), alone) << static_cast<int>(fault) << " seed " << seed;
    }
  }
}

TEST(SubscriberFaults, AThousandAtOnceChangeNothingEither) {
  const Trace alone = trace_with(Fault::none, 0, 1);
  EXPECT_EQ(trace_with(Fault::leaves_in_a_line, 1000, 1), alone);
  EXPECT_EQ(trace_with(Fault::slow, 1000, 1), alone);
}

// Whether somebody looks at scheduler events or not, and whether that one reads.
TEST(SubscriberFaults, AStuckSubscriberOfSchedulerEventsLeavesTheTraceHashAsItIs) {
  const auto hash_with = [](int how) {
    Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
    observe::Recorder recorder(scheduler);
    Pal pal;
    observe::PalFilter filter;
    filter.sched = true;
    std::vector<observe::PalSubscription> stuck;
    if (how > 0) recorder.start();
    for (int i = 1; i < how; ++i) stuck.push_back(pal.subscribe(filter));
    Trace trace;
    for (int i = 0; i < 20; ++i) scheduler.spawn(works, &pal, i, &trace);
    scheduler.run();
    return scheduler.trace_hash();
  };
  const std::uint64_t alone = hash_with(0);
  EXPECT_EQ(hash_with(1), alone) << "recorded";
  EXPECT_EQ(hash_with(2), alone) << "with one that never reads";
  EXPECT_EQ(hash_with(101), alone) << "with a hundred that never read";
}

// ---- Memory, with real sockets

std::size_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0;
  unsigned long pages = 0;
  const int fields = std::fscanf(file, "%lu %lu", &total, &pages);
  std::fclose(file);
  return fields == 2 ? pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

TEST(SubscriberFaults, ThoseWhoComeAndGoLeaveMemoryAsItWas) {
  const char* const asked = std::getenv("TIFFANY_SUBSCRIBER_SECONDS");
  const auto longest = std::chrono::seconds(asked != nullptr ? std::atoi(asked) : 0);
  const int most = asked != nullptr ? 1'000'000 : 12;  // rounds
  Scheduler scheduler(Options().log_to([](const LogLine&) {}));
  scheduler.spawn([&]() -> Task<void> {
    Pal pal;
    const Address where =
        Address::unix_path("/tmp/tiffany-pal-faults-" + std::to_string(::getpid()));
    Listener listener = Listener::bind(where);
    auto server =
        spawn([](Pal* of, Listener* at) -> Task<void> { co_await observe::serve_pal(*of, *at); },
              &pal, &listener);
    const Time end = now() + longest;
    std::vector<std::size_t> blocks;
    std::size_t warm = 0;
    std::uint64_t connections = 0;
    Random random(9);
    int round = 0;
    for (; round < most; ++round) {
      if (asked != nullptr && now() > end) break;
      co_await scope([&](Scope& all) -> Task<void> {
        // Once in a while a thousand at once.
        const int clients = round == 3 || round % 100 == 99 ? 1000 : 20;
        for (int i = 0; i < clients; ++i) {
          const auto fault = static_cast<Fault>(1 + random.below(5));
          all.spawn(subscribe, where, fault, Duration(20ms));
          ++connections;
        }
        for (int i = 0; i < 50; ++i) {
          pal.emit(PalEvent(Uuid::derived(Uuid(), "t"), stage::kIdle, std::string(400, 'x')));
          co_await sleep(200us);
        }
      });
      // The server has seen that they are gone.
      while (pal.counts().subscribers > 0 || Scheduler::current()->live_tasks() > 2) {
        co_await sleep(1ms);
      }
      blocks.push_back(Scheduler::current()->arena().live_blocks());
      if (round == 4) warm = resident_bytes();
    }
    EXPECT_EQ(blocks.back(), blocks[1]) << "nothing is left of a client";
    EXPECT_LT(resident_bytes(), warm + (std::size_t{16} << 20)) << "memory is flat";
    EXPECT_LE(pal.counts().channels, 2u);
    if (asked != nullptr) {
      std::printf(
          "%ju connections in %d rounds; %ju events dropped; %zu KiB resident, %zu when warm\n",
          std::uintmax_t{connections}, round, std::uintmax_t{pal.counts().dropped},
          resident_bytes() >> 10, warm >> 10);
    }
    listener.close();
    cancel(server, "the test ends");
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

}  // namespace tiffany::subscriber_faults_test
