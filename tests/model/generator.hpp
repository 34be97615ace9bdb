// Makes a program and a setup from a seed, the same ones on every compiler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/program.hpp"
#include "tiffany/base/random.hpp"

namespace model {

// Which construct a statement is, by weight. Waiting and spawning are frequent: tasks must meet.
struct Weight {
  Op op;
  unsigned weight;
};
inline constexpr Weight kWeights[] = {
    {Op::spawn, 26},        {Op::await, 8},        {Op::take, 2},          {Op::outcome, 5},
    {Op::gather, 6},        {Op::all_settled, 5},  {Op::race, 5},          {Op::race_started, 5},
    {Op::any_started, 5},   {Op::within, 7},       {Op::within_target, 4}, {Op::shield, 6},
    {Op::shield_target, 2}, {Op::scope, 9},        {Op::scope_timeout, 4}, {Op::scope_cancel, 2},
    {Op::attempt, 12},      {Op::call, 2},         {Op::cancel, 9},        {Op::cancel_join, 3},
    {Op::cancel_self, 1},   {Op::drop, 1},         {Op::make_promise, 7},  {Op::complete, 6},
    {Op::fail, 3},          {Op::drop_promise, 1}, {Op::sleep, 20},        {Op::yield, 12},
    {Op::checkpoint, 4},    {Op::raise, 4},        {Op::give, 2},
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed, "model program") {}

  Program program() {
    // Many are small, because a small one says most when it fails.
    left_ = 8 + static_cast<int>(random_.below(chance(50) ? 30 : 120));
    for (auto promises = random_.below(4); promises > 0; --promises) {
      program_.main.statements.push_back(make(Op::make_promise));
    }
    Block rest = block(0, 3 + random_.below(10));
    program_.main.id = rest.id;
    for (Statement& s : rest.statements) program_.main.statements.push_back(std::move(s));
    return std::move(program_);
  }

  Setup setup() {
    Setup setup;
    if (chance(20)) setup.order = chance(50) ? Order::fifo : Order::depth_first;
    if (chance(35)) setup.quantum = 1 + static_cast<std::uint32_t>(random_.below(4));
    if (chance(35)) setup.turn = 1 + static_cast<std::uint32_t>(random_.below(4));
    return setup;
  }

 private:
  static constexpr std::size_t kDeepest = 5;
  static constexpr std::size_t kTasks = 40;

  bool chance(unsigned percent) { return random_.below(100) < percent; }

  Op pick() {
    unsigned total = 0;
    for (const Weight& entry : kWeights) total += entry.weight;
    auto at = random_.below(total);
    for (const Weight& entry : kWeights) {
      if (at < entry.weight) return entry.op;
      at -= entry.weight;
    }
    return Op::yield;
  }

  Block block(std::size_t depth, std::size_t length) {
    Block made;
    made.id = next_block_++;
    for (std::size_t i = 0; i < length && left_ > 0; ++i) {
      --left_;
      made.statements.push_back(statement(depth));
      // Without this most tasks would end with the first thing that goes wrong.
      if (may_throw(made.statements.back().op) && chance(60)) guard(made.statements.back());
    }
    return made;
  }
  Block inner(std::size_t depth) { return block(depth + 1, 1 + random_.below(5)); }
  Block body_of(std::size_t task, std::size_t depth) {
    around_.push_back(task);
    std::vector<std::size_t> outer = std::exchange(own_, {});
    Block made = inner(depth);
    own_ = std::move(outer);
    around_.pop_back();
    return made;
  }

  Statement make(Op op) {
    Statement s;
    s.op = op;
    s.id = next_statement_++;
    if (op == Op::make_promise) s.index = program_.promises++;
    return s;
  }
  // Puts a statement into a try block of its own.
  void guard(Statement& s) {
    Statement attempt = make(Op::attempt);
    attempt.flag = chance(15);
    attempt.blocks.emplace_back();
    attempt.blocks.back().id = next_block_++;
    attempt.blocks.back().statements.push_back(std::move(s));
    s = std::move(attempt);
  }

  Statement statement(std::size_t depth) {
    Statement s = make(Op::yield);
    s.op = pick();
    // Nothing to wait for yet: make something. No room for more: something that always works.
    if (needs_promise(s.op) && program_.promises == 0) return make(Op::make_promise);
    if (needs_scope(s.op) && !in_scope_ && !chance(10)) s.op = Op::scope;
    if (needs_target(s.op) && own_.empty() && chance(70)) s.op = Op::spawn;
    if (depth >= kDeepest && has_blocks(s.op)) s.op = Op::sleep;
    if (program_.tasks >= kTasks && makes_tasks(s.op)) s.op = Op::yield;
    fill(s, depth);
    return s;
  }

  static bool has_blocks(Op op) {
    return makes_tasks(op) || op == Op::within || op == Op::shield || op == Op::scope ||
           op == Op::attempt || op == Op::call;
  }
  static bool makes_tasks(Op op) {
    return op == Op::spawn || op == Op::race_started || op == Op::any_started;
  }
  static bool needs_scope(Op op) { return op == Op::scope_timeout || op == Op::scope_cancel; }
  static bool may_throw(Op op) {
    return op == Op::await || op == Op::take || op == Op::gather || op == Op::race ||
           op == Op::race_started || op == Op::any_started || op == Op::within_target ||
           op == Op::shield_target || op == Op::scope || op == Op::raise || op == Op::complete ||
           op == Op::fail;
  }
  static bool needs_promise(Op op) {
    return op == Op::complete || op == Op::fail || op == Op::drop_promise;
  }
  static bool needs_target(Op op) {
    return op == Op::await || op == Op::take || op == Op::outcome || op == Op::gather ||
           op == Op::all_settled || op == Op::race || op == Op::within_target ||
           op == Op::shield_target || op == Op::cancel || op == Op::cancel_join || op == Op::drop;
  }

  void fill(Statement& s, std::size_t depth) {
    switch (s.op) {
      case Op::spawn:
        s.index = program_.tasks++;
        s.number = priority();
        s.flag = chance(8);
        s.blocks.push_back(body_of(s.index, depth));
        own_.push_back(s.index);
        break;
      case Op::race_started:
      case Op::any_started: {
        const std::size_t count = 1 + random_.below(3);
        s.index = program_.tasks;
        program_.tasks += count;
        for (std::size_t i = 0; i < count; ++i) s.blocks.push_back(body_of(s.index + i, depth));
        break;
      }
      case Op::scope: {
        s.flag = chance(30);
        const bool outer = std::exchange(in_scope_, true);
        s.blocks.push_back(inner(depth));
        in_scope_ = outer;
        break;
      }
      case Op::within:
      case Op::shield:
      case Op::attempt:
      case Op::call:
        s.delay = delay();
        s.flag = chance(30);
        s.blocks.push_back(inner(depth));
        break;
      case Op::gather:
      case Op::all_settled:
      case Op::race:
        s.targets = targets();
        break;
      case Op::await:
      case Op::outcome:
      case Op::within_target:
      case Op::shield_target:
        s.delay = delay();
        s.targets.push_back(target());
        break;
      case Op::take:
      case Op::cancel:
      case Op::cancel_join:
      case Op::drop:
        s.index = task();
        break;
      case Op::make_promise:
        s.index = program_.promises++;
        break;
      case Op::complete:
      case Op::fail:
      case Op::drop_promise:
        s.index = random_.below(program_.promises);
        s.number = number();
        break;
      case Op::sleep:
        s.delay = delay();
        break;
      case Op::scope_timeout:
        s.delay = delay();
        break;
      case Op::raise:
      case Op::give:
        s.number = number();
        break;
      default:
        break;
    }
  }

  int number() { return static_cast<int>(random_.below(100)); }

  int priority() {
    static constexpr int kChoices[] = {10, 10, 10, 10, 10, 10, 0, 5, 20, 255};
    return kChoices[random_.below(std::size(kChoices))];
  }

  // Few different ones, so that deadlines meet; some across the digits of the timer wheel; rarely
  // one that is an error.
  long delay() {
    static constexpr long kChoices[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 10, 20, 250, 256, 70000};
    if (chance(1)) return -1;
    return kChoices[random_.below(std::size(kChoices))];
  }

  // Mostly a task that this one has spawned: waiting for oneself is an error and for an ancestor a
  // deadlock, which are worth having, but not in every program.
  std::size_t task() {
    if (!own_.empty() && chance(75)) return own_[random_.below(own_.size())];
    for (;;) {
      const std::size_t any = random_.below(program_.tasks);
      const bool around = std::find(around_.begin(), around_.end(), any) != around_.end();
      if (!around || chance(8)) return any;
    }
  }
  Target target() {
    const bool promise = program_.promises > 0 && (own_.empty() ? chance(70) : chance(25));
    return Target{promise, promise ? random_.below(program_.promises) : task()};
  }
  // All tasks, all promises, or a task and a promise: what the library has overloads for.
  std::vector<Target> targets() {
    std::vector<Target> out;
    if (program_.promises > 0 && chance(15)) {
      out.push_back(Target{false, task()});
      out.push_back(Target{true, random_.below(program_.promises)});
      return out;
    }
    const bool promises = program_.promises > 0 && chance(20);
    const std::size_t count = chance(2) ? 0 : 1 + random_.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(Target{promises, promises ? random_.below(program_.promises) : task()});
    }
    return out;
  }

  tiffany::Random random_;
  Program program_;
  std::vector<std::size_t> around_ = {0};  // the task that is being written, and those around it
  std::vector<std::size_t> own_;           // the tasks that it has spawned so far
  bool in_scope_ = false;
  int left_ = 0;
  int next_block_ = 0;
  int next_statement_ = 0;
};

}  // namespace model
