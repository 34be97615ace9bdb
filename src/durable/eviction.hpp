// Which tasks that wait keep their code in memory (HostOptions::hot_tasks). The code of the others
// is ended without a word in the log, as by Host::close; what wakes one of these replays it first.
//
// A task is idle when its code waits, everything of it is on the disk, and only a timer that is not
// due, a promise, a child or somebody outside can make it go on. Of idle tasks the one that has
// waited longest goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Eviction {
 public:
  explicit Eviction(HostCore& host) noexcept : host_(host) {}

  // ---- What tasks say ----
  void began() noexcept { ++hot_; }
  void gone(FlowState& flow) noexcept;
  // The code waits, and has been shown everything that has come.
  void waits(FlowState& flow);

  // While a log is opened: returns when there are few tasks more in memory than may stay, or none
  // of them can go.
  Task<void> until_few();

  // ---- Coming back ----
  // Returns when the code of the task is here, or nothing of it can run.
  Task<void> wake(HostedTask* entry);
  // The same without waiting for it. One whose code is being ended comes back after that; for any
  // other that is not asleep: nothing.
  void wake_soon(HostedTask& entry);
  // Its log is read, and its code begins.
  void begin_again(HostedTask& entry);
  // Tasks whose code is not in memory although nothing stops them.
  std::size_t asleep() const noexcept { return asleep_; }

 private:
  struct Over;
  bool idle(const FlowState& flow) const noexcept;
  // More than few tasks beyond the budget are in memory.
  bool crowded() const noexcept;
  void consider();
  Task<void> run();
  Task<void> evict(HostedTask* entry);
  Task<void> wake_now(HostedTask* entry);

  HostCore& host_;
  std::map<std::uint64_t, HostedTask*> idle_;  // by when they began to wait
  std::uint64_t last_ = 0;
  std::size_t hot_ = 0;  // tasks with code
  std::size_t asleep_ = 0;
  bool running_ = false;
  ManualResetEvent fewer_;         // it is not crowded any more, or none can go
  HostedTask* leaving_ = nullptr;  // the one whose code is being ended
  bool leaving_is_woken_ = false;
};

}  // namespace tiffany
