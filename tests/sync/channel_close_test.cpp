// How a channel ends: the last sender goes, the last receiver goes, somebody closes it.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/sync/channel.hpp"

namespace tiffany {
namespace channel_close_test {

using namespace test;

Task<std::optional<int>> receive(Receiver<int> receiver) { co_return co_await receiver.recv(); }
Task<void> send(Sender<int> sender, int value) { co_await sender.send(value); }

TEST(ChannelClose, WhenTheLastSenderGoesReceiversGetWhatIsLeftAndThenNothing) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(4);
    Sender<int> other = numbers.sender;
    co_await numbers.sender.send(1);
    co_await other.send(2);
    numbers.sender = Sender<int>();
    EXPECT_FALSE(numbers.receiver.closed()) << "there is another one";
    other = Sender<int>();
    EXPECT_TRUE(numbers.receiver.closed());
    for (const std::optional<int> expected :
         {std::optional(1), std::optional(2), std::optional<int>(), std::optional<int>()}) {
      const auto received = co_await numbers.receiver.recv();
      EXPECT_EQ(received, expected);
    }
    const auto none = co_await numbers.receiver.recv_many(3);
    EXPECT_TRUE(none.empty());
  });
}

TEST(ChannelClose, ThoseWhoWaitForAValueHearThatNoneWillCome) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(4);
    auto a = spawn(receive, numbers.receiver);
    auto b = spawn(receive, numbers.receiver);
    const auto many = [&]() -> Task<std::size_t> {
      const auto some = co_await numbers.receiver.recv_many(2);
      co_return some.size();
    };
    auto c = spawn(std::ref(many));
    co_await yield();
    numbers.sender = Sender<int>();
    const auto ends = co_await gather(a, b, c);
    EXPECT_EQ(ends.get<0>(), std::nullopt);
    EXPECT_EQ(ends.get<1>(), std::nullopt);
    EXPECT_EQ(ends.get<2>(), 0u);
  });
}

TEST(ChannelClose, SendingWhenTheLastReceiverIsGoneIsAnErrorWithASentence) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    Receiver<int> other = numbers.receiver;
    numbers.receiver = Receiver<int>();
    co_await numbers.sender.send(1);
    auto waiting = spawn(send, numbers.sender, 2);
    co_await yield();
    EXPECT_EQ(waiting.state(), TaskState::blocked);
    other = Receiver<int>();
    EXPECT_TRUE(numbers.sender.closed());
    const auto error = co_await error_of(waiting);
    EXPECT_EQ(code_of(error), Errc::channel_closed);
    EXPECT_NE(what_of(error).find("its last receiver is gone"), std::string::npos);
    const auto later = co_await error_of(send(numbers.sender, 3));
    EXPECT_EQ(code_of(later), Errc::channel_closed);
    EXPECT_EQ(numbers.sender.try_send(4), Posted::closed);
  });
}

TEST(ChannelClose, CloseOnEitherSideKeepsWhatIsInside) {
  for (const bool by_sender : {false, true}) {
    run_program([&]() -> Task<void> {
      auto numbers = channel<int>(1);
      co_await numbers.sender.send(1);
      auto waiting = spawn(send, numbers.sender, 2);
      co_await yield();
      if (by_sender) {
        numbers.sender.close();
      } else {
        numbers.receiver.close();
      }
      EXPECT_TRUE(numbers.sender.closed());
      EXPECT_TRUE(numbers.receiver.closed());
      EXPECT_EQ(numbers.sender.capacity(), 1u);
      EXPECT_EQ(code_of(co_await error_of(waiting)), Errc::channel_closed);
      EXPECT_EQ(code_of(co_await error_of(send(numbers.sender, 3))), Errc::channel_closed);
      const auto left = co_await numbers.receiver.recv();
      EXPECT_EQ(left, 1);
      const auto end = co_await numbers.receiver.recv();
      EXPECT_EQ(end, std::nullopt);
    });
  }
}

TEST(ChannelClose, ValuesThatNobodyCanReceiveAreDestroyedWithTheLastReceiver) {
  auto shared = std::make_shared<int>(1);
  auto boxes = channel<std::shared_ptr<int>>(4);
  boxes.sender.try_send(shared);
  boxes.sender.try_send(shared);
  EXPECT_EQ(shared.use_count(), 3);
  boxes.receiver = Receiver<std::shared_ptr<int>>();
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_EQ(boxes.sender.size(), 0u);
}

// A sender inside of its own channel would keep it for ever.
TEST(ChannelClose, AValueMayOwnAHalfOfItsOwnChannel) {
  struct Reply {
    explicit Reply(Sender<Reply> to) noexcept : sender(std::move(to)) {}
    Sender<Reply> sender;
  };
  auto replies = channel<Reply>(2);
  replies.sender.try_send(Reply(replies.sender));
  replies.sender.try_send(Reply(replies.sender));
  replies.sender = Sender<Reply>();
  EXPECT_FALSE(replies.receiver.closed()) << "the values can still send";
  replies.receiver = Receiver<Reply>();  // the leak checker sees that all of it goes
}

TEST(ChannelClose, AHalfThatGoesUnderTheCallThatUsesItFailsTheCall) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    const auto receive_by_reference = [&]() -> Task<void> {
      static_cast<void>(co_await numbers.receiver.recv());
    };
    const auto receive_many = [&]() -> Task<void> {
      static_cast<void>(co_await numbers.receiver.recv_many(2));
    };
    auto one = spawn(std::ref(receive_by_reference));
    auto many = spawn(std::ref(receive_many));
    co_await yield();
    numbers.receiver = Receiver<int>();
    const auto error = co_await error_of(one);
    EXPECT_EQ(code_of(error), Errc::primitive_gone);
    EXPECT_NE(what_of(error).find("which was destroyed meanwhile"), std::string::npos);
    EXPECT_EQ(code_of(co_await error_of(many)), Errc::primitive_gone);

    auto full = channel<int>(0);
    const auto send_by_reference = [&]() -> Task<void> { co_await full.sender.send(1); };
    auto sender = spawn(std::ref(send_by_reference));
    co_await yield();
    full.sender = Sender<int>();
    EXPECT_EQ(code_of(co_await error_of(sender)), Errc::primitive_gone);
  });
}

TEST(ChannelClose, AValueThatArrivedIsReceivedThoughItsChannelIsGone) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    const auto by_reference = [&]() -> Task<std::optional<int>> {
      co_return co_await numbers.receiver.recv();
    };
    auto receiver = spawn(std::ref(by_reference));
    co_await yield();
    co_await numbers.sender.send(7);
    numbers.sender = Sender<int>();
    numbers.receiver = Receiver<int>();
    const auto received = co_await receiver;
    EXPECT_EQ(received, 7);
  });
}

TEST(ChannelClose, ATaskThatIsCancelledBeforeItBeginsDropsItsHalf) {
  run_program([]() -> Task<void> {
    auto numbers = channel<int>(1);
    auto unbegun = spawn(send, std::move(numbers.sender), 1);
    unbegun.cancel();
    const auto end = co_await numbers.receiver.recv();
    EXPECT_EQ(end, std::nullopt);
  });
}

}  // namespace channel_close_test
}  // namespace tiffany
