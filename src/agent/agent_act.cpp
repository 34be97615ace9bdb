// What an agent does: calls of tools, one after the other or beside one another, and children.
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "agent/agent_run.hpp"
#include "agent/scrubbed_task.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/delegate.hpp"
#include "tiffany/agent/meters.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

using wal::RecordType;

constexpr std::size_t kLongestOutput = std::size_t{64} << 10;
constexpr std::size_t kMostBesideOneAnother = 8;

// What a call keeps that runs beside others. Its arguments are what a replay compares.
struct CallBeside {
  AgentServices* with = nullptr;
  ToolCall call{};
  std::string pin{};
  ToolContext where{};
};

Task<ToolRecord> run_beside(Attempt& attempt, const CallBeside& beside) {
  ToolContext where = beside.where;
  where.key = attempt.key();
  where.round = attempt.retry();
  return run_there(beside.with, &beside.call, beside.pin, std::move(where), attempt.number());
}

std::string text_of_child(const Summary& summary, bool changed) {
  std::string text = summary.text.empty() ? "The agent said nothing." : summary.text;
  if (changed) text += "\n[It has changed files. The changes are in your files now.]";
  return text;
}

// The members of a call of `delegate`; its schema was checked.
struct Delegated {
  std::string instruction{};
  std::optional<std::int64_t> turns{};
  std::optional<std::int64_t> tokens{};
};
TIFFANY_JSON(Delegated, instruction, turns, tokens);

}  // namespace
}  // namespace tiffany::agent

template <>
struct tiffany::Codec<tiffany::agent::CallBeside> {
  static void write(JsonWriter& out, const agent::CallBeside& value) {
    out.begin_array();
    out.value(value.call.name);
    out.value(value.call.arguments);
    out.value(value.where.canvas.tree);
    out.end_array();
  }
  // Never: the arguments of a step are compared as text.
  static agent::CallBeside read(JsonReader& in) { in.fail("what is only written", in.offset()); }
};

namespace tiffany::agent {

// ---- Texts ----

std::string cut_in_the_middle(std::string text, std::size_t longest) {
  if (text.size() <= longest) return text;
  const std::size_t head = detail::utf8_prefix(text, longest / 2).size();
  const std::size_t tail = detail::utf8_prefix(text, text.size() - longest / 2).size();
  const std::string left_out = std::to_string(tail - head);
  return text.substr(0, head) + "\n[... " + left_out + " bytes are left out here ...]\n" +
         text.substr(tail);
}

std::string as_text(std::string bytes) {
  if (detail::is_utf8(bytes)) return bytes;
  for (char& each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x80U || byte == 0) each = '?';
  }
  return bytes;
}

// The lock of a process that was killed is removed after three seconds (agent/git.hpp). An attempt
// that the process did not survive counts, so there are more of them than that takes.
Retry patience() {
  using namespace std::chrono_literals;
  return Retry(20, 200ms, 2, 2s);
}

// ---- One call ----

Task<ToolRecord> run_there(AgentServices* with, const ToolCall* call, std::string pin,
                           ToolContext where, int attempt) {
  ToolRecord record;
  record.tool = call->name;
  record.call = call->id;
  Tool* const tool = with->tools.find(call->name);
  if (tool == nullptr) {
    record.error = "This tool is not there any more.";
    co_return record;
  }
  if (where.handle.empty() && tool->traits().pin != pin) {
    if (attempt > 1) co_await tool->stop(std::move(where));  // what an attempt before began
    record.error = "This tool is another one since the call was judged. Call it again.";
    co_return record;
  }
  const AgentMeters::Attempted attempted(where.task, where.key, attempt);
  Task<ToolAnswer> running = where.handle.empty() ? tool->run(std::move(where), call->arguments)
                                                  : tool->await(std::move(where));
  const ToolAnswer answer = co_await scrubbed_task(&with->secrets, std::move(running));
  record.output = cut_in_the_middle(as_text(with->secrets.scrubbed(answer.text)), kLongestOutput);
  if (answer.failed) {
    record.error = answer.exit == 0 ? "failed" : "exit code " + std::to_string(answer.exit);
  }
  if (!answer.drift.empty()) record.error = std::string(kDrifted) + answer.drift;
  record.exit = answer.exit;
  record.level = answer.level;
  record.canvas = answer.canvas;
  record.kept = answer.kept;
  record.handle = answer.handle;
  if (with->meters != nullptr) {
    with->meters->ran_tool(attempted, call->name, answer.level, answer.failed);
  }
  co_return record;
}

std::string drift_of(const ToolRecord& record) {
  if (!record.error || !record.error->starts_with(kDrifted)) return {};
  return record.error->substr(kDrifted.size());
}

ToolContext AgentRun::context() const {
  ToolContext where;
  where.task = flow_.id();
  where.now_us = flow_.now().time_since_epoch().count();
  where.repository = ask_.repository;
  where.canvas = state_.canvas;
  return where;
}

Decision AgentRun::judge(const ToolCall& call, const CallCheck& check, const Exposure& met) const {
  const bool granted = check.ruled || std::find(state_.granted.begin(), state_.granted.end(),
                                                call.name) != state_.granted.end();
  return decide(policy(), call.name, check.traits, met, granted);
}

Durable<void> AgentRun::act_on(const ToolCall& call, const CallCheck& check) {
  if (!check.mistake.empty()) {
    co_await turn_down(call, check.mistake);
    co_return;
  }
  const bool may = co_await may_run(call, check);
  if (!may) co_return;
  ToolRecord record;
  if (call.name == kDelegate) {
    record = co_await delegate(call);
  } else {
    std::optional<ToolRecord> ran = co_await run_or_ask(call, check);
    if (!ran) co_return;
    record = std::move(*ran);
  }
  if (!record.canvas.tree.empty()) state_.canvas = record.canvas;
  settle_call(call, check, record);
}

void AgentRun::settle_call(const ToolCall& call, const CallCheck& check, const ToolRecord& record) {
  note(state_.met, check.traits);
  state_.spent.bytes += static_cast<std::int64_t>(record.output.size());
  Message message = message_of(record);
  message.call_id = call.id;
  message.tainted = check.traits.untrusted;
  say(std::move(message));
}

// A call that is not run has an end in the log, too.
Durable<void> AgentRun::turn_down(const ToolCall& call, std::string why) {
  ToolRecord record;
  record.tool = call.name;
  record.call = call.id;
  record.error = std::move(why);
  const auto here = [&] { return record; };
  co_await be_itself();
  // The name of a tool is the model's, and may be anything.
  const ToolRecord told =
      co_await flow_.step("tool refused", StepOptions().recorded_as(RecordType::ToolResult), here);
  say(message_of(told));
}

Durable<ToolRecord> AgentRun::run_tool(const ToolCall& call, const CallCheck& check,
                                       std::string accepted) {
  co_await be_itself();
  Amounts needed;
  needed.tool_runs = 1;
  co_await afford(needed);
  state_.spent.add(needed);
  now("acting", call.name);
  const std::string& tree = state_.canvas.tree;
  StepOptions options = accepted.empty()
                            ? StepOptions().arguments(call.name, call.arguments, tree)
                            : StepOptions().arguments(call.name, call.arguments, tree, accepted);
  options.ending = RecordType::ToolResult;
  options.policy = patience();
  options.effect = check.traits.effect == StepEffect::at_most_once ? StepEffect::at_most_once
                                                                   : StepEffect::idempotent;
  ToolContext where = context();
  where.accepted = accepted;
  const auto there = [&](Attempt& attempt) {
    where.key = attempt.key();
    where.round = attempt.retry();
    return run_there(&with_, &call, check.traits.pin, where, attempt.number());
  };
  ToolRecord record;
  std::exception_ptr cancelled;
  try {
    record = co_await flow_.step("tool " + call.name, std::move(options), there);
  } catch (const StepFailed& failed) {
    record.error = failed.what();
  } catch (const StepUnknown& unknown) {
    record.error = unknown.what();
  } catch (const DurableCancelled&) {
    cancelled = std::current_exception();
  }
  if (cancelled == nullptr && record.handle.empty()) co_return record;
  if (cancelled == nullptr) co_return co_await await_tool(call, record.handle);
  co_await stop_tool(call, std::move(where));
  std::rethrow_exception(cancelled);
}

// The call was made, and goes on elsewhere: waiting for it may be done again by another process.
Durable<ToolRecord> AgentRun::await_tool(const ToolCall& call, std::string handle) {
  co_await be_itself();
  StepOptions options = StepOptions()
                            .recorded_as(RecordType::ToolResult)
                            .retry(patience())
                            .arguments(call.name, handle);
  ToolContext where = context();
  where.handle = std::move(handle);
  const auto there = [&](Attempt& attempt) {
    where.key = attempt.key();
    where.round = attempt.retry();
    return run_there(&with_, &call, "", where, attempt.number());
  };
  ToolRecord record;
  std::exception_ptr cancelled;
  try {
    record = co_await flow_.step("await " + call.name, std::move(options), there);
  } catch (const StepFailed& failed) {
    record.error = failed.what();
  } catch (const DurableCancelled&) {
    cancelled = std::current_exception();
  }
  if (cancelled == nullptr) co_return record;
  co_await stop_tool(call, std::move(where));
  std::rethrow_exception(cancelled);
}

// The task was cancelled: what the call began ends.
Durable<void> AgentRun::stop_tool(const ToolCall& call, ToolContext where) {
  const auto shield = flow_.shield();
  const auto stop = [&]() -> Task<void> {
    Tool* const tool = with_.tools.find(call.name);
    if (tool != nullptr) co_await tool->stop(where);
  };
  co_await flow_.step("stop " + call.name, stop);
}

// ---- Several calls ----

Durable<void> AgentRun::act(const Thought& thought) {
  for (std::size_t i = 0; i < thought.calls.size();) {
    co_await be_itself();
    const std::size_t end = end_of_group(thought, i);
    if (end - i > 1) {
      co_await act_together(thought, i, end);
    } else {
      co_await act_on(thought.calls[i], thought.checks[i]);
    }
    i = end;
  }
}

// Calls that change nothing and need nobody's answer run beside one another, as far as the budget
// goes. Anything else is a group of its own.
std::size_t AgentRun::end_of_group(const Thought& thought, std::size_t from) const {
  Exposure met = state_.met;
  Amounts needed;
  std::size_t end = from;
  while (end < thought.calls.size() && end - from < kMostBesideOneAnother) {
    const CallCheck& check = thought.checks[end];
    if (!check.mistake.empty() || !check.traits.concurrent) break;
    if (judge(thought.calls[end], check, met).ruling != Ruling::allow) break;
    ++needed.tool_runs;
    if (!over_budget(state_.limits, state_.spent, needed).empty()) break;
    note(met, check.traits);
    ++end;
  }
  return std::max(end, from + 1);
}

Durable<void> AgentRun::act_together(const Thought& thought, std::size_t from, std::size_t to) {
  Amounts needed;
  needed.tool_runs = static_cast<std::int64_t>(to - from);
  state_.spent.add(needed);
  now("acting", std::to_string(to - from) + " tools");
  std::vector<DurableHandle<ToolRecord>> begun;
  const ToolContext where = context();
  for (std::size_t i = from; i < to; ++i) {
    CallBeside beside;
    beside.with = &with_;
    beside.call = thought.calls[i];
    beside.pin = thought.checks[i].traits.pin;
    beside.where = where;
    StepOptions options = StepOptions().recorded_as(RecordType::ToolResult).retry(patience());
    if (thought.checks[i].traits.effect == StepEffect::at_most_once) {
      options.effect = StepEffect::at_most_once;
    }
    DurableHandle<ToolRecord> handle = co_await flow_.begin_step(
        "tool " + beside.call.name, std::move(options), &run_beside, beside);
    begun.push_back(std::move(handle));
  }
  std::vector<ToolRecord> records(to - from);
  for (std::size_t i = 0; i < begun.size(); ++i) {
    try {
      records[i] = co_await begun[i];
    } catch (const StepFailed& failed) {
      records[i].error = failed.what();
    } catch (const StepUnknown& unknown) {
      records[i].error = unknown.what();
    }
  }
  for (std::size_t i = from; i < to; ++i) {
    settle_call(thought.calls[i], thought.checks[i], records[i - from]);
  }
}

// ---- Children ----

Durable<ToolRecord> AgentRun::delegate(const ToolCall& call) {
  const auto asked = from_json<Delegated>(call.arguments);
  Amounts least;
  least.tool_runs = 1;
  least.turns = 1;
  co_await afford(least);
  least.turns = 0;
  state_.spent.add(least);
  BudgetLimits wanted;
  wanted.turns = asked.turns;
  wanted.tokens = asked.tokens;
  Instruction child;
  child.instruction = asked.instruction;
  child.repository = ask_.repository;
  child.model = ask_.model;
  child.script = ask_.script;
  BudgetLimits share = state_.limits.share(state_.spent);
  if (share.turns == 0) share.turns = 1;  // half of the last turn is all of it
  child.budget = share.with(wanted);
  child.from.emplace();
  child.from->canvas = state_.canvas;
  child.from->met = state_.met;
  child.from->depth = depth() + 1;
  const Amounts reserved = child.budget.amounts();
  state_.spent.add(reserved);
  now("delegating", child.instruction.substr(0, child.instruction.find('\n')));
  const DurableHandle<Summary> handle = co_await flow_.spawn<Summary>(Flow::TypeName(type_), child);
  state_.child = handle.id().text();
  Summary summary;
  std::string failed;
  try {
    summary = co_await handle;
  } catch (const DurableFailed& error) {
    failed = error.what();
  }
  ToolRecord record;
  if (!failed.empty()) {
    // Nobody knows what it used: what was reserved stays so.
    record = co_await take_from_child(call, "The agent failed: " + failed, CanvasState());
    co_return record;
  }
  Amounts used = summary.spent;
  used.seconds = 0;  // they have passed here, too
  state_.limits.raise(summary.raised);
  state_.raised.add(summary.raised);
  state_.spent.settle(reserved, used);
  state_.met.saw_private |= summary.met.saw_private;
  state_.met.saw_untrusted |= summary.met.saw_untrusted;
  state_.met.wrote_outside |= summary.met.wrote_outside;
  std::string said = text_of_child(summary, summary.canvas.tree != state_.canvas.tree);
  record = co_await take_from_child(call, std::move(said), summary.canvas);
  co_return record;
}

// The answer of the child is a result of a tool, and its canvas becomes this one's.
Durable<ToolRecord> AgentRun::take_from_child(const ToolCall& call, std::string said,
                                              CanvasState canvas) {
  co_await be_itself();
  const bool failed = canvas.tree.empty() && !ask_.repository.empty();
  const auto there = [&]() -> Task<ToolRecord> {
    ToolRecord record;
    record.tool = call.name;
    record.call = call.id;
    record.output = cut_in_the_middle(said, kLongestOutput);
    if (!ask_.repository.empty()) {
      if (!failed) {
        record.canvas =
            co_await with_.repositories.keep(ask_.repository, canvas, flow_.id().text());
      }
      co_await with_.repositories.forget(ask_.repository, state_.child);
    }
    if (failed) record.error = "failed";
    co_return record;
  };
  StepOptions options = StepOptions()
                            .recorded_as(RecordType::ToolResult)
                            .retry(patience())
                            .arguments(call.name, call.arguments, state_.canvas.tree);
  const ToolRecord record = co_await flow_.step("tool " + call.name, std::move(options), there);
  state_.child.clear();
  co_return record;
}

}  // namespace tiffany::agent
