// Waiting for descriptors of others, for signals, and for threads.
#include "tiffany/io/wait.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/resolve.hpp"
#include "tiffany/io/signals.hpp"

namespace tiffany {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::what_of;

class WaitTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(WaitTest);

Task<int> waits(int fd) { co_return co_await readable(fd); }

Task<void> wakes(int fd) {
  const std::uint64_t one = 1;
  EXPECT_EQ(write(fd, &one, sizeof one), 8);
  co_return;
}

TEST_P(WaitTest, T8_AnyNumberOfTasksMayWaitForOneDescriptor) {
  const int event = eventfd(0, EFD_NONBLOCK);
  {
    Scheduler scheduler(options());
    auto first = scheduler.spawn(waits, event);
    auto second = scheduler.spawn(waits, event);
    scheduler.spawn(wakes, event);
    scheduler.run();
    EXPECT_EQ(outcome_of(first, false).value(), POLLIN);
    EXPECT_EQ(outcome_of(second, false).value(), POLLIN);
  }
  close(event);
}

Task<int> waits_for_both(int fd) { co_return co_await IoWait(fd, POLLIN | POLLOUT); }

TEST_P(WaitTest, T8_AWaitSaysWhatTheDescriptorIsReadyFor) {
  const int event = eventfd(0, EFD_NONBLOCK);
  EXPECT_EQ(run(waits_for_both, event).value(), POLLOUT);
  close(event);
}

TEST_P(WaitTest, T8_AClosedDescriptorEndsItsWaitWithAnError) {
  const int event = eventfd(0, EFD_NONBLOCK);
  Scheduler scheduler(options());
  auto waiting = scheduler.spawn(waits, event);
  scheduler.step_until_idle();
  close(event);
  scheduler.run();
  EXPECT_NE(what_of(outcome_of(waiting, false).error()).find("The descriptor is closed"),
            std::string::npos);
}

TEST_P(WaitTest, T8_AWaitForADescriptorThatIsNotOpenIsAnError) {
  EXPECT_TRUE(run(waits, 987).failed());
}

TEST_P(WaitTest, T8_AWaitForADescriptorCanBeCancelledAndItsNumberUsedAgain) {
  Scheduler scheduler(options());
  const int event = eventfd(0, EFD_NONBLOCK);
  auto first = scheduler.spawn(waits, event);
  scheduler.step_until_idle();
  first.cancel();
  scheduler.run();
  close(event);
  const int again = eventfd(0, EFD_NONBLOCK);
  ASSERT_EQ(again, event);
  auto second = scheduler.spawn(waits, again);
  scheduler.spawn(wakes, again);
  scheduler.run();
  EXPECT_EQ(outcome_of(second, false).value(), POLLIN);
  close(again);
}

// ---- Signals ----

Task<int> takes_a_signal(const Signals* from) { co_return co_await from->next(); }

TEST_P(WaitTest, T8_ASignalWakesTheTaskThatWaitsForIt) {
  Scheduler scheduler(options());
  const Signals signals({SIGUSR1, SIGUSR2});
  auto waiting = scheduler.spawn(takes_a_signal, &signals);
  scheduler.step_until_idle();
  raise(SIGUSR2);
  scheduler.run();
  EXPECT_EQ(outcome_of(waiting, false).value(), SIGUSR2);
}

Task<int> takes_one_after_a_timeout(const Signals* from) {
  const auto none = co_await within(1ms, takes_a_signal(from));
  EXPECT_TRUE(none.timed_out());
  raise(SIGUSR1);
  co_return co_await from->next();
}

TEST_P(WaitTest, T8_ASignalIsNotLostToACancel) {
  const Signals signals({SIGUSR1});
  EXPECT_EQ(run(takes_one_after_a_timeout, &signals).value(), SIGUSR1);
}

// ---- Threads ----

std::thread::id where() { return std::this_thread::get_id(); }
std::string glued(const std::string& a, const std::string& b) { return a + b; }
int fails() { throw std::runtime_error("on another thread"); }

Task<std::string> offloads() {
  const std::thread::id other = co_await offload(where);
  EXPECT_NE(other, std::this_thread::get_id());
  co_return co_await offload(glued, std::string("a"), std::string("b"));
}

TEST_P(WaitTest, T8_AnOffloadedFunctionRunsOnAnotherThreadAndGivesItsValue) {
  EXPECT_EQ(run(offloads).value(), "ab");
}

Task<int> offloads_a_failure() { co_return co_await offload(fails); }

TEST_P(WaitTest, T8_WhatAnOffloadedFunctionThrowsComesOutOfTheAwait) {
  EXPECT_EQ(what_of(run(offloads_a_failure).error()), "on another thread");
}

TEST_P(WaitTest, T8_OffloadedFunctionsCanBeCancelledAtEveryStep) { cancel_at_every_step(offloads); }

Task<std::size_t> many_at_once(std::size_t count) {
  std::vector<Handle<std::thread::id>> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(spawn([]() -> Task<std::thread::id> { co_return co_await offload(where); }));
  }
  const auto ids = co_await gather(all);
  co_return ids.size();
}

TEST_P(WaitTest, T8_MoreCallsThanThreadsWaitTheirTurn) {
  EXPECT_EQ(run(many_at_once, std::size_t{200}).value(), 200u);
}

// ---- Names ----

TEST_P(WaitTest, T8_LocalhostHasAnAddress) {
  const auto outcome = run(resolve, std::string("localhost"), std::uint16_t{80});
  ASSERT_TRUE(outcome.ok()) << what_of(outcome.error());
  EXPECT_EQ(outcome.value()[0].port(), 80);
}

TEST_P(WaitTest, T8_ANameThatCannotExistIsAnErrorThatNamesIt) {
  const auto outcome = run(resolve, std::string("no such host"), std::uint16_t{80});
  EXPECT_EQ(code_of(outcome.error()), Errc::bad_address);
  EXPECT_NE(what_of(outcome.error()).find("\"no such host\""), std::string::npos);
}

}  // namespace
}  // namespace tiffany
