// Waiting for descriptors of others, for signals, and for threads.
#include "tiffany/io/wait.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/resolve.hpp"
#include "tiffany/io/signals.hpp"

namespace tiffany {
namespace wait_test {

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

// Lets the tasks begin what they have to wait for, and the kernel hear of it.
void settle(Scheduler& scheduler) {
  for (int i = 0; i < 3; ++i) scheduler.poll(scheduler.now() + 1ms);
}

// Drives it until the task has ended, for two seconds at most.
bool ends(Scheduler& scheduler, const Handle<int>& task) {
  const Time end = scheduler.now() + 2s;
  while (!task.done() && scheduler.now() < end) scheduler.poll(end);
  return task.done();
}

TEST_P(WaitTest, ADescriptorThatIsClosedWhileTheKernelWaitsForItEndsTheWaitWithAnError) {
  const int event = eventfd(0, EFD_NONBLOCK);
  Scheduler scheduler(options());
  auto waiting = scheduler.spawn(waits, event);
  settle(scheduler);
  close(event);
  ASSERT_TRUE(ends(scheduler, waiting));
  EXPECT_NE(what_of(outcome_of(waiting, false).error()).find("The descriptor is closed"),
            std::string::npos);
}

TEST_P(WaitTest, ADescriptorWhoseNumberIsGivenToAnotherEndsTheWaitWithAnError) {
  int ends_of_pipe[2];
  ASSERT_EQ(pipe(ends_of_pipe), 0);
  Scheduler scheduler(options());
  auto waiting = scheduler.spawn(waits, ends_of_pipe[0]);
  settle(scheduler);
  const int another = eventfd(0, EFD_NONBLOCK);
  ASSERT_EQ(dup2(another, ends_of_pipe[0]), ends_of_pipe[0]);
  ASSERT_TRUE(ends(scheduler, waiting));
  EXPECT_TRUE(outcome_of(waiting, false).failed());
  for (const int fd : {ends_of_pipe[0], ends_of_pipe[1], another}) close(fd);
}

Task<void> closes_with_notice(int fd) {
  announce_close(fd);
  close(fd);
  EXPECT_EQ(eventfd(0, EFD_NONBLOCK), fd);  // the kernel cannot tell them apart
  co_return;
}

TEST_P(WaitTest, AnAnnouncedCloseEndsTheWaitAlsoWhenTheNumberIsGivenAway) {
  const int event = eventfd(0, EFD_NONBLOCK);
  Scheduler scheduler(options());
  auto waiting = scheduler.spawn(waits, event);
  settle(scheduler);
  scheduler.spawn(closes_with_notice, event);
  ASSERT_TRUE(ends(scheduler, waiting));
  EXPECT_TRUE(outcome_of(waiting, false).failed());
  close(event);
}

Task<void> notes(int fd, int number, std::vector<int>* order) {
  co_await readable(fd);
  order->push_back(number);
}

TEST_P(WaitTest, ThoseWhoWaitForOneDescriptorWakeInTheOrderTheyCame) {
  const int event = eventfd(0, EFD_NONBLOCK);
  {
    Scheduler scheduler(options());
    std::vector<int> order;
    for (int i = 0; i < 5; ++i) scheduler.spawn(notes, event, i, &order);
    settle(scheduler);
    scheduler.spawn(wakes, event);
    scheduler.run();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  }
  close(event);
}

Task<void> notes_a_byte(const ByteStream* from, int number, std::vector<std::string>* order) {
  std::array<char, 1> room;
  co_await from->read(room);
  order->push_back(std::to_string(number) + room[0]);
}

TEST_P(WaitTest, ThoseWhoReadFromOneDescriptorGetItsBytesInTheOrderTheyCame) {
  Scheduler scheduler(options());
  Pipe made = make_pipe();
  std::vector<std::string> order;
  for (int i = 0; i < 5; ++i) scheduler.spawn(notes_a_byte, &made.read_end, i, &order);
  settle(scheduler);
  ASSERT_EQ(write(made.write_end.descriptor().fd(), "abcde", 5), 5);
  scheduler.run();
  EXPECT_EQ(order, (std::vector<std::string>{"0a", "1b", "2c", "3d", "4e"}));
}

Task<std::size_t> reads_from(const ByteStream* from) {
  std::array<char, 16> room;
  co_return co_await from->read(room);
}

Task<bool> gives_up_reading(const ByteStream* from) {
  const auto outcome = co_await within(1ms, reads_from(from));
  co_return outcome.timed_out();
}

// What another process shares with us must not change under its feet.
TEST_P(WaitTest, AReadLeavesADescriptorOfSomebodyElseAsItWas) {
  int shared[2];
  ASSERT_EQ(pipe(shared), 0);
  {
    const ByteStream input(Descriptor(dup(shared[0])), false);
    EXPECT_TRUE(run(gives_up_reading, &input).value());
    EXPECT_EQ(fcntl(shared[0], F_GETFL) & O_NONBLOCK, 0);
    ASSERT_EQ(write(shared[1], "abc", 3), 3);
    EXPECT_EQ(run(reads_from, &input).value(), 3u);
    EXPECT_EQ(fcntl(shared[0], F_GETFL) & O_NONBLOCK, 0);
  }
  close(shared[0]);
  close(shared[1]);
}

TEST_P(WaitTest, AReadFromADescriptorThatSomebodyMadeNonBlockingCanBeCancelled) {
  int ends_of_pipe[2];
  ASSERT_EQ(pipe2(ends_of_pipe, O_NONBLOCK), 0);
  {
    const ByteStream input{Descriptor(ends_of_pipe[0]), false};
    Scheduler scheduler(options());
    auto reading = scheduler.spawn(gives_up_reading, &input);
    settle(scheduler);
    const Time end = scheduler.now() + 2s;
    while (!reading.done() && scheduler.now() < end) scheduler.poll(end);
    EXPECT_TRUE(reading.done());
    close(ends_of_pipe[1]);
    scheduler.run();
  }
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

}  // namespace wait_test
}  // namespace tiffany
