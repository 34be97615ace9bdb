// System tasks that a program starts when it begins: small works that go on beside all others, at
// priority 0, under one supervisor. For what a daemon does at intervals: hurry the log, write
// metrics, sweep, look for tasks in trouble.
//
//   observe::SystemTasks tasks;
//   tasks.every("sweeper", 1min, [&host]() -> Task<void> { co_await host.compact(); });
//   tasks.every("lints", 1s, [&]() -> Task<void> { linter.tell(linter.scan(), pal); co_return; });
//   tasks.always("stages", [&] { return observe::tell_stages(&recorder, &pal, 20ms); });
//   const Handle<void> system = tasks.start(scheduler);
//
// A work that fails is said in the log (target tiffany::system) and begun again: after 100 ms, and
// then after twice as long each time, up to 30 s; once it has gone well for a minute, after 100 ms
// again. It is never given up. The others are not disturbed.
//
// The tasks are daemons: a run does not wait for them, and cancels them when nothing else is left.
// To end them before, cancel the handle.
//
// Lifetime: what the works refer to outlives the run. Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::observe {

class SystemTasks {
 public:
  using Work = std::function<Task<void>()>;

  SystemTasks();

  // Does `work` at intervals; the first time when one has passed. A work that takes longer than the
  // interval is begun again one interval after its end. Throws Errc::bad_argument for an interval
  // that is not positive, and when the tasks have been started.
  void every(std::string name, Duration interval, Work work);
  // Does `work`, which is expected not to end: when it returns, it is begun again.
  void always(std::string name, Work work);

  // Starts all of them, once. The handle is that of their supervisor.
  Handle<void> start(Scheduler& scheduler);
  // The same inside of a scope, which ends them: no daemons, so cancel the scope at the end.
  Handle<void> start(Scope& scope);

  // How often a work has thrown.
  std::uint64_t failures() const noexcept;

 private:
  struct Shared;
  void add(std::string name, Duration interval, Work work);
  void begin();
  std::shared_ptr<Shared> shared_;
};

}  // namespace tiffany::observe
