// A host from the side of those who look at it: what its tasks wait for, what their logs say, and a
// watcher that is told of every record. Part of durable/host.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/host_options.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

// Told of each record of a task when it is appended, in the order of the log. The record is on the
// disk when the store has synced the next one of Level::sync: RecordStore::flush() waits for that.
// What is told is the log's own: the watcher changes nothing, appends nothing, and does not throw.
class HostWatcher {
 public:
  virtual ~HostWatcher() = default;
  // Texts are looked at during the call only.
  virtual void recorded(const Uuid& task, const wal::Entry& record, wal::Level level) noexcept = 0;
};

// One thing that the code of a task has asked for and that has not come yet.
struct DurableWait {
  std::string kind;      // step, timer, promise, child, signal
  std::string name;      // "pay/charge#1"
  Uuid id;               // of a promise or a child; nil otherwise
  std::int64_t due = 0;  // of a timer, or of the next attempt of a step; microseconds since 1970
  int attempts = 0;      // of a step, that have begun
  std::string place;     // in the code: "order.cpp:31"
  bool awaited = false;  // of a step: its code runs now
};

struct OpenPromise {
  Uuid id;
  Uuid task;
  std::string name;        // "approval#1"
  std::int64_t since = 0;  // when the code first asked for it, in us since 1970
};

// How many tasks of the log stand how.
class StatusCounts {
 public:
  std::size_t& operator[](DurableStatus status) noexcept {
    return counts_[static_cast<std::size_t>(status)];
  }
  std::size_t operator[](DurableStatus status) const noexcept {
    return counts_[static_cast<std::size_t>(status)];
  }
  static constexpr std::size_t kStatuses = static_cast<std::size_t>(DurableStatus::cancelled) + 1;

 private:
  std::array<std::size_t, kStatuses> counts_{};
};

}  // namespace tiffany
