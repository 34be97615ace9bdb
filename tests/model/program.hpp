// The programs of the model test: a small tree of statements, and its text for a reader.
//
// There are no loops and every block belongs to one statement, so each spawn happens at most once.
// That is why tasks and promises can be named by the number of the statement that makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace model {

enum class Op : std::uint8_t {
  spawn,          // spawn task `index` with priority `number`; flag: into the root scope
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
  scope,          // blocks[0]; flag: failures are collected, not fail_fast
  scope_timeout,  // `delay` for the nearest scope block
  scope_cancel,   // the nearest scope block
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
  sleep,         // `delay`
  yield,
  checkpoint,
  raise,  // throw the error `number`
  give,   // leave the block with the value `number`
};

// What can be waited for: the task or the promise with this number.
struct Target {
  bool promise = false;
  std::size_t index = 0;
};

struct Block;

struct Statement {
  Op op = Op::yield;
  int id = 0;
  std::size_t index = 0;
  int number = 0;
  long delay = 0;
  bool flag = false;
  std::vector<Target> targets;
  std::vector<Block> blocks;
};

struct Block {
  int id = 0;
  std::vector<Statement> statements;
};

struct Program {
  Block main;  // task 0
  std::size_t tasks = 1;
  std::size_t promises = 0;
};

// How the scheduler is set up for a run; it decides the order, so the model follows it too.
enum class Order : std::uint8_t { priority, fifo, depth_first };

struct Setup {
  Order order = Order::priority;
  std::uint32_t quantum = 128;
  std::uint32_t turn = 128;
};

// How a program ended as a whole.
enum class Ending : std::uint8_t {
  complete,   // every task ended by itself
  shut_down,  // a deadlock, and every task ended when it was asked to
  stuck,      // a deadlock also while shutting down: a shield waits for what cannot come
};

inline std::string task_name(std::size_t index) { return "t" + std::to_string(index); }
inline std::string promise_name(std::size_t index) { return "p" + std::to_string(index); }
inline std::string error_name(int number) { return "E" + std::to_string(number); }

inline std::string text_of(const std::vector<Target>& targets) {
  std::string out;
  for (const Target& target : targets) {
    out += " " + (target.promise ? promise_name(target.index) : task_name(target.index));
  }
  return out;
}

// One line, without the blocks.
inline std::string text_of(const Statement& s) {
  const std::string number = std::to_string(s.number);
  const std::string delay = std::to_string(s.delay);
  switch (s.op) {
    case Op::spawn:
      return std::string(s.flag ? "spawn in root " : "spawn ") + task_name(s.index) +
             " with priority " + number;
    case Op::await:
      return "await" + text_of(s.targets);
    case Op::take:
      return "await by move " + task_name(s.index);
    case Op::outcome:
      return "outcome of" + text_of(s.targets);
    case Op::gather:
      return "gather" + text_of(s.targets);
    case Op::all_settled:
      return "all_settled" + text_of(s.targets);
    case Op::race:
      return "race" + text_of(s.targets);
    case Op::race_started:
      return "race of operations from " + task_name(s.index);
    case Op::any_started:
      return "any of operations from " + task_name(s.index);
    case Op::within:
      return "within " + delay;
    case Op::within_target:
      return "within " + delay + text_of(s.targets);
    case Op::shield:
      return "shield";
    case Op::shield_target:
      return "shield" + text_of(s.targets);
    case Op::scope:
      return s.flag ? "scope, collect" : "scope, fail_fast";
    case Op::scope_timeout:
      return "scope timeout " + delay;
    case Op::scope_cancel:
      return "scope cancel";
    case Op::attempt:
      return s.flag ? "try, catch all" : "try, catch errors";
    case Op::call:
      return "call";
    case Op::cancel:
      return "cancel " + task_name(s.index);
    case Op::cancel_join:
      return "cancel_and_join " + task_name(s.index);
    case Op::cancel_self:
      return "cancel self";
    case Op::drop:
      return "drop the handle of " + task_name(s.index);
    case Op::make_promise:
      return "make " + promise_name(s.index);
    case Op::complete:
      return "complete " + promise_name(s.index) + " with " + number;
    case Op::fail:
      return "fail " + promise_name(s.index) + " with " + error_name(s.number);
    case Op::drop_promise:
      return "drop " + promise_name(s.index);
    case Op::sleep:
      return "sleep " + delay;
    case Op::yield:
      return "yield";
    case Op::checkpoint:
      return "checkpoint";
    case Op::raise:
      return "throw " + error_name(s.number);
    case Op::give:
      return "return " + number;
  }
  return "?";
}

inline std::string text_of(const Block& block, std::size_t depth = 0) {
  const std::string indent(2 * depth, ' ');
  std::string out;
  for (const Statement& statement : block.statements) {
    out += indent + "s" + std::to_string(statement.id) + ": " + text_of(statement) + "\n";
    for (const Block& inner : statement.blocks) {
      out += indent + "  {b" + std::to_string(inner.id) + "\n";
      out += text_of(inner, depth + 2) + indent + "  }\n";
    }
  }
  return out;
}

inline std::string text_of(const Setup& setup) {
  const char* order = setup.order == Order::priority ? "priority"
                      : setup.order == Order::fifo   ? "fifo"
                                                     : "depth first";
  return std::string("order ") + order + ", quantum " + std::to_string(setup.quantum) + ", turn " +
         std::to_string(setup.turn);
}

}  // namespace model
