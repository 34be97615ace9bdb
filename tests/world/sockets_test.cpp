// Stream sockets and datagrams, on every World.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>

#include "tiffany/io/datagram.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/vectored.hpp"
#include "tiffany/io/wait.hpp"
#include "world/every_world.hpp"

namespace tiffany {
namespace sockets_test {

using namespace std::chrono_literals;

class WorldStreams : public OnEveryWorld {};
TIFFANY_ON_EVERY_WORLD(WorldStreams);
class WorldDatagrams : public OnEveryWorld {};
TIFFANY_ON_EVERY_WORLD(WorldDatagrams);

Task<void> carries_both_ways(Address at) {
  const Ends ends = co_await connected(at);
  co_await ends.client.write("question");
  EXPECT_EQ(co_await read_exactly(&ends.server, 8), "question");
  co_await ends.server.write("answer");
  EXPECT_EQ(co_await read_exactly(&ends.client, 6), "answer");
}
TEST_P(WorldStreams, AConnectionCarriesBytesBothWays) {
  run(carries_both_ways, Address::loopback(0));
}
TEST_P(WorldStreams, AConnectionOverIpv6CarriesBytesBothWays) {
  run(carries_both_ways, Address::parse("[::1]:0"));
}
TEST_P(WorldStreams, AConnectionOverAUnixPathCarriesBytesBothWays) {
  run(carries_both_ways, Address::unix_path(path("socket")));
}
TEST_P(WorldStreams, AConnectionOverAnAbstractNameCarriesBytesBothWays) {
  run(carries_both_ways, Address::unix_path("@tiffany-world-" + std::to_string(getpid())));
}

TEST_P(WorldStreams, TheNamesOfBothEndsAgree) {
  run([]() -> Task<void> {
    const Ends ends = co_await connected();
    EXPECT_EQ(ends.client.local(), ends.server.peer());
    EXPECT_EQ(ends.server.local(), ends.client.peer());
    EXPECT_NE(ends.client.local()->port(), 0);
  });
}

TEST_P(WorldStreams, AReadGivesTheEndAfterTheOtherSideHasClosedAndEverythingIsRead) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    co_await ends.client.write("last words");
    ends.client.close();
    EXPECT_EQ(co_await read_all(&ends.server), "last words");
    EXPECT_EQ(co_await read_all(&ends.server), "");
  });
}

TEST_P(WorldStreams, AHalfClosedConnectionCarriesTheOtherDirection) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    ends.client.shutdown_write();
    EXPECT_EQ(co_await read_all(&ends.server), "");
    co_await ends.server.write("still here");
    EXPECT_EQ(co_await read_exactly(&ends.client, 10), "still here");
    EXPECT_EQ(co_await error_of(ends.client.write("x")), EPIPE);
  });
}

TEST_P(WorldStreams, AConnectToAPortThatNobodyListensOnIsRefused) {
  run([]() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    const Address gone = listener.local();
    listener.close();
    EXPECT_EQ(co_await error_of(connect(gone)), ECONNREFUSED);
  });
}
TEST_P(WorldStreams, AConnectToAPathWithoutASocketIsRefused) {
  run(
      [](std::string there) -> Task<void> {
        EXPECT_EQ(co_await error_of(connect(Address::unix_path(there))), ENOENT);
      },
      path("nothing"));
}
TEST_P(WorldStreams, AnAddressThatIsTakenIsRefused) {
  run([]() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    int number = 0;
    try {
      Listener::bind(listener.local());
    } catch (const IoError& error) {
      number = error.number();
    }
    EXPECT_EQ(number, EADDRINUSE);
    co_return;
  });
}
TEST_P(WorldStreams, ListenersShareAPortWhenAllOfThemSaySo) {
  run([]() -> Task<void> {
    Listener first = Listener::bind(Address::loopback(0), ListenOptions().share_port());
    Listener second = Listener::bind(first.local(), ListenOptions().share_port());
    EXPECT_EQ(first.local(), second.local());
    co_return;
  });
}
TEST_P(WorldStreams, ASocketThatADeadListenerHasLeftAtAPathIsTakenOver) {
  run(
      [](std::string there) -> Task<void> {
        const Address at = Address::unix_path(there);
        const int left = World::current().sockets().make(AF_UNIX, SOCK_STREAM);
        EXPECT_EQ(World::current().sockets().bind(left, at.data(), at.size()), 0);
        EXPECT_EQ(World::current().sockets().listen(left, 1), 0);
        World::current().files().close(left);  // its file stays
        EXPECT_EQ(co_await error_of(connect(at)), ECONNREFUSED);
        co_await carries_both_ways(at);
        EXPECT_EQ(co_await error_of(connect(at)), ENOENT);  // the listener has removed its own
      },
      path("left"));
}

Task<int> write_until_refused(const Socket* to) {
  for (int i = 0; i < 1000; ++i) {
    const int error = co_await error_of(to->write("x"));
    if (error != 0) co_return error;
    co_await sleep(1ms);
  }
  co_return 0;
}
TEST_P(WorldStreams, AWriteToAPeerThatIsGoneFailsAndRaisesNoSignal) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    ends.server.close();
    const int error = co_await write_until_refused(&ends.client);
    EXPECT_TRUE(error == EPIPE || error == ECONNRESET) << error;
  });
}

TEST_P(WorldStreams, ACloseThatLeavesBytesUnreadResetsTheOtherSide) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    co_await ends.client.write("unread");
    co_await readable(ends.server.descriptor());
    ends.server.close();
    std::array<char, 8> room;
    EXPECT_EQ(co_await error_of(ends.client.read(room)), ECONNRESET);
  });
}
TEST_P(WorldStreams, ACloseWithoutLingeringResetsTheOtherSide) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    const linger at_once{1, 0};
    EXPECT_EQ(World::current().sockets().set_option(ends.server.descriptor().fd(), SOL_SOCKET,
                                                    SO_LINGER, &at_once, sizeof at_once),
              0);
    ends.server.close();
    std::array<char, 8> room;
    EXPECT_EQ(co_await error_of(ends.client.read(room)), ECONNRESET);
  });
}

Task<void> write_and_end(Socket* to, const std::string* text) {
  co_await to->write(*text);
  to->shutdown_write();
}
TEST_P(WorldStreams, AWriteThatIsLongerThanTheBuffersWaitsForTheReader) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    const std::string text = long_text(1'000'000);
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(write_and_end, &ends.client, &text);
      EXPECT_EQ(co_await read_all(&ends.server), text);
    });
  });
}

TEST_P(WorldStreams, ATimeoutOfAReadLosesNoByte) {
  run([]() -> Task<void> {
    const Ends ends = co_await connected();
    std::array<char, 8> room;
    const auto nothing = co_await within(1ms, ends.server.read(room));
    EXPECT_TRUE(nothing.timed_out());
    co_await ends.client.write("here");
    EXPECT_EQ(co_await read_exactly(&ends.server, 4), "here");
  });
}

TEST_P(WorldStreams, ClosingAListenerEndsTheAcceptOfAnotherTask) {
  run([]() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    auto accepting = spawn(
        [](Listener* on) -> Task<int> { co_return co_await error_of(on->accept()); }, &listener);
    co_await sleep(1ms);
    listener.close();
    EXPECT_EQ(co_await accepting, ECANCELED);
  });
}

Task<void> note_accept(Listener* on, int number, std::vector<int>* order) {
  const Socket accepted = co_await on->accept();
  order->push_back(number);
}
TEST_P(WorldStreams, TasksThatAcceptAreServedInTheOrderInWhichTheyCame) {
  run([]() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    std::vector<int> order;
    co_await scope([&](Scope& s) -> Task<void> {
      for (int i = 0; i < 4; ++i) s.spawn(note_accept, &listener, i, &order);
      co_await sleep(1ms);
      for (int i = 0; i < 4; ++i) const Socket made = co_await connect(listener.local());
    });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  });
}

TEST_P(WorldStreams, ADescriptorThatWasClosedIsRefused) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    ends.client.close();
    std::array<char, 8> room;
    EXPECT_EQ(co_await error_of(ends.client.read(room)), EBADF);
  });
}

TEST_P(WorldStreams, OptionsThatWereSetAreFoundAgain) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    ends.client.set_no_delay();
    int value = 0;
    socklen_t size = sizeof value;
    WorldSockets& sockets = World::current().sockets();
    const int fd = ends.client.descriptor().fd();
    EXPECT_EQ(sockets.get_option(fd, IPPROTO_TCP, TCP_NODELAY, &value, size), 0);
    EXPECT_NE(value, 0);
    EXPECT_EQ(sockets.get_option(fd, SOL_SOCKET, SO_TYPE, &value, size), 0);
    EXPECT_EQ(value, SOCK_STREAM);
  });
}

TEST_P(WorldStreams, PartsAreWrittenAndReadAsOne) {
  run([]() -> Task<void> {
    Ends ends = co_await connected();
    std::vector<Bytes> parts{Bytes("one "), Bytes(""), Bytes("two")};
    EXPECT_EQ(co_await write_parts(ends.client, parts), 7u);
    ends.client.shutdown_write();
    EXPECT_EQ(co_await read_all(&ends.server), "one two");
  });
}

Task<void> whole_life() {
  Ends ends = co_await connected();
  const std::string text = long_text(300'000);
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(write_and_end, &ends.client, &text);
    co_await read_all(&ends.server);
  });
}
TEST_P(WorldStreams, ACancelAtAnyStepLeavesNothingInFlight) { cancel_at_every_step(whole_life); }

// ---- Datagrams ----

Task<void> sends_one(Address one, Address other) {
  DatagramSocket a = DatagramSocket::bind(one);
  DatagramSocket b = DatagramSocket::bind(other);
  co_await a.send("first", b.local());
  co_await a.send("second", b.local());
  std::array<char, 16> room;
  const Datagram first = co_await b.receive(room);
  EXPECT_EQ(std::string(room.data(), first.size), "first");
  EXPECT_EQ(first.from, a.local());
  EXPECT_FALSE(first.truncated);
  const Datagram second = co_await b.receive(Room(room.data(), 3));
  EXPECT_EQ(std::string(room.data(), second.size), "sec");
  EXPECT_TRUE(second.truncated);
}
TEST_P(WorldDatagrams, ADatagramArrivesWholeWithItsSender) {
  run(sends_one, Address::loopback(0), Address::loopback(0));
}
TEST_P(WorldDatagrams, ADatagramOverUnixPathsArrivesWholeWithItsSender) {
  run(sends_one, Address::unix_path(path("one")), Address::unix_path(path("other")));
}

TEST_P(WorldDatagrams, AReceiveThatIsCancelledTakesNoDatagram) {
  run([]() -> Task<void> {
    DatagramSocket a = DatagramSocket::bind(Address::loopback(0));
    DatagramSocket b = DatagramSocket::bind(Address::loopback(0));
    std::array<char, 16> room;
    const auto nothing = co_await within(1ms, b.receive(room));
    EXPECT_TRUE(nothing.timed_out());
    a.connect(b.local());
    co_await a.send("kept");
    const Datagram got = co_await b.receive(room);
    EXPECT_EQ(std::string(room.data(), got.size), "kept");
  });
}

}  // namespace sockets_test
}  // namespace tiffany
