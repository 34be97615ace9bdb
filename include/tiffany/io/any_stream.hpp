// What is done with streams of every kind (io/stream.hpp): copying, saying the end, and one type
// for all of them where the kind is known only at run time.
//
//   AnyStream client = encrypted ? AnyStream(co_await tls_accept(std::move(socket), context))
//                                : AnyStream(std::move(socket));
//
// Where the kind is known at compile time write a template over `Stream` instead: an AnyStream
// takes memory when it is made, and one more coroutine for each read and write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

// Says that no more will be written, in the way of the stream: close_notify of TLS, the end of one
// direction of a socket, closing the end of a pipe. Reading goes on where there is something to
// read. Cancel. Before start and while parked: it may not have been said; call it again, or close.
// After completion: it has been said, and the next suspension throws.
template <WriteStream S>
Task<void> finish_writing(S& stream) {
  if constexpr (requires { stream.finish_writing(); }) {
    co_await stream.finish_writing();
  } else if constexpr (requires { stream.shutdown_write(); }) {
    stream.shutdown_write();
  } else if constexpr (requires { stream.shutdown(); }) {
    co_await stream.shutdown();
  } else {
    stream.close();
  }
}

// Copies until the end of `from`, and gives the number of bytes. The end of `to` is not said.
// Cancel. Before start and while waiting to read: nothing is lost. While waiting to write: what was
// read and not written yet, at most 16 KiB, is lost. After completion: the number is given first.
template <ReadStream From, WriteStream To>
Task<std::uint64_t> copy_stream(From& from, To& to) {
  const auto room = std::make_unique<std::array<char, 16384>>();
  std::uint64_t copied = 0;
  for (;;) {
    const std::size_t came = co_await from.read(*room);
    if (came == 0) co_return copied;
    co_await to.write(Bytes(room->data(), came));
    copied += came;
  }
}

// A stream of any kind. Reads, writes and cancels as the stream that it was made of.
class AnyStream {
 public:
  AnyStream() noexcept = default;
  template <Stream S>
    requires(!std::is_same_v<S, AnyStream>)
  explicit AnyStream(S stream) : held_(std::make_unique<Held<S>>(std::move(stream))) {}

  Task<std::size_t> read(Room room) { return held_->read(room); }
  Task<std::size_t> write(Bytes bytes) { return held_->write(bytes); }
  Task<void> finish_writing() { return held_->finish_writing(); }
  void close() noexcept {
    if (held_ != nullptr) held_->close();
  }
  explicit operator bool() const noexcept { return held_ != nullptr; }
  // The stream itself; null when it is of another kind.
  template <class S>
  S* get_if() noexcept {
    auto* const held = dynamic_cast<Held<S>*>(held_.get());
    return held != nullptr ? &held->stream : nullptr;
  }

 private:
  class Base {
   public:
    virtual ~Base() = default;
    virtual Task<std::size_t> read(Room room) = 0;
    virtual Task<std::size_t> write(Bytes bytes) = 0;
    virtual Task<void> finish_writing() = 0;
    virtual void close() noexcept = 0;
  };
  template <class S>
  class Held final : public Base {
   public:
    explicit Held(S from) : stream(std::move(from)) {}
    Task<std::size_t> read(Room room) override { co_return co_await stream.read(room); }
    Task<std::size_t> write(Bytes bytes) override { co_return co_await stream.write(bytes); }
    Task<void> finish_writing() override { return tiffany::finish_writing(stream); }
    void close() noexcept override { stream.close(); }
    S stream;
  };
  std::unique_ptr<Base> held_;
};

static_assert(Stream<AnyStream>);

}  // namespace tiffany
