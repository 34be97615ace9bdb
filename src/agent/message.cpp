#include "tiffany/agent/message.hpp"

#include <utility>

namespace tiffany::agent {

std::string_view name_of(Role role) noexcept {
  constexpr std::string_view kNames[] = {"system", "user", "assistant", "tool"};
  return kNames[static_cast<std::size_t>(role)];
}

namespace {

Message message_of(Role role, std::string text) {
  Message made;
  made.role = role;
  made.text = std::move(text);
  return made;
}

}  // namespace

Message Message::system(std::string text) { return message_of(Role::system, std::move(text)); }
Message Message::user(std::string text) { return message_of(Role::user, std::move(text)); }
Message Message::assistant(std::string text, std::vector<ToolCall> calls) {
  Message made = message_of(Role::assistant, std::move(text));
  made.calls = std::move(calls);
  return made;
}
Message Message::tool(std::string call_id, std::string text) {
  Message made = message_of(Role::tool, std::move(text));
  made.call_id = std::move(call_id);
  made.tainted = true;
  return made;
}

}  // namespace tiffany::agent

namespace tiffany {

void Codec<agent::Role>::write(JsonWriter& out, agent::Role role) { out.value(name_of(role)); }
agent::Role Codec<agent::Role>::read(JsonReader& in) {
  in.kind();
  const std::size_t at = in.offset();
  const std::string name = in.string();
  for (const agent::Role role :
       {agent::Role::system, agent::Role::user, agent::Role::assistant, agent::Role::tool}) {
    if (name == agent::name_of(role)) return role;
  }
  in.fail("a role (system, user, assistant, tool)", at);
}

}  // namespace tiffany
