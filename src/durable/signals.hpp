// The mailbox of a durable task: signals that have come and that its code has not taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "durable/arrivals.hpp"
#include "durable/mailbox.hpp"
#include "durable/rare.hpp"
#include "durable/slot.hpp"
#include "tiffany/durable/actor.hpp"

namespace tiffany {

class TaskSignals {
 public:
  explicit TaskSignals(FlowState& flow) noexcept : flow_(flow) {}
  // Records which signal the code waits for.
  void issue(const std::string& name, const detail::ValueType& type, bool timed,
             const std::source_location& site);
  bool has(const std::string& name) const noexcept {
    return mailbox_ != nullptr && mailbox_->has(name);
  }
  std::string take(const std::string& name);
  // The same as a handle: the signal that is there, or a place in the line. Null: code and log
  // differ.
  detail::Slot* begin(const std::string& name, const detail::ValueType& type,
                      const std::source_location& site);
  // The code has given the handle up.
  void leave(detail::SignalSlot& slot) noexcept;
  // A signal arrives.
  void put(std::string name, std::string value);

  // A signal or a cancel from outside: recorded here, and delivered when it is on the disk.
  std::shared_ptr<detail::TaskMail> send(detail::Arrival::Kind kind, std::string name,
                                         std::string value, const Actor& actor);

  // ---- For checkpoints ----
  // Everything that waits, as pairs of a name and a value. `whole`: all of it in one text.
  std::string json(bool whole) const;
  // So many bytes would be in the record.
  std::size_t size() const noexcept;
  // What `json` gave, in that record.
  void read(const wal::RecordView& record, std::string_view recorded);

 private:
  // Calls it with every signal that has come, in their order.
  template <class F>
  void each(const F& call) const;

  detail::SignalSlot* first_in_line(std::string_view name) const noexcept;
  void give(detail::SignalSlot& slot, std::string value, std::uint64_t order) noexcept;

  FlowState& flow_;
  std::unique_ptr<detail::SignalBox> mailbox_;  // null: no signal has come
  detail::RareList<detail::SignalSlot*> line_;  // those for which no signal has come
  std::uint64_t came_ = 0;                      // so many have
};

}  // namespace tiffany
