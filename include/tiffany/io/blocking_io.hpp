// BlockingIo: the same program, without taking turns.
//
//   BlockingIo io;
//   int result = run_on(io, program());
//
// Code cannot tell whether it runs under a Scheduler or here: it spawns, awaits, cancels, gathers,
// sleeps, reads and writes in the same words and gets the same results. What differs is who runs
// when. Under a Scheduler a task that waits lets the others run. Here it blocks the thread, as a
// plain program would, and the others run when somebody waits for them: one after the other, each
// from its beginning to its end. Only a task that waits for an operation that is not ready lets
// them run first, because they may be what it waits for. No threads, no io_uring; offload() runs on
// the calling thread.
//
// For command lines and tests, for debugging with a plain stack, and where a library wants one code
// for callers with and without an event loop. docs/15-io.md says what depends on interleaving.
#pragma once

#include <concepts>
#include <utility>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/system_reactor.hpp"

namespace tiffany {

class BlockingIo : public Scheduler {
 public:
  explicit BlockingIo(Options options = Options().clock(system_reactor(ReactorKind::blocking)))
      : Scheduler(std::move(options).wait_inline()) {}
};

// What user code and everything in this library is written against.
template <class T>
concept Io = requires(T& io, TaskRecord& task, Timer& timer, Time time) {
  io.spawn;                                 // a new task
  io.cancel(task, CancelReasonPtr());       // a task is asked to stop
  io.arm(timer, time);                      // a timer
  { io.poll(time) } -> std::same_as<bool>;  // what is ready runs, and outside events come in
  { io.now() } -> std::same_as<Time>;       // the time of this turn
  &T::template enter<Checkpoint>;           // a task suspends, or is answered
};
static_assert(Io<Scheduler> && Io<BlockingIo>);

}  // namespace tiffany
