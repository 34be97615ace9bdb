// WebSocket over the world in memory, with a client that is written here byte by byte.
#include "tiffany/serve/websocket.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::websocket_test {

using namespace std::chrono_literals;

constexpr std::string_view kHandshake =
    "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

class Echo : public http::Handler {
 public:
  Task<void> handle(http::Exchange& exchange) override {
    http::WebSocketLimits limits;
    limits.message = 100'000;
    const auto socket = co_await http::accept_websocket(exchange, limits);
    while (std::optional<std::string> message = co_await socket->receive()) {
      ++messages;
      if (*message == "bye") {
        co_await socket->close(http::WebSocketEnd::going_away, "enough");
      } else if (socket->last_was_text()) {
        co_await socket->send(*message);
      } else {
        co_await socket->send_bytes(*message);
      }
    }
    ended_with = socket->ended_with();
  }
  int messages = 0;
  int ended_with = -1;
};

std::string frame(int first, std::string_view payload, bool masked = true) {
  std::string out;
  out += static_cast<char>(first);
  const std::size_t size = payload.size();
  const int more = size < 126 ? 0 : size < 65536 ? 2 : 8;
  out += static_cast<char>((masked ? 0x80 : 0) | static_cast<int>(more == 0   ? size
                                                                  : more == 2 ? 126
                                                                              : 127));
  for (int shift = 8 * (more - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>(size >> shift & 0xff);
  }
  constexpr std::string_view kMask = "\x11\x22\x33\x44";
  if (masked) out += kMask;
  for (std::size_t i = 0; i < size; ++i) {
    out += static_cast<char>(masked ? payload[i] ^ kMask[i % 4] : payload[i]);
  }
  return out;
}

// What the server says after the client has sent all of this and no more.
struct Said {
  std::string head;
  std::string frames;
  int messages = 0;
  int ended_with = -1;
};
Said talk(const std::string& bytes, std::uint64_t seed) {
  MemoryWorld world(MemoryWorldOptions().seed(seed));
  Scheduler scheduler(Options().clock(world.reactor()));
  Said said;
  scheduler.spawn(
      [](const std::string* send, Said* out) -> Task<void> {
        Echo echo;
        http::Server server(echo);
        Listener listener = Listener::bind(Address::loopback(0));
        auto serving =
            spawn([](http::Server* what, Listener* at) -> Task<void> { co_await what->serve(*at); },
                  &server, &listener);
        {
          Socket client = co_await connect(listener.local());
          co_await client.write(*send);
          client.shutdown_write();
          std::array<char, 4096> room;
          std::string all;
          while (const std::size_t n = co_await client.read(room)) all.append(room.data(), n);
          const std::size_t end = all.find("\r\n\r\n");
          out->head = all.substr(0, end);
          if (end != std::string::npos) out->frames = all.substr(end + 4);
        }
        server.stop();
        co_await serving;
        out->messages = echo.messages;
        out->ended_with = echo.ended_with;
      },
      &bytes, &said);
  scheduler.run();
  return said;
}

void with_seeds(const std::string& frames, const std::function<void(const Said&)>& check) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    check(talk(std::string(kHandshake) + frames, seed));
  }
}
std::string end_with(int code, std::string_view words = "") {
  std::string payload;
  payload += static_cast<char>(code >> 8);
  payload += static_cast<char>(code & 0xff);
  return payload + std::string(words);
}

TEST(WebSocket, TheHandshakeIsThatOfTheStandard) {
  EXPECT_EQ(http::websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  with_seeds("", [](const Said& said) {
    EXPECT_TRUE(said.head.starts_with("HTTP/1.1 101 ")) << said.head;
    EXPECT_NE(said.head.find("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
              std::string::npos);
  });
}

TEST(WebSocket, MessagesOfEveryLengthAndInPartsComeBack) {
  for (const std::size_t size : {0UL, 1UL, 125UL, 126UL, 65535UL, 65536UL, 100'000UL}) {
    const std::string text(size, 'a');
    const Said said = talk(std::string(kHandshake) + frame(0x81, text), size);
    EXPECT_EQ(said.frames, frame(0x81, text, false)) << size;
  }
  with_seeds(frame(0x01, "one ") + frame(0x89, "still there?") + frame(0x00, "two ") +
                 frame(0x80, "three") + frame(0x82, "\xff\xfe"),
             [](const Said& said) {
               EXPECT_EQ(said.frames, frame(0x8a, "still there?", false) +
                                          frame(0x81, "one two three", false) +
                                          frame(0x82, "\xff\xfe", false));
               EXPECT_EQ(said.messages, 2);
             });
}

TEST(WebSocket, AnEndIsAnsweredAndItsCodeIsKnown) {
  with_seeds(frame(0x88, end_with(1001, "leaving")), [](const Said& said) {
    EXPECT_EQ(said.frames, frame(0x88, end_with(1000), false));
    EXPECT_EQ(said.ended_with, 1001);
  });
  with_seeds(frame(0x81, "bye") + frame(0x88, end_with(1000)), [](const Said& said) {
    EXPECT_EQ(said.frames, frame(0x88, end_with(1001, "enough"), false)) << "said once";
  });
}

TEST(WebSocket, WhatBreaksTheProtocolEndsItWithTheCodeForThat) {
  struct Case {
    std::string bytes;
    int code;
    const char* what;
  };
  const std::vector<Case> cases{
      {frame(0x81, "x", false), 1002, "not masked"},
      {frame(0x80, "x"), 1002, "a part that was not begun"},
      {frame(0x01, "x") + frame(0x81, "y"), 1002, "begun twice"},
      {frame(0x83, "x"), 1002, "an unknown kind"},
      {frame(0xC1, "x"), 1002, "a bit of an extension"},
      {frame(0x09, "x"), 1002, "a ping in parts"},
      {frame(0x89, std::string(126, 'x')), 1002, "a ping that is too long"},
      {frame(0x81, "\xc3\x28"), 1007, "no UTF-8"},
      {frame(0x81, std::string(100'001, 'x')), 1009, "too long"},
      {frame(0x01, std::string(60'000, 'x')) + frame(0x80, std::string(60'000, 'x')), 1009,
       "too long in parts"},
      {std::string("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10) + "mask", 1009,
       "a length of 2^64"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    const Said said = talk(std::string(kHandshake) + each.bytes, 3);
    ASSERT_GE(said.frames.size(), 4U);
    EXPECT_EQ(static_cast<unsigned char>(said.frames[0]), 0x88);
    EXPECT_EQ(said.frames.substr(2, 2), end_with(each.code));
    EXPECT_EQ(said.messages, 0);
  }
}

TEST(WebSocket, AConnectionThatIsCutAnywhereEndsInPeace) {
  const std::string whole = frame(0x81, "hello") + frame(0x82, std::string(300, 'x'));
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    const Said said = talk(std::string(kHandshake) + whole.substr(0, cut), cut);
    EXPECT_EQ(said.ended_with, 0) << cut;
  }
}

TEST(WebSocket, ARequestThatIsNoHandshakeIsRefused) {
  const Said plain = talk("GET /chat HTTP/1.1\r\nHost: x\r\n\r\n", 1);
  EXPECT_TRUE(plain.head.starts_with("HTTP/1.1 426 ")) << plain.head;
  const Said no_key = talk(
      "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\n\r\n",
      1);
  EXPECT_TRUE(no_key.head.starts_with("HTTP/1.1 400 ")) << no_key.head;
}

}  // namespace tiffany::websocket_test
