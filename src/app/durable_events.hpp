// Durable tasks as events of PAL. Internal.
//
// Each record that the host appends is an event, told after it is on the disk: what was told cannot
// be taken back by a crash. docs/decisions/0026-daemon.md has which record is which stage.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "tiffany/base/time.hpp"
#include "tiffany/durable/host_view.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany::app {

class DurableEvents : public HostWatcher {
 public:
  // Records that wait for the disk; beyond that the oldest are not told.
  static constexpr std::size_t kMostWaiting = 65'536;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  // How late an event may be of which the disk is not told at once.
  static constexpr Duration kPatience = std::chrono::milliseconds(10);

  explicit DurableEvents(observe::Pal& pal) noexcept : pal_(pal) {}
  void recorded(const Uuid& task, const wal::Entry& record, wal::Level level) noexcept override;
  // Tells them, until it is cancelled; none any more when the log has failed.
  Task<void> run(wal::RecordStore& store);
  std::uint64_t untold() const noexcept { return untold_; }

 private:
  struct Record {
    Uuid task;
    wal::RecordType type;
    std::uint64_t seq;
    std::string payload;
  };
  Record take_first();
  void tell(const Record& record);

  observe::Pal& pal_;
  std::deque<Record> waiting_;
  std::size_t bytes_ = 0;   // of their payloads
  std::uint64_t last_ = 0;  // how many have come
  bool ended_ = false;      // the log has failed
  ManualResetEvent came_;   // there is one
  bool urgent_ = false;     // one of them is on its way to the disk
  std::uint64_t untold_ = 0;
};

}  // namespace tiffany::app
