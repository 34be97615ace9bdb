#include "tiffany/io/signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "io/reactors.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace signals_test {

using namespace std::chrono_literals;

class SignalsTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(SignalsTest);

Task<int> takes_one(const Signals* from) { co_return co_await from->next(); }

bool blocked(int number) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, number) == 1;
}

void (*handler_of(int number))(int) {
  struct sigaction now{};
  sigaction(number, nullptr, &now);
  return now.sa_handler;
}

TEST_P(SignalsTest, ObjectsThatAreDestroyedOutOfOrderLeaveNothingBehind) {
  const auto before_one = handler_of(SIGUSR1);
  const auto before_two = handler_of(SIGUSR2);
  std::optional<Signals> first(std::in_place, std::initializer_list<int>{SIGUSR1});
  std::optional<Signals> second(std::in_place, std::initializer_list<int>{SIGUSR2, SIGUSR1});
  first.reset();
  // The second one still takes both.
  raise(SIGUSR1);
  EXPECT_EQ(run(takes_one, &*second).value(), SIGUSR1);
  raise(SIGUSR2);
  EXPECT_EQ(run(takes_one, &*second).value(), SIGUSR2);
  second.reset();
  EXPECT_FALSE(blocked(SIGUSR1));
  EXPECT_FALSE(blocked(SIGUSR2));
  EXPECT_EQ(handler_of(SIGUSR1), before_one);
  EXPECT_EQ(handler_of(SIGUSR2), before_two);
}

TEST_P(SignalsTest, TwoObjectsForOneSignalBothGetIt) {
  const Signals first({SIGUSR1});
  const Signals second({SIGUSR1, SIGUSR2});
  raise(SIGUSR1);
  Scheduler scheduler(options());
  auto one = scheduler.spawn(takes_one, &first);
  auto two = scheduler.spawn(takes_one, &second);
  const Time end = scheduler.now() + 2s;
  while (!(one.done() && two.done()) && scheduler.now() < end) scheduler.poll(end);
  ASSERT_TRUE(one.done());
  ASSERT_TRUE(two.done());
  EXPECT_EQ(outcome_of(one, false).value(), SIGUSR1);
  EXPECT_EQ(outcome_of(two, false).value(), SIGUSR1);
}

TEST_P(SignalsTest, ASignalThatAThreadWithoutAnObjectTakesComesHereToo) {
  const Signals signals({SIGUSR1});
  std::thread([] { raise(SIGUSR1); }).join();
  EXPECT_EQ(run(takes_one, &signals).value(), SIGUSR1);
}

TEST_P(SignalsTest, WhatCannotBeWaitedForIsRefusedAndChangesNothing) {
  const auto before = handler_of(SIGUSR1);
  EXPECT_EQ(test::code_of(test::thrown_by([] { Signals({SIGUSR1, SIGKILL}); })), Errc::io_failed);
  EXPECT_EQ(test::code_of(test::thrown_by([] { Signals({SIGUSR1, 65}); })), Errc::io_failed);
  EXPECT_EQ(test::code_of(test::thrown_by([] { Signals({SIGSEGV}); })), Errc::bad_argument);
  EXPECT_EQ(handler_of(SIGUSR1), before);
}

}  // namespace signals_test
}  // namespace tiffany
