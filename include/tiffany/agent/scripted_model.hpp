// A model endpoint that says what a script says (agent/script.hpp): an HTTP server for tests of
// agents and of whatever else speaks to an endpoint of OpenAI's kind. For an agent that needs no
// network use PlanFile instead.
//
//   ScriptedModel model(co_await read_script("fix.json"));
//   Listener listener = Listener::bind(Address::loopback(0));
//   co_await model.serve(listener);
//
// It knows POST .../chat/completions and .../responses, streamed and not, POST .../embeddings,
// whose vectors are made of the words of a text, and GET .../models. Keys are not looked at: listen
// on loopback. Ids and times are made of the question and the script, so
// the same question has the same bytes for an answer. Which attempt at a question is made is
// counted by its body, and forgotten with the process. The program tiffany-scripted-model is this
// class.
//
// Faults: a number is answered as that status; "stall" sends half of the reply and then waits;
// "cut" closes the connection in its middle; "bad_utf8" has bytes in it that are no text;
// "truncated_arguments" ends well, but for the arguments of its last call; "slow" pauses before
// each piece.
#pragma once

#include <cstdint>
#include <memory>

#include "tiffany/agent/script.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany::agent {

class ScriptedModel {
 public:
  explicit ScriptedModel(Script script);
  ~ScriptedModel();
  ScriptedModel(const ScriptedModel&) = delete;
  ScriptedModel& operator=(const ScriptedModel&) = delete;

  // Until stop(). Cancel: as for http::Server::serve().
  Task<void> serve(Listener& listener);
  void stop() noexcept;
  std::uint64_t questions() const noexcept;  // so far, faults included

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tiffany::agent
