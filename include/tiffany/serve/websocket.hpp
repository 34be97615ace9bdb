// WebSocket (RFC 6455), the side of the server: messages in both directions on one connection.
//
//   Task<void> handle(http::Exchange& exchange) override {
//     const auto socket = co_await http::accept_websocket(exchange);
//     while (auto message = co_await socket->receive()) co_await socket->send(*message);
//   }
//
// Messages are texts or bytes; parts of them, pings and the handshake of the end are dealt with
// here. What breaks the protocol, or a bound, ends the connection with the code that says why.
// One task may receive while another sends. No extensions: nothing is compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiffany/engine/task.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany::http {

class WebSocketLimits {
 public:
  WebSocketLimits() = default;
  std::size_t message = std::size_t{1} << 20;      // bytes, with all of its parts
  Duration write_time = std::chrono::seconds(30);  // for one message
};

// Codes of an end, as the protocol has them.
enum class WebSocketEnd : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  bad_text = 1007,
  policy = 1008,
  too_long = 1009,
  failed = 1011,
};

class WebSocket {
 public:
  WebSocket(AnyStream& stream, std::string rest, WebSocketLimits limits)
      : stream_(stream), buffer_(std::move(rest)), limits_(limits) {}
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  // The next message; nothing when the connection is over, for whatever reason. Cancel: a message
  // that has not come as a whole is lost, and the connection is to be given up.
  Task<std::optional<std::string>> receive();
  // A text, which must be UTF-8, or bytes. IoError when the client is gone.
  Task<void> send(std::string_view text);
  Task<void> send_bytes(std::string_view bytes);
  Task<void> ping();
  // Says that this is the end; receive() gives nothing when the client has said so, too. Once.
  Task<void> close(WebSocketEnd why = WebSocketEnd::normal, std::string_view words = {});

  bool last_was_text() const noexcept { return text_; }
  // What the client said the end was for; 0: it did not say anything.
  std::uint16_t ended_with() const noexcept { return ended_with_; }

 private:
  struct Frame {
    std::uint8_t opcode = 0;
    bool final = false;
    std::string payload{};
  };
  Task<bool> need(std::size_t bytes);
  Task<std::optional<Frame>> next_frame();
  Task<bool> take_control(const Frame& frame);
  Task<void> send_frame(std::uint8_t opcode, std::string_view payload);
  Task<std::optional<Frame>> refuse(WebSocketEnd why, std::string_view words);

  AnyStream& stream_;
  std::string buffer_;  // what has come and was not taken yet
  WebSocketLimits limits_;
  Mutex sending_;
  std::size_t message_ = 0;  // bytes of the message that is coming
  std::uint16_t ended_with_ = 0;
  bool text_ = false;
  bool closing_ = false;  // we have said that it is the end
  bool over_ = false;
};

// Answers the handshake. HttpError 400 or 426 for a request that is none. The exchange outlives the
// socket, and the connection ends with the handler.
Task<std::unique_ptr<WebSocket>> accept_websocket(Exchange& exchange,
                                                  WebSocketLimits limits = WebSocketLimits());

// What a server answers to that key.
std::string websocket_accept(std::string_view key);

}  // namespace tiffany::http
