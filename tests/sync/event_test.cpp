#include "tiffany/sync/event.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace event_test {

using namespace test;

TEST(Event, AllWhoWaitGoOnInTheOrderTheyCameAndLaterOnesAtOnce) {
  run_program([]() -> Task<void> {
    ManualResetEvent event;
    Trace trace;
    const auto wait = [&](std::string name) -> Task<void> {
      co_await event.wait();
      trace.push_back(name);
    };
    for (const char* name : {"a", "b", "c"}) spawn(std::ref(wait), name);
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace());
    EXPECT_FALSE(event.is_set());
    event.set();
    EXPECT_EQ(trace, Trace()) << "who sets it goes on";
    co_await wait("late");
    EXPECT_EQ(trace, Trace({"late"})) << "without a suspension";
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace({"late", "a", "b", "c"}));
  });
}

TEST(Event, WhoWaitedWhenItWasSetGoesOnThoughItIsResetMeanwhile) {
  run_program([]() -> Task<void> {
    ManualResetEvent event(true);
    co_await event.wait();
    event.reset();
    const auto wait = [&]() -> Task<void> { co_await event.wait(); };
    auto handle = spawn(std::ref(wait));
    co_await yield();
    EXPECT_EQ(handle.state(), TaskState::blocked);
    event.set();
    event.reset();
    co_await handle;
    EXPECT_FALSE(event.is_set());
    const auto late = co_await within(1ms, event.wait());
    EXPECT_TRUE(late.timed_out());
  });
}

}  // namespace event_test
}  // namespace tiffany
