// What GCC 12 destroys twice (docs/compilers.md), and the forms that are right with every compiler: each
// awaited function with an aggregate and a lambda that own something. Every object is counted, so that
// a wrong form fails without a sanitizer, too.
#include "tiffany/base/temporaries.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/harness.hpp"

namespace tiffany {
namespace temporaries_test {

using namespace test;

int alive = 0;

class Owner {
 public:
  explicit Owner(int n = 0) : number(n) { ++alive; }
  Owner(const Owner& other) : number(other.number) { ++alive; }
  Owner(Owner&& other) noexcept : number(std::exchange(other.number, -1)) { ++alive; }
  Owner& operator=(Owner other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Owner() { --alive; }
  int number;
};

// An aggregate.
struct Message {
  int kind = 0;
  Owner owner;
};

template <class F>
void run_counted(F&& program) {
  alive = 0;
  run_program(std::forward<F>(program));
  EXPECT_EQ(alive, 0) << "something was destroyed twice, or not at all";
}

TEST(Temporaries, ASendTakesAVariableAMovedOneAndThePartsOfTheValue) {
  run_counted([]() -> Task<void> {
    auto messages = channel<Message>(8);
    Message one{1, Owner(10)};
    co_await messages.sender.send(one);
    co_await messages.sender.send(moved(one));
    EXPECT_EQ(one.owner.number, -1) << "moved from";
    const Owner owner(20);
    co_await messages.sender.emplace(2, owner);
    co_await messages.sender.emplace(3, Owner(30));
    Message last{4, Owner(40)};
    co_await messages.sender.send_from(last);
    int sum = 0;
    for (int i = 0; i < 5; ++i) {
      const auto got = co_await messages.receiver.recv();
      sum += got->owner.number;
    }
    EXPECT_EQ(sum, 10 + 10 + 20 + 30 + 40);
  });
}

TEST(Temporaries, CombinatorsTakeASendThatOwnsItsValue) {
  run_counted([]() -> Task<void> {
    auto full = channel<Message>(0);
    Message one{1, Owner(1)};
    EXPECT_TRUE((co_await within(1ms, full.sender.send(moved(one)))).timed_out());
    co_await race(full.sender.emplace(2, Owner(2)), sleep(1ms));
    co_await gather(full.sender.emplace(3, Owner(3)), full.receiver.recv());
    co_await all_settled(full.sender.emplace(4, Owner(4)), full.receiver.recv());
  });
}

TEST(Temporaries, ATaskIsGivenAMovedVariableAndSpawnedWithATemporaryInAStatement) {
  run_counted([]() -> Task<void> {
    const auto take = [](Message message) -> Task<int> {
      co_await yield();
      co_return message.owner.number;
    };
    Message one{1, Owner(1)};
    EXPECT_EQ(co_await take(std::move(one)), 1);
    // No co_await in this expression: the temporary is an ordinary one.
    auto handle = spawn(take, Message{2, Owner(2)});
    EXPECT_EQ(co_await handle, 2);
    const Owner owner(3);
    auto lambda = spawn([owner]() -> Task<int> {
      co_await yield();
      co_return owner.number;
    });
    EXPECT_EQ(co_await lambda, 3);
  });
}

struct Ask {
  using result = int;
  int kind = 0;
  Owner owner{};
};
inline constexpr ContextKey<Message> kMessage{"message"};

TEST(Temporaries, BlocksHandlersAndContextValuesAreKeptInVariables) {
  run_counted([]() -> Task<void> {
    const Owner owner(5);
    const auto block = [owner](Scope&) -> Task<int> { co_return owner.number; };
    EXPECT_EQ(co_await scope(block), 5);
    const Message message{1, owner};
    const auto body = [owner]() -> Task<int> { co_return ask(kMessage).owner.number; };
    EXPECT_EQ(co_await with(kMessage, message, body), 5);
    const auto handler = [owner](const Ask& asked) { return owner.number + asked.owner.number; };
    const auto performs = [owner]() -> Task<int> { co_return co_await perform<Ask>(1, owner); };
    EXPECT_EQ(co_await with_handler<Ask>(handler, performs), 10);
  });
}

TEST(Temporaries, APromiseAndAMailboxAreGivenTemporariesInStatements) {
  run_counted([]() -> Task<void> {
    Promise<Message> promise;
    promise.complete(Message{1, Owner(1)});
    EXPECT_EQ((co_await promise.future()).owner.number, 1);
    Mailbox<Message> box(2);
    const MailSender<Message> sender = box.sender();
    EXPECT_EQ(sender.post(Message{2, Owner(2)}), Posted::accepted);
    EXPECT_EQ((co_await box.next()).owner.number, 2);
  });
}

#if TIFFANY_DESTROYS_TWICE
static_assert(detail::destroyed_twice<Message>());
static_assert(!detail::destroyed_twice<Message&>());
static_assert(!detail::destroyed_twice<Moved<Message>>());
static_assert(!detail::destroyed_twice<std::string>());
static_assert(!detail::destroyed_twice<Owner>(), "a class with a constructor is safe");
#else
TEST(Temporaries, OtherCompilersTakeThemWhereverTheyAreMade) {
  run_counted([]() -> Task<void> {
    auto messages = channel<Message>(1);
    const Owner owner(7);
    co_await messages.sender.send(Message{1, owner});
    EXPECT_EQ(co_await scope([owner](Scope&) -> Task<int> { co_return owner.number; }), 7);
  });
}
#endif

}  // namespace temporaries_test
}  // namespace tiffany
