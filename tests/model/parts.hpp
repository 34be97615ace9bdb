// The reference model, first part: what it is made of. Plain data, that the machine (machine.hpp)
// moves and the frames (frames.hpp and others) give a meaning to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/program.hpp"
#include "model/program_text.hpp"

namespace model::reference {

using Lines = std::vector<std::string>;

struct Reason {
  std::string text;
  bool on_purpose = false;  // somebody's wish, and not something that went wrong
};

struct Thrown {
  bool cancelled = false;  // the cancellation of the task itself, which is not an error
  std::string text;
};

// How a piece of code came back: with a value and what the log says of it, or by throwing.
struct Signal {
  int value = 0;
  std::string text;
  std::optional<Thrown> thrown;
};

inline Signal value_signal(int value, std::string text) { return {value, std::move(text), {}}; }
inline Signal value_signal(int value) {
  return value_signal(value, "value " + std::to_string(value));
}
inline Signal thrown_signal(bool cancelled, std::string text) {
  return {0, {}, Thrown{cancelled, std::move(text)}};
}

struct Task;
struct Scope;

enum class End : std::uint8_t { pending, completed, failed, cancelled };

struct Waiter {
  Task* task;
  std::size_t entry;  // what of its wait this would decide
};

struct Waitable {
  Task* as_task = nullptr;  // if it is one
  End end = End::pending;
  int value = 0;
  std::string error;  // as those who wait for it see it
  bool observed = false;
  std::vector<Waiter> waiters;
};

// A stretch of code that can be cancelled by itself, or a shield.
struct Region {
  bool shield = false;
  Scope* scope = nullptr;  // where plain spawns inside go
  bool open = true;
  std::optional<Reason> reason;
};

// What a supervisor waits at: it is rung when a child has ended, and by a timer.
struct Bell {
  bool rung = false;
  std::optional<long> due;
  Task* listener = nullptr;
};

class Pool;
class Primitive;

// What somebody has of a pool until it is given back.
struct Held {
  Pool* pool = nullptr;
  const Task* owner = nullptr;
  std::size_t count = 0;
};

// Something that is asked of a primitive (sync_parts.hpp), and what has come of it.
struct Ask {
  SyncCall what;
  Primitive* at = nullptr;
  std::size_t count = 1;  // of a pool
  Task* task = nullptr;
  std::string error;  // not empty: this is thrown
  std::optional<int> value;
  bool last = false;
  Held held;
};

enum class WaitKind : std::uint8_t { yield, checkpoint, sleep, scope, bell, targets, sync };
enum class Decide : std::uint8_t { all, first_failure, first_settled, first_success };

// What a task waits for.
struct Wait {
  WaitKind kind = WaitKind::yield;
  long delay = 0;
  Scope* scope = nullptr;
  Bell* bell = nullptr;
  std::vector<Ask> asks;
  bool in_race = false;  // of the asks, which may be one
  std::vector<Waitable*> targets;
  Decide decide = Decide::all;
  // Results and registrations.
  std::optional<std::size_t> decided;  // among the asks, and after them the targets
  std::uint64_t timer = 0;
};

enum class Life : std::uint8_t {
  unready,  // it comes after others, and is in no queue
  fresh,    // in the queue for the first time
  ready,
  running,
  suspended,
  preempted,
  blocked,
  ended
};

enum class Next : std::uint8_t {
  push,  // a new frame is on top: begin it
  pop,   // this frame has ended, with the signal
  park,  // the task waits or is queued
};

// One level of a task's call stack.
class Frame {
 public:
  virtual ~Frame() = default;
  // Goes on after what the frame waited for. `signal` is what that gave, and then what this gives.
  virtual Next resume(Signal& signal) = 0;
};

// What a task has from where it was spawned. All of it is copied there, and then its own.
struct Heritage {
  std::map<std::size_t, int> context;
  std::map<std::size_t, int> state;
  Lines log;
};

struct Task : Waitable {
  std::size_t index = 0;
  int priority = 10;
  Life life = Life::fresh;
  Scope* scope = nullptr;
  const Task* parent = nullptr;
  std::vector<std::shared_ptr<Region>> regions;  // innermost last
  std::optional<Reason> reason;
  bool deliver_cancel = false;
  bool must_report = false;
  int lost_errors = 0;  // thrown from the blocks of scopes that had failed already
  Wait wait;
  std::vector<std::unique_ptr<Frame>> stack;
  std::function<void()> when_code_goes;

  Heritage heritage;
  std::size_t inherited = 0;  // so many entries of the log
  Lines told;                 // the others, when it has ended

  // What becomes of it at its first turn, when one that it comes after did not complete.
  IfFailed if_failed = IfFailed::skip;
  bool never_begins = false;
  // Of those that come after it, and those that come after them: the longest chain there ever was.
  long chain = 0;
  int cost = 1;  // in the chains of others
};

struct Scope {
  Policy policy = Policy::root;
  Task* owner = nullptr;
  std::shared_ptr<Region> region;
  std::vector<Task*> live;  // in the order of spawning
  std::size_t limit = Setup().limit;
  Task* joiner = nullptr;
  std::optional<std::string> error;
  std::optional<Reason> reason;
  bool cut_short = false;
  std::uint64_t deadline = 0;
  bool joined = false;      // its block has ended and no task is left: its result has arrived
  std::vector<Task*> kept;  // ended without success, and the policy will have to speak of them
  const Task* winner = nullptr;
};

struct Timer {
  long deadline;
  std::uint64_t sequence;
  std::function<void()> fire;
};

}  // namespace model::reference
