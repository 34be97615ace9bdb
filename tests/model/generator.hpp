// Makes a program and a setup from a seed, the same ones on every compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/program.hpp"
#include "model/sync_choices.hpp"

namespace model {

// Which construct a statement is, by weight. Waiting and spawning are frequent: tasks must meet.
struct Weight {
  Op op;
  unsigned weight;
};
inline constexpr Weight kWeights[] = {
    {Op::spawn, 26},        {Op::spawn_after, 14}, {Op::spawn_from, 3},    {Op::await, 8},
    {Op::take, 2},          {Op::outcome, 5},      {Op::gather, 8},        {Op::all_settled, 5},
    {Op::race, 5},          {Op::race_started, 5}, {Op::any_started, 5},   {Op::within, 7},
    {Op::within_target, 4}, {Op::shield, 6},       {Op::shield_target, 2}, {Op::scope, 13},
    {Op::scope_timeout, 4}, {Op::scope_cancel, 2}, {Op::scope_limit, 4},   {Op::supervise, 5},
    {Op::attempt, 12},      {Op::call, 2},         {Op::cancel, 9},        {Op::cancel_join, 3},
    {Op::cancel_self, 1},   {Op::drop, 1},         {Op::make_promise, 7},  {Op::complete, 6},
    {Op::fail, 3},          {Op::drop_promise, 1}, {Op::with, 4},          {Op::ask, 2},
    {Op::lookup, 4},        {Op::put, 5},          {Op::get, 5},           {Op::tell, 9},
    {Op::told, 5},          {Op::sleep, 20},       {Op::yield, 12},        {Op::checkpoint, 4},
    {Op::raise, 9},         {Op::give, 2},
};
// Only in programs that use primitives of module sync.
inline constexpr Weight kSyncWeights[] = {
    {Op::sync, 60},          {Op::sync_within, 30}, {Op::sync_race, 30}, {Op::hold, 25},
    {Op::hold_notified, 12}, {Op::yield, 15},       {Op::sleep, 10}};

class Generator : private SyncChoices {
 public:
  explicit Generator(std::uint64_t seed) : SyncChoices(seed) { setup_ = Choices::setup(); }

  const Setup& setup() const { return setup_; }

  Program program() {
    // Many are small, because a small one says most when it fails.
    left_ = 8 + static_cast<int>(below(chance(50) ? 30 : 120));
    uses_sync_ = chance(60);
    if (uses_sync_) program_.primitives = primitives();
    for (auto promises = below(4); promises > 0; --promises) {
      program_.main.statements.push_back(make(Op::make_promise));
    }
    // Tasks must be there to meet.
    const std::size_t spawns = uses_sync_ ? 2 + below(5) : 0;
    if (uses_sync_) left_ += 20;
    Block rest = block(0, spawns + 3 + below(10), spawns);
    program_.main.id = rest.id;
    for (Statement& s : rest.statements) program_.main.statements.push_back(std::move(s));
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kDeepest = 5;
  static constexpr std::size_t kTasks = 40;
  // Each level multiplies how often what is inside may run.
  static constexpr std::size_t kDeepestSupervisor = 2;

  Op pick() {
    if (uses_sync_ && chance(60)) return pick(kSyncWeights);
    return pick(kWeights);
  }
  template <std::size_t kCount>
  Op pick(const Weight (&weights)[kCount]) {
    unsigned total = 0;
    for (const Weight& entry : weights) total += entry.weight;
    auto at = below(total);
    for (const Weight& entry : weights) {
      if (at < entry.weight) return entry.op;
      at -= entry.weight;
    }
    return Op::yield;
  }

  // `spawns`: so many of its statements, the first ones, are spawns.
  Block block(std::size_t depth, std::size_t length, std::size_t spawns = 0) {
    Block made;
    made.id = next_block_++;
    for (std::size_t i = 0; i < length && left_ > 0; ++i) {
      --left_;
      made.statements.push_back(statement(depth, i < spawns ? Op::spawn : pick()));
      // Without this most tasks would end with the first thing that goes wrong.
      const Op op = made.statements.back().op;
      const bool on_purpose = op == Op::raise && depth > 0;
      if (may_throw(op) && chance(on_purpose ? 20 : 60)) guard(made.statements.back());
    }
    return made;
  }
  Block inner(std::size_t depth) { return block(depth + 1, 1 + below(5)); }
  Block body_of(std::size_t task, std::size_t depth) {
    around_.push_back(task);
    std::vector<std::size_t> outer = std::exchange(own_, {});
    Block made = inner(depth);
    own_ = std::move(outer);
    around_.pop_back();
    return made;
  }
  // The bodies of tasks that the statement starts itself.
  void add_bodies(Statement& s, std::size_t count, std::size_t depth) {
    s.index = program_.tasks;
    program_.tasks += count;
    for (std::size_t i = 0; i < count; ++i) s.blocks.push_back(body_of(s.index + i, depth));
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

  Statement statement(std::size_t depth, Op op) {
    Statement s = make(Op::yield);
    s.op = op;
    // Nothing to wait for yet: make something. No room for more: something that always works.
    if (needs_promise(s.op) && program_.promises == 0) return make(Op::make_promise);
    if (needs_scope(s.op) && !in_scope_ && !chance(10)) s.op = Op::scope;
    if (needs_target(s.op) && own_.empty() && chance(70)) s.op = Op::spawn;
    if (s.op == Op::supervise && supervisors_ == kDeepestSupervisor) s.op = Op::scope;
    if (s.op == Op::hold && favours(kMutexFamily) && chance(35)) s.op = Op::hold_notified;
    if (s.op == Op::hold_notified && !favours(kMutexFamily) && chance(70)) s.op = Op::sync;
    if (depth >= kDeepest && has_blocks(s.op)) s.op = Op::sleep;
    if (program_.tasks >= kTasks && makes_tasks(s.op)) s.op = Op::yield;
    fill(s, depth);
    return s;
  }

  static bool has_blocks(Op op) {
    return makes_tasks(op) || op == Op::within || op == Op::shield || op == Op::scope ||
           op == Op::attempt || op == Op::call || op == Op::with || op == Op::hold ||
           op == Op::hold_notified;
  }
  static bool makes_tasks(Op op) {
    return op == Op::spawn || op == Op::spawn_after || op == Op::spawn_from ||
           op == Op::race_started || op == Op::any_started || op == Op::supervise;
  }
  static bool needs_scope(Op op) {
    return op == Op::scope_timeout || op == Op::scope_cancel || op == Op::scope_limit;
  }
  bool may_throw(Op op) const {
    const bool denied = makes_tasks(op) && setup_.limit != Setup().limit;
    return denied || op == Op::await || op == Op::take || op == Op::gather || op == Op::race ||
           op == Op::race_started || op == Op::any_started || op == Op::within_target ||
           op == Op::shield_target || op == Op::scope || op == Op::raise || op == Op::complete ||
           op == Op::fail || op == Op::supervise || op == Op::ask || op == Op::sync ||
           op == Op::sync_within || op == Op::sync_race || op == Op::hold ||
           op == Op::hold_notified;
  }
  static bool needs_promise(Op op) {
    return op == Op::complete || op == Op::fail || op == Op::drop_promise;
  }
  static bool needs_target(Op op) {
    return op == Op::await || op == Op::take || op == Op::outcome || op == Op::gather ||
           op == Op::all_settled || op == Op::race || op == Op::within_target ||
           op == Op::shield_target || op == Op::cancel || op == Op::cancel_join || op == Op::drop ||
           op == Op::spawn_after || op == Op::spawn_from;
  }

  void fill(Statement& s, std::size_t depth) {
    switch (s.op) {
      case Op::spawn:
      case Op::spawn_after:
      case Op::spawn_from:
        s.how = way_to_spawn(s.op);
        s.number = number();
        s.key = key();
        if (s.op != Op::spawn) s.targets = dependencies(s.op == Op::spawn_from ? 1 : 0);
        add_bodies(s, 1, depth);
        own_.push_back(s.index);
        break;
      case Op::race_started:
      case Op::any_started:
        add_bodies(s, 1 + below(3), depth);
        break;
      case Op::supervise:
        s.supervision = way_to_supervise();
        s.number = number();
        ++supervisors_;
        add_bodies(s, s.supervision.children.size(), depth);
        --supervisors_;
        break;
      case Op::scope: {
        static constexpr Policy kPolicies[] = {Policy::fail_fast, Policy::fail_fast,
                                               Policy::collect_all, Policy::first_success};
        s.policy = one_of(kPolicies);
        const std::size_t spawns = s.policy == Policy::fail_fast ? below(2) : below(4);
        const bool outer = std::exchange(in_scope_, true);
        s.blocks.push_back(block(depth + 1, spawns + 1 + below(4), spawns));
        in_scope_ = outer;
        break;
      }
      case Op::within:
      case Op::shield:
      case Op::attempt:
      case Op::call:
      case Op::with:
        s.delay = delay();
        s.flag = chance(30);
        s.key = key();
        s.number = number();
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
        s.index = below(program_.promises);
        s.number = number();
        break;
      case Op::sleep:
      case Op::scope_timeout:
        s.delay = delay();
        break;
      case Op::scope_limit:
        s.number = static_cast<int>(below(4));
        break;
      case Op::ask:
      case Op::lookup:
      case Op::put:
      case Op::get:
      case Op::raise:
      case Op::give:
        s.key = key();
        s.number = number();
        break;
      case Op::sync:
        s.calls.push_back(any_call());
        break;
      case Op::sync_within:
        s.delay = delay();
        s.calls.push_back(waiting_call());
        break;
      case Op::sync_race:
        s.flag = chance(60);
        s.number = static_cast<int>(mix());
        s.calls = s.flag ? mix_of_calls(kMixOfRace[s.number]) : calls_of_one_kind();
        if (has_task(s)) s.index = task();
        break;
      case Op::hold:
      case Op::hold_notified:
        s.index = chance(80) ? 0 : below(kOfEach);
        s.calls.push_back(s.op == Op::hold ? holding_call() : call(Use::lock));
        s.blocks.push_back(inner(depth));
        break;
      default:
        break;
    }
  }

  bool uses_sync_ = false;
  int left_ = 0;
  int next_block_ = 0;
  int next_statement_ = 0;
  std::size_t supervisors_ = 0;  // around what is being written
};

}  // namespace model
