#include "tiffany/engine/spawn.hpp"

namespace tiffany {
namespace {

// For frames that are made while no scheduler runs on this thread, as in run(program()).
Arena& outside_arena() {
  struct Owner {
    Arena* arena = Arena::create();
    ~Owner() { arena->retire(); }
  };
  thread_local Owner owner;
  return *owner.arena;
}

}  // namespace

void* Frame::allocate_outside(std::size_t size) { return outside_arena().allocate(size); }

void Frame::note_fat(Scheduler& scheduler, std::size_t size) noexcept {
  if (const TaskRecord* const task = scheduler.running()) {
    scheduler.fat_frames().note(task->id(), size);
  }
}

// The debugger script (tools/gdb) reads frames by these offsets, behind the two pointers that begin
// every coroutine frame.
static_assert(offsetof(Frame, caller) == 0 && offsetof(Frame, site) == 8);
static_assert(sizeof(std::source_location) == sizeof(void*));

void Frame::visit(void* innermost, FrameVisitor& visitor) {
  for (void* frame = innermost; frame != nullptr; frame = at(frame).caller) {
    visitor.on_frame(at(frame).site);
  }
}

// The callers of the first frame still are what they were when the exception was thrown.
void Frame::left_by(const std::exception_ptr& error) const noexcept {
  Scheduler& scheduler = *Scheduler::current();
  AwaitStack* const stack = scheduler.exceptions().leaves(error, scheduler.running()->id());
  if (stack == nullptr) return;
  stack->on_frame(site);
  void* next = caller;
  for (std::size_t i = 1; next != nullptr && i < AwaitStack::kShown; ++i) {
    stack->on_frame(at(next).site);
    next = at(next).caller;
  }
}

void detail::PromiseBase::unhandled_exception() noexcept {
  std::exception_ptr& flying = Scheduler::current()->flying();
  flying = std::current_exception();
  left_by(flying);
}

void* CoroutineRecord::begin(Scheduler& scheduler) {
  try {
    cursor_ = call();
    Scheduler::Trampoline::next = cursor_;  // until the code says something else; see run_loop.cpp
  } catch (...) {
    scheduler.finish(*this, keep_error(std::current_exception()));
    return nullptr;
  }
  return cursor_;
}

void CoroutineRecord::ended(Scheduler& scheduler) noexcept {
  if (scheduler.flying() == nullptr) [[likely]] {
    try {
      keep_value(scheduler);
      return scheduler.finish(*this, TaskState::completed);
    } catch (...) {
      scheduler.flying() = std::current_exception();  // the value could not be moved
    }
  }
  scheduler.finish(*this, keep_error(std::exchange(scheduler.flying(), nullptr)));
}

TaskState CoroutineRecord::keep_error(std::exception_ptr error) noexcept {
  CoroutineRecord::drop_code();
  return store_error(std::move(error));
}

void CoroutineRecord::drop_code() noexcept {
  if (cursor_ != nullptr) {
    // The outermost frame owns those it has called.
    while (void* caller = Frame::at(cursor_).caller) cursor_ = caller;
    drop_frame();
  }
  drop_closure();
}

void CoroutineRecord::visit_frames(FrameVisitor& visitor) const { Frame::visit(cursor_, visitor); }

}  // namespace tiffany
