#include "tiffany/io/datagram.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/reactors.hpp"

namespace tiffany {
namespace {

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

}  // namespace
}  // namespace tiffany
