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

// The debugger script (tools/gdb) reads frames by these offsets, behind the two pointers that begin
// every coroutine frame.
static_assert(offsetof(Frame, caller) == 0 && offsetof(Frame, site) == 8);
static_assert(sizeof(std::source_location) == sizeof(void*));

// The first frame that an exception leaves notes where all of them are: their callers still are what
// they were when it was thrown.
void detail::PromiseBase::unhandled_exception() noexcept {
  Scheduler& scheduler = *Scheduler::current();
  std::exception_ptr& flying = scheduler.flying;
  flying = std::current_exception();
  AwaitStack* const stack = scheduler.exception_leaves(flying);
  if (stack == nullptr) return;
  stack->on_frame(site);
  void* next = caller;
  for (std::size_t i = 1; next != nullptr && i < AwaitStack::kShown; ++i) {
    stack->on_frame(Frame::at(next).site);
    next = Frame::at(next).caller;
  }
}

void* CoroutineRecord::begin(Scheduler& scheduler) {
  try {
    cursor_ = call();
  } catch (...) {
    scheduler.finish(*this, keep_error(std::current_exception()));
    return nullptr;
  }
  return cursor_;
}

void CoroutineRecord::ended(Scheduler& scheduler) noexcept {
  if (scheduler.flying == nullptr) [[likely]] {
    try {
      keep_value(scheduler);
      return scheduler.finish(*this, State::completed);
    } catch (...) {
      scheduler.flying = std::current_exception();  // the value could not be moved
    }
  }
  scheduler.finish(*this, keep_error(std::exchange(scheduler.flying, nullptr)));
}

State CoroutineRecord::keep_error(std::exception_ptr error) noexcept {
  CoroutineRecord::drop_code();
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    // Its own cancellation. One that strayed here from elsewhere is an error like any other.
    if (cancel_reason() != nullptr) return State::cancelled;
  } catch (...) {
  }
  new (storage_) std::exception_ptr(std::move(error));
  return State::failed;
}

void CoroutineRecord::drop_code() noexcept {
  if (cursor_ != nullptr) {
    // The outermost frame owns those it has called.
    while (void* caller = Frame::at(cursor_).caller) cursor_ = caller;
    drop_frame();
  }
  drop_closure();
}

void CoroutineRecord::visit_frames(FrameVisitor& visitor) const {
  for (void* frame = cursor_; frame != nullptr; frame = Frame::at(frame).caller) {
    visitor.on_frame(Frame::at(frame).site);
  }
}

}  // namespace tiffany
