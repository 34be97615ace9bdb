// Answers of chat completions.
#include <algorithm>

#include "agent/scripted_wire.hpp"
#include "agent/wire.hpp"
#include "tiffany/agent/script.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::agent::wire {

namespace {

constexpr std::size_t kSmallPiece = 12;

void write_chat_usage(JsonWriter& out, const Usage& usage) {
  out.key("usage");
  out.begin_object();
  out.member("prompt_tokens", usage.input);
  out.member("completion_tokens", usage.output);
  out.member("total_tokens", usage.input + usage.output);
  out.key("prompt_tokens_details");
  out.begin_object();
  out.member("cached_tokens", usage.cached);
  out.end_object();
  out.end_object();
}

std::string_view finish_reason(Stop stop) {
  constexpr std::string_view kReasons[] = {"stop", "tool_calls", "length", "content_filter"};
  return kReasons[static_cast<std::size_t>(stop)];
}

void begin_chat(JsonWriter& out, const Reply& reply, const AnswerId& id, std::string_view object) {
  out.begin_object();
  out.member("id", "chatcmpl-" + id.digest);
  out.member("object", object);
  out.member("created", id.time);
  out.member("model", reply.model);
}

// One chunk, whose delta is written by `write`.
template <class F>
std::string chunk(const Reply& reply, const AnswerId& id, std::string_view finish, const F& write) {
  std::string text = "data: ";
  JsonWriter out(text);
  begin_chat(out, reply, id, "chat.completion.chunk");
  out.key("choices");
  out.begin_array();
  out.begin_object();
  out.member("index", 0);
  out.key("delta");
  out.begin_object();
  write(out);
  out.end_object();
  out.key("logprobs");
  out.null();
  out.key("finish_reason");
  if (finish.empty()) {
    out.null();
  } else {
    out.value(finish);
  }
  out.end_object();
  out.end_array();
  out.end_object();
  return text + "\n\n";
}

void write_call_part(JsonWriter& out, std::size_t index, const ToolCall* begun,
                     std::string_view arguments) {
  out.key("tool_calls");
  out.begin_array();
  out.begin_object();
  out.member("index", index);
  if (begun != nullptr) {
    out.member("id", begun->id);
    out.member("type", "function");
  }
  out.key("function");
  out.begin_object();
  if (begun != nullptr) out.member("name", begun->name);
  out.member("arguments", arguments);
  out.end_object();
  out.end_object();
  out.end_array();
}

}  // namespace

std::vector<std::string_view> small_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t end = std::min(kSmallPiece, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) ++end;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

std::string error_answer(std::string_view sentence, std::string_view type) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("error");
  out.begin_object();
  out.member("message", sentence);
  out.member("type", type);
  out.key("param");
  out.null();
  out.key("code");
  out.null();
  out.end_object();
  out.end_object();
  return text;
}

std::vector<std::string> chat_events(const Reply& reply, const AnswerId& id, bool with_usage) {
  std::vector<std::string> events;
  const auto add = [&](std::string_view finish, const auto& write) {
    events.push_back(chunk(reply, id, finish, write));
  };
  add("", [](JsonWriter& out) {
    out.member("role", "assistant");
    out.member("content", "");
  });
  for (const std::string_view piece : pieces_of(reply.message.text)) {
    add("", [&](JsonWriter& out) { out.member("content", piece); });
  }
  for (std::size_t i = 0; i < reply.message.calls.size(); ++i) {
    const ToolCall& call = reply.message.calls[i];
    add("", [&](JsonWriter& out) { write_call_part(out, i, &call, ""); });
    for (const std::string_view piece : small_pieces(call.arguments)) {
      add("", [&](JsonWriter& out) { write_call_part(out, i, nullptr, piece); });
    }
  }
  add(finish_reason(reply.stop), [](JsonWriter&) {});
  if (with_usage && reply.usage.known) {
    std::string text = "data: ";
    JsonWriter out(text);
    begin_chat(out, reply, id, "chat.completion.chunk");
    out.key("choices");
    out.begin_array();
    out.end_array();
    write_chat_usage(out, reply.usage);
    out.end_object();
    events.push_back(text + "\n\n");
  }
  events.emplace_back("data: [DONE]\n\n");
  return events;
}

std::string chat_answer(const Reply& reply, const AnswerId& id) {
  std::string text;
  JsonWriter out(text);
  begin_chat(out, reply, id, "chat.completion");
  out.key("choices");
  out.begin_array();
  out.begin_object();
  out.member("index", 0);
  out.key("message");
  out.begin_object();
  out.member("role", "assistant");
  out.key("content");
  if (reply.message.text.empty() && !reply.message.calls.empty()) {
    out.null();
  } else {
    out.value(reply.message.text);
  }
  out.key("refusal");
  out.null();
  if (!reply.message.calls.empty()) {
    out.key("tool_calls");
    out.begin_array();
    for (const ToolCall& call : reply.message.calls) wire::write_chat_call(out, call);
    out.end_array();
  }
  out.end_object();
  out.key("logprobs");
  out.null();
  out.member("finish_reason", finish_reason(reply.stop));
  out.end_object();
  out.end_array();
  if (reply.usage.known) write_chat_usage(out, reply.usage);
  out.end_object();
  return text;
}

}  // namespace tiffany::agent::wire
