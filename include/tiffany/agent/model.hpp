// What thinks: a question with everything that was said so far, and one reply.
//
//   agent::Reply reply = co_await model.ask(request, attempt, live);
//
// A model is asked inside of a step, so its reply is recorded and it is not asked again after a
// crash. HttpModel speaks to endpoints (agent/http_model.hpp); PlanFile reads its replies from a
// file, and needs no network (agent/plan_file.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/agent/message.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::agent {

// A tool as the model is told of it.
struct ToolOffer {
  std::string name{};
  std::string about{};
  std::string schema{};  // JSON Schema of its arguments, an object
};
TIFFANY_JSON(ToolOffer, name, about, schema);

class Request {
 public:
  Request() = default;
  std::string model{};  // empty: the first that the router has
  std::vector<Message> messages{};
  std::vector<ToolOffer> tools{};
  std::int64_t most_output = 8'192;  // tokens
  std::string output_schema{};       // the text of the reply is JSON of this; empty: any text
};

enum class Stop : std::uint8_t {  // in the log by its name
  end,                            // the model has said what it wanted to say
  tools,                          // the model waits for answers of tools
  length,                         // most_output was reached: the reply is cut off
  refused,                        // the endpoint's filter
};
std::string_view name_of(Stop stop) noexcept;

struct Reply {
  Message message{};
  Stop stop = Stop::end;
  Usage usage{};
  std::string model{};  // which one answered
};
TIFFANY_JSON(Reply, message, stop, usage, model);

// One try at a question.
class Try {
 public:
  Try() = default;
  explicit Try(std::string same_key, int count = 1) : key(std::move(same_key)), number(count) {}
  std::string key{};  // the same in every process for the same question; for idempotency and jitter
  int number = 1;
};

// Told of pieces of text while they come, for those who watch. Nothing that is told here is in the
// log: an attempt that breaks off has said nothing.
using LiveText = std::function<void(std::string_view piece)>;

class Model {
 public:
  virtual ~Model() = default;
  // Throws RetryAfter (durable/failures.hpp) when the endpoint asks for patience, NotRetryable when
  // asking again cannot help, another Error otherwise; a reply that broke off is an Error.
  //
  // Cancel. The connection is closed, and nothing is said.
  virtual Task<Reply> ask(Request request, Try attempt, LiveText live) = 0;
};

}  // namespace tiffany::agent

template <>
struct tiffany::Codec<tiffany::agent::Stop> {
  static void write(JsonWriter& out, agent::Stop stop);
  static agent::Stop read(JsonReader& in);
};
