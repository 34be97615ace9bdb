// T20: stand-ins for asynchronous functions.
#include "tiffany/test/mock.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "support/harness.hpp"
#include "tiffany/test/test_scheduler.hpp"

namespace tiffany::test {
namespace mock_test {

using Fetch = Mock<std::string(int)>;

Task<std::string> call(Fetch& fetch, int page) { co_return co_await fetch(page); }

TEST(Mock, T20_GivesItsAnswersInOrderAndKeepsTheCalls) {
  TestScheduler test;
  Fetch fetch("fetch");
  fetch.returns("one");
  fetch.returns("two").after(5ms);
  EXPECT_EQ(fetch.unused(), 2u);
  EXPECT_EQ(test.result(test.spawn(call, std::ref(fetch), 10)), "one");
  EXPECT_EQ(test.now(), 0ms);
  auto second = test.spawn(call, std::ref(fetch), 20);
  EXPECT_EQ(test.result(second), "two");
  EXPECT_EQ(test.now(), 5ms);
  ASSERT_EQ(fetch.calls().size(), 2u);
  EXPECT_EQ(fetch.calls()[0].get<0>(), 10);
  EXPECT_EQ(fetch.calls()[1].get<0>(), 20);
  EXPECT_EQ(fetch.calls()[1].time, Time()) << "when it was made, not when it was answered";
  EXPECT_EQ(fetch.calls()[1].task, second.id());
  EXPECT_EQ(fetch.unused(), 0u);
  EXPECT_EQ(fetch.name(), "fetch");
}

TEST(Mock, T20_CanBeSpawnedAndPassedAsAFunction) {
  TestScheduler test;
  Fetch fetch;
  fetch.returns("a");
  fetch.returns("b");
  EXPECT_EQ(test.result(test.spawn(std::ref(fetch), 1)), "a");
  const std::function<Task<std::string>(int)> function = std::ref(fetch);
  EXPECT_EQ(test.result(test.spawn(function, 2)), "b");
}

TEST(Mock, T20_AnswersWithErrorsAtOnceOrLater) {
  TestScheduler test;
  Fetch fetch;
  fetch.throws(std::runtime_error("gone"));
  fetch.throws(std::out_of_range("far away")).after(7ms);
  EXPECT_EQ(what_of(thrown_by([&] { test.result(test.spawn(call, std::ref(fetch), 1)); })), "gone");
  EXPECT_THROW(test.result(test.spawn(call, std::ref(fetch), 1)), std::out_of_range);
  EXPECT_EQ(test.now(), 7ms);
}

TEST(Mock, T20_RulesAnswerTheCallsTheyAcceptBeforeTheScriptDoes) {
  TestScheduler test;
  Fetch fetch;
  fetch.returns("from the script");
  fetch.when([](int page) { return page == 7; }).returns("seven");
  fetch.when([](int page) { return page > 7; }).times(1).returns("big").after(1ms);
  const auto ask = [&](int page) { return test.result(test.spawn(call, std::ref(fetch), page)); };
  EXPECT_EQ(ask(7), "seven");
  EXPECT_EQ(ask(7), "seven");
  EXPECT_EQ(ask(9), "big");
  EXPECT_EQ(ask(9), "from the script") << "the rule was for one call";
  fetch.always().throws(std::runtime_error("enough"));
  EXPECT_THROW(ask(9), std::runtime_error);
  EXPECT_EQ(ask(7), "seven");
}

TEST(Mock, T20_ACallWithoutAnAnswerIsAnErrorThatSaysWhich) {
  TestScheduler test;
  Fetch fetch("fetch");
  const auto ask = [&] {
    return thrown_by([&] { test.result(test.spawn(call, std::ref(fetch), 1)); });
  };
  auto error = ask();
  EXPECT_EQ(code_of(error), Errc::no_answer);
  EXPECT_NE(what_of(error).find("Call 1 of the mock fetch has no answer"), std::string::npos);
  EXPECT_NE(what_of(error).find("nothing else is scripted"), std::string::npos);
  fetch.returns("x");
  EXPECT_EQ(test.result(test.spawn(call, std::ref(fetch), 1)), "x");
  error = ask();
  EXPECT_NE(what_of(error).find("Call 3 of the mock fetch has no answer"), std::string::npos);
  EXPECT_NE(what_of(error).find("the 1 scripted answers have been given"), std::string::npos);
}

TEST(Mock, T20_WhatNeverReturnsIsADeadlockThatNamesTheMock) {
  TestScheduler test;
  Fetch fetch("fetch");
  fetch.hangs();
  test.spawn(call, std::ref(fetch), 1);
  const auto error = thrown_by([&] { test.run(); });
  EXPECT_EQ(code_of(error), Errc::deadlock);
  EXPECT_NE(what_of(error).find("waits for an answer that the mock fetch never gives"),
            std::string::npos)
      << what_of(error);
}

TEST(Mock, T9_CancelBeforeStartWhileItWaitsAndAfterTheAnswer) {
  TestScheduler test;
  Fetch fetch;
  fetch.hangs();
  fetch.returns("slow").after(1h);
  fetch.returns("quick");
  auto never_started = test.spawn(call, std::ref(fetch), 0);
  never_started.cancel();
  auto hangs = test.spawn(call, std::ref(fetch), 1);
  auto slow = test.spawn(call, std::ref(fetch), 2);
  auto quick = test.spawn(call, std::ref(fetch), 3);
  test.step_until_idle();
  EXPECT_EQ(fetch.calls().size(), 3u);
  for (const auto& handle : {hangs, slow, quick}) handle.cancel();
  test.run();
  EXPECT_EQ(never_started.state(), TaskState::cancelled);
  EXPECT_EQ(hangs.state(), TaskState::cancelled);
  EXPECT_EQ(slow.state(), TaskState::cancelled);
  EXPECT_EQ(quick.state(), TaskState::completed);
  EXPECT_EQ(test.now(), 0ms);
}

TEST(Mock, T20_FunctionsThatReturnNothingAndTakeReferences) {
  TestScheduler test;
  Mock<void(const std::string&, int)> store("store");
  store.returns().after(1ms);
  store.when([](const std::string& key, int) { return key == "k"; }).returns();
  store.when([](const std::string& key, int) { return key == "h"; }).hangs();
  const auto work = [&]() -> Task<void> {
    const std::string key = "key";
    co_await store(key, 1);
    co_await store("k", 2);
    const auto hung = co_await within(1ms, store("h", 3));
    EXPECT_TRUE(hung.timed_out());
  };
  test.result(test.spawn(std::ref(work)));
  EXPECT_EQ(test.now(), 2ms);
  EXPECT_EQ(store.calls().at(0).get<0>(), "key");
  EXPECT_EQ(store.calls().at(1).get<1>(), 2);
}

TEST(Mock, T20_ACallThatIsMadeAndNotAwaitedDoesNotCount) {
  TestScheduler test;
  Fetch fetch;
  const auto work = [&]() -> Task<void> {
    const auto task = fetch(1);
    co_return;
  };
  test.result(test.spawn(std::ref(work)));
  EXPECT_TRUE(fetch.calls().empty());
}

}  // namespace mock_test
}  // namespace tiffany::test
