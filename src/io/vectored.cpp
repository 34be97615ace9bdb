#include "tiffany/io/vectored.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>

#include "tiffany/base/error.hpp"

namespace tiffany {
namespace {

class MessageCall final : public IoCall {
 public:
  static constexpr CallName call_name{"message"};
  MessageCall(Kind what, const Descriptor& on, iovec* parts, std::size_t count) noexcept
      : IoCall(what, on) {
    message_.msg_iov = parts;
    message_.msg_iovlen = count;
  }
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    memory = &message_;
    return IoCall::start(scheduler, task);
  }
  std::size_t finish() const { return outcome(); }

 private:
  const char* verb() const noexcept override { return kind == Kind::send_msg ? "write" : "read"; }
  msghdr message_{};
};

template <class Part>
std::vector<iovec> vectors_of(const std::vector<Part>& parts) {
  if (parts.size() > IOV_MAX) {
    throw Error(Errc::bad_argument, "A read or write of " + std::to_string(parts.size()) +
                                        " parts was asked for; the system takes " +
                                        std::to_string(IOV_MAX) + " at a time.");
  }
  std::vector<iovec> out;
  for (const Part& part : parts) {
    if (!part.empty()) out.push_back({const_cast<std::byte*>(part.data()), part.size()});
  }
  return out;
}

}  // namespace

Task<std::size_t> write_parts(const Socket& to, std::vector<Bytes> parts) {
  std::vector<iovec> left = vectors_of(parts);
  std::size_t first = 0;
  std::size_t written = 0;
  while (first < left.size()) {
    std::size_t went = co_await MessageCall(Operation::Kind::send_msg, to.descriptor(),
                                            left.data() + first, left.size() - first);
    written += went;
    while (first < left.size() && went >= left[first].iov_len) went -= left[first++].iov_len;
    if (first == left.size()) break;
    left[first].iov_base = static_cast<std::byte*>(left[first].iov_base) + went;
    left[first].iov_len -= went;
    // What has gone is a result; the next suspension of the caller throws.
    if (Scheduler::current()->cancel_pending()) break;
  }
  co_return written;
}

Task<std::size_t> read_parts(const Socket& from, std::vector<Room> parts) {
  std::vector<iovec> room = vectors_of(parts);
  co_return co_await MessageCall(Operation::Kind::recv_msg, from.descriptor(), room.data(),
                                 room.size());
}

}  // namespace tiffany
