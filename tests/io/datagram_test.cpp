#include "tiffany/io/datagram.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace datagram_test {

using namespace std::chrono_literals;

class DatagramTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(DatagramTest);

Task<void> answers_once(const DatagramSocket* socket) {
  std::array<char, 64> room;
  const Datagram got = co_await socket->receive(room);
  co_await socket->send(std::string(room.data(), got.size) + "!", *got.from);
}

Task<std::string> ping(Address server_at, Address client_at) {
  DatagramSocket server = DatagramSocket::bind(server_at);
  DatagramSocket client = DatagramSocket::bind(client_at);
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(answers_once, &server);
    co_await client.send("ping", server.local());
    std::array<char, 64> room;
    const Datagram got = co_await client.receive(room);
    EXPECT_EQ(got.from, server.local());
    EXPECT_FALSE(got.truncated);
    co_return std::string(room.data(), got.size);
  });
}

TEST_P(DatagramTest, T8_ADatagramIsAnsweredToItsSender) {
  EXPECT_EQ(run(ping, Address::loopback(0), Address::loopback(0)).value(), "ping!");
}

TEST_P(DatagramTest, T8_ADatagramIsAnsweredToItsSenderOverIpv6) {
  const Address any = Address::parse("[::1]:0");
  EXPECT_EQ(run(ping, any, any).value(), "ping!");
}

TEST_P(DatagramTest, T8_UnixDatagramsKnowTheirSenderToo) {
  const TemporaryDirectory directory;
  EXPECT_EQ(
      run(ping, Address::unix_path(directory / "a"), Address::unix_path(directory / "b")).value(),
      "ping!");
}

Task<Datagram> receives_in_a_small_room() {
  DatagramSocket server = DatagramSocket::bind(Address::loopback(0));
  DatagramSocket client = DatagramSocket::unbound(AF_INET);
  client.connect(server.local());
  co_await client.send("longer than four");
  std::array<char, 4> room;
  co_return co_await server.receive(room);
}

TEST_P(DatagramTest, T8_ADatagramThatIsLongerThanItsRoomSaysSo) {
  const auto outcome = run(receives_in_a_small_room);
  EXPECT_EQ(outcome.value().size, 4u);
  EXPECT_TRUE(outcome.value().truncated);
}

TEST_P(DatagramTest, T8_APingCanBeCancelledAtEveryStep) {
  cancel_at_every_step(ping, Address::loopback(0), Address::loopback(0));
}

// ---- Multicast ----

Task<std::string> receives_once(const DatagramSocket* socket) {
  std::array<char, 64> room;
  const Datagram got = co_await socket->receive(room);
  co_return std::string(room.data(), got.size);
}

// Two sockets of one port hear what a third one says to the group.
Task<std::string> speaks_to_a_group(Address any, std::string group_ip) {
  DatagramSocket first = DatagramSocket::bind(any, DatagramOptions().share_port());
  const Address group = Address::ip(group_ip, first.local().port());
  DatagramSocket second = DatagramSocket::bind(first.local(), DatagramOptions().share_port());
  DatagramSocket speaker = DatagramSocket::unbound(group.family());
  first.join(group, "lo");
  second.join(group, "lo");
  speaker.multicast_through("lo");
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    auto one = s.spawn(receives_once, &first);
    auto two = s.spawn(receives_once, &second);
    co_await speaker.send("to all", group);
    co_return co_await one + ", " + co_await two;
  });
}

TEST_P(DatagramTest, WhatIsSentToAGroupReachesEverybodyWhoJoined) {
  EXPECT_EQ(run(speaks_to_a_group, Address::ip("0.0.0.0", 0), std::string("239.255.7.7")).value(),
            "to all, to all");
}

TEST_P(DatagramTest, WhatIsSentToAGroupReachesEverybodyWhoJoinedOverIpv6) {
  const auto heard = run(speaks_to_a_group, Address::ip("::", 0), std::string("ff01::7:7"));
  if (heard.failed() && test::what_of(heard.error()).find("unreachable") != std::string::npos) {
    GTEST_SKIP() << "this machine has no route for groups of IPv6 over lo";
  }
  EXPECT_EQ(heard.value(), "to all, to all");
}

Task<bool> leaves_a_group() {
  DatagramSocket socket = DatagramSocket::bind(Address::ip("0.0.0.0", 0));
  const Address group = Address::ip("239.255.7.8", socket.local().port());
  socket.multicast_through("lo");
  socket.join(group, "lo");
  socket.leave(group, "lo");
  co_await socket.send("is anybody there?", group);
  co_await socket.send("me", Address::loopback(socket.local().port()));
  const std::string heard = co_await receives_once(&socket);
  co_return heard == "me";
}

TEST_P(DatagramTest, WhoHasLeftAGroupDoesNotHearIt) { EXPECT_TRUE(run(leaves_a_group).value()); }

TEST(MulticastErrors, SayWhatIsWrong) {
  const DatagramSocket socket = DatagramSocket::bind(Address::ip("0.0.0.0", 0));
  const auto sentence = [&](const char* group, const char* interface) {
    return test::what_of(test::thrown_by([&] { socket.join(Address::ip(group, 1), interface); }));
  };
  EXPECT_NE(sentence("127.0.0.1", "lo").find("Is it the address of a group"), std::string::npos);
  EXPECT_NE(sentence("239.1.2.3", "nowhere0").find("no such network interface"), std::string::npos);
}

}  // namespace datagram_test
}  // namespace tiffany
