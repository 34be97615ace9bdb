// Bodies of questions, as clients of both protocols write them.
#include <utility>

#include "agent/scripted_wire.hpp"
#include "agent/wire_parts.hpp"

namespace tiffany::agent::wire {

namespace {

// A text, or a list of parts with texts.
std::string read_text(JsonReader& in) {
  if (in.kind() != JsonKind::array) return string_or_nothing(in);
  std::string text;
  elements(in, [&] {
    members(in, [&](std::string_view name) {
      if (name == "text") {
        text += string_or_nothing(in);
      } else {
        in.raw();
      }
    });
  });
  return text;
}

Role role_of(std::string_view name) {
  if (name == "system" || name == "developer") return Role::system;
  if (name == "assistant") return Role::assistant;
  return name == "tool" ? Role::tool : Role::user;
}

ToolCall read_asked_call(JsonReader& in) {
  ToolCall call;
  members(in, [&](std::string_view name) {
    if (name == "id" || name == "call_id") {
      call.id = string_or_nothing(in);
    } else if (name == "name") {
      call.name = string_or_nothing(in);
    } else if (name == "arguments") {
      call.arguments = string_or_nothing(in);
    } else if (name == "function") {
      ToolCall inner = read_asked_call(in);
      call.name = std::move(inner.name);
      call.arguments = std::move(inner.arguments);
    } else {
      in.raw();
    }
  });
  return call;
}

Message read_asked_message(JsonReader& in) {
  Message message;
  members(in, [&](std::string_view name) {
    if (name == "role") {
      message.role = role_of(string_or_nothing(in));
    } else if (name == "content") {
      message.text = read_text(in);
    } else if (name == "tool_call_id") {
      message.call_id = string_or_nothing(in);
    } else if (name == "tool_calls") {
      elements(in, [&] { message.calls.push_back(read_asked_call(in)); });
    } else {
      in.raw();
    }
  });
  return message;
}

// Calls are items of their own here, behind the text of their message or without one: they belong
// to one reply until something else is said.
void read_item(JsonReader& in, std::vector<Message>& messages) {
  JsonReader ahead = in;
  std::string type;
  std::string id;
  std::string output;
  members(ahead, [&](std::string_view name) {
    if (name == "type") {
      type = string_or_nothing(ahead);
    } else if (name == "call_id") {
      id = string_or_nothing(ahead);
    } else if (name == "output") {
      output = read_text(ahead);
    } else {
      ahead.raw();
    }
  });
  if (type == "function_call") {
    if (messages.empty() || messages.back().role != Role::assistant) {
      messages.push_back(Message::assistant(""));
    }
    messages.back().calls.push_back(read_asked_call(in));
    messages.back().calls.back().id = id;
  } else if (type == "function_call_output") {
    in.raw();
    messages.push_back(Message::tool(id, output));
  } else if (type.empty() || type == "message") {
    messages.push_back(read_asked_message(in));
  } else {
    in.raw();
  }
}

void read_input(JsonReader& in, std::vector<Message>& messages) {
  if (in.kind() == JsonKind::string) {
    messages.push_back(Message::user(in.string()));
  } else {
    elements(in, [&] { read_item(in, messages); });
  }
}

ToolOffer read_offer(JsonReader& in) {
  ToolOffer offer;
  members(in, [&](std::string_view name) {
    if (name == "function") {
      offer = read_offer(in);
    } else if (name == "name") {
      offer.name = string_or_nothing(in);
    } else if (name == "description") {
      offer.about = string_or_nothing(in);
    } else if (name == "parameters") {
      offer.schema = in.raw();
    } else {
      in.raw();
    }
  });
  return offer;
}

}  // namespace

Asked read_asked(Protocol protocol, std::string_view body) {
  Asked asked;
  Request& request = asked.request;
  JsonReader in(body);
  if (in.kind() != JsonKind::object) in.fail("an object", in.offset());
  members(in, [&](std::string_view name) {
    if (name == "model") {
      request.model = string_or_nothing(in);
    } else if (name == "messages" && protocol == Protocol::chat) {
      elements(in, [&] { request.messages.push_back(read_asked_message(in)); });
    } else if (name == "input" && protocol == Protocol::responses) {
      read_input(in, request.messages);
    } else if (name == "instructions" && in.kind() == JsonKind::string) {
      request.messages.insert(request.messages.begin(), Message::system(in.string()));
    } else if (name == "tools") {
      elements(in, [&] { request.tools.push_back(read_offer(in)); });
    } else if (name == "stream" && in.kind() == JsonKind::boolean) {
      asked.streamed = in.boolean();
    } else if (name == "stream_options") {
      members(in, [&](std::string_view option) {
        if (option == "include_usage" && in.kind() == JsonKind::boolean) {
          asked.with_usage = in.boolean();
        } else {
          in.raw();
        }
      });
    } else {
      in.raw();
    }
  });
  in.end();
  return asked;
}

}  // namespace tiffany::agent::wire
