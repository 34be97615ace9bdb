// What GCC 12 destroys twice (docs/compilers.md), and the forms that are right with every compiler:
// each awaited function with an aggregate and a lambda that own something. Every object is counted,
// so that a wrong form fails without a sanitizer, too.
#include "tiffany/base/temporaries.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/harness.hpp"
#include "support/owner.hpp"

namespace tiffany {
namespace temporaries_test {

using namespace test;

template <class F>
void run_counted(F&& program) {
  alive_owners = 0;
  run_program(std::forward<F>(program));
  EXPECT_EQ(alive_owners, 0) << "something was destroyed twice, or not at all";
}

TEST(Temporaries, ASendTakesAVariableAMovedOneAndThePartsOfTheValue) {
  run_counted([]() -> Task<void> {
    auto messages = channel<Aggregate>(8);
    Aggregate one{1, Owner(10)};
    co_await messages.sender.send(one);
    co_await messages.sender.send(moved(one));
    EXPECT_EQ(one.owner.number, -1) << "moved from";
    const Owner owner(20);
    co_await messages.sender.emplace(2, owner);
    co_await messages.sender.emplace(3, Owner(30));
    Aggregate last{4, Owner(40)};
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
    auto full = channel<Aggregate>(0);
    Aggregate one{1, Owner(1)};
    EXPECT_TRUE((co_await within(1ms, full.sender.send(moved(one)))).timed_out());
    co_await race(full.sender.emplace(2, Owner(2)), sleep(1ms));
    co_await gather(full.sender.emplace(3, Owner(3)), full.receiver.recv());
    co_await all_settled(full.sender.emplace(4, Owner(4)), full.receiver.recv());
  });
}

TEST(Temporaries, ATaskIsGivenAMovedVariableAndSpawnedWithATemporaryInAStatement) {
  run_counted([]() -> Task<void> {
    const auto take = [](Aggregate message) -> Task<int> {
      co_await yield();
      co_return message.owner.number;
    };
    Aggregate one{1, Owner(1)};
    EXPECT_EQ(co_await take(std::move(one)), 1);
    // No co_await in this expression: the temporary is an ordinary one.
    auto handle = spawn(take, Aggregate{2, Owner(2)});
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
inline constexpr ContextKey<Aggregate> kMessage{"message"};

TEST(Temporaries, BlocksHandlersAndContextValuesAreKeptInVariables) {
  run_counted([]() -> Task<void> {
    const Owner owner(5);
    const auto block = [owner](Scope&) -> Task<int> { co_return owner.number; };
    EXPECT_EQ(co_await scope(block), 5);
    const Aggregate message{1, owner};
    const auto body = [owner]() -> Task<int> { co_return ask(kMessage).owner.number; };
    EXPECT_EQ(co_await with(kMessage, message, body), 5);
    const auto handler = [owner](const Ask& asked) { return owner.number + asked.owner.number; };
    const auto performs = [owner]() -> Task<int> { co_return co_await perform<Ask>(1, owner); };
    EXPECT_EQ(co_await with_handler<Ask>(handler, performs), 10);
  });
}

TEST(Temporaries, APromiseAndAMailboxAreGivenTemporariesInStatements) {
  run_counted([]() -> Task<void> {
    Promise<Aggregate> promise;
    promise.complete(Aggregate{1, Owner(1)});
    EXPECT_EQ((co_await promise.future()).owner.number, 1);
    Mailbox<Aggregate> box(2);
    const MailSender<Aggregate> sender = box.sender();
    EXPECT_EQ(sender.post(Aggregate{2, Owner(2)}), Posted::accepted);
    EXPECT_EQ((co_await box.next()).owner.number, 2);
  });
}

#if TIFFANY_DESTROYS_TWICE
static_assert(detail::destroyed_twice<Aggregate>());
static_assert(!detail::destroyed_twice<Aggregate&>());
static_assert(!detail::destroyed_twice<Moved<Aggregate>>());
static_assert(!detail::destroyed_twice<std::string>());
static_assert(!detail::destroyed_twice<Owner>(), "a class with a constructor is safe");
static_assert(!std::is_copy_constructible_v<Moved<Aggregate>>,
              "nothing keeps a reference to a variable");
#else
TEST(Temporaries, OtherCompilersTakeThemWhereverTheyAreMade) {
  run_counted([]() -> Task<void> {
    auto messages = channel<Aggregate>(1);
    const Owner owner(7);
    co_await messages.sender.send(Aggregate{1, owner});
    EXPECT_EQ(co_await scope([owner](Scope&) -> Task<int> { co_return owner.number; }), 7);
  });
}
#endif

}  // namespace temporaries_test
}  // namespace tiffany
