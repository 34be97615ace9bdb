// Waiting for a record to be on the disk.
//
// A Ticket is told once how its append ended: see AppendEnd. One that is destroyed before is not
// told.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "tiffany/sync/event.hpp"

namespace tiffany::wal {

// How an append ends.
enum class AppendEnd : std::uint8_t {
  written,  // the record is on the disk, and whoever opens the store next reads it
  fenced,   // another process owns the store; the record is not read by anybody
  unknown,  // the store failed: whoever opens it next finds the record, or does not
};

// By what a ticket was told: nothing, Errc::log_fenced, anything else.
AppendEnd append_end(const std::exception_ptr& error) noexcept;

namespace detail {
// A place in a ring of those who wait.
struct TicketLink {
  TicketLink() noexcept = default;
  ~TicketLink() { leave(); }
  TicketLink(const TicketLink&) = delete;
  TicketLink& operator=(const TicketLink&) = delete;
  void leave() noexcept {
    before->after = after;
    after->before = before;
    before = after = this;
  }
  TicketLink* before = this;
  TicketLink* after = this;
};
}  // namespace detail

class Ticket : private detail::TicketLink {
 public:
  // Null: the record is written. An error: see append_end().
  virtual void synced(std::exception_ptr error) noexcept = 0;

 protected:
  Ticket() noexcept = default;
  ~Ticket() = default;

 private:
  friend class TicketList;
};

// A ticket for a task that awaits `event`.
class Synced final : public Ticket {
 public:
  ManualResetEvent event;
  std::exception_ptr error;
  void synced(std::exception_ptr failed) noexcept override {
    error = std::move(failed);
    event.set();
  }
};

// Tickets in the order in which they came.
class TicketList {
 public:
  TicketList() noexcept = default;
  TicketList(TicketList&& other) noexcept { take(other); }
  TicketList& operator=(TicketList&&) = delete;
  ~TicketList() {
    while (pop() != nullptr) {
    }
  }
  void push(Ticket& ticket) noexcept { insert(ticket, ticket); }
  // All of the others, behind those that are here.
  void take(TicketList& others) noexcept;
  // Null when there is none.
  Ticket* pop() noexcept;

 private:
  void insert(detail::TicketLink& first, detail::TicketLink& last) noexcept;
  detail::TicketLink ends_;
};

}  // namespace tiffany::wal
