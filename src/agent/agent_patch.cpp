// What needs a person: calls of tools that ask, and patches.
#include <chrono>
#include <utility>

#include "agent/agent_run.hpp"
#include "tiffany/agent/meters.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

using wal::RecordType;

constexpr const char* kCommit = "commit";

std::string commit_arguments(const std::string& ref, const std::string& message) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("message", message);
  out.member("ref", ref);
  out.end_object();
  return text;
}

Task<Preview> preview_there(AgentServices* with, std::string repository, CanvasState canvas,
                            std::string digest) {
  Preview preview;
  preview.canvas = canvas;
  preview.digest = std::move(digest);
  preview.unresolved = co_await with->repositories.unresolved(repository, canvas);
  for (std::string& each : preview.unresolved) each = with->secrets.scrubbed(each);
  preview.diff = with->secrets.scrubbed(
      co_await with->repositories.diff(std::move(repository), std::move(canvas)));
  co_return preview;
}

// Another try would find the branch where this one did.
class BranchMoved : public Error {
 public:
  using Error::Error;
};

Task<Committed> commit_there(AgentServices* with, CommitRequest request) {
  Committed made;
  made.message = request.message;
  made.ref = request.ref;
  try {
    made.sha = co_await with->repositories.commit(std::move(request));
  } catch (const Error& error) {
    if (error.code() != Errc::canvas_conflict) throw;
    throw BranchMoved(error.code(), error.what());
  }
  co_return made;
}

Task<MergedCanvas> merge_there(AgentServices* with, std::string repository, CanvasState canvas,
                               std::string ref, std::string task) {
  MergedCanvas merged = co_await with->repositories.merge(std::move(repository), std::move(canvas),
                                                          std::move(ref), std::move(task));
  for (std::string& each : merged.conflicts) each = with->secrets.scrubbed(each);
  co_return merged;
}

}  // namespace

std::string AgentRun::ref(const std::string& task) const {
  return ask_.onto.empty() ? default_ref(task) : "refs/heads/" + ask_.onto;
}

Action AgentRun::action_of(const std::string& task, const std::string& tool,
                           const std::string& arguments, const ToolTraits& traits) {
  Action action;
  action.task = task;
  action.tool = tool;
  action.pin = traits.pin;
  action.arguments = arguments;
  action.level = traits.level;
  action.base = state_.canvas.base;
  action.tree = state_.canvas.tree;
  return action;
}

// The answer counts for this action and for no other one: an answer to something else is none, and
// the question is asked again under another promise. So it is in a fork that was made between an
// approval and what it allows: it was given to the other task. A rejection is one of both.
Durable<std::optional<Answer>> AgentRun::ask_person(const Asking& asking, std::string why,
                                                    std::string diff) {
  co_await be_itself();
  std::string asker = who();
  WallTime expiry =
      flow_.now() + std::chrono::duration_cast<std::chrono::microseconds>(with_.approval_time);
  DurableHandle<void> timer = co_await flow_.timer(with_.approval_time);
  for (;;) {
    if (who() != asker) {
      co_await be_itself();
      asker = who();
      expiry =
          flow_.now() + std::chrono::duration_cast<std::chrono::microseconds>(with_.approval_time);
      timer = co_await flow_.timer(with_.approval_time);
    }
    const Action action = asking(asker);
    const DurableHandle<Answer> promise = co_await flow_.promise<Answer>("approve " + action.tool);
    Question question;
    question.promise = promise.id().text();
    question.tool = action.tool;
    question.digest = digest(action);
    question.action = canonical_text(action);
    question.why = why;
    if (action.tool == kCommit) {
      question.why = "A patch is to be committed to " + ref(asker) + "." +
                     (why.empty() ? "" : " The last try failed: " + why);
    }
    question.diff = diff;
    question.expires_us = expiry.time_since_epoch().count();
    now("awaiting approval", question.why);
    question_ = std::move(question);
    co_await flow_.wait_until([&] { return promise.arrived() || timer.arrived(); });
    question_.reset();
    if (!promise.arrived()) {
      if (who() != asker) continue;
      if (with_.meters != nullptr && !flow_.replaying()) with_.meters->answered("none");
      co_return std::nullopt;
    }
    Answer answer;
    std::string broken;
    try {
      answer = co_await promise;
    } catch (const DurableFailed& error) {
      broken = error.what();
    }
    if (!broken.empty()) {
      answer.comment = std::move(broken);
      co_return answer;  // a rejection
    }
    bool counts = true;
    try {
      check_answer(action, answer, flow_.now(), expiry);
    } catch (const Error& error) {
      if (error.code() != Errc::approval_refused) throw;
      counts = false;
    }
    if (!counts || (answer.verdict == Verdict::approve && who() != asker)) continue;
    if (with_.meters != nullptr && !flow_.replaying()) {
      with_.meters->answered(name_of(answer.verdict));
    }
    co_return answer;
  }
}

Durable<bool> AgentRun::may_run(const ToolCall& call, const CallCheck& check) {
  const Decision decision = judge(call, check, state_.met);
  if (decision.ruling == Ruling::allow) co_return true;
  if (decision.ruling == Ruling::refuse) {
    co_await turn_down(call, decision.why);
    co_return false;
  }
  const Asking asking = [&](const std::string& task) {
    return action_of(task, call.name, call.arguments, check.traits);
  };
  const std::optional<Answer> answer = co_await ask_person(asking, decision.why, "");
  if (answer && answer->verdict == Verdict::approve) {
    if (answer->scope == AnswerScope::task) state_.granted.push_back(call.name);
    if (answer->scope == AnswerScope::rule) co_await remember(call, check, *answer);
    co_return true;
  }
  std::string why = "Nobody approved this call in time.";
  if (answer) why = "This call was not approved. " + answer->comment;
  co_await turn_down(call, std::move(why));
  co_return false;
}

// A tool that has become another one than the operator accepted is called if a person approves of
// what it is now: the question has both, and the answer counts for that pin.
Durable<std::optional<ToolRecord>> AgentRun::run_or_ask(const ToolCall& call,
                                                        const CallCheck& check) {
  ToolRecord record = co_await run_tool(call, check, "");
  while (!drift_of(record).empty()) {
    ToolTraits now = check.traits;
    now.pin = drift_of(record);
    const Asking asking = [&](const std::string& task) {
      return action_of(task, call.name, call.arguments, now);
    };
    const std::string why = "The tool \"" + call.name + "\" is not the one that was accepted.";
    const std::optional<Answer> answer = co_await ask_person(asking, why, record.output);
    if (!answer || answer->verdict != Verdict::approve) {
      std::string refused = why + " Nobody approved it in time.";
      if (answer) refused = why + " This call was not approved. " + answer->comment;
      co_await turn_down(call, std::move(refused));
      co_return std::nullopt;
    }
    record = co_await run_tool(call, check, now.pin);
  }
  co_return record;
}

// The answer counts for this call even when it cannot become a rule; the log says why then.
Durable<void> AgentRun::remember(const ToolCall& call, const CallCheck& check,
                                 const Answer& answer) {
  StandingRule rule;
  rule.tool = call.name;
  rule.pin = check.traits.pin;
  rule.arguments = call.arguments;
  rule.repository = ask_.repository;
  rule.who = answer.who;
  rule.comment = answer.comment;
  rule.since_us = flow_.now().time_since_epoch().count();
  const auto here = [&] {
    try {
      if (with_.rules == nullptr) return std::string("No rules are kept here.");
      with_.rules->add(rule);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  co_await be_itself();
  static_cast<void>(co_await flow_.step("rule", here));
}

// The model has nothing more to do: what it changed is shown, approved and committed. `again`: the
// model is told what is wrong, and goes on.
Durable<AgentRun::Patch> AgentRun::settle_patch() {
  // Why a commit was refused although the branch is where it was: somebody has it checked out. A
  // person sees to that, so one is asked even where it is free.
  std::string held;
  while (state_.canvas.tree != state_.base_tree) {
    const std::string message = state_.said.empty() ? ask_.instruction : state_.said;
    co_await be_itself();
    const Asking asking = [&](const std::string& task) {
      return action_of(task, kCommit, commit_arguments(ref(task), message), ToolTraits());
    };
    now("previewing");
    const auto look = [&] {
      return preview_there(&with_, ask_.repository, state_.canvas, digest(asking(who())));
    };
    const Preview preview =
        co_await flow_.step("preview", StepOptions().recorded_as(RecordType::PatchPreview), look);
    if (!preview.unresolved.empty()) {
      say(message_of(preview));
      co_return Patch::again;
    }
    if (!ask_.onto.empty() || !policy().own_branch_is_free || !held.empty()) {
      const std::optional<Answer> answer = co_await ask_person(asking, held, preview.diff);
      if (!answer) co_return Patch::settled;
      if (answer->verdict != Verdict::approve) {
        say(Message::user(kNotApproved + answer->comment));
        co_return Patch::again;
      }
    }
    const std::optional<Committed> made = co_await commit(message);
    if (made) {
      state_.commit = *made;
      co_return Patch::settled;
    }
    const std::size_t before = state_.messages.size();
    const CanvasState tried = state_.canvas;
    co_await merge();
    if (state_.messages.size() != before) co_return Patch::again;
    held = state_.canvas == tried ? merge_wanted_ : "";
  }
  co_return Patch::settled;
}

// None: the branch is somewhere else by now.
Durable<std::optional<Committed>> AgentRun::commit(std::string message) {
  co_await be_itself();
  now("committing");
  CommitRequest request;
  request.repository = ask_.repository;
  request.ref = ref(who());
  request.tree = state_.canvas.tree;
  request.parent = state_.canvas.base;
  request.message = std::move(message);
  request.who = with_.author;
  request.time = flow_.now();
  const auto there = [&] { return commit_there(&with_, request); };
  StepOptions options = StepOptions()
                            .recorded_as(RecordType::Commit)
                            .retry(patience().except<BranchMoved>())
                            .arguments(request.ref, request.parent, request.tree);
  try {
    co_return co_await flow_.step("commit", std::move(options), there);
  } catch (const StepFailed& failed) {
    if (failed.cause() != Errc::canvas_conflict) throw;
    merge_wanted_ = failed.what();
  }
  co_return std::nullopt;
}

Durable<void> AgentRun::merge() {
  co_await be_itself();
  now("merging", merge_wanted_);
  const auto there = [&] {
    return merge_there(&with_, ask_.repository, state_.canvas, ref(who()), flow_.id().text());
  };
  const MergedCanvas merged = co_await flow_.step("merge", StepOptions().retry(patience()), there);
  state_.canvas = merged.canvas;
  if (!merged.base_tree.empty()) state_.base_tree = merged.base_tree;
  if (!merged.conflicts.empty()) say(message_of(merged));
}

Message message_of(const MergedCanvas& merged) {
  std::string text = "The branch has moved, and your changes do not fit to it. Conflicts:\n";
  if (merged.marked) {
    text =
        "The branch has moved, and your changes do not fit to it. The files are now those of the "
        "branch with your changes, but for these conflicts. Mend them, then answer as before.\n";
  }
  for (const std::string& each : merged.conflicts) text += each + "\n";
  Message message = Message::user(std::move(text));
  message.tainted = true;  // names of files are the words of others
  return message;
}

Message message_of(const Preview& preview) {
  const std::string id = preview.canvas.base.substr(0, 12);
  std::string text =
      "Nothing was committed: conflicts of the merge are left in the files below. No line may be "
      "a marker that ends with " +
      id + ", and no name of a file may end with ~branch." + id + " or ~canvas." + id + ".\n";
  for (const std::string& each : preview.unresolved) text += each + "\n";
  Message message = Message::user(std::move(text));
  message.tainted = true;
  return message;
}

Question require_question(const AgentView& view, const Answer& answer, WallTime now) {
  const auto refuse = [](const std::string& why) -> void {
    throw Error(Errc::approval_refused, why);
  };
  if (!view.question) refuse("The agent waits for no approval.");
  const Question& question = *view.question;
  if (answer.digest != question.digest) {
    refuse("The answer is for another action: the agent waits for " + question.digest +
           ". Look again at what is to be approved.");
  }
  if (now.time_since_epoch().count() >= question.expires_us) {
    refuse("The time for an answer is over.");
  }
  if (answer.who.empty()) refuse("Nobody is named who answers.");
  if (question.tool == kCommit && answer.scope != AnswerScope::once) {
    refuse("A patch is approved once: the next one is another patch.");
  }
  return question;
}

}  // namespace tiffany::agent
