// The poll engine: tasks written as state machines, beside coroutines and behind the same handles.
//
//   class Countdown : public AgentTask<std::string> {
//     Poll<std::string> poll(PollContext& ctx) override {
//       if (left_-- == 0) return Poll<std::string>::ready("lift-off");
//       ctx.wake_after(1s);
//       return Poll<std::string>::pending();
//     }
//     int left_ = 3;
//   };
//   auto h = spawn_agent(std::make_unique<Countdown>());
//
// poll() is called when the task is new and after each wake. It must not block. What it throws
// fails the task. It can be joined, cancelled, gathered and raced like any other.
//
// Cancel. Before start: poll is never called. While parked: the wake-ups are withdrawn and
// on_cancel is called instead of poll; the task is then over. After a wake: poll is called once
// more, since what it waited for has arrived, and may finish; the next pending or again ends it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/spawner.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/core/waitable_handle.hpp"
#include "tiffany/engine/spawn.hpp"

namespace tiffany {

// What a poll-style task waits for: any of several waitables, or a point in time.
class PollWait final : public SystemCall, private Timer {
 public:
  static constexpr CallName call_name{"poll"};
  PollWait() noexcept : Timer(&PollWait::on_time) {}

  void clear() noexcept;
  void add(Waitable& target);
  void add(Time deadline) noexcept;

  Answer start(Scheduler& scheduler, TaskRecord& task);
  void withdraw(TaskRecord& task) noexcept override;
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override;
  void finish() noexcept {}
  std::string describe() const override;
  void visit_waits(WaitVisitor& visitor) const override;

 private:
  static void on_time(Scheduler& scheduler, Timer& timer) noexcept;
  void stop_waiting() noexcept;

  struct Entry {
    Waiter waiter;
    Ref<Waitable> target;
  };
  std::vector<Entry> entries_;
  std::optional<Time> deadline_;
  TaskRecord* task_ = nullptr;
};

// Passed to poll(): how to be called again.
class PollContext {
 public:
  PollContext(Scheduler& scheduler, TaskRecord& task, PollWait& wait) noexcept
      : scheduler_(scheduler), task_(task), wait_(wait) {}

  Time now() const noexcept { return scheduler_.now(); }
  TaskId id() const noexcept { return task_.id(); }

  // Several may be asked for; the first that happens wakes the task, and ends them all.
  template <WaitableHandle H>
  void wake_on(const H& handle) {
    wait_.add(handle.waitable());
  }
  void wake_at(Time deadline) noexcept { wait_.add(deadline); }
  void wake_after(Duration delay) noexcept { wait_.add(scheduler_.deadline_in(delay)); }

 private:
  Scheduler& scheduler_;
  TaskRecord& task_;
  PollWait& wait_;
};

template <class T>
class Poll {
 public:
  // Done, with this result.
  static Poll ready(ValueOf<T> value) {
    Poll poll(Kind::ready);
    poll.value_.emplace(std::move(value));
    return poll;
  }
  static Poll ready()
    requires std::is_void_v<T>
  {
    return ready(Unit());
  }
  // Call again when one of the wake-ups asked of the context has come; there must be one.
  static Poll pending() noexcept { return Poll(Kind::pending); }
  // Call again after the others had their turn.
  static Poll again() noexcept { return Poll(Kind::again); }

 private:
  template <class U>
  friend class PollRecord;
  enum class Kind : std::uint8_t { ready, pending, again };
  explicit Poll(Kind kind) noexcept : kind_(kind) {}

  std::optional<ValueOf<T>> value_;
  Kind kind_;
};

template <class T>
class AgentTask {
 public:
  using value_type = T;
  virtual ~AgentTask() = default;
  virtual Poll<T> poll(PollContext& context) = 0;
  virtual void on_cancel(const CancelReason& reason) noexcept { static_cast<void>(reason); }
};

class PollRecordBase : public TaskRecord {
 public:
  void visit_frames(FrameVisitor& visitor) const final;

 protected:
  PollRecordBase() noexcept = default;
  ~PollRecordBase() = default;
};

template <class T>
class PollRecord final : public PollRecordBase {
 public:
  PollRecord(Scheduler&, Arena&, std::unique_ptr<AgentTask<T>> agent) {
    new (storage_) Machine(std::move(agent));
  }

  void* begin(Scheduler& scheduler) override {
    try {
      while (poll_once(scheduler)) {
      }
    } catch (const Cancelled& cancelled) {
      // Its own, or one that strayed here from elsewhere and is an error like any other.
      if (cancel_reason() == nullptr) {
        fail(scheduler, std::current_exception());
      } else {
        machine().agent->on_cancel(cancelled.reason());
        drop_code();
        scheduler.finish(*this, TaskState::cancelled);
      }
    } catch (...) {
      fail(scheduler, std::current_exception());
    }
    return nullptr;
  }
  void drop_code() noexcept override { machine().~Machine(); }
  void drop_value() noexcept override { this->template unstore<ValueOf<T>>(); }

 private:
  struct Machine {
    explicit Machine(std::unique_ptr<AgentTask<T>> a)
        : agent(std::move(a)), wait(std::make_unique<PollWait>()) {}
    std::unique_ptr<AgentTask<T>> agent;
    std::unique_ptr<PollWait> wait;
  };
  static_assert(TaskRecord::fits_inline<Machine>);
  Machine& machine() noexcept { return *this->template stored<Machine>(); }

  void fail(Scheduler& scheduler, std::exception_ptr error) noexcept {
    drop_code();
    new (storage_) std::exception_ptr(std::move(error));
    scheduler.finish(*this, TaskState::failed);
  }
  // True when it is to be polled again at once.
  bool poll_once(Scheduler& scheduler) {
    Scheduler::resumed();
    PollWait& wait = *machine().wait;
    wait.clear();
    PollContext context(scheduler, *this, wait);
    Poll<T> result = machine().agent->poll(context);
    if (result.kind_ == Poll<T>::Kind::pending) return scheduler.enter(wait);
    if (result.kind_ == Poll<T>::Kind::again) return scheduler.enter_yield();
    using Value = ValueOf<T>;
    if constexpr (TaskRecord::fits_inline<Value>) {
      drop_code();
      new (storage_) Value(std::move(*result.value_));
    } else {
      Value* kept = TaskRecord::make_apart<Value>(scheduler.arena(), std::move(*result.value_));
      drop_code();
      new (storage_) Value*(kept);
    }
    this->template holds_value<Value>();
    scheduler.finish(*this, TaskState::completed);
    return false;
  }
};

struct AgentEngine {
  static constexpr std::string_view spawn_name = "spawn_agent()";

  template <class F, class... Args>
  struct Spawnable {
    template <class Engine>
    static constexpr bool check() {
      static_assert(detail::always_false<F>,
                    "spawn_agent takes the agent and nothing else: write "
                    "spawn_agent(std::make_unique<A>(...)); what it needs it has as members");
      return false;
    }
  };
  template <class A>
  struct Spawnable<std::unique_ptr<A>> {
    template <class Engine>
    static constexpr bool check() {
      static_assert(std::is_base_of_v<AgentTask<typename A::value_type>, A>,
                    "spawn_agent takes a std::unique_ptr to an AgentTask");
      return true;
    }
    static std::unique_ptr<A> closure(std::unique_ptr<A> agent) noexcept { return agent; }
  };
  template <class Closure>
  using Result = typename Closure::element_type::value_type;
  template <class Closure>
  using Record = PollRecord<Result<Closure>>;
  static void allow(Scheduler&) noexcept {}
};

namespace detail {

class SpawnAgent : public AgentSpawner {
 public:
  constexpr explicit SpawnAgent(Scope* scope = nullptr) noexcept : AgentSpawner(scope) {}
  using AgentSpawner::operator();
  // As scope.spawn_agent(agent).
  template <class A>
  auto operator()(Scope& scope, std::unique_ptr<A> agent, Site site = Site::current()) const {
    return SpawnAgent(&scope).start(site, std::move(agent));
  }
};

}  // namespace detail

// Into the nearest scope around the running task, or the given one: `s.spawn_agent(agent)`,
// `spawn_agent(s, agent)`. Has what spawn has to be said before: with_priority, with, after, ...
inline constexpr detail::SpawnAgent spawn_agent{};

}  // namespace tiffany
