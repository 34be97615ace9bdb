// The two protocols of OpenAI's API: a Request as the body of a message, and a Reply out of what
// comes back. Nothing here reads or writes a connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tiffany/agent/http_model.hpp"
#include "tiffany/agent/model.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::agent::wire {

// The same bytes for the same request. NotRetryable when a schema is no JSON object.
std::string chat_body(const Endpoint& endpoint, const Request& request);
// As chat completions have it, in questions and in answers.
void write_chat_call(JsonWriter& out, const ToolCall& call);
std::string responses_body(const Endpoint& endpoint, const Request& request);

// A call of a tool as far as it has come.
struct PartOfCall {
  std::string id{};
  std::string name{};
  std::string arguments{};
};

// A reply, put together from the events of a stream or from one body. All of it throws Error
// (bad_reply, model_failed).
class Assembler {
 public:
  virtual ~Assembler() = default;
  // The data of one event. What it does not know is skipped.
  virtual void event(std::string_view data, const LiveText& live) = 0;
  // A reply that was not streamed.
  virtual void body(std::string_view json) = 0;
  // The end that the protocol has was seen.
  bool complete() const noexcept { return complete_; }
  // What was said, when it is complete. `turn`: for ids that the endpoint has left out.
  Reply finish(std::int64_t turn);

 protected:
  virtual Reply gathered() = 0;
  bool complete_ = false;
};

std::unique_ptr<Assembler> assembler_of(Protocol protocol);

}  // namespace tiffany::agent::wire
