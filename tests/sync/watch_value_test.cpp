#include "tiffany/sync/watch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace watch_value_test {

using namespace test;

TEST(Watch, AReaderWaitsForAVersionThatItHasNotSeen) {
  run_program([]() -> Task<void> {
    Watch<int> level(1);
    auto reader = level.reader();
    EXPECT_FALSE(reader.has_changed());
    const auto change = [&]() -> Task<void> {
      co_await sleep(5ms);
      level.set(2);
    };
    auto changing = spawn(std::ref(change));
    EXPECT_EQ(co_await reader.changed(), 2);
    EXPECT_EQ(now(), Time(5ms));
    EXPECT_EQ(reader.seen(), 1u);
    level.set(2);
    EXPECT_EQ(level.version(), 2u) << "an equal value is a new version, too";
    EXPECT_TRUE(reader.has_changed());
    EXPECT_EQ(co_await reader.changed(), 2);
    co_await changing;
  });
}

TEST(Watch, TheNewestIsSeenAndWhatCameBetweenIsNot) {
  run_program([]() -> Task<void> {
    Watch<int> level(0);
    std::vector<int> seen;
    const auto read = [&]() -> Task<void> {
      auto reader = level.reader();
      while (auto value = co_await reader.changed()) seen.push_back(*value);
    };
    auto reading = spawn(std::ref(read));
    co_await yield();
    level.set(1);
    level.set(2);  // after the reader was woken, before it ran
    co_await yield();
    level.set(3);
    co_await yield();
    level.set(4);
    level.set(5);
    level.close();
    co_await reading;
    EXPECT_EQ(seen, std::vector<int>({2, 3, 5}));
  });
}

TEST(Watch, AllWhoWaitGoOnInTheOrderTheyCame) {
  run_program([]() -> Task<void> {
    Watch<std::string> name("x");
    Trace trace;
    const auto read = [&](std::string who) -> Task<void> {
      auto reader = name.reader();
      const auto value = co_await reader.changed();
      trace.push_back(who + value.value());
    };
    auto a = spawn(std::ref(read), "a");
    auto b = spawn(std::ref(read), "b");
    auto c = spawn(std::ref(read), "c");
    co_await yield();
    b.cancel();
    name.set("y");
    co_await gather(a, c);
    const auto outcome = co_await b.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"ay", "cy"}));
  });
}

TEST(Watch, ACancelledWaitHasSeenNothingNew) {
  run_program([]() -> Task<void> {
    Watch<int> level(0);
    auto reader = level.reader();
    const bool timed_out = (co_await within(1ms, reader.changed())).timed_out();
    EXPECT_TRUE(timed_out);
    level.set(7);
    EXPECT_TRUE(reader.has_changed());
    ManualResetEvent never;
    auto won = co_await race(never.wait(), reader.changed());
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(std::get<1>(won.value), 7);
    level.set(8);
    ManualResetEvent set(true);
    const auto lost = co_await race(set.wait(), reader.changed());
    EXPECT_EQ(lost.index, 0u);
    EXPECT_TRUE(reader.has_changed()) << "the race left it alone";
    EXPECT_EQ(reader.latest(), 8);
    EXPECT_FALSE(reader.has_changed());
  });
}

TEST(Watch, AValueThatArrivedWinsOverACancel) {
  run_program([]() -> Task<void> {
    Watch<int> level(0);
    Trace trace;
    const auto read = [&]() -> Task<void> {
      auto reader = level.reader();
      trace.push_back(std::to_string((co_await reader.changed()).value()));
      co_await checkpoint();
      trace.push_back("never");
    };
    auto handle = spawn.with_priority(20)(std::ref(read));
    co_await sleep(1ms);
    level.set(3);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"3"}));
  });
}

TEST(Watch, AfterItsEndTheLastValueIsSeenOnceMore) {
  run_program([]() -> Task<void> {
    auto level = std::make_unique<Watch<int>>(0);
    auto reader = level->reader();
    auto late = level->reader();
    const auto read = [&]() -> Task<bool> { co_return (co_await reader.changed()).has_value(); };
    auto waiting = spawn(std::ref(read));
    co_await yield();
    level->close();
    EXPECT_FALSE(co_await waiting);
    level->set(4);
    level.reset();
    EXPECT_TRUE(late.closed());
    EXPECT_EQ(late.peek(), 4);
    EXPECT_EQ(co_await late.changed(), 4);
    EXPECT_EQ(co_await late.changed(), std::nullopt);
    EXPECT_EQ(co_await late.changed(), std::nullopt);
  });
}

TEST(Watch, AWatchMayGoBetweenTheWakeAndTheResume) {
  run_program([]() -> Task<void> {
    auto text = std::make_unique<Watch<std::string>>("a");
    const auto read = [&]() -> Task<std::string> {
      auto reader = text->reader();
      co_return (co_await reader.changed()).value();
    };
    auto waiting = spawn(std::ref(read));
    co_await yield();
    text->set("a text that is too long to be kept inside of the string");
    text.reset();
    EXPECT_EQ(co_await waiting, "a text that is too long to be kept inside of the string");
  });
}

TEST(Watch, ACopyOfAReaderGoesOnByItself) {
  run_program([]() -> Task<void> {
    Watch<int> level(0);
    auto first = level.reader();
    level.set(1);
    auto second = first;
    EXPECT_EQ(co_await first.changed(), 1);
    EXPECT_TRUE(second.has_changed());
    EXPECT_EQ(co_await second.changed(), 1);
    // Of two tasks that wait through one reader both get the value.
    const auto read = [&]() -> Task<int> { co_return (co_await first.changed()).value(); };
    auto a = spawn(std::ref(read));
    auto b = spawn(std::ref(read));
    co_await yield();
    level.set(2);
    EXPECT_EQ(co_await a, 2);
    EXPECT_EQ(co_await b, 2);
  });
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(WatchReader<int>().changed()); })),
            Errc::holds_nothing);
}

TEST(Watch, ASchedulerMayGoWhileItsTasksWait) {
  Watch<std::shared_ptr<int>> box(std::make_shared<int>(1));
  const auto read = [&]() -> Task<void> {
    auto reader = box.reader();
    static_cast<void>(co_await reader.changed());
  };
  {
    Scheduler scheduler(Options().virtual_time());
    for (int i = 0; i < 3; ++i) scheduler.spawn(std::ref(read));
    scheduler.step_until_idle();
  }
  box.set(std::make_shared<int>(2));
  EXPECT_EQ(box.value().use_count(), 1);
}

}  // namespace watch_value_test
}  // namespace tiffany
