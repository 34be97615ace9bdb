#include "tiffany/io/socket.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace socket_test {

using namespace std::chrono_literals;
using test::code_of;
using test::thrown_by;
using test::what_of;

class SocketTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(SocketTest);

Task<void> echo(Socket client) {
  std::array<char, 256> room;
  for (;;) {
    const std::size_t n = co_await client.read(room);
    if (n == 0) co_return;
    co_await client.write(room.data(), n);
  }
}

Task<void> echo_once(Listener* listener) {
  Socket client = co_await listener->accept();
  co_await echo(std::move(client));
}

Task<std::string> read_to_end(const Socket* from) {
  std::string all;
  std::array<char, 4096> room;
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return all;
    all.append(room.data(), n);
  }
}

Task<void> read_once(const Socket* from) {
  std::array<char, 8> room;
  co_await from->read(room);
}

Task<void> write_and_close(Socket* to, const std::string* text) {
  co_await to->write(*text);
  to->shutdown_write();
}

// Writes and reads at the same time, as one must when the text is longer than what the sockets
// hold.
Task<std::string> ask(Address to, std::string text) {
  Socket server = co_await connect(to);
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(write_and_close, &server, &text);
    co_return co_await read_to_end(&server);
  });
}

Task<std::string> echo_over(Address at, std::string text) {
  Listener listener = Listener::bind(at);
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(echo_once, &listener);
    co_return co_await ask(listener.local(), text);
  });
}

std::string long_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * i % 23);
  return text;
}

TEST_P(SocketTest, T8_AnEchoServerAnswersOverIpv4) {
  EXPECT_EQ(run(echo_over, Address::loopback(0), std::string("hello")).value(), "hello");
}

TEST_P(SocketTest, T8_AnEchoServerAnswersOverIpv6) {
  EXPECT_EQ(run(echo_over, Address::parse("[::1]:0"), std::string("hello")).value(), "hello");
}

TEST_P(SocketTest, T8_AnEchoServerAnswersOverAnAbstractUnixAddress) {
  const Address at = Address::parse("unix:@tiffany-test-" + std::to_string(getpid()));
  EXPECT_EQ(run(echo_over, at, std::string("hello")).value(), "hello");
}

TEST_P(SocketTest, T8_AnEchoServerAnswersOverAUnixPath) {
  const TemporaryDirectory directory;
  const Address at = Address::unix_path(directory / "socket");
  EXPECT_EQ(run(echo_over, at, std::string("hello")).value(), "hello");
}

TEST_P(SocketTest, T8_MegabytesComeBackAsTheyWent) {
  const std::string text = long_text(5'000'000);
  EXPECT_EQ(run(echo_over, Address::loopback(0), text).value(), text);
}

// ---- News that come while nobody asks ----

// What comes while its reader sleeps, and no operation is under way at all, is read afterwards.
Task<std::string> sleeps_between_reads(Socket reader, Socket writer) {
  // The reactor knows the reader from here on.
  auto first = spawn(read_once, &reader);
  co_await yield();
  co_await writer.write("one");
  co_await first;
  co_await writer.write("two");
  co_await sleep(1ms);  // the news come now
  writer.shutdown_write();
  co_await sleep(1ms);
  const auto rest = co_await within(10s, read_to_end(&reader));
  co_return rest.timed_out() ? "nothing came" : *rest;
}

Task<std::string> sleeps_between_reads_of_a_connection() {
  Listener listener = Listener::bind(Address::loopback(0));
  Socket writer = co_await connect(listener.local());
  co_return co_await sleeps_between_reads(co_await listener.accept(), std::move(writer));
}

TEST_P(SocketTest, T8_WhatComesWhileNoOperationIsUnderWayIsNotMissed) {
  EXPECT_EQ(run(sleeps_between_reads_of_a_connection).value(), "two");
}

// ---- Cancelling ----

Task<std::string> reads_after_a_timeout(Listener* listener) {
  Socket client = co_await listener->accept();
  auto first = co_await within(1ms, read_once(&client));
  EXPECT_TRUE(first.timed_out());
  co_await client.write("go");
  co_return co_await read_to_end(&client);
}

Task<std::string> answers_go(Address to) {
  Socket server = co_await connect(to);
  std::array<char, 8> room;
  const std::size_t n = co_await server.read(room);
  co_await server.write("after");
  co_return std::string(room.data(), n);
}

TEST_P(SocketTest, T8_AReadThatIsCancelledWhileParkedLosesNothingThatComesLater) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  auto reader = scheduler.spawn(reads_after_a_timeout, &listener);
  auto writer = scheduler.spawn(answers_go, listener.local());
  scheduler.run();
  EXPECT_EQ(outcome_of(reader, false).value(), "after");
  EXPECT_EQ(outcome_of(writer, false).value(), "go");
}

// The other side reads nothing, so that the write fills the buffers and parks.
Task<std::size_t> writes_into_the_void(Address to, std::string text) {
  Socket server = co_await connect(to);
  const std::size_t went = co_await server.write(text);
  EXPECT_TRUE(Scheduler::current()->cancel_pending());
  co_return went;
}

Task<std::size_t> counts_after(Listener* listener, Handle<std::size_t> writer) {
  Socket client = co_await listener->accept();
  co_await sleep(5ms);
  writer.cancel("it takes too long");
  co_await writer.outcome();
  std::string all = co_await read_to_end(&client);
  co_return all.size();
}

TEST_P(SocketTest, T8_AWriteThatIsCancelledOnTheWayGivesTheCountOfWhatWent) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  auto writer =
      scheduler.spawn(writes_into_the_void, listener.local(), std::string(50'000'000, 'x'));
  auto counter = scheduler.spawn(counts_after, &listener, writer);
  scheduler.run();
  EXPECT_GT(outcome_of(writer, false).value(), 0u);
  EXPECT_LT(outcome_of(writer, false).value(), 50'000'000u);
  EXPECT_EQ(outcome_of(counter, false).value(), outcome_of(writer, false).value());
}

Task<void> cancelled_before(const Socket* from) {
  this_task::cancel("before it began");
  std::array<char, 8> room;
  co_await from->read(room);
  ADD_FAILURE() << "went on";
}

Task<void> pair_and_cancel(bool* first_left) {
  Listener listener = Listener::bind(Address::loopback(0));
  Socket one = co_await connect(listener.local());
  Socket other = co_await listener.accept();
  auto reader = spawn(cancelled_before, &one);
  const auto outcome = co_await reader.outcome();
  *first_left = outcome.cancelled();
}

TEST_P(SocketTest, T8_AReadByATaskThatIsCancelledAlreadyAsksNothingOfTheSystem) {
  bool left = false;
  EXPECT_TRUE(run(pair_and_cancel, &left).ok());
  EXPECT_TRUE(left);
}

TEST_P(SocketTest, T8_AnEchoCanBeCancelledAtEveryStep) {
  cancel_at_every_step(echo_over, Address::loopback(0), long_text(20'000));
}

TEST_P(SocketTest, T8_ASchedulerThatIsDestroyedTakesItsOperationsBack) {
  Listener listener = Listener::bind(Address::loopback(0));
  Scheduler scheduler(options());
  auto reader = scheduler.spawn(echo_once, &listener);
  scheduler.step_until_idle();
  EXPECT_EQ(scheduler.reactor().in_flight(), 1u);
}

// ---- Errors ----

Task<Socket> connects(Address to) { co_return co_await connect(to); }

TEST_P(SocketTest, T8_ARefusedConnectionIsAnErrorThatSaysWhereAndWhatToDo) {
  Address nobody = Address::loopback(0);
  {
    const Listener listener = Listener::bind(Address::loopback(0));
    nobody = listener.local();
  }
  const auto outcome = run(connects, nobody);
  ASSERT_TRUE(outcome.failed());
  EXPECT_EQ(what_of(outcome.error()), "connect on " + nobody.text() +
                                          " failed: Connection refused (errno 111). Nobody listens "
                                          "there.");
}

Task<void> resets(Listener* listener) {
  Socket client = co_await listener->accept();
  const linger now{1, 0};
  setsockopt(client.descriptor().fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

Task<void> reads_a_reset(Address to) {
  Socket server = co_await connect(to);
  std::array<char, 8> room;
  co_await server.read(room);
}

TEST_P(SocketTest, T8_APeerThatResetsTheConnectionIsAnErrorOfTheReader) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  scheduler.spawn(resets, &listener);
  auto reader = scheduler.spawn(reads_a_reset, listener.local());
  scheduler.run();
  ASSERT_TRUE(outcome_of(reader, false).failed());
  EXPECT_NE(what_of(outcome_of(reader, false).error()).find("Connection reset by peer"),
            std::string::npos);
}

Task<void> closes_under_a_reader(std::string* seen) {
  Listener listener = Listener::bind(Address::loopback(0));
  Socket one = co_await connect(listener.local());
  Socket other = co_await listener.accept();
  auto reader = spawn(read_once, &one);
  co_await yield();
  one.close();
  const auto outcome = co_await reader.outcome();
  *seen = what_of(outcome.error());
}

TEST_P(SocketTest, T8_ClosingASocketEndsTheReadOfAnotherTaskWithAnError) {
  std::string seen;
  EXPECT_TRUE(run(closes_under_a_reader, &seen).ok());
  EXPECT_NE(seen.find("closed while this task waited"), std::string::npos) << seen;
}

TEST_P(SocketTest, T8_APortThatIsTakenIsAnErrorThatNamesIt) {
  const Listener first = Listener::bind(Address::loopback(0));
  const auto error = thrown_by([&] { Listener::bind(first.local()); });
  EXPECT_NE(what_of(error).find("bind on " + first.local().text() + " failed"), std::string::npos);
  EXPECT_EQ(code_of(error), Errc::io_failed);
}

TEST_P(SocketTest, T8_TwoListenersCanShareAPort) {
  const Listener first = Listener::bind(Address::loopback(0), ListenOptions().share_port());
  const Listener second = Listener::bind(first.local(), ListenOptions().share_port());
  EXPECT_EQ(first.local(), second.local());
}

// Accepts fail while no descriptor is left, and go on when there are some again.
Task<std::string> accepts_in_spite_of(Listener* listener, rlim_t enough) {
  std::string seen;
  for (;;) {
    try {
      Socket client = co_await listener->accept();
      co_return seen;
    } catch (const IoError& error) {
      EXPECT_EQ(error.number(), EMFILE);
      seen = error.what();
      const rlimit room{enough, enough};
      setrlimit(RLIMIT_NOFILE, &room);
    }
  }
}

TEST_P(SocketTest, T8_AServerGoesOnWhenDescriptorsBecomeFreeAgain) {
  if (TIFFANY_ASAN) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  {
    Scheduler scheduler(options());
    Listener listener = Listener::bind(Address::loopback(0));
    const auto accepting = scheduler.spawn(accepts_in_spite_of, &listener, before.rlim_max);
    scheduler.step_until_idle();
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    const rlimit none{static_cast<rlim_t>(client) + 1, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    ASSERT_EQ(::connect(client, listener.local().data(), listener.local().size()), 0);
    scheduler.run();
    EXPECT_NE(outcome_of(accepting, false).value().find("Close some descriptors"),
              std::string::npos);
    close(client);
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

// ---- Reports ----

TEST_P(SocketTest, T8_ADumpSaysWhichSocketATaskWaitsFor) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  auto waiting = scheduler.spawn(echo_once, &listener);
  scheduler.step_until_idle();
  EXPECT_NE(scheduler.dump_text().find("accept on tcp " + listener.local().text()),
            std::string::npos)
      << scheduler.dump_text();
  waiting.cancel();
  scheduler.run();
}

TEST(ReactorChoice, T8_AVirtualClockCarriesOutNoOperationsAndSaysSo) {
  Scheduler scheduler(Options().virtual_time());
  auto connecting = scheduler.spawn(connects, Address::loopback(1));
  scheduler.run();
  EXPECT_EQ(code_of(outcome_of(connecting, false).error()), Errc::no_io);
}

}  // namespace socket_test
}  // namespace tiffany
