// What is said between a person, a model and tools: the parts of a conversation, as they are in the
// log (docs/decisions/0030-agent.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

enum class Role : std::uint8_t { system, user, assistant, tool };
std::string_view name_of(Role role) noexcept;

// A tool that the model wants to be run. `arguments` is the text of a JSON object as the model
// wrote it: nobody has checked it.
struct ToolCall {
  std::string id{};  // by which the answer names its question
  std::string name{};
  std::string arguments{};
  bool operator==(const ToolCall&) const = default;
};
TIFFANY_JSON(ToolCall, id, name, arguments);

struct Message {
  Role role = Role::user;
  std::string text{};
  std::vector<ToolCall> calls{};  // of the assistant
  std::string call_id{};          // of a tool: which ToolCall this answers
  // Came from outside: a tool, a file, a memory, a server; or from a model that had read such text.
  bool tainted = false;
  bool operator==(const Message&) const = default;

  static Message system(std::string text);
  static Message user(std::string text);
  static Message assistant(std::string text, std::vector<ToolCall> calls = {});
  static Message tool(std::string call_id, std::string text);  // tainted
};
TIFFANY_JSON(Message, role, text, calls, call_id, tainted);

// In tokens, as the endpoint reports them.
struct Usage {
  std::int64_t input = 0;
  std::int64_t cached = 0;  // of the input
  std::int64_t output = 0;
  bool known = false;  // false: the endpoint did not say
  bool operator==(const Usage&) const = default;
};
TIFFANY_JSON(Usage, input, cached, output, known);

}  // namespace tiffany::agent

// By its name, for those who read the log.
template <>
struct tiffany::Codec<tiffany::agent::Role> {
  static void write(JsonWriter& out, agent::Role role);
  static agent::Role read(JsonReader& in);
};
