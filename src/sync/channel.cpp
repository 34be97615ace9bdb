#include "tiffany/sync/channel.hpp"

#include <bit>
#include <cstdint>

#include "tiffany/base/error.hpp"

namespace tiffany::detail {
namespace {

std::string count_text(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

void throw_channel_closed() {
  throw Error(
      Errc::channel_closed,
      "A value was sent into a channel that takes none any more: it was closed, or its last "
      "receiver is gone. Ask closed() first, or let this error end the one who sends.");
}

void throw_receives_none() {
  throw Error(
      Errc::bad_argument,
      "recv_many() was asked for 0 values at the most, which would wait for a value and then "
      "not take it. Ask for at least one.");
}

ChannelCore::ChannelCore(std::size_t capacity, std::size_t value_size)
    : room_(capacity), mask_(0), capacity_(capacity) {
  if (capacity > PTRDIFF_MAX / 2 / value_size) {
    throw Error(Errc::bad_argument, "A channel was made for " + std::to_string(capacity) +
                                        " values, for which no memory can be had. Its capacity "
                                        "is how many values may wait in it; a few are enough.");
  }
  mask_ = std::bit_ceil(std::max<std::size_t>(capacity, 1)) - 1;
}

void ChannelCore::stop_senders() noexcept {
  room_ = 0;
  tell_all(sending, Stage::ended);
}

void ChannelCore::close() noexcept {
  closed_ = true;
  stop_senders();
  tell_all(receiving, Stage::ended);
}

void ChannelCore::drop_sender() noexcept {
  if (--senders_ > 0) return;
  tell_all(sending, Stage::gone);
  tell_all(receiving, Stage::ended);
}

void ChannelCore::drop_receiver() noexcept {
  if (--receivers_ > 0) return;
  stop_senders();
  tell_all(receiving, Stage::gone);
  drop_values();
}

std::string ChannelCore::describe_send() const {
  const std::string in = capacity_ == 0 ? "a receiver to take its value from a channel"
                                        : "room in a channel of " + count_text(capacity_, "value");
  return in + " (" + count_text(receivers_, "receiver") + ")";
}

std::string ChannelCore::describe_recv() const {
  return "a value in a channel (" + count_text(senders_, "sender") + ")";
}

}  // namespace tiffany::detail
