// Level 1 of observing: an object that is told of every transition of a task while it is there
// (docs/decisions/0024-observing.md). For module observe; a program uses observe/recorder.hpp.
//
// Each function is called in the one function of the scheduler where that transition happens, on
// the thread of the scheduler, in the middle of its work: it must be quick, must not throw, and
// must not change anything in the scheduler. A slice is told with its beginning and its end, every
// other transition with one call.
#pragma once

#include <cstdint>

#include "tiffany/core/guard.hpp"
#include "tiffany/core/state.hpp"
#include "tiffany/core/wait_kind.hpp"

namespace tiffany {

struct CallName;
class SystemCall;
class TaskRecord;

namespace detail {

// Whether transitions are counted and told. False only in a library that bench/observe compares
// with, to see what that costs a yield, and a spawn with its join; it counts nothing.
#ifdef TIFFANY_WITHOUT_SEAM
inline constexpr bool kSeam = false;
#else
inline constexpr bool kSeam = true;
#endif
inline void count(std::uint64_t& transitions) noexcept {
  if constexpr (kSeam) ++transitions;
}

class Observer {
 public:
  // Spawned. It is ready, unless held() follows.
  virtual void admitted(const TaskRecord& task) noexcept = 0;
  // It waits for others to end before it begins (spawn.after); and does not any more: it is ready.
  virtual void held(const TaskRecord& task) noexcept = 0;
  virtual void released(const TaskRecord& task) noexcept = 0;
  // It has the processor; and has it no more. `how`: suspended (it yielded), preempted (its quantum
  // is spent), blocked (it waits), or how it ended.
  virtual void slice_begins(const TaskRecord& task) noexcept = 0;
  virtual void slice_ends(const TaskRecord& task, TaskState how) noexcept = 0;
  // Both, for two tasks that follow one another at once: the slice of the first one ended with a
  // yield.
  virtual void slice_switches(const TaskRecord& from, const TaskRecord& to) noexcept = 0;
  virtual void parked(const TaskRecord& task, const SystemCall& call, const CallName& name,
                      WaitKind kind) noexcept = 0;
  // About to be ready again. `cancelled`: because a cancel has ended the wait.
  virtual void woken(const TaskRecord& task, WaitKind kind, bool cancelled) noexcept = 0;
  virtual void throttled(const TaskRecord& task) noexcept = 0;
  // Asked to stop, for the first time.
  virtual void cancel_asked(const TaskRecord& task) noexcept = 0;
  // Told before those who wait for it are woken. Its name and its error are there.
  virtual void ended(const TaskRecord& task, TaskState how) noexcept = 0;
  virtual void denied(SpawnDenied::Limit limit) noexcept = 0;
  // The scheduler is about to go, and must not be used any more.
  virtual void scheduler_gone() noexcept = 0;

 protected:
  ~Observer() = default;
};

}  // namespace detail
}  // namespace tiffany
