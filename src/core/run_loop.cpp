// The middle of the scheduler's loop: which task has the next slice, and what a switch does.
#include <algorithm>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "tiffany/base/assert.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::detail {
namespace {

// How many tasks ahead the frames are fetched, where there are many.
constexpr std::size_t kAhead = 8;

}  // namespace

std::size_t Loop::run_turn(std::size_t limit) {
  struct NobodyRuns {
    Loop& loop;
    ~NobodyRuns() {
      if (loop.pulse_ != nullptr) [[unlikely]]
        loop.pulse_->beat();
      loop.running_ = nullptr;
      loop.flight_.forget();
    }
  };
  const NobodyRuns at_the_end{*this};  // also when a policy throws
  if (pulse_ != nullptr) [[unlikely]]
    pulse_->beat();
  const std::uint64_t start = slices();
  turn_end_ = start + limit;
  if (ready_.policy() == nullptr) [[likely]] {
    run_rings();
  } else {
    run_policy();
  }
  check_counts();
  return static_cast<std::size_t>(slices() - start);
}

// Every task that has not ended is in the queue or parked, and the queue has nothing else but the
// places of tasks that were cancelled before they began.
void Loop::check_counts() const noexcept {
#ifndef NDEBUG
  // As many slots as can be looked at after every turn.
  constexpr std::size_t kLookedAt = 256;
  if (tasks_.slots() > kLookedAt || inline_order_ != nullptr) return;
  std::size_t live = 0;
  std::size_t queued = 0;
  std::uint64_t waiting[kWaitKinds] = {};
  std::size_t held = 0;
  tasks_.for_each([&](const TaskRecord& task) {
    if (task.settled()) return;
    ++live;
    const bool parked = task.state_ == TaskState::blocked || task.waiting_on_ != nullptr;
    queued += parked ? 0 : 1;
    held += parked && task.state_ == TaskState::pending ? 1 : 0;
    if (parked && task.state_ == TaskState::blocked)
      ++waiting[static_cast<std::size_t>(task.waiting_on_->parked_for())];
  });
  TIFFANY_ASSERT(held == held_, "the number of tasks that come after others is wrong");
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    TIFFANY_ASSERT(waiting[kind] == counters_.parks_by[kind] - counters_.wakes_by[kind] -
                                        counters_.withdrawn_by[kind],
                   "waits that began and did not end are not the tasks that wait");
  }
  TIFFANY_ASSERT(live == live_tasks_, "the number of live tasks is not that of the records");
  TIFFANY_ASSERT(queued + dead_in_queue_ == ready_.size(),
                 "a task is neither parked nor in the ready queue, or in both");
  TIFFANY_ASSERT(daemons_ <= live_tasks_, "there are more daemons than tasks");
#endif
}

// A frame that begins is named by Trampoline::next before its first resume, and always names
// another or a mark before it comes back. One that did not has been compiled wrongly, and neither
// can it go on nor can it be destroyed. `caller`: who awaited the frame; null when it is the
// outermost.
void Loop::end_miscompiled(TaskRecord& task, void* caller) noexcept {
  struct Innermost final : FrameVisitor {
    void on_frame(const std::source_location& site) override {
      if (text.empty()) text = site_text(site);
    }
    std::string text;
  } awaited;
  if (caller != nullptr) {
    task.cursor_ = caller;
    task.visit_frames(awaited);
  }
  const std::string what = awaited.text.empty() ? "is" : "awaits, at " + awaited.text + ",";
  std::fprintf(
      stderr,
      "%s, spawned at %s, %s a coroutine that the compiler has broken: it came back without "
      "having begun. GCC 12 does that to a coroutine without local variables that has a "
      "co_await in the condition of an if, while or switch. Write there `const bool ok = "
      "co_await f();` and test `ok`; see docs/compilers.md.\n",
      task.describe().c_str(), site_text(task.spawn_site_).c_str(), what.c_str());
  std::abort();
}

inline bool Loop::begin_slice(TaskRecord& task) {
  if (alarm_for_running_) [[unlikely]] {
    alarm_for_running_ = false;
    --alarms_;
  }
  running_ = &task;
  constexpr std::uint8_t kSpecial =
      TaskRecord::kDeliverCancel | TaskRecord::kCancelPending | TaskRecord::kOwnArena;
  if (task.flags_ & kSpecial) [[unlikely]]
    return begin_special_slice(task);
  task.state_ = TaskState::running;
  return true;
}

// A slice of a task that did something else than to yield when it ran last, or was cancelled.
inline void Loop::run_with_care(TaskRecord& task, ReadyQueue::Ring& ring) {
  if (!begin_slice(task)) return;
  void* frame = task.cursor_;
  if (frame == nullptr) {
    frame = task.begin(self());
    if (frame == nullptr) return;
  }
  resume(frame);
  void* const next = Trampoline::next;
  if (next == nullptr) {
    task.cursor_ = frame;
  } else if (next == Trampoline::ended()) {
    task.cursor_ = frame;
    task.ended(self());
  } else if (next == Trampoline::yielded() && alarms_ == 0 && !ring.empty()) {
    count_yield(task);
    task.state_ = TaskState::suspended;
    task.cursor_ = frame;
    if (ReadyQueue::Place::reaches(ready_.origin(), frame)) [[likely]] {
      ring.push(ReadyQueue::Place(task, frame, ready_.origin()), 0);
    } else {
      ring.push(ReadyQueue::Place(task), ReadyQueue::kRecord);
    }
  } else {
    slice_goes_on(task, frame);
  }
}

// Runs the tasks of one priority until the turn ends, none is left, or a more urgent one becomes
// ready. The hot loop: its common case, a coroutine that yields again, takes a few dozen
// instructions and touches the frame and the ring. The task is taken from the ring, resumed, and
// put behind the others. Where the ring begins is kept in a register and written through, so that
// one round does not wait for the memory of the one before.
template <bool kPrefetch>
void Loop::run_batch(ReadyQueue::Ring& ring) {
  std::size_t head = ring.head;
  for (;;) {
    if constexpr (kPrefetch) {
      // Here and not in a function, which GCC would take for one without effect. First the record,
      // which knows the frame; then the frame.
      const std::size_t ahead = (head + kAhead) & ring.mask;
      const std::size_t far_ahead = (head + 2 * kAhead) & ring.mask;
      if (ring.yields[far_ahead] == ReadyQueue::kRecord) {
        __builtin_prefetch(&ring.places[far_ahead].task(), 1);
      }
      const void* frame = ring.yields[ahead] == ReadyQueue::kRecord
                              ? ring.places[ahead].task().cursor_
                              : ring.places[ahead].frame(ready_.origin());
      __builtin_prefetch(frame, 1);
      __builtin_prefetch(static_cast<const char*>(frame) + 64, 1);
    }
    const ReadyQueue::Place place = ring.places[head & ring.mask];
    const std::uint32_t yields = ring.yields[head & ring.mask];
    ring.head = ++head;
    if (yields < ReadyQueue::kLook && alarms_ == 0) [[likely]] {
      running_ = &tasks_.in_slot(place.slot());
      resume(place.frame(ready_.origin()));
      if (Trampoline::next == Trampoline::yielded() && alarms_ == 0 && head != ring.tail)
          [[likely]] {
        trace_ = mix(trace_, place.slot());
        count(yields_);
        ring.push(place, yields + 1);
        if (head == last_head_ || !ready_.is_best(ring)) return;
        continue;
      }
      running_->steps_ += ring.take_running_yields();
      slice_goes_on(*running_, running_->cursor_);
    } else if (yields == ReadyQueue::kRecord) {
      run_with_care(place.task(), ring);
    } else {
      TaskRecord& task = tasks_.in_slot(place.slot());
      task.steps_ += ring.take_running_yields();
      run_with_care(task, ring);
    }
    if (head == last_head_ || head == ring.tail || !ready_.is_best(ring)) return;
    if (kPrefetch && ring.size() < ReadyQueue::kMany) return;
  }
}

void Loop::run_rings() {
  while (slices() < turn_end_) {
    const bool aged = ageing_ != 0 && slices() % ageing_ == 0;
    if (aged && dead_in_queue_ > 0) drop_dead_heads();
    ReadyQueue::Ring* ring = ready_.best();
    if (ring == nullptr) return;
    std::uint64_t until = turn_end_;
    if (ageing_ != 0) until = std::min(until, slices() - slices() % ageing_ + ageing_);
    if (aged) {
      // This slice is for the next of the less urgent priorities, if one of them has ready tasks.
      if (ReadyQueue::Ring* const other = ready_.next_below_best(aged_priority_)) {
        ring = other;
        until = slices() + 1;
      }
    }
    if (watch_.on()) [[unlikely]] {
      if (!watch_.asked_for() && run_observed(*ring, until)) continue;
      // One slice at a time; whose it is, the place at the head says. A place of which the task has
      // ended goes when its turn comes, as without a watch: the slot of the task is used again from
      // then on, and ids are a part of the trace.
      TaskRecord& first = ReadyQueue::first(*ring, tasks_);
      if (first.settled()) {
        count_slices_by(*ring, turn_end_);
        ++ring->head;
        begin_slice(first);
        continue;
      }
      const auto slice = [](Loop& self, TaskRecord& task) {
        self.run_ring(*self.ready_.ring_of(task), self.slices() + 1);
      };
      watch_slice(first, slice);
    } else {
      run_ring(*ring, until);
    }
  }
}

// Of a task that was cancelled before it began only a place is left. Where it matters who is first
// in a ring, and which rings have tasks, it must not be taken for one.
void Loop::drop_dead_heads() {
  ready_.for_each_ring([this](ReadyQueue::Ring& ring) {
    while (!ring.empty()) {
      TaskRecord& task = ReadyQueue::first(ring, tasks_);
      if (!task.settled()) return;
      count_slices_by(ring, turn_end_);
      ++ring.head;
      begin_slice(task);
    }
  });
}

void Loop::run_ring(ReadyQueue::Ring& ring, std::uint64_t until) {
  count_slices_by(ring, until);
  if (ring.size() < ReadyQueue::kMany) {
    run_batch<false>(ring);
  } else {
    run_batch<true>(ring);
  }
}

void Loop::run_policy() {
  count_slices_by(policy_ring_, turn_end_);
  while (slices() < turn_end_ && !ready_.empty()) {
    Dependencies::raise_chains(self());
    TaskRecord& task = ready_.pop_by_policy();
    ++policy_ring_.head;
    if (watch_.on()) [[unlikely]] {
      watch_slice(task, [](Loop& self, TaskRecord& watched) { self.run_slice(watched); });
    } else {
      run_slice(task);
    }
  }
}

void Loop::run_slice(TaskRecord& task) {
  if (begin_slice(task)) run_begun_slice(task);
}

void Loop::run_begun_slice(TaskRecord& task) {
  void* frame = task.cursor_ != nullptr ? task.cursor_ : task.begin(self());
  if (frame == nullptr) return;
  resume(frame);
  slice_goes_on(task, frame);
}

// A task whose memory is counted has all of its slice here, so that those of the others need not
// ask which arena is theirs. It is in the queue with its record, never with its frame.
bool Loop::begin_special_slice(TaskRecord& task) {
  if (!begin_cancelled_slice(task)) return false;
  if (!task.has(TaskRecord::kOwnArena)) return true;
  here_ = task.scope_->arena_;
  run_begun_slice(task);
  here_ = arena_.get();
  return false;
}

bool Loop::begin_cancelled_slice(TaskRecord& task) noexcept {
  if (task.has(TaskRecord::kDeliverCancel)) {
    if (task.settled()) {
      // It was cancelled while it waited for its first turn.
      --slice_base_;
      ++last_head_;
      --dead_in_queue_;
      --alarms_;
      ready_.unreserve(task.priority_);
      running_ = nullptr;
      task.release();
      return false;
    }
    if (task.state_ == TaskState::pending) {
      end_unbegun(task);
      return false;
    }
    task.clear(TaskRecord::kDeliverCancel);
    if (task.state_ == TaskState::suspended) --alarms_;
    deliver_cancel_ = true;
  }
  task.state_ = TaskState::running;
  if (task.has(TaskRecord::kCancelPending)) raise_alarm_for_running();
  return true;
}

void Loop::count_steps() const noexcept {
  if (running_ != nullptr && ring_ != &policy_ring_) {
    running_->steps_ += ring_->take_running_yields();
    raise_alarm_for_running();  // run_batch has the number from before
  }
  ready_.count_yields(
      [this](std::uint32_t slot, std::uint32_t yields) { tasks_.in_slot(slot).steps_ += yields; });
}

// Its turn has come, but what it comes after did not complete. That is found out here and not where
// the other task ends: a chain of a million such tasks would end one inside the other.
void Loop::end_unbegun(TaskRecord& task) noexcept {
  task.drop_code();
  if (task.own_reason() != nullptr) return self().finish(task, TaskState::cancelled);
  TaskRecord::Extras* const own = task.own_extras();
  std::exception_ptr refused = own != nullptr ? std::exchange(own->refused, nullptr) : nullptr;
  if (refused == nullptr) refused = std::make_exception_ptr(std::bad_alloc());
  new (task.storage_) std::exception_ptr(std::move(refused));
  self().finish(task, TaskState::failed);
}

// A frame never resumes another one: it returns here and says which is next. So calls nest to any
// depth on a constant native stack, whatever the compiler makes of tail calls.
void Loop::slice_goes_on(TaskRecord& task, void* frame) {
  // A call and its return, or a call in a loop, go back and forth between two frames. Where the
  // next one is the one before, its address is taken from a register, under a branch that is
  // foreseen: the processor need not wait for it to come through memory.
  void* before = this;  // no frame
  for (;;) {
    void* const next = Trampoline::next;
    if (next == before) [[likely]] {
      asm("" : "+r"(before));  // or the compiler takes `next` all the same
      std::swap(frame, before);
    } else if (next > Trampoline::yielded()) {
      if (next == frame) [[unlikely]]
        end_miscompiled(task, before == this ? nullptr : before);
      before = frame;
      frame = next;
    } else if (next == Trampoline::yielded()) {
      count_yield(task);
      const bool goes_on = task.has(TaskRecord::kCancelPending)
                               ? delivers_now(task)
                               : stays_on(task, TaskState::suspended);
      if (!goes_on) {
        task.cursor_ = frame;
        return;
      }
    } else {
      task.cursor_ = frame;
      if (next == Trampoline::ended()) task.ended(self());
      return;
    }
    // So that the innermost frame of a running task is known too, to a debugger and to a watchdog.
    task.cursor_ = frame;
    resume(frame);
  }
}

}  // namespace tiffany::detail
