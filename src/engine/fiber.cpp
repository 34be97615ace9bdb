#include "tiffany/engine/fiber.hpp"

#include <bit>
#include <exception>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {

namespace detail {
namespace {

[[noreturn]] void throw_no_fiber() {
  const Scheduler* const scheduler = Scheduler::current();
  const TaskRecord* const task = scheduler != nullptr ? scheduler->running() : nullptr;
  throw Error(
      Errc::no_fiber,
      "await() was called " +
          (task != nullptr ? "in " + task->describe() + ", by code that does not run in a fiber"
                           : std::string("outside of every task")) +
          ". In a coroutine write co_await; start plain functions that wait with "
          "spawn_fiber().");
}

Fiber& require_fiber() {
  Fiber* const fiber = Fiber::running();
  if (fiber == nullptr) throw_no_fiber();
  if (fiber->dropped()) fiber->drop_here();
  return *fiber;
}

}  // namespace

FiberWait::FiberWait(PromiseBase::Site at) : fiber_(require_fiber()) {
  fiber_.frame().site = std::bit_cast<std::source_location>(at);
  if (Fiber::unwinding()) [[unlikely]]
    held_back_.emplace(CancelRegion::Kind::closing);
}

void yield_with_care(PromiseBase::Site site) {
  FiberWait wait(site);
  AwaitYield awaiter;
  wait.run(awaiter);
}

void fiber_interrupted() {
  Fiber& fiber = *Fiber::running();
  if (fiber.dropped()) fiber.drop_here();
  Scheduler::resumed();
}

}  // namespace detail

namespace fiber {

void sleep(Duration delay, Site at) { await(tiffany::sleep(delay), at); }
void sleep_until(Time deadline, Site at) { await(tiffany::sleep_until(deadline), at); }
void checkpoint(Site at) { await(tiffany::checkpoint(), at); }

}  // namespace fiber

void* FiberRecord::begin(Scheduler& scheduler) {
  try {
    cursor_ =
        &detail::Fiber::make(detail::FiberStacks::of(scheduler).take(), &FiberRecord::run, this);
  } catch (...) {
    detail::FiberStacks::of(scheduler).take_promise_back();
    drop_closure();
    scheduler.finish(*this, store_error(std::current_exception()));
    return nullptr;
  }
  return cursor_;
}

void FiberRecord::run(detail::Fiber& fiber) noexcept {
  auto& task = static_cast<FiberRecord&>(*fiber.owner());
  std::exception_ptr error;
  try {
    task.call(*Scheduler::owner(task));
    fiber.set_end(TaskState::completed);
    return;
  } catch (const detail::FiberDropped&) {
  } catch (...) {
    if (!fiber.dropped()) {
      error = std::current_exception();
      fiber.frame().left_by(error);
    } else {
      Scheduler::owner(task)->reports().lost(task, "threw while its scheduler was being destroyed",
                                             std::current_exception());
    }
  }
  task.drop_closure();
  if (error != nullptr) fiber.set_end(task.store_error(std::move(error)));
}

// The outermost frame, and no longer the task's.
detail::Fiber& FiberRecord::take_fiber() noexcept {
  while (void* caller = Frame::at(cursor_).caller) cursor_ = caller;
  return *static_cast<detail::Fiber*>(std::exchange(cursor_, nullptr));
}

void FiberRecord::ended(Scheduler& scheduler) noexcept {
  detail::Fiber& fiber = take_fiber();
  const TaskState end = fiber.end();
  detail::FiberStacks::of(scheduler).take_promise_back();
  detail::FiberStacks::of(scheduler).give_back(fiber.stack());
  scheduler.finish(*this, end);
}

void FiberRecord::drop_code() noexcept {
  Scheduler& scheduler = *Scheduler::owner(*this);
  detail::FiberStacks::of(scheduler).take_promise_back();
  if (cursor_ == nullptr) return drop_closure();
  detail::Fiber& fiber = take_fiber();
  bool over = false;
  scheduler.run_as(*this, [&] {
    over = fiber.unwind();
    if (!over || fiber.end() == TaskState::completed) report_not_unwound(scheduler);
  });
  if (over) detail::FiberStacks::of(scheduler).give_back(fiber.stack());
}

void FiberRecord::report_not_unwound(Scheduler& scheduler) noexcept {
  scheduler.log(describe() + ", a fiber spawned at " + site_text(spawn_site()) +
                ", was dropped with its scheduler and did not unwind: it throws away the exception "
                "that should unwind it, or waits in a destructor. What it holds may be lost. Let "
                "exceptions pass that are neither errors nor Cancelled (catch (...) { throw; }).");
}

void FiberRecord::visit_frames(FrameVisitor& visitor) const { Frame::visit(cursor_, visitor); }

}  // namespace tiffany
