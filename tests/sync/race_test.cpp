// I5: one task waits for several things, and has exactly one of them.
#include "tiffany/structure/combine.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/sync/barrier.hpp"
#include "tiffany/sync/channel.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/sync/latch.hpp"
#include "tiffany/sync/mutex.hpp"
#include "tiffany/sync/semaphore.hpp"
#include "tiffany/sync/shared_mutex.hpp"

namespace tiffany {
namespace race_test {

using namespace test;

TEST(RaceOfCalls, I5_TheFirstThatHasSomethingDecidesAndSaysWhich) {
  run_program([]() -> Task<void> {
    auto a = channel<int>(1);
    auto b = channel<int>(1);
    const auto select = [&]() -> Task<void> {
      const auto won = co_await race(a.receiver.recv(), b.receiver.recv());
      EXPECT_EQ(won.index, 1u);
      EXPECT_EQ(won.value, 7);
    };
    auto handle = spawn(std::ref(select));
    co_await yield();
    co_await b.sender.send(7);
    co_await a.sender.send(8);
    co_await handle;
    EXPECT_EQ(a.receiver.try_recv(), 8) << "the other was not touched";
  });
}

TEST(RaceOfCalls, I5_OfSeveralThatHaveSomethingTheFirstInTheListCounts) {
  run_program([]() -> Task<void> {
    auto a = channel<int>(1);
    auto b = channel<int>(1);
    co_await b.sender.send(2);
    co_await a.sender.send(1);
    auto won = co_await race(a.receiver.recv(), b.receiver.recv());
    EXPECT_EQ(won.index, 0u);
    EXPECT_EQ(won.value, 1);
    won = co_await race(a.receiver.recv(), b.receiver.recv());
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.value, 2);
  });
}

// Two values that come before the task goes on: race over tasks would lose the second.
TEST(RaceOfCalls, I5_NoValueIsLostThatComesBeforeTheWinnerGoesOn) {
  run_program([]() -> Task<void> {
    auto a = channel<int>(0);
    auto b = channel<int>(0);
    const auto select = [&]() -> Task<int> {
      const auto won = co_await race(a.receiver.recv(), b.receiver.recv());
      co_return *won.value;
    };
    auto handle = spawn(std::ref(select));
    co_await yield();
    EXPECT_EQ(a.sender.try_send(1), Posted::accepted);
    EXPECT_EQ(b.sender.try_send(2), Posted::full) << "it does not wait there any more";
    const int value = co_await handle;
    EXPECT_EQ(value, 1);
  });
}

TEST(RaceOfCalls, I5_DifferentKindsOfCallsAndHandlesMix) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    ManualResetEvent event;
    Mutex mutex;
    auto guard = mutex.try_lock();
    Promise<std::string> word;
    const auto idle = []() -> Task<void> { co_await sleep(1h); };
    auto never = spawn(std::ref(idle));
    std::vector<std::size_t> winners;
    const auto select = [&]() -> Task<void> {
      const auto won =
          co_await race(numbers.receiver.recv(), event.wait(), mutex.lock(), word.future(), never);
      winners.push_back(won.index);
      if (won.index == 0) {
        EXPECT_EQ(std::get<0>(won.value), 5);
      } else if (won.index == 2) {
        EXPECT_EQ(mutex.owner(), this_task::id());
      } else if (won.index == 3) {
        EXPECT_EQ(std::get<3>(won.value), "done");
      }
    };
    auto selector = spawn(std::ref(select));
    co_await yield();
    co_await numbers.sender.send(5);
    co_await selector;
    selector = spawn(std::ref(select));
    co_await yield();
    event.set();
    co_await selector;
    event.reset();
    selector = spawn(std::ref(select));
    co_await yield();
    guard.reset();
    co_await selector;
    EXPECT_FALSE(mutex.locked());
    guard = mutex.try_lock();
    selector = spawn(std::ref(select));
    co_await yield();
    word.complete("done");
    co_await selector;
    EXPECT_EQ(winners, std::vector<std::size_t>({0, 1, 2, 3}));
    EXPECT_FALSE(never.waitable().has_waiters());
    EXPECT_EQ(never.state(), TaskState::blocked) << "a handle that loses goes on";
    never.cancel();
  });
}

TEST(RaceOfCalls, I5_EveryCallOfTheModuleCanTakePart) {
  run_program([]() -> Task<void> {
    auto full = channel<int>(1);
    co_await full.sender.send(0);
    auto empty = channel<int>(1);
    ManualResetEvent event;
    Latch latch(1);
    Barrier barrier(2);
    Semaphore semaphore(1);
    SharedMutex shared;
    Mutex mutex;
    auto permit = semaphore.try_acquire();
    auto written = shared.try_lock();
    auto locked = mutex.try_lock();
    int source = 3;
    std::size_t winner = 0;
    const auto select = [&]() -> Task<void> {
      const auto won =
          co_await race(full.sender.send(1), full.sender.send_from(source), empty.receiver.recv(),
                        empty.receiver.recv_many(2), event.wait(), latch.wait(), barrier.arrive(),
                        semaphore.acquire(), shared.lock(), shared.lock_shared(), mutex.lock());
      winner = won.index;
    };
    const std::vector<std::function<void()>> decide = {
        [&] { static_cast<void>(full.receiver.try_recv()); },
        [&] { empty.sender.try_send(1); },
        [&] { event.set(); },
        [&] { latch.count_down(); },
        [&] { barrier.drop(); },
        [&] { permit.reset(); },
        [&] { written.reset(); },
        [&] { locked.reset(); },
    };
    const std::vector<std::size_t> expected = {0, 2, 4, 5, 6, 7, 8, 10};
    for (std::size_t i = 0; i < decide.size(); ++i) {
      auto handle = spawn(std::ref(select));
      co_await yield();
      EXPECT_EQ(handle.state(), TaskState::blocked) << i;
      decide[i]();
      co_await handle;
      EXPECT_EQ(winner, expected[i]);
      // Back to where nothing has anything.
      event.reset();
      if (i == 1) static_cast<void>(empty.receiver.try_recv());
      if (i == 3) break;
    }
    EXPECT_EQ(source, 3);
    EXPECT_EQ(full.receiver.try_recv(), 1);
    EXPECT_EQ(barrier.waiting(), 0u);
  });
}

TEST(RaceOfCalls, I5_AllOfOneTypeGiveThatType) {
  run_program([]() -> Task<void> {
    ManualResetEvent a;
    Latch b(0);
    const Won<void> won = co_await race(a.wait(), b.wait());
    EXPECT_EQ(won.index, 1u);
  });
}

TEST(RaceOfCalls, I5_AnyNumberOfCallsOfOneKind) {
  run_program([]() -> Task<void> {
    std::vector<Channel<int>> channels;
    for (int i = 0; i < 5; ++i) channels.push_back(channel<int>(1));
    const auto all = [&] {
      std::vector<Recv<int>> calls;
      for (const auto& one : channels) calls.push_back(one.receiver.recv());
      return calls;
    };
    const auto select = [&]() -> Task<std::size_t> {
      const auto won = co_await race(all());
      EXPECT_EQ(won.value, 9);
      co_return won.index;
    };
    auto handle = spawn(std::ref(select));
    co_await yield();
    co_await channels[3].sender.send(9);
    co_await channels[1].sender.send(9);
    std::size_t winner = co_await handle;
    EXPECT_EQ(winner, 3u);
    winner = co_await select();
    EXPECT_EQ(winner, 1u) << "answered at once";
    EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(race(std::vector<Recv<int>>())); })),
              Errc::empty_race);
  });
}

TEST(RaceOfCalls, I5_ErrorsDecideToo) {
  run_program([]() -> Task<void> {
    auto a = channel<int>(1);
    auto b = channel<int>(1);
    ManualResetEvent event;
    co_await b.sender.send(1);
    const auto select = [&]() -> Task<void> { co_await race(event.wait(), b.sender.send(2)); };
    auto handle = spawn(std::ref(select));
    co_await yield();
    b.receiver.close();
    EXPECT_EQ(code_of(co_await error_of(handle)), Errc::channel_closed);
    EXPECT_EQ(code_of(co_await error_of(select())), Errc::channel_closed) << "at once";

    const auto fail = []() -> Task<int> {
      co_await sleep(1ms);
      throw std::runtime_error("lost");
    };
    auto failing = spawn(std::ref(fail));
    const auto with_task = [&]() -> Task<void> { co_await race(a.receiver.recv(), failing); };
    EXPECT_EQ(what_of(co_await error_of(with_task())), "lost");
    Handle<void> self;
    const auto join_self = [&]() -> Task<void> { co_await race(event.wait(), self); };
    self = spawn(std::ref(join_self));
    EXPECT_EQ(code_of(co_await error_of(self)), Errc::self_join);
  });
}

TEST(RaceOfCalls, I5_WithinGivesUpAllOfThem) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    ManualResetEvent event;
    const auto late = co_await within(5ms, race(numbers.receiver.recv(), event.wait()));
    EXPECT_TRUE(late.timed_out());
    co_await numbers.sender.send(1);
    EXPECT_EQ(numbers.receiver.size(), 1u) << "nobody waits there any more";
    const auto won = co_await within(5ms, race(numbers.receiver.recv(), event.wait()));
    EXPECT_EQ(won.value().index, 0u);
    std::vector<Recv<int>> calls;
    calls.push_back(numbers.receiver.recv());
    const auto none = co_await within(5ms, race(std::move(calls)));
    EXPECT_TRUE(none.timed_out());
  });
}

// Both ends of one channel, twice in one queue: a task must not meet itself.
TEST(RaceOfCalls, I5_ATaskDoesNotDealWithItself) {
  run_program([]() -> Task<void> {
    auto meet = channel<int>(0);
    const auto both = [&]() -> Task<std::size_t> {
      const auto won = co_await race(meet.sender.send(1), meet.receiver.recv());
      co_return won.index;
    };
    auto handle = spawn(std::ref(both));
    co_await yield();
    EXPECT_EQ(handle.state(), TaskState::blocked);
    EXPECT_EQ(meet.receiver.try_recv(), 1);
    const auto index = co_await handle;
    EXPECT_EQ(index, 0u);

    SharedMutex mutex;
    auto reading = co_await mutex.lock_shared();
    const auto either = [&]() -> Task<void> {
      const auto won = co_await race(mutex.lock(), mutex.lock_shared());
      EXPECT_EQ(won.index, 1u);
    };
    auto immediate = spawn(std::ref(either));
    co_await immediate;
    const auto write = [&]() -> Task<void> { const auto guard = co_await mutex.lock(); };
    auto writer = spawn(std::ref(write));
    co_await yield();
    // Behind the writer, twice. When the first place is left, the second must not be let in.
    auto twice = spawn(std::ref(either));
    co_await yield();
    EXPECT_EQ(twice.state(), TaskState::blocked);
    writer.cancel();
    EXPECT_EQ(twice.state(), TaskState::blocked) << "its first place is that of a writer";
    twice.cancel();
    const auto outcome = co_await twice.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(mutex.readers(), 1u);
    reading.unlock();
    EXPECT_TRUE(mutex.try_lock().has_value());
  });
}

TEST(RaceOfCalls, I5_WhatALoserHeldUpGoesOn) {
  run_program([]() -> Task<void> {
    SharedMutex mutex;
    Semaphore seats(2);
    ManualResetEvent event;
    auto reading = co_await mutex.lock_shared();
    auto seat = co_await seats.acquire();
    const auto select = [&]() -> Task<void> {
      const auto won = co_await race(mutex.lock(), seats.acquire(2), event.wait());
      EXPECT_EQ(won.index, 2u);
    };
    const auto read = [&]() -> Task<void> { const auto guard = co_await mutex.lock_shared(); };
    const auto sit = [&]() -> Task<void> { const auto permit = co_await seats.acquire(); };
    auto selector = spawn(std::ref(select));
    auto reader = spawn(std::ref(read));
    auto sitter = spawn(std::ref(sit));
    co_await yield();
    EXPECT_EQ(reader.state(), TaskState::blocked);
    EXPECT_EQ(sitter.state(), TaskState::blocked);
    event.set();
    EXPECT_EQ(reader.state(), TaskState::ready);
    EXPECT_EQ(sitter.state(), TaskState::ready);
    co_await gather(selector, reader, sitter);
  });
}

}  // namespace race_test
}  // namespace tiffany
