// Supervision: children that are started again when they fail, within limits.
//
//   co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(3, 10s)
//                          .backoff(100ms, 5s),
//                      [&](Supervisor& s) {
//                        s.permanent("db", serve_database, 5432);
//                        s.transient("import", import_file, "a.csv");
//                        s.temporary("warm-up", warm_up);
//                      });
//
// A supervisor runs as part of the task that awaits it, so supervisors nest: a child that calls
// supervise() and gives up is a child that failed. The vocabulary and the rules are those of
// Erlang/OTP where it has them; docs/10-supervision.md says where we differ.
//
// The callable and the arguments of a child are kept, and copied for every start. What a child
// spawns belongs to it, and has ended when it has: the child's code runs in a scope of its own.
//
// It returns when no child is left to run: none is permanent, and all have ended for good. It
// throws SupervisionFailed when children had to be restarted too often; all have ended by then.
//
// Cancel. Before start: no child begins. While parked: the children are cancelled and joined, the
// last one first and one after the other, none is restarted, then Cancelled goes on. After
// completion: the children have ended, and the next suspension throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/name_at.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {

// Who is stopped and started again when a child has to be. Stopped are the last first, started the
// first first.
enum class RestartStrategy : std::uint8_t {
  one_for_one,   // that child
  one_for_all,   // all children
  rest_for_one,  // that child, and those that were added after it
};

// When a child that has ended is started again.
enum class Restart : std::uint8_t {
  permanent,  // always
  transient,  // when it failed; not when it returned or was cancelled
  temporary,  // never
};

// How a supervisor behaves.
class Supervision {
 public:
  explicit Supervision(RestartStrategy strategy) noexcept : strategy_(strategy) {}

  // At most `restarts` in any stretch of time of this length, both ends included; one more, and the
  // supervisor gives up. Default: 1 in 5 seconds. A restart of several children counts once.
  Supervision& intensity(std::uint32_t restarts, Duration period) noexcept {
    restarts_ = restarts;
    period_ = period;
    return *this;
  }
  // A restart waits this long; that of a child which keeps failing waits twice as long each time,
  // up to `longest`. Once a child has stayed up for the period of the intensity, it begins anew.
  // Default: no wait.
  Supervision& backoff(Duration first, Duration longest) noexcept {
    first_wait_ = first;
    longest_wait_ = longest;
    return *this;
  }
  // The priority of the children. Default: 10, as for every task; 0 is for system tasks.
  Supervision& priority(std::uint8_t priority) noexcept {
    priority_ = priority;
    return *this;
  }

 private:
  friend class SupervisorLoop;

  Duration period_ = std::chrono::seconds(5);
  Duration first_wait_ = Duration::zero();
  Duration longest_wait_ = Duration::zero();
  std::uint32_t restarts_ = 1;
  RestartStrategy strategy_;
  std::uint8_t priority_ = kDefaultPriority;
};

// One unplanned end of a child.
struct ChildFailure {
  ChildFailure(std::string who, Time at, std::uint64_t nth, std::exception_ptr what)
      : child(std::move(who)), when(at), times(nth), error(std::move(what)) {}

  std::string child;
  Time when;
  std::uint64_t times;       // how often this child has ended in such a way, this time included
  std::exception_ptr error;  // null when it returned, though it is permanent
};

// What supervise() throws when it gives up. what() lists the failures as well.
class SupervisionFailed : public Error {
 public:
  SupervisionFailed(const std::string& why, std::vector<ChildFailure> history);
  // The last hundred failures (and as many as the intensity counts, if those are more), oldest
  // first.
  const std::vector<ChildFailure>& history() const noexcept { return history_; }

 private:
  std::vector<ChildFailure> history_;
};

namespace detail {

// The code of a child: makes a task of it, again and again.
class ChildCode {
 public:
  virtual ~ChildCode() = default;
  virtual Task<void> run() = 0;

 protected:
  ChildCode() noexcept = default;
};

template <class Closure>
class ChildCodeOf final : public ChildCode {
 public:
  explicit ChildCodeOf(Closure&& closure) : closure_(std::move(closure)) {}
  // The copy is made inside the child's task: if that fails, the child has failed.
  Task<void> run() override {
    Closure fresh(closure_);
    static_cast<void>(co_await fresh());
  }

 private:
  const Closure closure_;
};

}  // namespace detail

// What the function given to supervise() fills. The order in which children are added is the one in
// which they are started.
class Supervisor {
 public:
  Supervisor() noexcept = default;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Adds a child: a callable and its arguments, as for spawn. What it returns is not kept.
  template <class F, class... Args>
  void permanent(const NameAt& name, F&& f, Args&&... args) {
    add(Restart::permanent, name, std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  void transient(const NameAt& name, F&& f, Args&&... args) {
    add(Restart::transient, name, std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  void temporary(const NameAt& name, F&& f, Args&&... args) {
    add(Restart::temporary, name, std::forward<F>(f), std::forward<Args>(args)...);
  }

 private:
  friend class SupervisorLoop;

  struct Spec {
    Spec(Restart when, const NameAt& called, std::unique_ptr<detail::ChildCode> what)
        : restart(when), name(called), code(std::move(what)) {}
    Restart restart;
    NameAt name;
    std::unique_ptr<detail::ChildCode> code;
  };

  template <class F, class... Args>
  void add(Restart restart, const NameAt& name, F&& f, Args&&... args) {
    using Spawned = detail::Spawnable<std::decay_t<F>, std::decay_t<Args>...>;
    if constexpr (Spawned::check()) {
      auto closure = Spawned::closure(std::forward<F>(f), std::forward<Args>(args)...);
      using Closure = decltype(closure);
      static_assert(std::is_copy_constructible_v<Closure>,
                    "a child is started again and again, each time with a copy of its callable and "
                    "arguments: share what cannot be copied, by std::shared_ptr or std::ref");
      specs_.emplace_back(restart, name,
                          std::make_unique<detail::ChildCodeOf<Closure>>(std::move(closure)));
    }
  }

  std::vector<Spec> specs_;
};

namespace detail {
Task<void> run_supervisor(const Supervision& how, Supervisor& children, std::source_location site);
}  // namespace detail

// co_await supervise(how, fill): see the top of this file. `fill` is called at once, to add the
// children.
template <class Fill>
[[nodiscard("supervise() starts nothing until awaited: co_await supervise(...)")]] Task<void>
supervise(const Supervision& how, Fill&& fill,
          std::source_location site = std::source_location::current()) {
  static_assert(!detail::owns_captures<Fill>(),
                "the function that adds the children captures by reference: write [&] (GCC 12 "
                "destroys owning captures twice in an awaited expression)");
  Supervisor children;
  fill(children);
  return detail::run_supervisor(how, children, site);
}

}  // namespace tiffany
