#include "tiffany/observe/system_tasks.hpp"

#include <exception>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/name_at.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/structure/supervise.hpp"

namespace tiffany::observe {

using namespace std::chrono_literals;

struct SystemTasks::Shared {
  struct One {
    std::string name;
    Duration interval;  // zero: none
    Work work;
  };
  std::vector<One> all{};
  bool started = false;
  std::uint64_t failures = 0;

  static Task<void> run(std::shared_ptr<Shared> self, std::size_t which);
  static Task<void> supervise_all(std::shared_ptr<Shared> self);
  void failed(const One& one, const std::exception& error);
};

namespace {

// So many restarts in so long a time are not reached with these pauses: nothing is given up.
constexpr std::uint32_t kRestarts = 1000;
constexpr Duration kWellAgain = 1min;
constexpr Duration kFirstBackoff = 100ms;
constexpr Duration kLongestBackoff = 30s;

}  // namespace

SystemTasks::SystemTasks() : shared_(std::make_shared<Shared>()) {}

void SystemTasks::every(std::string name, Duration interval, Work work) {
  if (interval <= Duration::zero()) {
    throw Error(Errc::bad_argument,
                "The interval of system task \"" + name + "\" must be longer than nothing.");
  }
  add(std::move(name), interval, std::move(work));
}

void SystemTasks::always(std::string name, Work work) {
  add(std::move(name), Duration::zero(), std::move(work));
}

void SystemTasks::add(std::string name, Duration interval, Work work) {
  if (shared_->started) {
    throw Error(Errc::bad_argument, "System task \"" + name +
                                        "\" was added after the others were started. Add it "
                                        "before, or make another SystemTasks.");
  }
  shared_->all.push_back(Shared::One{std::move(name), interval, std::move(work)});
}

void SystemTasks::Shared::failed(const One& one, const std::exception& error) {
  ++failures;
  static const log::Logger logger("tiffany::system");
  logger.error("A system task has failed and is begun again.",
               {{"system_task", one.name}, {"error", error.what()}});
}

Task<void> SystemTasks::Shared::run(std::shared_ptr<Shared> self, std::size_t which) {
  const One& one = self->all[which];
  try {
    do {
      if (one.interval > Duration::zero()) co_await sleep(one.interval);
      Task<void> work = one.work();
      co_await std::move(work);
    } while (one.interval > Duration::zero());
  } catch (const std::exception& error) {
    self->failed(one, error);
    throw;
  }
}

Task<void> SystemTasks::Shared::supervise_all(std::shared_ptr<Shared> self) {
  const auto fill = [&](Supervisor& supervisor) {
    for (std::size_t i = 0; i < self->all.size(); ++i) {
      supervisor.permanent(NameAt(self->all[i].name), &Shared::run, self, i);
    }
  };
  const Supervision how = Supervision(RestartStrategy::one_for_one)
                              .intensity(kRestarts, kWellAgain)
                              .backoff(kFirstBackoff, kLongestBackoff)
                              .priority(kSystemPriority);
  co_await supervise(how, fill);
}

void SystemTasks::begin() {
  if (shared_->started) {
    throw Error(Errc::bad_argument, "System tasks were started twice.");
  }
  shared_->started = true;
}

Handle<void> SystemTasks::start(Scope& scope) {
  begin();
  return scope.spawn.with_priority(kSystemPriority)(&Shared::supervise_all, shared_)
      .named("system");
}

Handle<void> SystemTasks::start(Scheduler& scheduler) {
  begin();
  Handle<void> handle = scheduler.spawn.system()(&Shared::supervise_all, shared_).named("system");
  handle.daemon();
  return handle;
}

std::uint64_t SystemTasks::failures() const noexcept { return shared_->failures; }

}  // namespace tiffany::observe
