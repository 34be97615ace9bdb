// The control block of a task: what the scheduler knows of it, whatever engine runs its code.
//
// An engine (coroutine, poll-style, and later fiber) derives from TaskRecord and implements the
// door below, behind which it continues the task's code until it comes back with a system call or an
// end.
// Records are 128 bytes: two cache lines, of which a resume touches the first.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

#include "tiffany/base/arena.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/waitable.hpp"

namespace tiffany {

class AsyncTrace;
class Scope;
class SystemCall;

inline constexpr std::uint8_t kSystemPriority = 0;
inline constexpr std::uint8_t kDefaultPriority = 10;

// Receives the places where a task's code is suspended, innermost first.
class FrameVisitor {
 public:
  virtual void on_frame(const std::source_location& site) = 0;

 protected:
  ~FrameVisitor() = default;
};

class TaskRecord : public Waitable {
 public:
  TaskId id() const noexcept { return id_; }
  TaskId parent() const noexcept { return parent_; }
  std::uint8_t priority() const noexcept { return priority_; }
  // System calls made so far.
  std::uint64_t steps() const noexcept { return steps_; }
  std::string_view name() const noexcept;
  void set_name(std::string_view name);
  const std::source_location& spawn_site() const noexcept { return spawn_site_; }
  SystemCall* waiting_on() const noexcept { return waiting_on_; }
  // Why the task itself was asked to stop; null when nobody asked.
  CancelReasonPtr cancel_reason() const noexcept;
  // How the exception that a failed task ended with came about; null for any other.
  std::shared_ptr<const AsyncTrace> trace() const noexcept;

  std::exception_ptr error() const override;
  std::string describe() const override;

  // ---- The engine door ----

  // The task's turn has come, and it has no coroutine frame to resume (`cursor_` is null). An engine
  // of C++ coroutines makes the task's first frame and returns its address; the scheduler resumes it
  // and those that it calls, and tells when the outermost one has ended. Any other engine runs the
  // task's code until it comes back with a system call or an end, and returns null.
  virtual void* begin(Scheduler& scheduler) = 0;
  virtual void ended(Scheduler& scheduler) noexcept;
  // Drops the task's code without running it any further: it was cancelled before it began, or the
  // scheduler is being destroyed and the task did not end when asked to.
  virtual void drop_code() noexcept = 0;
  // Destroys the value that a completed task holds.
  virtual void drop_value() noexcept = 0;
  virtual void visit_frames(FrameVisitor& visitor) const = 0;

 protected:
  // One reference for the scheduler until the task has ended, one for the handle.
  TaskRecord() noexcept : Waitable(2) {}
  ~TaskRecord() = default;

  // Sixteen bytes for the callable with its arguments while the task lives, then for its result.
  // What does not fit lives in the arena, and its address here.
  template <class T>
  static constexpr bool fits_inline =
      sizeof(T) <= 16 && alignof(T) <= 8 && std::is_nothrow_move_constructible_v<T>;

  template <class T>
  T* stored() noexcept {
    if constexpr (fits_inline<T>) {
      return std::launder(reinterpret_cast<T*>(storage_));
    } else {
      return *std::launder(reinterpret_cast<T**>(storage_));
    }
  }
  template <class T, class... Args>
  T* store(Arena& arena, Args&&... args) {
    if constexpr (fits_inline<T>) {
      return new (storage_) T(std::forward<Args>(args)...);
    } else {
      T* made = make_apart<T>(arena, std::forward<Args>(args)...);
      new (storage_) T*(made);
      return made;
    }
  }
  template <class T, class... Args>
  static T* make_apart(Arena& arena, Args&&... args) {
    static_assert(alignof(T) <= 16,
                  "results and arguments of tasks are aligned to 16 bytes at most");
    void* memory = arena.allocate(sizeof(T));
    try {
      return new (memory) T(std::forward<Args>(args)...);
    } catch (...) {
      Arena::deallocate(memory, sizeof(T));
      throw;
    }
  }
  template <class T>
  void unstore() noexcept {
    T* made = stored<T>();
    made->~T();
    if constexpr (!fits_inline<T>) Arena::deallocate(made, sizeof(T));
  }

  void dispose() noexcept override;

  void* cursor_ = nullptr;  // the coroutine frame to resume; null when it is not one
  std::uint64_t steps_ = 0;
  TaskId id_;
  SystemCall* waiting_on_ = nullptr;
  Scope* scope_ = nullptr;
  // ---- end of the first cache line ----
  TaskRecord* next_sibling_ = nullptr;
  TaskRecord* prev_sibling_ = nullptr;
  CancelRegion* region_ = nullptr;  // the innermost open one
  std::source_location spawn_site_;
  struct Extras;
  Extras* extras_ = nullptr;  // what few tasks have: a name, a reason for being cancelled, a trace
  TaskId parent_;
  alignas(8) std::byte storage_[16];

 private:
  friend class CancelRegion;
  friend struct DebugLayout;
  friend class ReadyQueue;
  friend class Scheduler;
  friend class Scope;
  friend class TaskTable;
  template <class T>
  friend class Handle;

  enum Flag : std::uint8_t {
    kCancelPending = 1,  // some region around the task's code is cancelled, and no shield hides it
    kDeliverCancel = 2,  // the next resume throws
    kReportFailure = 4,  // it failed in the root scope: somebody must hear of it
    kValueTaken = 8,     // its result was moved out
    kOrphan = 16,        // its scheduler is gone
  };
  bool has(Flag flag) const noexcept { return (flags_ & flag) != 0; }
  void set(Flag flag) noexcept { flags_ = static_cast<std::uint8_t>(flags_ | flag); }
  void clear(Flag flag) noexcept { flags_ = static_cast<std::uint8_t>(flags_ & ~flag); }
  Extras& extras();
};

// `task #3 "fetch"`
std::string describe_task(TaskId id, std::string_view name);

struct TaskRecord::Extras {
  std::string name;
  CancelReasonPtr cancel;
  std::shared_ptr<const AsyncTrace> trace;
};

static_assert(sizeof(TaskRecord) == 128, "a record is two cache lines");

}  // namespace tiffany
