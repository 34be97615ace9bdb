// The control block of a task: what the scheduler knows of it, whatever engine runs its code.
//
// An engine (coroutine, fiber, poll-style) derives from TaskRecord and implements the door below,
// behind which it continues the task's code until it comes back with a system call or an end.
// Records are 128 bytes: two cache lines, of which a resume touches the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

#include "tiffany/base/arena.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/heritage.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/shared_name.hpp"
#include "tiffany/core/waitable.hpp"

namespace tiffany {

class AsyncTrace;
class Scope;
class SystemCall;

namespace detail {
class Loop;
class Reports;
class Teardown;
}  // namespace detail

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
  using Waitable::as_task;
  TaskRecord* as_task() noexcept final { return this; }
  TaskId id() const noexcept { return id_; }
  TaskId parent() const noexcept { return parent_; }
  // The scope that the task ends in.
  const Scope* scope() const noexcept { return scope_; }
  std::uint8_t priority() const noexcept { return priority_; }
  TaskState state() const noexcept {
    return state_ == TaskState::suspended ? suspended_or_running() : state_;
  }
  // System calls made so far. Takes time in proportion to the ready tasks; Scheduler::count_steps()
  // and recorded_steps() are for those who ask for many.
  std::uint64_t steps() const noexcept;
  std::uint64_t recorded_steps() const noexcept { return steps_; }
  std::string_view name() const noexcept;
  void set_name(std::string_view name);
  void set_name(const Ref<SharedName>& name);
  const std::source_location& spawn_site() const noexcept { return spawn_site_; }
  SystemCall* waiting_on() const noexcept { return waiting_on_; }
  // The longest chain of tasks that wait for this one to end before they begin, by their cost.
  // Known where the order of the ready tasks asks for it (longest_path_order).
  std::uint64_t chain_below() const noexcept;
  // Does not keep a run alive; see Handle::daemon.
  bool daemon() const noexcept { return daemon_; }
  // Why the task itself was asked to stop; null when nobody asked.
  CancelReasonPtr cancel_reason() const noexcept;
  // How the exception that a failed task ended with came about; null for any other.
  std::shared_ptr<const AsyncTrace> trace() const noexcept;

  std::exception_ptr error() const override;
  std::string describe() const override;

  // ---- For the context and the store ----

  // What it inherited or set; null when that is nothing, and after its end.
  Heritage* heritage() const noexcept;
  // The same, made for this task alone, to be changed.
  Heritage& own_heritage(Arena& arena);
  void set_heritage(Ref<Heritage> heritage) noexcept;
  // What it told, once it has ended; null when that is nothing.
  LogLink* last_words() const noexcept;

  // ---- The engine door ----

  // The task's turn has come, and it has no coroutine frame to resume (`cursor_` is null). An
  // engine of C++ coroutines makes the task's first frame and returns its address; the scheduler
  // resumes it and those that it calls, and tells when the outermost one has ended. An engine of
  // another kind may return what looks like a coroutine frame (engine/fiber_switch.hpp), or it runs
  // the task's code until it comes back with a system call or an end, and returns null.
  virtual void* begin(Scheduler& scheduler) = 0;
  virtual void ended(Scheduler& scheduler) noexcept;
  // Drops the task's code without running it any further: it was cancelled before it began, or the
  // scheduler is being destroyed and the task did not end when asked to.
  virtual void drop_code() noexcept = 0;
  // Destroys the value that a completed task holds, if it said holds_value<T>().
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
    return make_in<T>(arena, std::forward<Args>(args)...);
  }
  template <class T>
  void unstore() noexcept {
    T* made = stored<T>();
    made->~T();
    if constexpr (!fits_inline<T>) Arena::deallocate(made, sizeof(T));
  }

  // The code is gone and this is what it ended with. Keeps it, unless it is how the task's own
  // cancellation left it, and says which end that is.
  TaskState store_error(std::exception_ptr error) noexcept;

  // To be called when a result of this type has been stored: most need no destruction.
  template <class T>
  void holds_value() noexcept {
    if constexpr (!fits_inline<T> || !std::is_trivially_destructible_v<T>) set(kHoldsValue);
  }

  void dispose() noexcept final;

  void* cursor_ = nullptr;   // the coroutine frame to resume; null when it is not one
  std::uint64_t steps_ = 0;  // less the yields that are counted in the ready queue
  TaskId id_;
  SystemCall* waiting_on_ = nullptr;
  Scope* scope_ = nullptr;
  // ---- end of the first cache line ----
  TaskRecord* next_sibling_ = nullptr;
  TaskRecord* prev_sibling_ = nullptr;
  CancelRegion* region_ = nullptr;  // the innermost open one
  std::source_location spawn_site_;
  // What few tasks have, in one word: the address of its Extras, or marked in the lowest bits that
  // of what it inherited or, after its end, of what it told, or of a name that others have too.
  std::uintptr_t extras_ = 0;
  TaskId parent_;
  alignas(8) std::byte storage_[16];

 private:
  friend class CancelRegion;
  friend class Dependencies;
  friend struct DebugLayout;
  friend class detail::Loop;
  friend class detail::Reports;
  friend class detail::Teardown;
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
    kHoldsValue = 32,    // its result must be destroyed
    kHasHeritage = 64,   // heritage() is not null
    kOwnArena = 128,     // its scope has an arena of its own
  };
  bool has(Flag flag) const noexcept { return (flags_ & flag) != 0; }
  void set(Flag flag) noexcept { flags_ = static_cast<std::uint8_t>(flags_ | flag); }
  void clear(Flag flag) noexcept { flags_ = static_cast<std::uint8_t>(flags_ & ~flag); }

  enum Tag : std::uintptr_t {
    kExtrasTag = 0,
    kHeritageTag = 1,
    kLastWordsTag = 2,
    kNameTag = 3,
    kTags = 3  // the bits
  };
  Tag tag() const noexcept { return static_cast<Tag>(extras_ & kTags); }
  template <class T>
  T* untagged() const noexcept {
    return reinterpret_cast<T*>(extras_ & ~std::uintptr_t{kTags});
  }
  struct Extras;
  // Null when it has none of its own.
  Extras* own_extras() const noexcept { return tag() == kExtrasTag ? untagged<Extras>() : nullptr; }
  Extras& extras();
  // What cancel_reason() gives, where it is kept. Without memory for that, its cause is.
  const CancelReasonPtr* own_reason() const noexcept;
  void keep_reason(CancelReasonPtr reason) noexcept;
  void keep_trace(std::shared_ptr<const AsyncTrace> trace) noexcept;
  void dispose_of_rest() noexcept;
  // To standard error: its scheduler is gone, or has no memory for more.
  void report_failure_briefly() const noexcept;
  void give_slot_back() noexcept;
  // A task that yields again and again stays `suspended` in its record while it runs.
  TaskState suspended_or_running() const noexcept;
  // At the spawn: shares what the parent has.
  void inherit(const TaskRecord& parent) noexcept;
  // At the end: lets go of what it has, but for what it told.
  void leave_heritage(TaskState state) noexcept;
  void drop_extras() noexcept;
};

// `task #3 "fetch"`
std::string describe_task(TaskId id, std::string_view name);

struct TaskRecord::Extras {
  std::string name;
  CancelReasonPtr cancel;
  std::exception_ptr refused;     // it must not begin, and fails with this when its turn comes
  std::uint64_t chain_below = 0;  // see chain_below()
  std::uint32_t cost = 1;         // what it adds to the chain of those it waits for
  Ref<Heritage> heritage;
  Ref<LogLink> last_words;
  std::shared_ptr<const AsyncTrace> trace;
};

inline Heritage* TaskRecord::heritage() const noexcept {
  if (tag() == kHeritageTag) return untagged<Heritage>();
  const Extras* own = own_extras();
  return own != nullptr ? own->heritage.get() : nullptr;
}

inline const CancelReasonPtr* TaskRecord::own_reason() const noexcept {
  const Extras* own = own_extras();
  if (own != nullptr && own->cancel != nullptr) return &own->cancel;
  if (unrecorded_ == 0) [[likely]]
    return nullptr;
  return &unrecorded_reason(static_cast<CancelCause>(unrecorded_ - 1));
}

static_assert(sizeof(TaskRecord) == 128, "a record is two cache lines");

}  // namespace tiffany
