// How the code of a durable task waits. It is shown what has come one by one, in the order of the
// log, and only while it waits for something that is not there yet. So it makes no difference
// whether something came long ago or just now.
#pragma once

#include <exception>
#include <string_view>

#include "durable/arrivals.hpp"
#include "durable/slot.hpp"

namespace tiffany {

class Waits {
 public:
  explicit Waits(FlowState& flow) noexcept : flow_(flow) {}
  // True: what the call waits for is there.
  bool begin(DurableCall& call, TaskRecord& running);
  void end() noexcept { call_ = nullptr; }
  // The log has the command and no result.
  void go_live(detail::Slot& slot);
  // A record that nobody is told of has to be on its way before the code waits for long.
  void appended(wal::RecordType type, wal::Level level) noexcept;
  // The next arrival is on the disk, or the log is sealed.
  void record_synced(const std::exception_ptr& error) noexcept;
  // What came before the code had asked for it arrives.
  void arrive(detail::Slot& slot, detail::Arrival& arrival);
  void step_ended() noexcept;

  bool replaying() noexcept;
  // The end of the log was reached once: the task is not counted as being replayed any more.
  bool live() const noexcept { return live_; }
  // The code has come to the end of the log, or has returned. False: that is not what the log says,
  // and the task has been stopped.
  bool finish();

  // The code waits, after the end of its log, and no cancel that is under way ends the wait.
  bool waits_for_outside() const noexcept { return live_ && call_ != nullptr && !unwinding_; }

  // The code is being ended from outside, without a word in the log. True: it can be at once.
  bool unwind() noexcept;
  bool unwinding() const noexcept { return unwinding_; }
  void leave_code() noexcept { unwinding_ = true; }

 private:
  bool cancel_comes_first() noexcept;
  bool advance();
  bool handle_updates();
  void deliver(detail::Arrival& arrival);
  void caught_up();
  void go_on() noexcept;
  void wake() noexcept;

  FlowState& flow_;
  DurableCall* call_ = nullptr;  // that the code waits in
  bool unsynced_ = false;        // something was asked for that may not be on its way yet
  bool held_ = false;            // nothing was asked for, as a cancel comes first
  bool unwinding_ = false;
  bool live_ = false;
};

}  // namespace tiffany
