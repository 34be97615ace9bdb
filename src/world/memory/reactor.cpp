// Operations in memory: tried when they are submitted, and again when something has changed that
// they wait for.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>

#include "tiffany/core/scheduler.hpp"
#include "world/memory/files.hpp"
#include "world/memory/state.hpp"

namespace tiffany::world::memory {
namespace {

// As many completions as a turn of the scheduler takes from other threads.
constexpr std::size_t kMostInATurn = 1024;

bool is_work(const Operation& op) noexcept { return op.kind == Kind::work; }

}  // namespace

MemoryReactor::MemoryReactor(State& state) : state_(state), clock_(virtual_clock()) {
  ++state_.reactors;
}
MemoryReactor::~MemoryReactor() { --state_.reactors; }

void MemoryReactor::advance_to(Time time) { state_.now = std::max(state_.now, time); }

void MemoryReactor::wait(std::optional<Time> until, Wakeup& wakeup) {
  if (finished_.empty()) clock_->wait(until, wakeup);
}

int MemoryReactor::perform(Operation& op) {
  switch (op.kind) {
    case Kind::open:
      return state_.files->open_path(op.path(), op.flags, static_cast<mode_t>(op.size));
    case Kind::rename:
      return state_.files->rename_path(op.path(), static_cast<const char*>(op.other), true);
    case Kind::unlink:
      return state_.files->unlink_path(op.path(), (op.flags & AT_REMOVEDIR) != 0);
    default:
      break;
  }
  const ObjectPtr object = state_.find(op.fd);
  if (object == nullptr) return -EBADF;
  if (op.kind == Kind::poll) {
    const int ready = object->ready() & (op.flags | POLLERR | POLLHUP);
    return ready != 0 ? ready : -EAGAIN;
  }
  // Nobody overtakes those who wait already.
  return object->queue(op).empty() ? object->attempt(op) : -EAGAIN;
}

bool MemoryReactor::submit(Scheduler&, Operation& op) {
  op.asked_for = false;
  op.pooled = is_work(op);
  if (op.pooled) {  // in the next collect(): a cancel before that finds a function not called
    op.state = Operation::State::in_flight;
    finished_.push_back(&op);
    ++in_flight_;
    return false;
  }
  const int result = perform(op);
  if (result == -EAGAIN) {
    op.state = Operation::State::in_flight;
    state_.find(op.fd)->queue(op).push_back({&op, this});
    ++in_flight_;
  } else if (state_.coin()) {
    ++in_flight_;
    over(op, result);
  } else {
    op.result = result;
  }
  state_.settle();
  return result != -EAGAIN && op.state == Operation::State::idle;
}

bool MemoryReactor::leave_queue(Operation& op) noexcept {
  const ObjectPtr object = state_.find(op.fd);
  if (object == nullptr) return false;
  return std::erase_if(object->queue(op), [&](const auto& each) { return each.op == &op; }) > 0;
}

bool MemoryReactor::take_back(Operation& op) noexcept {
  if (op.state != Operation::State::in_flight || op.asked_for) return false;
  op.asked_for = true;
  if (op.pooled) {
    std::erase(finished_, &op);
  } else {
    leave_queue(op);
    if (op.writes() && op.progress > 0) {  // what has gone is a result
      over(op, static_cast<int>(op.progress));
      return false;
    }
  }
  op.state = Operation::State::idle;
  --in_flight_;
  return true;
}

void MemoryReactor::drop(Operation& op) noexcept {
  if (op.state == Operation::State::over || op.pooled) {
    std::erase(finished_, &op);
    // Nobody will ever know the number.
    if ((op.kind == Kind::accept || op.kind == Kind::open) && op.result >= 0) {
      state_.close(op.result);
    }
  } else {
    leave_queue(op);
  }
  op.state = Operation::State::idle;
  --in_flight_;
}

bool MemoryReactor::await_taken_back(Scheduler& scheduler) noexcept {
  const auto taken_back = [](const Operation* op) { return op->asked_for; };
  while (scheduler.ready_len() == 0 &&
         std::any_of(finished_.begin(), finished_.end(), taken_back)) {
    collect(scheduler, false);
  }
  return scheduler.ready_len() > 0;
}

void MemoryReactor::over(Operation& op, int result) noexcept {
  op.result = result;
  op.state = Operation::State::over;
  finished_.push_back(&op);
}

// Any of those that are over, but of one descriptor the first.
std::size_t MemoryReactor::pick() noexcept {
  const std::size_t drawn = finished_.size() > 1 ? state_.draw(finished_.size()) : 0;
  const Operation& op = *finished_[drawn];
  if (op.pooled || op.fd < 0) return drawn;
  const auto first = std::find_if(finished_.begin(), finished_.end(),
                                  [&](const Operation* each) { return each->fd == op.fd; });
  return static_cast<std::size_t>(first - finished_.begin());
}

// Only what was over before the call: work may submit, and a turn has an end.
void MemoryReactor::collect(Scheduler& scheduler, bool) noexcept {
  for (std::size_t left = std::min(finished_.size(), kMostInATurn); left > 0; --left) {
    if (finished_.empty()) return;  // work has closed what others waited for
    const std::size_t at = pick();
    Operation& op = *finished_[at];
    finished_.erase(finished_.begin() + static_cast<std::ptrdiff_t>(at));
    if (is_work(op)) {
      // Kept alive as a thread would: nobody else may have it when it is over.
      const auto work = static_cast<BlockingWork*>(op.memory)->shared_from_this();
      op.result = work->run();
    }
    op.state = Operation::State::idle;
    --in_flight_;
    op.done(scheduler, op);
  }
}

}  // namespace tiffany::world::memory
