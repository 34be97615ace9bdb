// Requests as bodies of both protocols.
#include "agent/wire.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/durable/failures.hpp"

namespace tiffany::agent::wire {

namespace {

std::string schema_text(const std::string& schema, const std::string& of) {
  if (schema.empty()) return R"({"type":"object","properties":{}})";
  try {
    std::string text = compact_json(schema);
    if (text.starts_with('{')) return text;
  } catch (const Error& error) {
    throw NotRetryable("The JSON Schema of " + of + " is no JSON: " + error.what());
  }
  throw NotRetryable("The JSON Schema of " + of + " is no object.");
}

void write_chat_message(JsonWriter& out, const Message& message) {
  out.begin_object();
  out.member("role", name_of(message.role));
  if (message.role == Role::tool) out.member("tool_call_id", message.call_id);
  out.key("content");
  if (message.text.empty() && !message.calls.empty()) {
    out.null();
  } else {
    out.value(message.text);
  }
  if (!message.calls.empty()) {
    out.key("tool_calls");
    out.begin_array();
    for (const ToolCall& call : message.calls) write_chat_call(out, call);
    out.end_array();
  }
  out.end_object();
}

void write_function(JsonWriter& out, const ToolOffer& tool) {
  out.member("name", tool.name);
  out.member("description", tool.about);
  out.key("parameters");
  out.raw_value(schema_text(tool.schema, "the tool " + tool.name));
}

void write_format(JsonWriter& out, const std::string& schema) {
  out.member("name", "reply");
  out.key("schema");
  out.raw_value(schema_text(schema, "the reply"));
  out.member("strict", true);
}

// One message may be several items: what the assistant said, and each of its calls.
void write_items(JsonWriter& out, const Message& message) {
  if (message.role == Role::tool) {
    out.begin_object();
    out.member("type", "function_call_output");
    out.member("call_id", message.call_id);
    out.member("output", message.text);
    out.end_object();
    return;
  }
  if (!message.text.empty() || message.calls.empty()) {
    out.begin_object();
    out.member("type", "message");
    out.member("role", name_of(message.role));
    out.member("content", message.text);
    out.end_object();
  }
  for (const ToolCall& call : message.calls) {
    out.begin_object();
    out.member("type", "function_call");
    out.member("call_id", call.id);
    out.member("name", call.name);
    out.member("arguments", call.arguments);
    out.end_object();
  }
}

}  // namespace

void write_chat_call(JsonWriter& out, const ToolCall& call) {
  out.begin_object();
  out.member("id", call.id);
  out.member("type", "function");
  out.key("function");
  out.begin_object();
  out.member("name", call.name);
  out.member("arguments", call.arguments);
  out.end_object();
  out.end_object();
}

std::string chat_body(const Endpoint& endpoint, const Request& request) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("model", endpoint.model);
  out.key("messages");
  out.begin_array();
  for (const Message& message : request.messages) write_chat_message(out, message);
  out.end_array();
  if (!request.tools.empty()) {
    out.key("tools");
    out.begin_array();
    for (const ToolOffer& tool : request.tools) {
      out.begin_object();
      out.member("type", "function");
      out.key("function");
      out.begin_object();
      write_function(out, tool);
      out.end_object();
      out.end_object();
    }
    out.end_array();
  }
  out.member(endpoint.limit_member, request.most_output);
  if (!request.output_schema.empty()) {
    out.key("response_format");
    out.begin_object();
    out.member("type", "json_schema");
    out.key("json_schema");
    out.begin_object();
    write_format(out, request.output_schema);
    out.end_object();
    out.end_object();
  }
  out.member("stream", endpoint.streamed);
  if (endpoint.streamed) {
    out.key("stream_options");
    out.begin_object();
    out.member("include_usage", true);
    out.end_object();
  }
  out.end_object();
  return text;
}

std::string responses_body(const Endpoint& endpoint, const Request& request) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("model", endpoint.model);
  out.key("input");
  out.begin_array();
  for (const Message& message : request.messages) write_items(out, message);
  out.end_array();
  if (!request.tools.empty()) {
    out.key("tools");
    out.begin_array();
    for (const ToolOffer& tool : request.tools) {
      out.begin_object();
      out.member("type", "function");
      write_function(out, tool);
      out.member("strict", false);
      out.end_object();
    }
    out.end_array();
  }
  out.member("max_output_tokens", request.most_output);
  if (!request.output_schema.empty()) {
    out.key("text");
    out.begin_object();
    out.key("format");
    out.begin_object();
    out.member("type", "json_schema");
    write_format(out, request.output_schema);
    out.end_object();
    out.end_object();
  }
  out.member("store", false);  // the conversation is ours: nothing is kept there
  out.member("stream", endpoint.streamed);
  out.end_object();
  return text;
}

}  // namespace tiffany::agent::wire
