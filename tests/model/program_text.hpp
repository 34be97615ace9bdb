// A program as text for a reader.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "model/program.hpp"
#include "model/sync_text.hpp"

namespace model {

inline std::string task_name(std::size_t index) { return "t" + std::to_string(index); }
inline std::string promise_name(std::size_t index) { return "p" + std::to_string(index); }
inline std::string context_name(std::size_t key) { return "c" + std::to_string(key); }
inline std::string state_name(std::size_t key) { return "k" + std::to_string(key); }
inline std::string error_name(int number) { return "E" + std::to_string(number); }

inline std::string text_of(const std::vector<Target>& targets) {
  std::string out;
  for (const Target& target : targets) {
    out += " " + (target.promise ? promise_name(target.index) : task_name(target.index));
  }
  return out;
}

inline std::string text_of_spawn(const Statement& s) {
  std::string out = "spawn ";
  if (s.how.into == Into::root) out += "in root ";
  if (s.how.into == Into::scope) out += "in the scope ";
  out += task_name(s.index) + " with priority " + std::to_string(s.how.priority);
  if (s.how.with_value) out += ", " + context_name(s.key) + " = " + std::to_string(s.number);
  if (s.op == Op::spawn) return out;
  out += s.op == Op::spawn_from ? " from" : " after";
  out += text_of(s.targets);
  if (s.how.by_id) out += " by id";
  if (s.how.if_failed == IfFailed::run) out += ", if failed run";
  if (s.how.if_failed == IfFailed::fail) out += ", if failed fail";
  if (s.how.cost != 1) out += ", cost " + std::to_string(s.how.cost);
  return out;
}

inline std::string text_of(const Supervision& how) {
  std::string out = "supervise one_for_one";
  if (how.strategy == Strategy::one_for_all) out = "supervise one_for_all";
  if (how.strategy == Strategy::rest_for_one) out = "supervise rest_for_one";
  out += ", " + std::to_string(how.restarts) + " restarts within " + std::to_string(how.period);
  if (how.longest_wait > 0) {
    out +=
        ", back-off " + std::to_string(how.first_wait) + " to " + std::to_string(how.longest_wait);
  }
  return out + ", priority " + std::to_string(how.priority);
}

// What a block is for, where its statement has several.
inline std::string role_of(const Statement& s, std::size_t block) {
  if (s.op == Op::race_started || s.op == Op::any_started) return " " + task_name(s.index + block);
  if (s.op != Op::supervise) return {};
  const Child& child = s.supervision.children[block];
  std::string out = " permanent ";
  if (child.restart == Restart::transient) out = " transient ";
  if (child.restart == Restart::temporary) out = " temporary ";
  out += task_name(s.index + block);
  if (child.failures == 0) return out;
  return out + ", throws " + error_name(s.number) + " " + std::to_string(child.failures) + " times";
}

inline std::string text_of(Policy policy) {
  if (policy == Policy::collect_all) return "collect_all";
  return policy == Policy::first_success ? "first_success" : "fail_fast";
}

inline std::string text_of_sync(const Statement& s) {
  if (s.op == Op::sync) return text_of(s.calls[0]);
  if (s.op == Op::sync_within)
    return "within " + std::to_string(s.delay) + " " + text_of(s.calls[0]);
  if (s.op == Op::hold) return "with the hold of: " + text_of(s.calls[0]);
  if (s.op == Op::hold_notified) {
    return "notified at condition " + std::to_string(s.index) +
           ", with the hold of: " + text_of(s.calls[0]);
  }
  std::string out = "race over";
  for (const SyncCall& call : s.calls) out += " [" + text_of(call) + "]";
  if (has_task(s)) out += " [" + task_name(s.index) + "]";
  return out;
}

// One line, without the blocks.
inline std::string text_of(const Statement& s) {
  const std::string number = std::to_string(s.number);
  const std::string delay = std::to_string(s.delay);
  switch (s.op) {
    case Op::spawn:
    case Op::spawn_after:
    case Op::spawn_from:
      return text_of_spawn(s);
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
      return "race of operations";
    case Op::any_started:
      return "any of operations";
    case Op::within:
      return "within " + delay;
    case Op::within_target:
      return "within " + delay + text_of(s.targets);
    case Op::shield:
      return "shield";
    case Op::shield_target:
      return "shield" + text_of(s.targets);
    case Op::scope:
      return "scope, " + text_of(s.policy);
    case Op::scope_timeout:
      return "scope timeout " + delay;
    case Op::scope_cancel:
      return "scope cancel";
    case Op::scope_limit:
      return "scope limit of " + number + " tasks";
    case Op::supervise:
      return text_of(s.supervision);
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
    case Op::with:
      return "with " + context_name(s.key) + " = " + number;
    case Op::ask:
      return "ask " + context_name(s.key);
    case Op::lookup:
      return "lookup " + context_name(s.key);
    case Op::put:
      return "put " + state_name(s.key) + " = " + number;
    case Op::get:
      return "get " + state_name(s.key);
    case Op::tell:
      return "tell";
    case Op::told:
      return "told";
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
    case Op::sync:
    case Op::sync_within:
    case Op::sync_race:
    case Op::hold:
    case Op::hold_notified:
      return text_of_sync(s);
  }
  return "?";
}

inline std::string text_of(const Block& block, std::size_t depth = 0) {
  const std::string indent(2 * depth, ' ');
  std::string out;
  for (const Statement& s : block.statements) {
    out += indent + "s" + std::to_string(s.id) + ": " + text_of(s) + "\n";
    for (std::size_t i = 0; i < s.blocks.size(); ++i) {
      out += indent + "  {b" + std::to_string(s.blocks[i].id) + role_of(s, i) + "\n";
      out += text_of(s.blocks[i], depth + 2) + indent + "  }\n";
    }
  }
  return out;
}

inline std::string text_of(Order order) {
  switch (order) {
    case Order::priority:
      return "priority";
    case Order::fifo:
      return "fifo";
    case Order::depth_first:
      return "depth first";
    case Order::longest_path:
      return "longest path";
  }
  return "?";
}

inline std::string text_of(const Setup& setup) {
  std::string out = "order " + text_of(setup.order) + ", quantum " + std::to_string(setup.quantum);
  for (const auto& [priority, quantum] : setup.quantum_of) {
    out += ", quantum of priority " + std::to_string(priority) + " " + std::to_string(quantum);
  }
  out += ", turn " + std::to_string(setup.turn);
  if (setup.ageing != 0) out += ", ageing " + std::to_string(setup.ageing);
  if (setup.limit != std::numeric_limits<std::size_t>::max()) {
    out += ", limit " + std::to_string(setup.limit);
  }
  if (setup.system_failure_ends_run) out += ", system failure ends run";
  return out;
}

// How many entries of a log are shown.
inline constexpr std::size_t kShownEntries = 30;

inline std::string text_of_log(const std::vector<std::string>& entries) {
  std::string out = std::to_string(entries.size()) + " entries";
  const std::size_t hidden = entries.size() > kShownEntries ? entries.size() - kShownEntries : 0;
  for (std::size_t i = hidden; i < entries.size(); ++i) out += " " + entries[i];
  return out;
}

}  // namespace model
