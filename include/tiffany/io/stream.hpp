// A stream of bytes: what TCP, unix sockets and pipes have in common.
//
//   std::array<char, 1024> room;
//   while (const std::size_t n = co_await stream.read(room)) co_await stream.write(room.data(), n);
//
// The memory given to read and write stays the caller's; it must live until the await is over,
// which it does when it lives in the awaiting frame. Cancel: see io/io_call.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/io/io_call.hpp"

namespace tiffany {

// Gives the number of bytes that came, at most as many as there is room; 0 at the end of the
// stream.
class [[nodiscard("read does nothing until awaited: co_await stream.read(...)")]] Read final
    : public IoCall {
 public:
  static constexpr CallName call_name{"read"};
  Read(const Descriptor& from, bool socket, std::span<std::byte> room) noexcept
      : IoCall(socket ? Kind::recv : Kind::read, from) {
    memory = room.data();
    size = room.size();
    stream = true;
  }
  std::size_t finish() const { return outcome(); }

 private:
  const char* verb() const noexcept override { return "read"; }
};

// Writes everything. Gives the number of bytes: all, or fewer when it was cancelled on the way.
class [[nodiscard("write does nothing until awaited: co_await stream.write(...)")]] Write final
    : public IoCall {
 public:
  static constexpr CallName call_name{"write"};
  Write(const Descriptor& to, bool socket, std::span<const std::byte> bytes) noexcept
      : IoCall(socket ? Kind::send : Kind::write, to) {
    memory = const_cast<std::byte*>(bytes.data());  // only read from
    size = bytes.size();
    stream = true;
  }
  std::size_t finish() const { return outcome(); }

 private:
  const char* verb() const noexcept override { return "write"; }
};

// Memory to read into: an array, vector or string of chars or bytes, or a pointer and a size.
class Room : public std::span<std::byte> {
 public:
  Room(void* memory, std::size_t size) noexcept
      : std::span<std::byte>(static_cast<std::byte*>(memory), size) {}
  template <class C>
    requires requires(C& c) { std::as_writable_bytes(std::span(c)); }
  Room(C& container) noexcept
      : std::span<std::byte>(std::as_writable_bytes(std::span(container))) {}
};
// Memory to write from.
class Bytes : public std::span<const std::byte> {
 public:
  Bytes(const void* memory, std::size_t size) noexcept
      : std::span<const std::byte>(static_cast<const std::byte*>(memory), size) {}
  Bytes(std::string_view text) noexcept : Bytes(text.data(), text.size()) {}
  Bytes(const char* text) noexcept : Bytes(std::string_view(text)) {}
  Bytes(const std::string& text) noexcept : Bytes(std::string_view(text)) {}
  template <class C>
    requires(!std::is_convertible_v<const C&, std::string_view>) &&
            requires(const C& c) { std::as_bytes(std::span(c)); }
  Bytes(const C& container) noexcept
      : std::span<const std::byte>(std::as_bytes(std::span(container))) {}
};

class ByteStream {
 public:
  ByteStream() noexcept = default;
  ByteStream(Descriptor descriptor, bool socket) noexcept
      : descriptor_(std::move(descriptor)), socket_(socket) {}

  Read read(Room room) const noexcept { return Read(descriptor_, socket_, room); }
  Write write(Bytes bytes) const noexcept { return Write(descriptor_, socket_, bytes); }
  Write write(const void* memory, std::size_t size) const noexcept {
    return write(Bytes(memory, size));
  }
  void close() noexcept { descriptor_.close(); }

  explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
  const Descriptor& descriptor() const noexcept { return descriptor_; }
  // See io/pressure.hpp.
  void hold_at(Pressure& gate) noexcept { descriptor_.hold_at(gate); }
  Descriptor release() noexcept { return std::move(descriptor_); }

 private:
  Descriptor descriptor_;
  bool socket_ = false;
};

namespace detail {
// What an awaited read or write gives: the number of bytes.
template <class A>
concept GivesCount = requires(A& call) {
  { call.finish() } -> std::convertible_to<std::size_t>;
} || std::same_as<typename A::value_type, std::size_t>;
}  // namespace detail

// What code is written against that does not care what it reads from: ByteStream (pipes), Socket,
// TlsStream, BufferedReader, AnyStream. The contracts:
//
// read(room): awaited, gives the number of bytes that came, at most as many as there is room; 0 is
// the end. A cancel loses no byte: it was delivered, or the next read gives it.
template <class S>
concept ReadStream = requires(S& stream, Room room) {
  { stream.read(room) } -> detail::GivesCount;
};
// write(bytes): awaited, writes everything and gives the number of bytes, or fewer when it was
// cancelled on the way.
template <class S>
concept WriteStream = requires(S& stream, Bytes bytes) {
  { stream.write(bytes) } -> detail::GivesCount;
};
// Both, and close(), which ends what other tasks have under way with an error.
template <class S>
concept Stream = ReadStream<S> && WriteStream<S> && requires(S& stream) { stream.close(); };

static_assert(Stream<ByteStream>);

}  // namespace tiffany
