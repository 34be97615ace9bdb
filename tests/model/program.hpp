// The programs of the model test: a small tree of statements. Their text is in program_text.hpp.
//
// There are no loops and every block belongs to one statement, so tasks and promises are named by
// the number of the statement that makes them. Only the children of a supervisor run more than
// once; the name then means the last one that was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "model/sync_program.hpp"

namespace model {

enum class Op : std::uint8_t {
  spawn,          // task `index`, as `how` says; into the context goes `number` as value `key`
  spawn_after,    // the same, after targets
  spawn_from,     // the same, after targets and with the value of the first
  await,          // targets[0]
  take,           // co_await std::move(handle): the handle of task `index` is used up
  outcome,        // targets[0], as a value
  gather,         // targets
  all_settled,    // targets
  race,           // over targets
  race_started,   // over blocks, each a task of its own from `index` on
  any_started,    // the same, first success
  within,         // `delay` for blocks[0]
  within_target,  // `delay` for targets[0]
  shield,         // blocks[0]
  shield_target,  // targets[0]
  scope,          // blocks[0], with `policy`
  scope_timeout,  // `delay` for the nearest scope block
  scope_cancel,   // the nearest scope block
  scope_limit,    // of `number` tasks for the nearest scope block
  supervise,      // blocks, each a task of its own from `index` on
  attempt,        // blocks[0], errors are caught; flag: a cancellation too
  call,           // blocks[0] as a plain nested call
  cancel,         // task `index`
  cancel_join,    // task `index`
  cancel_self,
  drop,          // the handle of task `index`
  make_promise,  // promise `index`
  complete,      // promise `index` with `number`
  fail,          // promise `index` with the error `number`
  drop_promise,  // promise `index`
  with,          // blocks[0], with `number` as value `key` of the context
  ask,           // value `key` of the context; an error when there is none
  lookup,        // the same, or nothing
  put,           // `number` as `key` into the state
  get,           // `key` of the state
  tell,          // the name of the statement
  told,          // the whole log
  sleep,         // `delay`
  yield,
  checkpoint,
  raise,        // throw the error `number`
  give,         // leave the block with the value `number`
  sync,         // calls[0], with a channel, a lock or a signal
  sync_within,  // `delay` for calls[0]
  sync_race,    // over calls of one kind; flag: of the kinds of a mix, and task `index` if the mix
                // has one
  hold,         // blocks[0], with the lock or the permits that calls[0] takes
  hold_notified,  // the same with a mutex, after condition `index` was notified
};

// What can be waited for: the task or the promise with this number.
struct Target {
  bool promise = false;
  std::size_t index = 0;
};

enum class Into : std::uint8_t {
  nearest,  // plain spawn
  root,     // spawn of the scheduler
  scope,    // spawn of the nearest scope block in the text
};
enum class IfFailed : std::uint8_t { skip, run, fail };
enum class Policy : std::uint8_t { fail_fast, collect_all, first_success, isolate, root };

// How a task is spawned.
struct Spawn {
  Into into = Into::nearest;
  int priority = 10;
  bool with_value = false;  // in its context
  bool by_id = false;       // the tasks that it comes after
  IfFailed if_failed = IfFailed::skip;
  int cost = 1;
};

enum class Strategy : std::uint8_t { one_for_one, one_for_all, rest_for_one };
enum class Restart : std::uint8_t { permanent, transient, temporary };

struct Child {
  Restart restart = Restart::transient;
  int failures = 0;  // it runs its block, and throws so many times; then it completes
};
// From this start on a child returns at once, or a program could run for ever.
inline constexpr int kTooManyStarts = 6;

struct Supervision {
  Strategy strategy = Strategy::one_for_one;
  std::size_t restarts = 1;
  long period = 0;
  long first_wait = 0;
  long longest_wait = 0;
  int priority = 10;
  std::vector<Child> children;
};

struct Block;

struct Statement {
  Op op = Op::yield;
  int id = 0;
  std::size_t index = 0;
  int number = 0;
  std::size_t key = 0;
  long delay = 0;
  bool flag = false;
  Policy policy = Policy::fail_fast;
  Spawn how;
  std::vector<Target> targets;
  std::vector<SyncCall> calls;
  std::vector<Block> blocks;
  Supervision supervision;
};

// Whether a race over calls is over a task as well, as its last.
inline bool has_task(const Statement& s) {
  return s.op == Op::sync_race && s.flag && s.number == static_cast<int>(kMixWithTask);
}

struct Block {
  int id = 0;
  std::vector<Statement> statements;
};

struct Program {
  Block main;  // task 0
  std::size_t tasks = 1;
  std::size_t promises = 0;
  Primitives primitives;
};

// Of the context and of the state.
inline constexpr std::size_t kKeys = 3;

// How the scheduler is set up for a run; it decides the order, so the model follows it too.
enum class Order : std::uint8_t { priority, fifo, depth_first, longest_path };

struct Setup {
  Order order = Order::priority;
  std::uint32_t quantum = 128;
  std::vector<std::pair<int, std::uint32_t>> quantum_of;  // priority and quantum
  std::uint32_t turn = 128;
  std::uint32_t ageing = 0;
  std::size_t limit = std::numeric_limits<std::size_t>::max();  // of tasks
  bool system_failure_ends_run = false;
};

// How a program ended as a whole.
enum class Ending : std::uint8_t {
  complete,       // every task ended by itself
  shut_down,      // a deadlock, and every task ended when it was asked to
  stuck,          // a deadlock also while shutting down: a shield waits for what cannot come
  system_failed,  // a system task failed, and every other task ended when it was asked to
};

}  // namespace model
