#include "tiffany/io/pressure.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace pressure_test {

using test::code_of;
using test::thrown_by;
using test::Trace;

class PressureTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(PressureTest);

Task<void> reads(ByteStream* from, Pressure* pressure, Trace* trace, std::string name) {
  std::array<char, 1> room;
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return;
    pressure->add(1);
    trace->push_back(name + room[0]);
  }
}

Task<void> works(Pressure* pressure, Pipe* pipe, Trace* trace) {
  co_await pipe->write_end.write("abcdefgh");
  for (int i = 0; i < 5; ++i) co_await sleep(std::chrono::milliseconds(1));
  trace->push_back("closed " + std::to_string(pressure->closed()));
  pressure->remove(2);  // from 4 to 2: between the marks nothing changes
  co_await sleep(std::chrono::milliseconds(1));
  trace->push_back("level " + std::to_string(pressure->level()));
  pressure->remove(1);  // the low mark
  for (int i = 0; i < 5; ++i) co_await sleep(std::chrono::milliseconds(1));
  trace->push_back("level " + std::to_string(pressure->level()));
  pressure->remove(100);
  pipe->write_end.close();
}

TEST_P(PressureTest, T15_ReadsAreHeldFromTheHighMarkToTheLowOne) {
  Pipe pipe = make_pipe();
  Pressure pressure(1, 4);
  pipe.read_end.hold_at(pressure);
  Trace trace;
  Scheduler scheduler(options());
  scheduler.spawn(reads, &pipe.read_end, &pressure, &trace, std::string("got "));
  scheduler.spawn(works, &pressure, &pipe, &trace);
  scheduler.run();
  const Trace expected = {"got a", "got b", "got c", "got d",   "closed 1", "level 2",
                          "got e", "got f", "got g", "level 4", "got h"};
  EXPECT_EQ(trace, expected);
  EXPECT_EQ(pressure.closings(), 2u);
  EXPECT_EQ(pressure.held(), 2u);
  EXPECT_EQ(pressure.waiting(), 0u);
}

TEST_P(PressureTest, T15_AHeldReadCanBeCancelledAndIsSeenInTheDump) {
  Pipe pipe = make_pipe();
  Pressure pressure(0, 1);
  pipe.read_end.hold_at(pressure);
  pressure.add(1);
  Trace trace;
  Scheduler scheduler(options());
  auto reader = scheduler.spawn(reads, &pipe.read_end, &pressure, &trace, std::string());
  scheduler.step_until_idle();
  EXPECT_NE(scheduler.dump_text().find("held back by pressure"), std::string::npos);
  EXPECT_EQ(pressure.waiting(), 1u);
  EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
  reader.cancel();
  scheduler.run();
  EXPECT_EQ(pressure.waiting(), 0u);
}

Task<void> accepts(Listener* listener, Trace* trace) {
  Socket client = co_await listener->accept();
  trace->push_back("accepted");
}

Task<void> connects(Address to, Pressure* pressure, Trace* trace) {
  Socket client = co_await connect(to);  // the kernel says yes: there is room in the backlog
  for (int i = 0; i < 3; ++i) co_await sleep(std::chrono::milliseconds(1));
  trace->push_back("held " + std::to_string(pressure->waiting()));
  pressure->remove(1);
}

TEST_P(PressureTest, AnAcceptIsHeldWhileTheGateIsClosed) {
  Listener listener = Listener::bind(Address::loopback(0));
  Pressure pressure(0, 1);
  listener.hold_at(pressure);
  pressure.add(1);
  Trace trace;
  Scheduler scheduler(options());
  scheduler.spawn(accepts, &listener, &trace);
  scheduler.spawn(connects, listener.local(), &pressure, &trace);
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"held 1", "accepted"}));
}

// Otherwise the read would begin when the gate opens, on whatever has the number by then.
Task<void> closes_and_opens(Pipe* pipe, Pressure* pressure) {
  pipe->read_end.close();
  Pipe another = make_pipe();
  co_await another.write_end.write("of somebody else");
  pressure->remove(1);
  co_await sleep(std::chrono::milliseconds(1));
}

TEST_P(PressureTest, ClosingADescriptorEndsTheOperationsThatAreHeldOfIt) {
  Pipe pipe = make_pipe();
  Pressure pressure(0, 1);
  pipe.read_end.hold_at(pressure);
  pressure.add(1);
  Trace trace;
  Scheduler scheduler(options());
  auto reader = scheduler.spawn(reads, &pipe.read_end, &pressure, &trace, std::string("got "));
  scheduler.spawn(closes_and_opens, &pipe, &pressure);
  scheduler.run();
  EXPECT_EQ(code_of(outcome_of(reader, false).error()), Errc::io_failed);
  EXPECT_EQ(trace, Trace());
}

Task<void> passes(Pressure* pressure, Trace* trace, std::string name) {
  co_await pressure->pass();
  trace->push_back(name);
}

Task<void> relieves(Pressure* pressure) {
  pressure->remove(1);
  co_return;
}

TEST(PressureGate, T15_TasksPassInTheOrderTheyCameWhenTheGateOpens) {
  Pressure pressure(0, 1);
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(passes, &pressure, &trace, std::string("before"));
  scheduler.step_until_idle();
  pressure.add(1);
  scheduler.spawn(passes, &pressure, &trace, std::string("first"));
  auto cancelled = scheduler.spawn(passes, &pressure, &trace, std::string("never"));
  scheduler.spawn(passes, &pressure, &trace, std::string("second"));
  scheduler.step_until_idle();
  EXPECT_EQ(pressure.waiting(), 3u);
  cancelled.cancel();
  scheduler.spawn(relieves, &pressure);
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"before", "first", "second"}));
}

// A reactor that knows only a clock refuses the read when the gate lets it through.
TEST(PressureGate, AReadThatCannotBeginWhenTheGateOpensFailsItsOwnTaskAndNoOther) {
  Pipe pipe = make_pipe();
  Pressure pressure(0, 1);
  pipe.read_end.hold_at(pressure);
  Trace trace;
  Trace log;
  Scheduler scheduler(Options().virtual_time().log_to(
      [&](const LogLine& line) { log.emplace_back(line.message); }));
  pressure.add(1);
  auto reader = scheduler.spawn(reads, &pipe.read_end, &pressure, &trace, std::string());
  auto passer = scheduler.spawn(passes, &pressure, &trace, std::string("passed"));
  scheduler.step_until_idle();
  auto opener = scheduler.spawn(relieves, &pressure);
  scheduler.run();
  EXPECT_TRUE(outcome_of(opener, false).ok());
  EXPECT_TRUE(outcome_of(passer, false).ok());
  EXPECT_EQ(code_of(outcome_of(reader, false).error()), Errc::io_failed);
  EXPECT_EQ(trace, Trace({"passed"}));
  ASSERT_GE(log.size(), 1u);
  EXPECT_NE(log[0].find("reactor"), std::string::npos) << log[0];
}

TEST(PressureGate, T15_MarksThatMakeNoSenseAreAnError) {
  EXPECT_EQ(code_of(thrown_by([] { Pressure pressure(2, 2); })), Errc::bad_argument);
}

}  // namespace pressure_test
}  // namespace tiffany
