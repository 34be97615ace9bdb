// What an agent can do besides thinking. A tool is offered to the model by name, description and
// schema; whether a call of it is run is decided by the policy (agent/policy.hpp), and the model
// has no say in it.
//
// A tool is run inside of a step of the durable task: after a crash it may be run again with the
// same key, and must then find what it did, or do what can be done twice.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/agent/canvas.hpp"
#include "tiffany/agent/model.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/step.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::agent {

// What a tool is to the world: who wrote the tool says so, never the model.
class ToolTraits {
 public:
  ToolTraits() = default;
  StepEffect effect = StepEffect::idempotent;
  bool ask = false;             // each call needs an approval
  bool reads_private = false;   // can see what must not leave
  bool untrusted = true;        // its answer is text that others wrote
  bool writes_outside = false;  // can tell somebody: the network, another program
  bool concurrent = false;      // changes nothing, and ends at a cancel: may run beside others
  int level = 0;                // of the sandbox
  std::string pin{};            // digest of what the tool is; part of what is approved
};

// Where a call is made.
class ToolContext {
 public:
  ToolContext() = default;
  Uuid task{};
  std::string key{};         // the same when the call is made again after a crash
  std::uint64_t round = 0;   // greater when the task was taken back (Attempt::retry)
  std::int64_t now_us = 0;   // Flow::now(), the same when the call is made again
  std::string repository{};  // empty: there is none
  CanvasState canvas{};
  // A person has approved the call although the tool is another one by now: ToolAnswer::drift.
  std::string accepted{};
  std::string handle{};  // of a call that goes on elsewhere: ToolAnswer::handle
};

class ToolAnswer {
 public:
  ToolAnswer() = default;
  explicit ToolAnswer(std::string said) : text(std::move(said)) {}
  std::string text{};
  bool failed = false;
  int exit = 0;
  int level = 0;         // of the sandbox that it had
  CanvasState canvas{};  // as it is now
  std::string kept{};    // for the log alone, as JSON: the model is not told
  // The tool is not what its pin says: this is the pin that it has by now, `text` says what is
  // different, and the call was not made.
  std::string drift{};
  // The call was made and has not ended: it goes on elsewhere under this id, and Tool::await waits
  // for it. Nothing of the call is done again for that, so an agent records it and waits in a step
  // of its own, which a crash does not end.
  std::string handle{};
};

class Tool {
 public:
  virtual ~Tool() = default;
  virtual const ToolOffer& offer() const noexcept = 0;
  virtual const ToolTraits& traits() const noexcept = 0;
  // A sentence for the model when these are no arguments for the tool; empty: they are.
  virtual std::string mistake_in(std::string_view arguments) const = 0;
  // What the model has to be told of is an answer; what is thrown fails the attempt, and another
  // one is made.
  virtual Task<ToolAnswer> run(ToolContext where, std::string arguments) = 0;
  // The end of a call that ToolContext::handle names. Errc::bad_tool for tools that give none.
  virtual Task<ToolAnswer> await(ToolContext where);
  // The task was cancelled while that call was made: what it began ends, and is waited for no more.
  virtual Task<void> stop(ToolContext where);
};

// Arguments against the schema of the offer: what mistake_in() gives for most tools.
std::string mistakes_in_call(const ToolOffer& offer, std::string_view arguments);

class ToolSet {
 public:
  // Errc::bad_tool for a name that another tool has, or that is empty.
  void add(std::shared_ptr<Tool> tool);
  // Takes those out whose names begin so. Calls that are under way need them still.
  std::vector<std::shared_ptr<Tool>> take_out(std::string_view prefix);
  Tool* find(std::string_view name) const noexcept;  // null: there is none
  std::vector<ToolOffer> offers() const;
  std::string names() const;  // "edit, read, run"
  // Why there is no tool whose name begins so; said when one is called.
  void miss(std::string prefix, std::string why) { missed_[std::move(prefix)] = std::move(why); }
  // A sentence about a name that no tool has.
  std::string about_missing(std::string_view name) const;
  // Of all of them: changes when one is added, removed or becomes another.
  std::string digest() const;

 private:
  std::vector<std::shared_ptr<Tool>> tools_;  // by name
  std::map<std::string, std::string> missed_;
};

}  // namespace tiffany::agent
