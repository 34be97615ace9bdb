#include "tiffany/serve/websocket.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/utf8.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::http {
namespace {

constexpr std::uint8_t kMore = 0;
constexpr std::uint8_t kText = 1;
constexpr std::uint8_t kBytes = 2;
constexpr std::uint8_t kClose = 8;
constexpr std::uint8_t kPing = 9;
constexpr std::uint8_t kPong = 10;
constexpr std::size_t kLongestControl = 125;

bool is_control(std::uint8_t opcode) noexcept { return opcode >= kClose; }
bool is_known(std::uint8_t opcode) noexcept {
  return opcode <= kBytes || (opcode >= kClose && opcode <= kPong);
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const tiffany::detail::Utf8 next = tiffany::detail::utf8_at(text, at);
    if (!next.good) return false;
    at += next.bytes;
  }
  return true;
}

std::uint8_t octet(std::string_view text, std::size_t at) noexcept {
  return static_cast<std::uint8_t>(text[at]);
}

// SHA-1, which the handshake asks for and nobody else here may use: it proves nothing.
std::string sha1(std::string message) {
  std::array<std::uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const std::uint64_t bits = std::uint64_t{message.size()} * 8;
  message += '\x80';
  while (message.size() % 64 != 56) message += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(bits >> shift & 0xff);
  for (std::size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < 64; ++i)
      words[i / 4] = words[i / 4] << 8 | octet(message, block + i);
    for (std::size_t i = 16; i < 80; ++i) {
      words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = state;
    for (std::size_t i = 0; i < 80; ++i) {
      std::uint32_t mix = b ^ c ^ d;
      std::uint32_t round = i < 40 ? 0x6ed9eba1 : 0xca62c1d6;
      if (i < 20) {
        mix = (b & c) | (~b & d);
        round = 0x5a827999;
      } else if (i >= 40 && i < 60) {
        mix = (b & c) | (b & d) | (c & d);
        round = 0x8f1bbcdc;
      }
      const std::uint32_t next = std::rotl(a, 5) + mix + e + round + words[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    const std::array<std::uint32_t, 5> add{a, b, c, d, e};
    for (std::size_t i = 0; i < 5; ++i) state[i] += add[i];
  }
  std::string digest;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift & 0xff);
  }
  return digest;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? octet(bytes, i + k) : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  return base64(sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
}

Task<std::unique_ptr<WebSocket>> accept_websocket(Exchange& exchange, WebSocketLimits limits) {
  constexpr std::size_t kLengthOfKey = 24;
  const Request& request = exchange.request();
  if (request.method != "GET" || !request.headers.has_word("connection", "upgrade") ||
      !request.headers.has_word("upgrade", "websocket")) {
    throw HttpError(
        426, "This is a WebSocket: ask with `connection: upgrade` and `upgrade: websocket`.");
  }
  if (request.headers.find("sec-websocket-version") != "13") {
    throw HttpError(426, "This speaks version 13 of WebSocket.");
  }
  const std::string key(request.headers.find("sec-websocket-key").value_or(""));
  if (key.size() != kLengthOfKey) {
    throw HttpError(400, "The handshake of a WebSocket needs a sec-websocket-key.");
  }
  Headers headers;
  headers.set("upgrade", "websocket");
  headers.set("sec-websocket-accept", websocket_accept(key));
  // Of the protocols that are offered the first is taken; a browser wants to be told.
  if (const auto offered = request.headers.find("sec-websocket-protocol")) {
    headers.set("sec-websocket-protocol", std::string(offered->substr(0, offered->find(','))));
  }
  Exchange::Upgraded connection = co_await exchange.upgrade(std::move(headers));
  co_return std::make_unique<WebSocket>(connection.stream, std::move(connection.rest), limits);
}

// ---- Frames ----

// False: the connection ended before so much had come.
Task<bool> WebSocket::need(std::size_t bytes) {
  constexpr std::size_t kLargest = 4096;  // in one piece
  constexpr std::size_t kSmallest = 64;   // a socket that waits is small
  while (buffer_.size() < bytes) {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + std::clamp(bytes - before, kSmallest, kLargest));
    std::size_t came = 0;
    try {
      came = co_await stream_.read(Room(buffer_.data() + before, buffer_.size() - before));
    } catch (const IoError&) {
      came = 0;  // a reset is an end
    }
    buffer_.resize(before + came);
    if (came == 0) co_return false;
  }
  co_return true;
}

Task<std::optional<WebSocket::Frame>> WebSocket::refuse(WebSocketEnd why, std::string_view words) {
  try {
    co_await close(why, words);
  } catch (const IoError&) {
    // nobody is there to be told
  }
  over_ = true;
  co_return std::nullopt;
}

Task<std::optional<WebSocket::Frame>> WebSocket::next_frame() {
  if (!co_await need(2)) co_return std::nullopt;
  const std::uint8_t first = octet(buffer_, 0);
  const std::uint8_t second = octet(buffer_, 1);
  Frame frame;
  frame.final = (first & 0x80) != 0;
  frame.opcode = first & 0x0f;
  if ((first & 0x70) != 0 || !is_known(frame.opcode)) {
    co_return co_await refuse(WebSocketEnd::protocol_error, "a frame of an unknown kind");
  }
  if ((second & 0x80) == 0) {
    co_return co_await refuse(WebSocketEnd::protocol_error, "a frame that is not masked");
  }
  const std::uint8_t short_length = second & 0x7f;
  if (is_control(frame.opcode) && (short_length > kLongestControl || !frame.final)) {
    co_return co_await refuse(WebSocketEnd::protocol_error, "a control frame that is too long");
  }
  const std::size_t more = short_length == 126 ? 2 : short_length == 127 ? 8 : 0;
  if (!co_await need(2 + more + 4)) co_return std::nullopt;
  std::uint64_t length = more == 0 ? short_length : 0;
  for (std::size_t i = 0; i < more; ++i) length = length << 8 | octet(buffer_, 2 + i);
  // Before anything is kept for it.
  if (length > limits_.message ||
      (!is_control(frame.opcode) && message_ + length > limits_.message)) {
    co_return co_await refuse(WebSocketEnd::too_long, "a message that is too long");
  }
  const std::size_t head = 2 + more + 4;
  if (!co_await need(head + length)) co_return std::nullopt;
  frame.payload = buffer_.substr(head, length);
  for (std::size_t i = 0; i < length; ++i) {
    frame.payload[i] = static_cast<char>(frame.payload[i] ^ buffer_[head - 4 + i % 4]);
  }
  buffer_.erase(0, head + length);
  co_return frame;
}

// False: the connection is over.
Task<bool> WebSocket::take_control(const Frame& frame) {
  if (frame.opcode == kPing) co_await send_frame(kPong, frame.payload);
  if (frame.opcode != kClose) co_return true;
  if (frame.payload.size() >= 2) {
    ended_with_ =
        static_cast<std::uint16_t>(octet(frame.payload, 0) << 8 | octet(frame.payload, 1));
  }
  over_ = true;
  if (!closing_) {
    try {
      co_await close(WebSocketEnd::normal);
    } catch (const IoError&) {
      // the client has not waited
    }
  }
  co_return false;
}

Task<std::optional<std::string>> WebSocket::receive() {
  std::string message;
  message_ = 0;
  bool begun = false;
  while (!over_) {
    std::optional<Frame> frame = co_await next_frame();
    if (!frame) break;
    if (is_control(frame->opcode)) {
      if (!co_await take_control(*frame)) break;
      continue;
    }
    if (begun != (frame->opcode == kMore)) {
      co_await refuse(WebSocketEnd::protocol_error, "a part of a message that was not begun");
      break;
    }
    if (!begun) text_ = frame->opcode == kText;
    begun = true;
    message += frame->payload;
    message_ = message.size();
    if (!frame->final) continue;
    if (text_ && !is_utf8(message)) {
      co_await refuse(WebSocketEnd::bad_text, "a text that is not UTF-8");
      break;
    }
    co_return message;
  }
  over_ = true;
  co_return std::nullopt;
}

Task<void> WebSocket::send_frame(std::uint8_t opcode, std::string_view payload) {
  std::string frame;
  frame += static_cast<char>(0x80 | opcode);
  const std::size_t size = payload.size();
  const int more = size < 126 ? 0 : size < 65536 ? 2 : 8;
  frame += static_cast<char>(more == 0 ? size : more == 2 ? 126 : 127);
  for (int shift = 8 * (more - 1); shift >= 0; shift -= 8) {
    frame += static_cast<char>(size >> shift & 0xff);
  }
  frame += payload;
  const Mutex::Guard alone = co_await sending_.lock();
  const auto sent = co_await within(limits_.write_time, stream_.write(frame));
  if (sent.timed_out()) throw IoError(ETIMEDOUT, "write", "a WebSocket");
}

Task<void> WebSocket::send(std::string_view text) { return send_frame(kText, text); }
Task<void> WebSocket::send_bytes(std::string_view bytes) { return send_frame(kBytes, bytes); }
Task<void> WebSocket::ping() { return send_frame(kPing, {}); }

Task<void> WebSocket::close(WebSocketEnd why, std::string_view words) {
  if (closing_) co_return;
  closing_ = true;
  std::string payload;
  payload += static_cast<char>(static_cast<std::uint16_t>(why) >> 8);
  payload += static_cast<char>(static_cast<std::uint16_t>(why) & 0xff);
  payload += words.substr(0, kLongestControl - 2);
  co_await send_frame(kClose, payload);
}

}  // namespace tiffany::http
