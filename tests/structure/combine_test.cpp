// One awaitable protocol: race, any, gather, all_settled, within and shield over everything, mixed.
#include "tiffany/structure/combine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/fibers.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace combine_test {

using namespace test;

Task<int> late(int ms) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return ms;
}
Task<std::unique_ptr<int>> owned(int ms) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return std::make_unique<int>(ms);
}
Task<int> fails(int ms) {
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error("on purpose");
}
Task<void> noted(Trace* trace, std::string text) {
  const AtExit exit(*trace, std::move(text));
  co_await sleep(1h);
}

TEST(Combine, AGatherOfTasksCallsAndHandlesDestructures) {
  run_program([]() -> Task<void> {
    auto jobs = channel<int>(1);
    co_await jobs.sender.send(5);
    auto handle = spawn(late, 3);
    auto [a, b, c, d] = co_await gather(late(1), handle, jobs.receiver.recv(), sleep(2ms));
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 3);
    EXPECT_EQ(c, 5);
    EXPECT_EQ(d, Unit());
  });
}

TEST(Combine, AGatherThatFailsEndsWhatItStartedAndLetsHandlesGoOn) {
  run_program([]() -> Task<void> {
    Trace trace;
    auto handle = spawn(late, 50);
    const auto error = co_await error_of(gather(noted(&trace, "ended"), fails(2), handle));
    EXPECT_EQ(what_of(error), "on purpose");
    EXPECT_EQ(trace, Trace({"ended"})) << "joined before the gather throws";
    EXPECT_EQ(now(), Time(2ms));
    EXPECT_FALSE(handle.done());
    co_await handle;
  });
}

TEST(Combine, AllSettledOfEverythingNeverThrowsAndDestructures) {
  run_program([]() -> Task<void> {
    auto [a, b, c] = co_await all_settled(fails(1), yield(), late(2));
    EXPECT_TRUE(a.failed());
    EXPECT_TRUE(b.ok());
    EXPECT_EQ(c.value(), 2);
  });
}

TEST(Combine, ARaceOfATaskACallAndAHandleSaysWhichAndEndsTheLosersItStarted) {
  run_program([]() -> Task<void> {
    Trace trace;
    auto jobs = channel<int>(1);
    auto handle = spawn(late, 50);
    auto [which, value, rest] =
        co_await race(noted(&trace, "ended"), handle, jobs.receiver.recv(), sleep(5ms));
    EXPECT_EQ(which, 3u);
    EXPECT_EQ(value.index(), 3u);
    EXPECT_EQ(rest, Unit());
    EXPECT_EQ(trace, Trace({"ended"}));
    EXPECT_FALSE(handle.done()) << "what was given as a handle goes on";
    EXPECT_EQ(now(), Time(5ms));
    EXPECT_EQ(jobs.sender.try_send(1), Posted::accepted);
    EXPECT_EQ(jobs.receiver.size(), 1u) << "nobody waits there any more";
    handle.cancel();
  });
}

TEST(Combine, ARaceOfAReceiveAndASleepLosesNoValueThatComesWithTheAlarm) {
  run_program([]() -> Task<void> {
    auto jobs = channel<int>(1);
    const auto select = [&]() -> Task<std::size_t> {
      const auto won = co_await race(sleep(5ms), jobs.receiver.recv());
      co_return won.index;
    };
    auto handle = spawn(std::ref(select));
    co_await sleep_until(Time(5ms));
    const Posted sent = jobs.sender.try_send(7);
    const std::size_t which = co_await handle;
    EXPECT_EQ(sent, Posted::accepted);
    if (which == 0) {
      EXPECT_EQ(jobs.receiver.try_recv(), 7) << "it is still in the channel";
    }
  });
}

TEST(Combine, ACallThatLosesARaceAndEndedAllTheSameIsInTheRest) {
  run_program([]() -> Task<void> {
    auto handle = spawn(late, 5);
    auto other = spawn(late, 5);
    // Both end in the same turn: the outcome of the second is not lost.
    auto [which, value, rest] = co_await race(handle.outcome(), other.outcome());
    EXPECT_EQ(which, 0u);
    EXPECT_EQ(value.value(), 5);
    EXPECT_FALSE(std::get<0>(rest).has_value());
    if (std::get<1>(rest).has_value()) {
      EXPECT_EQ(std::get<1>(rest)->value(), 5);
    }
    co_await other;
  });
}

TEST(Combine, ResultsThatCanOnlyBeMovedComeOut) {
  run_program([]() -> Task<void> {
    auto [a, b] = co_await gather(owned(1), owned(2));
    EXPECT_EQ(*a + *b, 3);
    auto won = co_await race(owned(4), owned(2));
    EXPECT_EQ(*won.value, 2);
    auto success = co_await any(owned(4), owned(1));
    EXPECT_EQ(*success.value, 1);
    std::vector<Task<std::unique_ptr<int>>> many;
    many.push_back(owned(6));
    many.push_back(owned(5));
    auto all = co_await gather(std::move(many));
    EXPECT_EQ(*all[0], 6);
  });
}

TEST(Combine, AnyTakesHandlesAndMixesThemWithTasks) {
  run_program([]() -> Task<void> {
    auto handle = spawn(late, 9);
    auto won = co_await any(fails(1), handle, late(4));
    EXPECT_EQ(won.index, 2u);
    EXPECT_EQ(won.value, 4);
    EXPECT_FALSE(handle.done());
    const std::vector<Handle<int>> handles = {handle};
    const auto of_range = co_await any(handles);
    EXPECT_EQ(of_range.value, 9);
    EXPECT_TRUE(of_range.rest.empty());
    std::exception_ptr error = co_await error_of(any(fails(1), fails(2)));
    EXPECT_EQ(code_of(error), Errc::all_failed);
  });
}

TEST(Combine, AVectorOfTasksOrCallsIsGatheredSettledAndRaced) {
  run_program([]() -> Task<void> {
    std::vector<Task<int>> two;
    two.push_back(late(4));
    two.push_back(late(2));
    const std::vector<int> values = co_await gather(std::move(two));
    EXPECT_EQ(values, std::vector<int>({4, 2}));
    std::vector<Task<int>> mixed;
    mixed.push_back(fails(1));
    mixed.push_back(late(2));
    const auto ends = co_await all_settled(std::move(mixed));
    EXPECT_TRUE(ends[0].failed());
    EXPECT_EQ(ends[1].value(), 2);
    std::vector<Sleep> sleeps;
    sleeps.push_back(sleep(3ms));
    sleeps.push_back(sleep(1ms));
    const auto won = co_await race(std::move(sleeps));
    EXPECT_EQ(won.index, 1u);
  });
}

TEST(Combine, WithinAndShieldTakeCallsAndEachOther) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(1);
    const MailSender<int> sender = box.sender();
    const auto none = co_await within(1ms, box.next());
    EXPECT_TRUE(none.timed_out());
    sender.post(3);
    const auto one = co_await within(1s, box.recv());
    EXPECT_EQ(*one, 3);
    EXPECT_TRUE((co_await within(1ms, sleep(2ms))).timed_out());
    auto handle = spawn(late, 5);
    EXPECT_TRUE((co_await within(1ms, gather(handle, handle))).timed_out());
    EXPECT_TRUE((co_await within(1ms, race(late(4), sleep(3ms)))).timed_out());
    const auto both = co_await shield(gather(late(1), within(1ms, late(9))));
    EXPECT_TRUE(both.get<1>().timed_out());
    co_await shield(sleep(1ms));
    co_await handle;
  });
}

TEST(Combine, ARaceOfAMailboxAndAChannelIsExact) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(2);
    const MailSender<int> sender = box.sender();
    auto jobs = channel<int>(1);
    sender.post(1);
    co_await sleep(1ms);
    co_await jobs.sender.send(2);
    auto won = co_await race(jobs.receiver.recv(), box.next());
    EXPECT_EQ(won.index, 0u);
    EXPECT_EQ(box.try_recv(), 1) << "still in the mailbox";
    const auto select = [&]() -> Task<std::size_t> {
      auto first = co_await race(jobs.receiver.recv(), box.next());
      co_return first.index;
    };
    auto handle = spawn(std::ref(select));
    co_await yield();
    sender.post(4);
    EXPECT_EQ(co_await handle, 1u);
  });
}

TEST(Combine, ACombinatorThatIsCancelledEndsWhatItStarted) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto body = [&]() -> Task<void> {
      co_await gather(noted(&trace, "one"), sleep(1h), noted(&trace, "two"));
    };
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"one", "two"}));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  });
}

TEST(Combine, AFiberAwaitsTheSameCombinators) {
  run_fiber([] {
    auto [a, b] = await(gather(late(1), sleep(2ms)));
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, Unit());
    EXPECT_EQ(await(race(late(3), sleep(1ms))).index, 1u);
    EXPECT_TRUE(await(within(1ms, sleep(9ms))).timed_out());
  });
}

Task<int> sum12(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k,
                std::string l) {
  co_return a + b + c + d + e + f + g + h + i + j + k + static_cast<int>(l.size());
}
Task<int> sum7(int a, int b, int c, int d, int e, int f, int g) {
  co_return a + b + c + d + e + f + g;
}

TEST(Spawn, TakesAnyNumberOfArguments) {
  run_program([]() -> Task<void> {
    auto seven = spawn(sum7, 1, 2, 3, 4, 5, 6, 7);
    auto twelve = spawn(sum12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, std::string("abc"));
    auto [a, b] = co_await gather(seven, twelve);
    EXPECT_EQ(a, 28);
    EXPECT_EQ(b, 69);
  });
}

}  // namespace combine_test
}  // namespace tiffany
