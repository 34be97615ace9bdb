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

void* Frame::operator new(std::size_t size) {
  Scheduler* scheduler = Scheduler::current();
  return (scheduler != nullptr ? scheduler->arena() : outside_arena()).allocate(size);
}

// Only the first time: from then on the scheduler resumes the frame at the cursor itself.
void CoroutineRecord::run(Scheduler& scheduler) {
  void* frame;
  try {
    frame = begin();
  } catch (...) {
    scheduler.finish(*this, keep_error(std::current_exception()));
    return;
  }
  Frame::at(frame).scheduler = &scheduler;
  cursor_ = frame;
  scheduler.run_coroutine(*this, frame);
}

// The cursor is the outermost frame: it was the last to run.
void CoroutineRecord::ended(Scheduler& scheduler) noexcept {
  std::exception_ptr error = std::exchange(scheduler.trampoline.flying, nullptr);
  State state = State::completed;
  if (error == nullptr) {
    try {
      keep_value(scheduler);
    } catch (...) {
      error = std::current_exception();  // the value could not be moved
    }
  }
  if (error != nullptr) state = keep_error(std::move(error));
  scheduler.finish(*this, state);
}

State CoroutineRecord::keep_error(std::exception_ptr error) noexcept {
  drop_code();
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

void* CoroutineRecord::outermost() const noexcept {
  void* frame = cursor_;
  while (frame != nullptr && Frame::at(frame).caller != nullptr) frame = Frame::at(frame).caller;
  return frame;
}

void CoroutineRecord::visit_frames(FrameVisitor& visitor) const {
  for (void* frame = cursor_; frame != nullptr; frame = Frame::at(frame).caller) {
    visitor.on_frame(Frame::at(frame).site);
  }
}

}  // namespace tiffany
