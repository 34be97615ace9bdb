// How a scheduler runs. Every setting has a default that is right for a first program.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/stack_pool.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/reactor.hpp"
#include "tiffany/core/ready_queue.hpp"

namespace tiffany {

namespace detail {
class Loop;
class Watch;
}  // namespace detail

// A line a task wrote with log(), or that the runtime wrote for it.
struct LogLine {
  Time time;
  TaskId task;
  std::string_view task_name;
  std::string_view message;
  // Set when the line reports a task that failed and whose error nobody looked at.
  std::exception_ptr unseen_error{};
};

// What the failure of a system task (priority 0, in the root scope) does.
enum class SystemFailure : std::uint8_t {
  report,   // as for every other task: it is logged, unless somebody looks at it
  end_run,  // every other task is cancelled and joined, and run() throws SystemTaskFailed; later
            // spawns are cancelled at once, as after shutdown()
};

// What a closed circle of waits does: tasks that each wait for the next, round and round, so that
// none goes on whatever else comes to pass.
enum class CirclePolicy : std::uint8_t {
  report,       // one line in the log, and nothing else
  cancel_last,  // the same, and the task whose wait has closed the circle is cancelled; one whose
                // wait a shield protects is passed over for the task that began to wait before it
  end_run,      // whoever drives the scheduler gets Deadlock, with the report; the tasks stay
};

class Options {
 public:
  Options() = default;
  Options(Options&&) = default;
  // `options = std::move(options).quantum(8)` assigns to itself, and loses nothing.
  Options& operator=(Options&& other) noexcept {
    if (this == &other) return *this;
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }

  // Time jumps from deadline to deadline and costs nothing; the run can be repeated exactly.
  Options&& virtual_time() && { return std::move(*this).clock(virtual_clock()); }
  Options&& clock(std::unique_ptr<Reactor> reactor) && {
    reactor_ = std::move(reactor);
    return std::move(*this);
  }
  // Default: by priority, first in first out within one.
  Options&& order(std::unique_ptr<ReadyPolicy> policy) && {
    policy_ = std::move(policy);
    return std::move(*this);
  }
  // How many system calls a task may make in a row that are answered at once, before it goes to the
  // back of the queue. 1 makes every call a switch.
  Options&& quantum(std::uint32_t steps) && {
    quantum_ = steps;
    return std::move(*this);
  }
  // The same for the tasks of one priority.
  Options&& quantum_of(std::uint8_t priority, std::uint32_t steps) && {
    quantum_of_.emplace_back(priority, steps);
    return std::move(*this);
  }
  // Against starvation: every so many slices, one goes to a task that is not among the most urgent,
  // taking the other priorities in turn. 0: never. Has no effect on an order of one's own.
  Options&& ageing(std::uint32_t slices) && {
    ageing_ = slices;
    return std::move(*this);
  }
  // Tasks do not take turns: a task that sleeps blocks the thread, and one that waits for an
  // operation does when no other task is ready. For BlockingIo (io/blocking_io.hpp). Replaces an
  // order.
  Options&& wait_inline() &&;
  // At most so many tasks at a time; a spawn beyond that throws SpawnDenied.
  Options&& limit_tasks(std::size_t most) && {
    most_tasks_ = most;
    return std::move(*this);
  }
  // At most so many bytes for the frames, arguments and results of tasks. A spawn beyond that
  // throws SpawnDenied, a call that needs new memory std::bad_alloc.
  Options&& limit_memory(std::size_t bytes) && {
    most_bytes_ = bytes;
    return std::move(*this);
  }
  // How many bytes of stack a fiber has (engine/fiber.hpp). It is address space: memory is what its
  // code touches. Error (Errc::bad_argument) when that is too little for any code.
  Options&& fiber_stack(std::size_t bytes) && {
    StackPool::require_size(bytes);
    fiber_stack_ = bytes;
    return std::move(*this);
  }
  // At most so many fibers at a time; a spawn beyond that throws SpawnDenied.
  Options&& limit_fibers(std::size_t most) && {
    most_fibers_ = most;
    return std::move(*this);
  }
  // Reports, to the log, every task that ran for longer than this before it gave way, with the
  // place where it then was. Reading the clock costs about as much as four switches. The time
  // decides nothing. `clock`: default is the monotonic clock of the system.
  Options&& watch(Duration limit, std::function<Duration()> clock = {}) && {
    watch_limit_ = limit;
    watch_clock_ = std::move(clock);
    return std::move(*this);
  }
  // Reports, to the log, every task that has made more system calls than this and did not wait for
  // anything meanwhile, with the place where it then was: one that asks again and again, and whose
  // slices are each short. It is reported once, and again when it has waited. Calls are counted and
  // not time, so the report comes at the same call in every run. It decides nothing.
  Options&& watch_steps(std::uint64_t most) && {
    watch_steps_ = most;
    return std::move(*this);
  }
  // How many tasks run between two looks at the clock and at what came from outside.
  Options&& turn(std::uint32_t tasks) && {
    turn_ = tasks;
    return std::move(*this);
  }
  // Seeds what the runtime draws itself (UUIDs). Unset: from the entropy of the World
  // (core/world.hpp); zero where that has none, as with a virtual clock.
  Options&& seed(std::uint64_t value) && {
    seed_ = value;
    return std::move(*this);
  }
  // Keeps the order in which tasks were picked, for recorded_order().
  Options&& record_picks(bool on = true) && {
    record_picks_ = on;
    return std::move(*this);
  }
  // Default: report. To restart a system task instead, let a system task supervise it
  // (structure/supervise.hpp).
  Options&& system_failure(SystemFailure policy) && {
    system_failure_ = policy;
    return std::move(*this);
  }
  // Closed circles of waits (a task joins one that joins it; a task waits for a mutex whose holder
  // joins it) are found also while timers, sockets and external promises are pending. What counts:
  // join, gather, all_settled, the end of a scope, spawn.after, the locks of Mutex and SharedMutex.
  // What does not: race, any, and whatever within() or the deadline of a scope around it will end.
  // Looked for when no task is ready, and every 64 turns of run() while some are; each circle is
  // reported once. Default: report.
  Options&& circles(CirclePolicy policy) && {
    circles_ = policy;
    return std::move(*this);
  }
  // Reports, to the log, when for so long no task has run, no timer was armed, and tasks were
  // waiting for something from outside; with the first ten of them. Once, and again when a task has
  // run in between. It decides nothing. Default: Duration::max(), never, because an idle server is
  // silent by right; for a program that is expected to go on all the time ten seconds are a good
  // limit. The time of a virtual clock passes only in run_until() and poll().
  Options&& quiet_limit(Duration limit) && {
    quiet_limit_ = limit;
    return std::move(*this);
  }
  // Where log() and reports go. Default: standard error.
  Options&& log_to(std::function<void(const LogLine&)> sink) && {
    log_ = std::move(sink);
    return std::move(*this);
  }

 private:
  friend class detail::Loop;
  friend class detail::Watch;

  // Enough that a loop over results that are all there is not slowed by the queue (a switch costs
  // about as much as eight such calls), small enough that its neighbours wait microseconds.
  static constexpr std::uint32_t kQuantum = 128;
  // A look at a real clock costs about as much as four tasks; spread over this many it vanishes.
  static constexpr std::uint32_t kTurn = 128;
  // Deep enough for libraries that were written for a thread, which has 8 MiB and uses little of
  // it.
  static constexpr std::size_t kFiberStack = std::size_t{256} << 10;

  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<ReadyPolicy> policy_;
  std::uint32_t quantum_ = kQuantum;
  std::uint32_t turn_ = kTurn;
  std::uint32_t ageing_ = 0;
  std::vector<std::pair<std::uint8_t, std::uint32_t>> quantum_of_;
  std::size_t most_tasks_ = SIZE_MAX;
  std::size_t most_bytes_ = SIZE_MAX;
  std::size_t most_fibers_ = SIZE_MAX;
  std::size_t fiber_stack_ = kFiberStack;
  std::optional<Duration> watch_limit_;
  std::function<Duration()> watch_clock_;
  std::optional<std::uint64_t> watch_steps_;
  std::optional<std::uint64_t> seed_;
  std::function<void(const LogLine&)> log_;
  bool record_picks_ = false;
  bool wait_inline_ = false;
  SystemFailure system_failure_ = SystemFailure::report;
  CirclePolicy circles_ = CirclePolicy::report;
  Duration quiet_limit_ = Duration::max();
};

}  // namespace tiffany
