// What goes into a channel, what comes out of it, and in which order. The end of a channel is in
// channel_close_test.cpp, cancellation in sync_cancel_test.cpp.
#include "tiffany/sync/channel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace channel_test {

using namespace test;

Task<void> send_all(Sender<int> sender, std::vector<int> values) {
  for (const int value : values) co_await sender.send(value);
}

Task<std::vector<int>> receive_all(Receiver<int> receiver) {
  std::vector<int> values;
  while (auto value = co_await receiver.recv()) values.push_back(*value);
  co_return values;
}

// GCC 12 rejects a list in braces in an awaited expression.
template <class... Ns>
std::vector<int> list(Ns... numbers) {
  return {numbers...};
}

TEST(Channel, ValuesComeOutInTheOrderTheyWentInWhateverTheCapacity) {
  for (const std::size_t capacity : {0U, 1U, 2U, 3U, 64U}) {
    run_program([&]() -> Task<void> {
      auto numbers = channel<int>(capacity);
      EXPECT_EQ(numbers.receiver.capacity(), capacity);
      spawn(send_all, std::move(numbers.sender), std::vector<int>{1, 2, 3, 4, 5, 6, 7});
      const auto received = co_await receive_all(std::move(numbers.receiver));
      EXPECT_EQ(received, std::vector<int>({1, 2, 3, 4, 5, 6, 7})) << "capacity " << capacity;
    });
  }
}

TEST(Channel, ASendWaitsWhileItIsFullAndGoesOnWhenOneIsTaken) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(2);
    auto sender = spawn(send_all, numbers.sender, std::vector<int>{1, 2, 3, 4});
    co_await sleep(1ms);
    EXPECT_EQ(sender.state(), TaskState::blocked);
    EXPECT_EQ(numbers.sender.size(), 2u);
    EXPECT_EQ(numbers.receiver.try_recv(), 1);
    EXPECT_EQ(sender.state(), TaskState::ready) << "its value has taken the place that became free";
    EXPECT_EQ(numbers.sender.size(), 2u);
    co_await sleep(1ms);
    EXPECT_EQ(sender.state(), TaskState::blocked) << "with the fourth";
    EXPECT_EQ(numbers.receiver.try_recv(), 2);
    EXPECT_EQ(numbers.receiver.try_recv(), 3);
    EXPECT_EQ(numbers.receiver.try_recv(), 4);
    EXPECT_EQ(numbers.receiver.try_recv(), std::nullopt);
    co_await sender;
  });
}

TEST(Channel, AValueIsHandedToTheOneWhoWaitsAndNobodyCanTakeItOnTheWay) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    const auto receive = [&]() -> Task<std::optional<int>> {
      co_return co_await numbers.receiver.recv();
    };
    auto first = spawn(std::ref(receive));
    co_await yield();
    co_await numbers.sender.send(1);
    EXPECT_EQ(first.state(), TaskState::ready);
    EXPECT_EQ(numbers.receiver.size(), 0u);
    EXPECT_EQ(numbers.receiver.try_recv(), std::nullopt) << "it is the other's already";
    const auto received = co_await first;
    EXPECT_EQ(received, 1);
  });
}

TEST(Channel, ThoseWhoWaitAreServedInTheOrderTheyCame) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    Trace trace;
    const auto receive = [&](std::string name) -> Task<void> {
      const auto value = co_await numbers.receiver.recv();
      trace.push_back(name + std::to_string(*value));
    };
    for (const char* name : {"a", "b", "c"}) spawn(std::ref(receive), name);
    co_await yield();
    co_await send_all(numbers.sender, list(1, 2, 3));
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace({"a1", "b2", "c3"}));

    trace.clear();
    const auto send = [&](std::string name, int value) -> Task<void> {
      co_await numbers.sender.send(value);
      trace.push_back(name);
    };
    for (int i = 0; i < 4; ++i) spawn(std::ref(send), std::to_string(i), i);
    co_await yield();
    EXPECT_EQ(trace, Trace({"0"})) << "there is room for one";
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(numbers.receiver.try_recv(), i);
    }
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace({"0", "1", "2", "3"}));
  });
}

TEST(Channel, OneWithoutRoomMakesSenderAndReceiverMeet) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(0);
    auto sender = spawn(send_all, numbers.sender, std::vector<int>{1, 2});
    co_await sleep(1ms);
    EXPECT_EQ(sender.state(), TaskState::blocked) << "nobody takes it";
    EXPECT_EQ(numbers.sender.size(), 0u);
    EXPECT_EQ(numbers.sender.try_send(9), Posted::full);
    EXPECT_EQ(numbers.receiver.try_recv(), 1) << "from the hand of the one who waits";
    const auto second = co_await numbers.receiver.recv();
    EXPECT_EQ(second, 2);
    co_await sender;

    auto receiver = spawn(receive_all, numbers.receiver);
    co_await yield();
    EXPECT_EQ(numbers.sender.try_send(3), Posted::accepted) << "somebody waits for it";
    EXPECT_EQ(numbers.sender.try_send(4), Posted::full) << "and nobody any more";
    numbers.sender.close();
    const auto received = co_await receiver;
    EXPECT_EQ(received, std::vector<int>({3}));
  });
}

TEST(Channel, RecvManyTakesWhatIsThereAndWaitsOnlyForTheFirst) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(8);
    co_await send_all(numbers.sender, list(1, 2, 3, 4, 5));
    auto some = co_await numbers.receiver.recv_many(3);
    EXPECT_EQ(some, std::vector<int>({1, 2, 3}));
    some = co_await numbers.receiver.recv_many(100);
    EXPECT_EQ(some, std::vector<int>({4, 5})) << "it does not wait until there are a hundred";

    const auto receive = [&]() -> Task<std::vector<int>> {
      co_return co_await numbers.receiver.recv_many(100);
    };
    auto waiting = spawn.with_priority(20)(std::ref(receive));
    co_await sleep(1ms);
    EXPECT_EQ(waiting.state(), TaskState::blocked);
    co_await send_all(numbers.sender, list(6, 7, 8));
    some = co_await waiting;
    EXPECT_EQ(some, std::vector<int>({6, 7, 8})) << "with what came before it went on";
  });
}

TEST(Channel, RecvManyLetsThoseInWhoWaitWithTheirValues) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(2);
    auto sender = spawn(send_all, numbers.sender, std::vector<int>{1, 2, 3, 4, 5});
    co_await yield();
    EXPECT_EQ(sender.state(), TaskState::blocked);
    const auto some = co_await numbers.receiver.recv_many(100);
    EXPECT_EQ(some, std::vector<int>({1, 2, 3})) << "two and the one that waited";
    numbers.receiver.close();
    const auto error = co_await error_of(sender);
    EXPECT_EQ(code_of(error), Errc::channel_closed);
  });
}

TEST(Channel, RecvManyOfOneWithoutRoomTakesFromTheHand) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(0);
    auto sender = spawn(send_all, numbers.sender, std::vector<int>{1, 2});
    co_await yield();
    auto some = co_await numbers.receiver.recv_many(5);
    EXPECT_EQ(some, std::vector<int>({1}));
    some = co_await numbers.receiver.recv_many(5);
    EXPECT_EQ(some, std::vector<int>({2}));
    co_await sender;
  });
}

TEST(Channel, RecvManyOfNothingIsAnError) {
  auto numbers = channel<int>(1);
  const auto error = thrown_by([&] { static_cast<void>(numbers.receiver.recv_many(0)); });
  EXPECT_EQ(code_of(error), Errc::bad_argument);
}

TEST(Channel, TryCallsSayWhatBecameOfTheValue) {
  auto words = channel<std::string>(1);
  std::string word = "first";
  EXPECT_EQ(words.sender.try_send(word), Posted::accepted);
  EXPECT_EQ(word, "first") << "copied";
  EXPECT_EQ(words.sender.try_send(std::move(word)), Posted::full);
  EXPECT_EQ(word, "first") << "not moved from, because it was not accepted";
  EXPECT_EQ(words.receiver.try_recv(), "first");
  EXPECT_EQ(words.receiver.try_recv(), std::nullopt);
  words.receiver.close();
  EXPECT_EQ(words.sender.try_send("late"), Posted::closed);
}

TEST(Channel, ValuesThatCanOnlyBeMovedAreMoved) {
  run_program([]() -> Task<void> {
    auto boxes = channel<std::unique_ptr<int>>(1);
    const auto send = [&]() -> Task<void> {
      for (int i = 0; i < 4; ++i) co_await boxes.sender.send(std::make_unique<int>(i));
    };
    auto sender = spawn(std::ref(send));
    auto one = co_await boxes.receiver.recv();
    EXPECT_EQ(**one, 0);
    auto some = co_await boxes.receiver.recv_many(10);
    EXPECT_EQ(*some.at(0), 1);
    one = boxes.receiver.try_recv();
    co_await sender;
    EXPECT_TRUE(one.has_value() || boxes.receiver.size() > 0);
  });
}

TEST(Channel, SendFromMovesOnlyWhatWasSent) {
  run_program([]() -> Task<void> {
    auto boxes = channel<std::unique_ptr<int>>(1);
    auto first = std::make_unique<int>(1);
    co_await boxes.sender.send_from(first);
    EXPECT_EQ(first, nullptr);
    auto second = std::make_unique<int>(2);
    const auto late = co_await within(1ms, boxes.sender.send_from(second));
    EXPECT_TRUE(late.timed_out());
    EXPECT_NE(second, nullptr) << "out of time, and it still is ours";
    EXPECT_EQ(**boxes.receiver.try_recv(), 1);
    const auto in_time = co_await within(1ms, boxes.sender.send_from(second));
    EXPECT_FALSE(in_time.timed_out());
    EXPECT_EQ(second, nullptr);
  });
}

TEST(Channel, SenderAndReceiverCanBeUsedFromOutsideOfAnyTask) {
  auto numbers = channel<int>(2);
  EXPECT_EQ(numbers.sender.try_send(1), Posted::accepted);
  Scheduler scheduler(Options().virtual_time());
  auto receiver = scheduler.spawn(receive_all, numbers.receiver);
  scheduler.step_until_idle();
  EXPECT_EQ(receiver.state(), TaskState::blocked);
  EXPECT_EQ(numbers.sender.try_send(2), Posted::accepted);
  EXPECT_EQ(receiver.state(), TaskState::ready) << "woken while nobody drives its scheduler";
  numbers.sender.close();
  scheduler.run();
  EXPECT_EQ(receiver.value(false), std::vector<int>({1, 2}));
}

TEST(Channel, AnInlineAnswerCountsAgainstTheQuantum) {
  run_program(
      []() -> Task<void> {
        auto numbers = channel<int>(100);
        Trace trace;
        const auto send = [&](std::string name) -> Task<void> {
          for (int i = 0; i < 4; ++i) {
            trace.push_back(name);
            co_await numbers.sender.send(i);
          }
        };
        auto a = spawn(std::ref(send), "a");
        auto b = spawn(std::ref(send), "b");
        co_await gather(a, b);
        EXPECT_EQ(trace, Trace({"a", "a", "b", "b", "a", "a", "b", "b"}));
        trace.clear();
        const auto receive = [&](std::string name) -> Task<void> {
          for (int i = 0; i < 4; ++i) {
            trace.push_back(name);
            static_cast<void>(co_await numbers.receiver.recv());
          }
        };
        a = spawn(std::ref(receive), "a");
        b = spawn(std::ref(receive), "b");
        co_await gather(a, b);
        EXPECT_EQ(trace, Trace({"a", "a", "b", "b", "a", "a", "b", "b"}));
      },
      Options().virtual_time().quantum(2));
}

TEST(Channel, AValueThatSpentTheQuantumIsNotSeenByOthersMeanwhile) {
  run_program(
      []() -> Task<void> {
        auto numbers = channel<int>(4);
        for (int i = 1; i <= 2; ++i) numbers.sender.try_send(i);
        const auto receive = [&]() -> Task<std::optional<int>> {
          co_return co_await numbers.receiver.recv();
        };
        auto first = spawn(std::ref(receive));
        auto second = spawn(std::ref(receive));
        const auto one = co_await first;
        const auto two = co_await second;
        EXPECT_EQ(one, 1);
        EXPECT_EQ(two, 2);
      },
      Options().virtual_time().quantum(1));
}

TEST(Channel, AHalfThatWasMovedFromSaysSo) {
  auto numbers = channel<int>(1);
  const Sender<int> sender = std::move(numbers.sender);
  const Receiver<int> receiver = std::move(numbers.receiver);
  EXPECT_TRUE(sender);
  EXPECT_FALSE(numbers.sender);
  EXPECT_FALSE(numbers.receiver);
  EXPECT_EQ(code_of(thrown_by([&] { numbers.sender.try_send(1); })), Errc::holds_nothing);
  EXPECT_EQ(code_of(thrown_by([&] { numbers.receiver.try_recv(); })), Errc::holds_nothing);
  EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(Sender<int>().send(1)); })),
            Errc::holds_nothing);
  EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(Receiver<int>().recv()); })),
            Errc::holds_nothing);
}

TEST(Channel, ACapacityThatNoMemoryCanHoldIsAnError) {
  EXPECT_EQ(code_of(thrown_by([] { channel<int>(SIZE_MAX); })), Errc::bad_argument);
  EXPECT_EQ(code_of(thrown_by([] { channel<int>(SIZE_MAX / 8); })), Errc::bad_argument);
}

}  // namespace channel_test
}  // namespace tiffany
