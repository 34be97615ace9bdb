// A scope owns tasks: none of them outlives it, and its policy decides what a failure does.
//
// User code opens one with the block form, `co_await scope([&](Scope& s) -> Task<void> {...})`
// (structure/blocks.hpp), and spawns into it with `s.spawn(f, args...)`. Tasks spawned by those
// tasks belong to the same scope unless they open one of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <string_view>

#include "tiffany/base/error.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/async_trace.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/spawner.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/timer.hpp"

namespace tiffany {

namespace detail {
class Limits;
class Loop;
class Teardown;
}  // namespace detail

// Thrown by a scope block that was cancelled by itself (its deadline, or Scope::cancel) before it
// had run to its end. All tasks of the scope have ended when it is thrown.
class ScopeCancelled : public Error {
 public:
  explicit ScopeCancelled(CancelReasonPtr reason);
  const CancelReason& reason() const noexcept { return *reason_; }

 private:
  CancelReasonPtr reason_;
};

// What the end of a task does to its scope. Blocks of user code choose one of the first four. None
// drops an error: what is not thrown, and was not looked at through a handle, is reported to the
// log.
enum class ScopePolicy : std::uint8_t {
  fail_fast,  // the first failure cancels the block and every other task, and is thrown at the end
  collect_all,    // every task runs to its end; failures that nobody looked at are thrown together
  first_success,  // the first task that completes cancels the others; AllFailed when none does
  report,         // a failure is logged and counted, and everybody goes on: for servers
  isolate,        // as report, for those who look at every end themselves
  root,           // as report, for the scope of the scheduler
};

class Scope {
 public:
  // Spawns into this scope: `s.spawn(f, args...)`, `s.spawn.with_priority(3)(f, args...)`.
  const Spawner spawn;
  // The same for fibers (engine/fiber.hpp): `s.spawn_fiber(f, args...)`.
  const FiberSpawner spawn_fiber;
  // And for agents (engine/poll.hpp): `s.spawn_agent(std::make_unique<A>())`.
  const AgentSpawner spawn_agent;

  // Cancels the block (where it is suspended next) and every task of the scope. Returns at once.
  void cancel(std::string_view why = {},
              std::source_location site = std::source_location::current());
  // Cancels the scope, with that cause, when the time has come. The last call stands.
  void set_deadline(Time when, std::source_location site = std::source_location::current());
  void set_timeout(Duration delay, std::source_location site = std::source_location::current());

  // At most so many tasks of this scope at a time; a spawn beyond that throws SpawnDenied. Like the
  // limit below it is about the tasks of this scope itself: those of a scope that one of them opens
  // count in that one only.
  void limit_tasks(std::size_t most) noexcept {
    most_tasks_ = most;
    if (!own_arena_ && !refusing_) look_from_ = most;
  }
  // At most so many bytes for the frames, arguments and results of the tasks that are spawned into
  // this scope from now on: not only for a task's first frame, but for all that it calls. A spawn
  // beyond that throws SpawnDenied, a call that needs new memory std::bad_alloc, and a task whose
  // first frame does fails with that. Frames of the block itself do not count. The last call
  // stands.
  //
  // The bytes count for Options::limit_memory too, there until the scope ends. A scope with this
  // limit has an arena of its own, and its tasks are switched to more slowly (docs/13-guards.md has
  // numbers).
  void limit_memory(std::size_t bytes);

  // How many tasks of a report scope have failed so far.
  std::uint64_t failures() const noexcept { return failures_; }
  // Tasks that have not ended yet.
  std::size_t live() const noexcept { return live_; }
  // What limit_memory counts; 0 when it was not called. A result counts as long as a handle keeps
  // it.
  std::size_t live_bytes() const noexcept { return own_arena_ ? arena_->live_bytes() : 0; }
  bool cancelled() const noexcept { return reason_ != nullptr; }
  Scheduler& scheduler() const noexcept { return scheduler_; }
  // The task whose block this is, and which waits for the tasks in it; null for the root scope.
  const TaskRecord* owner() const noexcept { return region_ ? &region_->task() : nullptr; }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // ---- For those who build blocks out of it; see structure/blocks.hpp ----

  // Opens a scope on the running task.
  explicit Scope(ScopePolicy policy);
  ~Scope();

  // The block left with an exception. Cancels what is left.
  void block_threw(std::exception_ptr error) noexcept;
  // The block has a result that must not be lost: a cancel that comes while its tasks end does not
  // count any more.
  void keep_result() noexcept { has_result_ = true; }
  bool has_result() const noexcept { return has_result_; }
  // The wait for the tasks was cancelled. Cancels what is left.
  void join_cancelled() noexcept;
  // Throws what the scope has to throw, once nothing of it is left.
  void finish();
  // The task that decided a first_success scope; no task while none has.
  TaskId winner() const noexcept { return winner_; }
  void cancel_all(CancelReasonPtr reason) noexcept;

  // Parks until no task of the scope is left.
  class Join final : public SystemCall {
   public:
    static constexpr CallName call_name{"join_scope"};
    explicit Join(Scope& scope) noexcept : scope_(scope) {}
    Answer start(Scheduler& scheduler, TaskRecord& task);
    void withdraw(TaskRecord& task) noexcept override;
    void finish() noexcept {}
    std::string describe() const override;
    static constexpr WaitKind wait_kind() noexcept { return WaitKind::join; }
    void visit_waits(WaitVisitor& visitor) const override;
    bool needs_all() const noexcept override { return true; }

   private:
    friend class Scope;
    void joined() noexcept;

    Scope& scope_;
    TaskRecord* task_ = nullptr;
  };
  Join join() noexcept { return Join(*this); }

 private:
  friend class CancelRegion;
  friend struct DebugLayout;
  friend class detail::Limits;
  friend class detail::Loop;
  friend class detail::Teardown;
  friend class Scheduler;
  struct RootTag {};
  Scope(Scheduler& scheduler, RootTag) noexcept;

  void add(TaskRecord& task) noexcept;
  void child_ended(TaskRecord& task) noexcept;
  void all_ended() noexcept;
  void judge(TaskRecord& task) noexcept;
  void judge_contender(TaskRecord& task) noexcept;
  void keep(TaskRecord& task) noexcept;
  void throw_collected();
  [[noreturn]] void throw_all_failed();
  static void on_deadline(Scheduler& scheduler, Timer& timer) noexcept;

  struct DeadlineTimer : Timer {
    explicit DeadlineTimer(Scope& s) noexcept : Timer(&Scope::on_deadline), scope(s) {}
    Scope& scope;
    std::source_location site;
  };

  Scheduler& scheduler_;
  ScopePolicy policy_;
  bool cut_short_ = false;  // a cancel ended the block, or came from further out while it waited
  bool has_result_ = false;
  bool refusing_ = false;   // see Scheduler::refuse_new_tasks
  bool own_arena_ = false;  // and not that of the scheduler
  TaskRecord* first_ = nullptr;
  TaskRecord* last_ = nullptr;
  std::size_t live_ = 0;
  std::size_t look_from_ = SIZE_MAX;  // with so many tasks a spawn must look at the limits
  std::size_t most_tasks_ = SIZE_MAX;
  Arena* arena_;  // for what its tasks take
  Join* joiner_ = nullptr;
  std::optional<CancelRegion> region_;  // covers the block; the root scope has none
  std::exception_ptr error_;
  AsyncTracePtr trace_;  // of the error
  CancelReasonPtr reason_;
  DeadlineTimer deadline_{*this};
  // Ended tasks that the policy will have to speak of, linked as siblings and held.
  TaskRecord* kept_ = nullptr;
  TaskRecord* last_kept_ = nullptr;
  TaskId winner_;
  std::uint64_t failures_ = 0;
};

}  // namespace tiffany
