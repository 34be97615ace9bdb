#include "tiffany/sync/broadcast.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace broadcast_test {

using namespace test;

TEST(Broadcast, EachReceiverGetsEveryValueThatWasSentAfterItSubscribed) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(8);
    std::vector<int> early, late;
    const auto listen = [](BroadcastReceiver<int> from, std::vector<int>& into) -> Task<void> {
      while (auto number = co_await from.recv()) {
        EXPECT_EQ(number.missed(), 0u);
        into.push_back(*number);
      }
    };
    auto a = spawn(std::ref(listen), numbers.subscribe(), std::ref(early));
    numbers.send(1);
    co_await yield();
    numbers.send(2);
    auto b = spawn(std::ref(listen), numbers.subscribe(), std::ref(late));
    numbers.send(3);
    co_await sleep(1ms);
    numbers.send(4);
    numbers.close();
    co_await gather(a, b);
    EXPECT_EQ(early, std::vector<int>({1, 2, 3, 4}));
    EXPECT_EQ(late, std::vector<int>({3, 4}));
  });
}

TEST(Broadcast, AReceiverThatLagsIsToldHowManyItMissedAndGoesOnWithTheOldestKept) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(3);
    auto receiver = numbers.subscribe();
    for (int i = 0; i < 10; ++i) numbers.send(i);
    EXPECT_EQ(receiver.size(), 3u);
    auto heard = co_await receiver.recv();
    EXPECT_EQ(*heard, 7);
    EXPECT_EQ(heard.missed(), 7u);
    heard = co_await receiver.recv();
    EXPECT_EQ(heard.value(), 8);
    EXPECT_EQ(heard.missed(), 0u) << "told once";
    numbers.send(10);
    numbers.send(11);
    numbers.close();
    heard = co_await receiver.recv();
    EXPECT_EQ(*heard, 9) << "still kept";
    EXPECT_EQ(*receiver.try_recv(), 10);
    EXPECT_EQ(*receiver.try_recv(), 11);
    heard = co_await receiver.recv();
    EXPECT_FALSE(heard);
    EXPECT_EQ(heard.missed(), 0u);
    EXPECT_THROW(heard.value(), std::bad_optional_access);
  });
}

TEST(Broadcast, ValuesThatPushTheAwaitedOneOutBeforeTheTaskRunsAreCountedToo) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(1);
    const auto listen = [&]() -> Task<std::uint64_t> {
      auto receiver = numbers.subscribe();
      const auto heard = co_await receiver.recv();
      EXPECT_EQ(*heard, 3);
      co_return heard.missed();
    };
    auto listening = spawn(std::ref(listen));
    co_await yield();
    for (int i = 1; i <= 3; ++i) numbers.send(i);
    EXPECT_EQ(co_await listening, 2u);
  });
}

TEST(Broadcast, ThoseWhoWaitGoOnInTheOrderTheyCame) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(4);
    Trace trace;
    const auto listen = [&](std::string who) -> Task<void> {
      auto receiver = numbers.subscribe();
      const auto heard = co_await receiver.recv();
      trace.push_back(who + std::to_string(heard.value()));
    };
    auto a = spawn(std::ref(listen), "a");
    auto b = spawn(std::ref(listen), "b");
    auto c = spawn(std::ref(listen), "c");
    co_await yield();
    EXPECT_EQ(b.state(), TaskState::blocked);
    b.cancel();
    numbers.send(1);
    co_await gather(a, c);
    const auto outcome = co_await b.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"a1", "c1"}));
  });
}

TEST(Broadcast, ACancelLeavesTheReceiverWhereItWas) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(4);
    auto receiver = numbers.subscribe();
    const bool timed_out = (co_await within(1ms, receiver.recv())).timed_out();
    EXPECT_TRUE(timed_out);
    EXPECT_EQ(now(), Time(1ms));
    numbers.send(1);
    ManualResetEvent set(true);
    const auto lost = co_await race(set.wait(), receiver.recv());
    EXPECT_EQ(lost.index, 0u);
    EXPECT_EQ(receiver.size(), 1u) << "the race left it alone";
    ManualResetEvent never;
    auto won = co_await race(never.wait(), receiver.recv());
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(*std::get<1>(won.value), 1);
    EXPECT_FALSE(receiver.try_recv());
  });
}

TEST(Broadcast, AValueThatArrivedWinsOverACancel) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(4);
    Trace trace;
    const auto listen = [&]() -> Task<void> {
      auto receiver = numbers.subscribe();
      trace.push_back(std::to_string((co_await receiver.recv()).value()));
      co_await checkpoint();
      trace.push_back("never");
    };
    auto handle = spawn.with_priority(20)(std::ref(listen));
    co_await sleep(1ms);
    numbers.send(3);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"3"}));
  });
}

TEST(Broadcast, WhatIsKeptIsReceivedAlsoWhenTheBroadcastIsGone) {
  run_program([]() -> Task<void> {
    auto texts = std::make_unique<Broadcast<std::string>>(2);
    auto receiver = texts->subscribe();
    auto idle = texts->subscribe();
    const auto listen = [&]() -> Task<std::string> {
      auto own = texts->subscribe();
      co_return (co_await own.recv()).value();
    };
    auto listening = spawn(std::ref(listen));
    co_await yield();
    texts->send("a text that is too long to be kept inside of the string");
    texts.reset();
    EXPECT_EQ(co_await listening, "a text that is too long to be kept inside of the string");
    EXPECT_TRUE(receiver.closed());
    auto heard = co_await receiver.recv();
    EXPECT_EQ(heard->size(), 55u);
    heard = co_await receiver.recv();
    EXPECT_FALSE(heard);
  });
}

TEST(Broadcast, ClosingEndsThoseWhoWaitAndSendingIsAnErrorThen) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(1);
    const auto listen = [&]() -> Task<bool> {
      auto receiver = numbers.subscribe();
      co_return (co_await receiver.recv()).has_value();
    };
    auto listening = spawn(std::ref(listen));
    co_await yield();
    numbers.close();
    EXPECT_FALSE(co_await listening);
    EXPECT_TRUE(numbers.closed());
    EXPECT_EQ(code_of(thrown_by([&] { numbers.send(1); })), Errc::channel_closed);
  });
  EXPECT_EQ(code_of(thrown_by([] { Broadcast<int> none(0); })), Errc::bad_argument);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(BroadcastReceiver<int>().recv()); })),
            Errc::holds_nothing);
}

TEST(Broadcast, ACopyOfAReceiverGoesOnByItself) {
  run_program([]() -> Task<void> {
    Broadcast<int> numbers(4);
    auto first = numbers.subscribe();
    numbers.send(1);
    auto second = first;
    EXPECT_EQ(*co_await first.recv(), 1);
    EXPECT_EQ(second.size(), 1u);
    EXPECT_EQ(*co_await second.recv(), 1);
    // Of two tasks that wait through one receiver both get the value, and the receiver goes on
    // once.
    const auto listen = [&]() -> Task<int> { co_return (co_await first.recv()).value(); };
    auto a = spawn(std::ref(listen));
    auto b = spawn(std::ref(listen));
    co_await yield();
    numbers.send(2);
    numbers.send(3);
    EXPECT_EQ(co_await a, 2);
    EXPECT_EQ(co_await b, 2);
    EXPECT_EQ(*co_await first.recv(), 3);
  });
}

// Throws when it is copied.
class Fragile {
 public:
  explicit Fragile(bool breaks) : breaks_(breaks) {}
  Fragile(const Fragile& other) : breaks_(other.breaks_) {
    if (breaks_) throw std::runtime_error("broken");
  }
  Fragile(Fragile&& other) noexcept : breaks_(other.breaks_) {}
  Fragile& operator=(Fragile&&) noexcept = default;

 private:
  bool breaks_;
};

TEST(Broadcast, AValueThatCannotBeCopiedIsNotPassedOver) {
  run_program([]() -> Task<void> {
    Broadcast<Fragile> things(2);
    auto receiver = things.subscribe();
    things.send(Fragile(true));
    EXPECT_EQ(what_of(co_await error_of(receiver.recv())), "broken");
    EXPECT_EQ(receiver.size(), 1u);
  });
}

TEST(Broadcast, ASchedulerMayGoWhileItsTasksWait) {
  const auto value = std::make_shared<int>(1);
  Broadcast<std::shared_ptr<int>> boxes(2);
  const auto listen = [&]() -> Task<void> {
    auto receiver = boxes.subscribe();
    static_cast<void>(co_await receiver.recv());
  };
  {
    Scheduler scheduler(Options().virtual_time());
    for (int i = 0; i < 3; ++i) scheduler.spawn(std::ref(listen));
    scheduler.step_until_idle();
  }
  boxes.send(value);
  EXPECT_EQ(value.use_count(), 2);
}

}  // namespace broadcast_test
}  // namespace tiffany
