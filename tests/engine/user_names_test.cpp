// A program that says `using namespace tiffany` keeps its own short names.
#include <gtest/gtest.h>

#include <string>

#include "tiffany/test/explore.hpp"
#include "tiffany/test/mock.hpp"
#include "tiffany/test/test_scheduler.hpp"
#include "tiffany/tiffany.hpp"

// What users call things, at global scope, where a directive makes every clash ambiguous.
struct Clock {
  int ticks = 0;
};
struct Event {
  std::string title;
};
enum class State { open, shut };
enum class Strategy { greedy, lazy };

int after(int hour) { return hour + 1; }
std::string ask(const std::string& question) { return "asked " + question; }
template <class Table>
int get(const Table& table) {
  return table.ticks;
}

using namespace tiffany;

inline constexpr ContextKey<std::string> kUser{"user"};
inline constexpr StateKey<int> kCount{"count"};

// Also for times, whose type is looked up in our namespace as well.
Time after(Time start, Duration delay) { return start + 2 * delay; }

TEST(UserNames, TheProgramsOwnDeclarationsAreTheOnesThatItNames) {
  Clock clock;
  clock.ticks = 7;
  const Event event{"a fair"};
  const State state = State::shut;
  const Strategy strategy = Strategy::lazy;
  EXPECT_EQ(get(clock), 7);
  EXPECT_EQ(event.title, "a fair");
  EXPECT_NE(state, State::open);
  EXPECT_NE(strategy, Strategy::greedy);
  EXPECT_EQ(after(3), 4);
  EXPECT_EQ(after(Time(Duration(1)), Duration(3)), Time(Duration(7)));
  EXPECT_EQ(ask("why"), "asked why");
}

TEST(UserNames, OursAreReachedBesideThem) {
  const auto program = []() -> Task<int> {
    put(kCount, 3);
    ManualResetEvent ready;
    const auto waits = [](ManualResetEvent& what) -> Task<void> { co_await what.wait(); };
    auto waiter = spawn(waits, std::ref(ready));
    ready.set();
    co_await waiter;
    EXPECT_EQ(waiter.state(), TaskState::completed);
    const std::string user = co_await with(
        kUser, "ann", [&]() -> Task<std::string> { co_return ask(kUser) + ask("too"); });
    EXPECT_EQ(user, "annasked too");
    EXPECT_EQ(lookup(kUser), nullptr);
    int starts = 0;
    co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
      s.temporary(
          "once",
          [](int* count) -> Task<void> {
            ++*count;
            co_return;
          },
          &starts);
    });
    EXPECT_EQ(starts, 1);
    co_return *get(kCount);
  };
  EXPECT_EQ(run(program(), Options().virtual_time()), 3);
}
