// A model that needs no network: its replies come from a script (agent/script.hpp). The default
// model of an agent, and the model of tests. To test what lies between an agent and an endpoint use
// ScriptedModel instead, which says the same over HTTP.
//
//   PlanFile model(Script::parse(text, "fix.json"));
//   PlanFile same(co_await read_script("fix.json"));
//
// A fault of the script is thrown as HttpModel throws it, without a connection: 429 is RetryAfter,
// 400 NotRetryable, "cut" Errc::model_failed, "truncated_arguments" Errc::bad_reply; "stall" waits
// first. A script that has no reply for a question is NotRetryable.
//
// Lifetime: the model outlives its questions. Thread safety: none; of one scheduler.
#pragma once

#include <string>
#include <utility>

#include "tiffany/agent/script.hpp"

namespace tiffany::agent {

class PlanFile final : public Model {
 public:
  explicit PlanFile(Script script) : script_(std::move(script)) {}

  // Cancel. Before start and while parked (stall, slow): nothing is said. After completion: the
  // reply is delivered, and the next suspension throws.
  Task<Reply> ask(Request request, Try attempt, LiveText live) override;

  const Script& script() const noexcept { return script_; }

 private:
  Script script_;
};

// Throws IoError when the file cannot be read, and as Script::parse. Cancel: nothing is read.
Task<Script> read_script(std::string path);

}  // namespace tiffany::agent
