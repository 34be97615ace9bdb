#include "tiffany/agent/what_if.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/agent_run.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::agent {
namespace {

using wal::RecordType;

// The members of a record that are looked at; values as they are recorded.
struct RunRecord {
  std::string of;  // the promise or the step
  std::optional<std::string> result;
  std::optional<std::string> error;  // of a step that failed
};

RunRecord run_record(const wal::RecordView& view) {
  RunRecord record;
  const std::string object = "{" + std::string(view.payload) + "}";
  JsonReader in(object);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "of" || name == "step") {
      record.of = in.string();
    } else if (name == "result" || name == "value") {
      record.result = std::string(in.raw());
    } else if (name == "error" && in.kind() == JsonKind::string) {
      record.error = in.string();
    } else {
      in.raw();
    }
  }
  return record;
}

RunEvent event_of(bool decided, Message message) {
  RunEvent event;
  event.decided = decided;
  event.message = std::move(message);
  return event;
}

void add_thought(RecordedRun& run, const Thought& thought) {
  Message message = Message::assistant(thought.plan, thought.calls);
  message.tainted = thought.tainted;
  run.events.push_back(event_of(true, std::move(message)));
  if (thought.calls.empty() && thought.stop == Stop::length) {
    run.events.push_back(event_of(false, Message::user(kCutOff)));
  }
}

// Where the answers to the newest calls begin.
std::size_t first_answer(const RecordedRun& run) {
  std::size_t first = run.events.size();
  while (first > 0 && !run.events[first - 1].decided) --first;
  return first;
}

// Of a tool that failed as often as it was tried the log has the step and a sentence. It was the
// first call of that tool which has no answer.
void add_failure(RecordedRun& run, const RunRecord& record) {
  const std::size_t first = first_answer(run);
  if (first == 0) return;
  ToolRecord failed;
  failed.error = record.error;
  for (const ToolCall& call : run.events[first - 1].message.calls) {
    const bool answered =
        std::any_of(run.events.begin() + static_cast<std::ptrdiff_t>(first), run.events.end(),
                    [&](const RunEvent& each) { return each.message.call_id == call.id; });
    const bool its = record.of.starts_with("tool " + call.name + "#") ||
                     record.of.starts_with("await " + call.name + "#");
    if (answered || !its) continue;
    failed.tool = call.name;
    failed.call = call.id;
    break;
  }
  run.events.push_back(event_of(false, message_of(failed)));
}

// Calls that ran beside one another ended in any order; the model was told in its own.
void put_in_order(RecordedRun& run) {
  const std::size_t first = first_answer(run);
  if (first == 0) return;
  const std::vector<ToolCall>& calls = run.events[first - 1].message.calls;
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> order;  // of the call, and of the record
  for (std::size_t i = first; i < run.events.size(); ++i) {
    const auto at = std::find_if(calls.begin(), calls.end(), [&](const ToolCall& call) {
      return call.id == run.events[i].message.call_id;
    });
    order.emplace_back(at - calls.begin(), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<RunEvent> sorted;
  for (const auto& [place, i] : order) sorted.push_back(std::move(run.events[i]));
  std::move(sorted.begin(), sorted.end(), run.events.begin() + static_cast<std::ptrdiff_t>(first));
}

// "{}" for what is no JSON: then texts are compared.
std::string comparable(const std::string& arguments) {
  try {
    return canonical_json(arguments);
  } catch (const Error&) {
    return arguments;
  }
}

bool same_decision(const Message& a, const Message& b) {
  return std::equal(a.calls.begin(), a.calls.end(), b.calls.begin(), b.calls.end(),
                    [](const ToolCall& x, const ToolCall& y) {
                      return x.name == y.name && comparable(x.arguments) == comparable(y.arguments);
                    });
}

// None: the sentence says why.
Task<std::optional<Message>> decision_of(Model* model, const Request* request, int turn,
                                         std::string* problem) {
  Try attempt;
  attempt.key = "what-if " + std::to_string(turn);
  try {
    const Reply reply = co_await model->ask(*request, attempt, LiveText());
    co_return reply.message;
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    *problem = error.what();
  }
  co_return std::nullopt;
}

}  // namespace

RecordedRun recorded_run(const std::vector<std::string>& lines,
                         const std::function<std::string(std::string_view)>& value_of) {
  RecordedRun run;
  bool begun = false;
  for (const std::string& line : lines) {
    const wal::RecordView view = wal::view_of(line);
    const RunRecord record = run_record(view);
    if (!record.result) {
      if (view.type == RecordType::ToolResult && record.error) add_failure(run, record);
      continue;
    }
    const auto value = [&] { return value_of(*record.result); };
    if (view.type == RecordType::InstructionStart) {
      const auto start = from_json<Begun>(value());
      run.instruction = start.instruction;
      run.prompt = start.prompt;
      run.tools = start.offers;
      begun = true;
    } else if (view.type == RecordType::LLMPlan) {
      put_in_order(run);
      add_thought(run, from_json<Thought>(value()));
    } else if (view.type == RecordType::ToolResult) {
      const auto ended = from_json<ToolRecord>(value());
      // Of a tool that had become another one a person was asked, and then there is a second end.
      // Of a call that went on elsewhere its end is one, too.
      if (drift_of(ended).empty() && ended.handle.empty())
        run.events.push_back(event_of(false, message_of(ended)));
    } else if (view.type == RecordType::StepEnd && record.of.starts_with("merge#")) {
      const auto merged = from_json<MergedCanvas>(value());
      if (!merged.conflicts.empty()) run.events.push_back(event_of(false, message_of(merged)));
    } else if (view.type == RecordType::PatchPreview) {
      const auto preview = from_json<Preview>(value());
      if (!preview.unresolved.empty()) run.events.push_back(event_of(false, message_of(preview)));
    } else if (view.type == RecordType::Approval && record.of.starts_with("approve commit")) {
      const auto answer = from_json<Answer>(value());
      if (answer.verdict == Verdict::approve) continue;
      run.events.push_back(event_of(false, Message::user(kNotApproved + answer.comment)));
    }
  }
  put_in_order(run);
  if (begun) return run;
  throw Error(Errc::bad_argument,
              "This task has no record of an instruction: it is no agent, or has not begun.");
}

Task<WhatIf> what_if(RecordedRun run, Model& model, std::string prompt, std::string name) {
  WhatIf found;
  Request request;
  request.model = std::move(name);
  request.tools = run.tools;
  request.messages.push_back(Message::system(prompt.empty() ? run.prompt : std::move(prompt)));
  request.messages.push_back(Message::user(run.instruction));
  for (const RunEvent& event : run.events) {
    if (!event.decided) {
      request.messages.push_back(event.message);
      continue;
    }
    ++found.turns;
    std::string problem;
    const std::optional<Message> other =
        co_await decision_of(&model, &request, found.turns, &problem);
    if (!other || !same_decision(event.message, *other)) {
      WhatIf::Difference difference;
      difference.turn = found.turns;
      difference.recorded = event.message;
      if (other) difference.other = *other;
      difference.problem = std::move(problem);
      found.difference = std::move(difference);
      break;
    }
    // As it was said: the answers of tools name their questions by the ids of then.
    request.messages.push_back(event.message);
  }
  co_return found;
}

}  // namespace tiffany::agent
