#include "tiffany/core/mailbox.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

namespace detail {

MailLine::MailLine(std::shared_ptr<Inbox> inbox, std::size_t capacity)
    : inbox_(std::move(inbox)), capacity_(capacity) {
  if (capacity == 0) {
    throw Error(Errc::bad_argument,
                "A mailbox was made with a capacity of 0, so nothing could ever be posted to it. "
                "Give it room for at least one value.");
  }
}

Posted MailLine::post(std::unique_ptr<Message> message) noexcept {
  if (closed_.load()) return Posted::closed;
  std::size_t waiting = waiting_.load(std::memory_order_relaxed);
  do {
    if (waiting == capacity_) {
      refused_.fetch_add(1);
      return Posted::full;
    }
  } while (!waiting_.compare_exchange_weak(waiting, waiting + 1));
  if (inbox_->post(std::move(message))) return Posted::accepted;
  close();  // the scheduler is gone, and this must not come to look like a full mailbox
  return Posted::closed;
}

void throw_mailbox_closed() {
  throw Error(
      Errc::mailbox_closed,
      "The next value of a mailbox was awaited, but every sender of the mailbox is gone, or "
      "the mailbox itself, so none can come. Keep a sender for as long as values are "
      "expected.");
}

}  // namespace detail
}  // namespace tiffany
