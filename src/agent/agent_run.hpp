// One run of an agent: what was said, what is used up, and what comes next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/agent/agent.hpp"
#include "tiffany/durable/flow.hpp"

namespace tiffany::agent {

// ---- The ends of the steps, as the log has them: the members of the WAL's schema first ----

struct Begun {  // InstructionStart
  std::string instruction{};
  CanvasState canvas{};
  std::string tools{};  // digests of what the operator chose
  std::string policy{};
  // What the model was told of, so that the log can be read without the operator's files.
  std::string prompt{};
  std::vector<ToolOffer> offers{};
  // The agent keeps it, whatever the operator's file says later. None: a log of before.
  std::optional<Policy> rules{};
};
TIFFANY_JSON(Begun, instruction, canvas, tools, policy, prompt, offers, rules);
TIFFANY_JSON_ADDED(Begun, rules);

// How a call was judged when the model made it: a replay judges alike, whatever tools and rules the
// process has by then.
struct CallCheck {
  std::string mistake{};  // a sentence for the model; then the call is not run
  ToolTraits traits{};
  bool ruled = false;  // a standing rule covers it
};

}  // namespace tiffany::agent

// It is in the log for every call: only what is not as usual, true traits as words.
template <>
struct tiffany::Codec<tiffany::agent::CallCheck> {
  static void write(JsonWriter& out, const agent::CallCheck& check);
  static agent::CallCheck read(JsonReader& in);
};

namespace tiffany::agent {

struct Thought {  // LLMPlan
  std::string plan{};
  std::vector<ToolCall> calls{};
  Stop stop = Stop::end;
  std::string model{};
  Usage usage{};
  std::int64_t cost = 0;  // in micro-dollars
  std::string request{};  // digest of everything that was said before
  int attempts = 1;
  bool tainted = false;
  std::vector<CallCheck> checks{};  // one for each call
};
TIFFANY_JSON(Thought, plan, calls, stop, model, usage, cost, request, attempts, tainted, checks);
TIFFANY_JSON_ADDED(Thought, checks);

struct ToolRecord {  // ToolResult
  std::string tool{};
  std::string output{};
  std::optional<std::string> error{};
  std::string call{};
  int exit = 0;
  int level = 0;
  CanvasState canvas{};
  std::string kept{};    // what the tool wants to find again, and the model is not told; JSON
  std::string handle{};  // the call goes on elsewhere, and its end is another record
};

}  // namespace tiffany::agent

// `kept` and `handle` only where there is something: few tools have them.
template <>
struct tiffany::Codec<tiffany::agent::ToolRecord> {
  static void write(JsonWriter& out, const agent::ToolRecord& record);
  static agent::ToolRecord read(JsonReader& in);
};

namespace tiffany::agent {

// The pin that the tool has by now, when the call was not made for that; it is in `error`, behind
// these words. Empty: it was made, or failed otherwise.
inline constexpr std::string_view kDrifted = "another tool: ";
std::string drift_of(const ToolRecord& record);
// The beginning and the end of what is too long. Characters stay whole.
std::string cut_in_the_middle(std::string text, std::size_t longest);
// What is recorded and shown is text; bytes that are none are shown as question marks.
std::string as_text(std::string bytes);
// A step of a tool, as it is recorded. The tool is looked for there: it may be gone, or another one
// than was judged.
Task<ToolRecord> run_there(AgentServices* with, const ToolCall* call, std::string pin,
                           ToolContext where, int attempt);
// What is in the way of git, such as the lock of a process that was killed, is gone after seconds.
Retry patience();
// As the model is told of it.
Message message_of(const ToolRecord& record);
Message message_of(const MergedCanvas& merged);

inline constexpr const char* kCutOff = "Your reply was cut off. Go on where it ended.";
inline const std::string kNotApproved = "The patch was not approved. ";

struct Preview {  // PatchPreview
  std::string diff{};
  CanvasState canvas{};
  std::string digest{};
  std::vector<std::string> unresolved{};  // files with what a merge left: then nobody is asked
};
TIFFANY_JSON(Preview, diff, canvas, digest, unresolved);
TIFFANY_JSON_ADDED(Preview, unresolved);
Message message_of(const Preview& preview);  // that has something unresolved

struct Committed {  // Commit
  std::string sha{};
  std::string message{};
  std::string ref{};
};
TIFFANY_JSON(Committed, sha, message, ref);

struct Completed {  // TaskComplete
  bool success = false;
  std::string commit{};
};
TIFFANY_JSON(Completed, success, commit);

// What somebody sent as the signal of kRaiseBudget. A value that is none must not stop the task: it
// is read, and raises nothing.
struct SentAmounts {
  Amounts by{};
  std::string mistake{};
};

}  // namespace tiffany::agent

template <>
struct tiffany::Codec<tiffany::agent::SentAmounts> {
  static void write(JsonWriter& out, const agent::SentAmounts& value) { write_json(out, value.by); }
  static agent::SentAmounts read(JsonReader& in) {
    const std::string text(in.raw());
    agent::SentAmounts sent;
    try {
      sent.by = from_json<agent::Amounts>(text);
    } catch (const Error& error) {
      sent.mistake = error.what();
    }
    return sent;
  }
};

namespace tiffany::agent {

// ---- The state ----

struct RunState {
  bool begun = false;
  std::vector<Message> messages{};
  std::string chain{};      // digest of the messages, one after the other
  std::string base_tree{};  // of the canvas when nothing was changed
  CanvasState canvas{};
  Amounts spent{};
  BudgetLimits limits{};
  Exposure met{};
  std::vector<std::string> granted{};  // tools that are approved for the whole task
  int turns = 0;
  std::int64_t began_us = 0;
  std::string said{};  // by the model, at last
  Committed commit{};
  std::optional<Policy> policy{};  // that it began with
  Amounts raised{};
  std::string child{};  // an agent of its own whose canvas is not taken yet
  // The task as which it acts. In a fork that is the other one, until what was copied ends.
  std::string who{};
  bool forked = false;
};
TIFFANY_JSON(RunState, begun, messages, chain, base_tree, canvas, spent, limits, met, granted,
             turns, began_us, said, commit, policy, raised, child, who, forked);
TIFFANY_JSON_ADDED(RunState, policy, raised, child, who, forked);

class AgentRun {
 public:
  // `type` is what the registry calls this task.
  AgentRun(AgentServices& with, Flow& flow, const Instruction& ask, std::string type) noexcept
      : with_(with), flow_(flow), ask_(ask), type_(std::move(type)) {}
  AgentRun(const AgentRun&) = delete;
  AgentRun& operator=(const AgentRun&) = delete;

  Durable<Summary> run();
  AgentView view() const;
  std::vector<Message> transcript() const;

 private:
  enum class Patch : std::uint8_t { settled, again };
  // What a person is asked for, for the task that asks.
  using Asking = std::function<Action(const std::string& task)>;

  Durable<Summary> work();
  Task<void> tidy(bool cancelled) const;
  Durable<void> begin();
  Durable<void> be_itself();
  Durable<void> afford(Amounts more);
  Durable<Thought> think();

  Durable<void> act(const Thought& thought);
  Durable<void> act_on(const ToolCall& call, const CallCheck& check);
  Durable<void> act_together(const Thought& thought, std::size_t from, std::size_t to);
  Durable<void> turn_down(const ToolCall& call, std::string why);
  // `accepted`: the pin of a tool that has become another one, if a person has approved that.
  Durable<ToolRecord> run_tool(const ToolCall& call, const CallCheck& check, std::string accepted);
  Durable<ToolRecord> await_tool(const ToolCall& call, std::string handle);
  // None: it was turned down.
  Durable<std::optional<ToolRecord>> run_or_ask(const ToolCall& call, const CallCheck& check);
  Durable<ToolRecord> delegate(const ToolCall& call);
  Durable<ToolRecord> take_from_child(const ToolCall& call, std::string said, CanvasState canvas);
  Durable<void> stop_tool(const ToolCall& call, ToolContext where);
  std::size_t end_of_group(const Thought& thought, std::size_t from) const;
  Decision judge(const ToolCall& call, const CallCheck& check, const Exposure& met) const;
  ToolContext context() const;
  void settle_call(const ToolCall& call, const CallCheck& check, const ToolRecord& record);

  // None: nobody answered in time.
  Durable<std::optional<Answer>> ask_person(const Asking& asking, std::string why,
                                            std::string diff);
  Durable<bool> may_run(const ToolCall& call, const CallCheck& check);
  Durable<void> remember(const ToolCall& call, const CallCheck& check, const Answer& answer);
  Durable<Patch> settle_patch();
  Durable<std::optional<Committed>> commit(std::string message);
  Durable<void> merge();
  Durable<Summary> finish();

  Model& model() noexcept { return script_ != nullptr ? *script_ : with_.model; }
  Request question() const;
  Amounts estimate(const Request& request) const;
  void take(const Thought& thought, const Amounts& reserved);
  void say(Message message);
  void now(std::string state, std::string about = {});
  std::string ref(const std::string& task) const;
  int depth() const noexcept { return ask_.from ? ask_.from->depth : 0; }
  const Policy& policy() const noexcept { return state_.policy ? *state_.policy : with_.policy; }
  std::string who() const { return flow_.written_by().text(); }
  Action action_of(const std::string& task, const std::string& tool, const std::string& arguments,
                   const ToolTraits& traits);

  AgentServices& with_;
  Flow& flow_;
  const Instruction& ask_;
  std::string type_;
  RunState state_{};
  std::unique_ptr<Model> script_;  // that the instruction came with
  std::string doing_ = "beginning";
  std::string about_{};
  std::optional<Question> question_{};
  std::string merge_wanted_{};  // why the commit did not fit
};

}  // namespace tiffany::agent
