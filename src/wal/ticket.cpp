#include "tiffany/wal/ticket.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany::wal {

AppendEnd append_end(const std::exception_ptr& error) noexcept {
  if (error == nullptr) return AppendEnd::written;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code() == Errc::log_fenced ? AppendEnd::fenced : AppendEnd::unknown;
  } catch (...) {
    return AppendEnd::unknown;
  }
}

void TicketList::insert(detail::TicketLink& first, detail::TicketLink& last) noexcept {
  first.before = ends_.before;
  last.after = &ends_;
  first.before->after = &first;
  ends_.before = &last;
}

void TicketList::take(TicketList& others) noexcept {
  if (others.ends_.after == &others.ends_) return;
  detail::TicketLink& first = *others.ends_.after;
  detail::TicketLink& last = *others.ends_.before;
  others.ends_.leave();
  insert(first, last);
}

Ticket* TicketList::pop() noexcept {
  if (ends_.after == &ends_) return nullptr;
  Ticket* const first = static_cast<Ticket*>(ends_.after);
  first->leave();
  return first;
}

}  // namespace tiffany::wal
