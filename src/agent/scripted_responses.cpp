// Answers of responses: one response object, and the events that lead to it.
#include "agent/scripted_wire.hpp"
#include "tiffany/agent/script.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::agent::wire {

namespace {

class ResponseWriter {
 public:
  ResponseWriter(const Reply& reply, const AnswerId& id) : reply_(reply), id_(id) {}

  std::vector<std::string> events() {
    event("response.created", [&](JsonWriter& out) { response_member(out, "in_progress"); });
    event("response.in_progress", [&](JsonWriter& out) { response_member(out, "in_progress"); });
    if (says_text()) write_text();
    for (std::size_t i = 0; i < reply_.message.calls.size(); ++i) write_call(i);
    const std::string status(end_status());
    event("response." + status, [&](JsonWriter& out) { response_member(out, status); });
    return std::move(events_);
  }
  std::string answer() {
    std::string text;
    JsonWriter out(text);
    response(out, end_status());
    return text;
  }

 private:
  bool says_text() const { return !reply_.message.text.empty() || reply_.message.calls.empty(); }
  std::string_view end_status() const {
    const bool whole = reply_.stop == Stop::end || reply_.stop == Stop::tools;
    return whole ? "completed" : "incomplete";
  }

  template <class F>
  void event(const std::string& type, const F& write) {
    std::string text = "event: " + type + "\ndata: ";
    JsonWriter out(text);
    out.begin_object();
    out.member("type", type);
    out.member("sequence_number", events_.size());
    write(out);
    out.end_object();
    events_.push_back(text + "\n\n");
  }

  void response_member(JsonWriter& out, std::string_view status) {
    out.key("response");
    response(out, status);
  }
  void response(JsonWriter& out, std::string_view status) {
    const bool ended = status != "in_progress";
    out.begin_object();
    out.member("id", "resp_" + id_.digest);
    out.member("object", "response");
    out.member("created_at", id_.time);
    out.member("status", status);
    out.key("error");
    out.null();
    out.key("incomplete_details");
    if (status == "incomplete") {
      out.begin_object();
      out.member("reason", reply_.stop == Stop::refused ? "content_filter" : "max_output_tokens");
      out.end_object();
    } else {
      out.null();
    }
    out.key("instructions");
    out.null();
    out.member("model", reply_.model);
    out.key("output");
    out.begin_array();
    if (ended && says_text()) message_item(out, true);
    for (std::size_t i = 0; ended && i < reply_.message.calls.size(); ++i) call_item(out, i, true);
    out.end_array();
    out.member("parallel_tool_calls", true);
    out.key("previous_response_id");
    out.null();
    out.member("store", false);
    out.member("temperature", 1);
    out.member("tool_choice", "auto");
    out.key("tools");
    out.begin_array();
    out.end_array();
    out.member("top_p", 1);
    out.member("truncation", "disabled");
    usage(out, ended);
    out.key("metadata");
    out.begin_object();
    out.end_object();
    out.end_object();
  }
  void usage(JsonWriter& out, bool ended) {
    out.key("usage");
    if (!ended || !reply_.usage.known) {
      out.null();
      return;
    }
    out.begin_object();
    out.member("input_tokens", reply_.usage.input);
    out.key("input_tokens_details");
    out.begin_object();
    out.member("cached_tokens", reply_.usage.cached);
    out.end_object();
    out.member("output_tokens", reply_.usage.output);
    out.key("output_tokens_details");
    out.begin_object();
    out.member("reasoning_tokens", 0);
    out.end_object();
    out.member("total_tokens", reply_.usage.input + reply_.usage.output);
    out.end_object();
  }

  std::string message_id() const { return "msg_" + id_.digest; }
  std::string call_item_id(std::size_t i) const {
    return "fc_" + id_.digest + "_" + std::to_string(i + 1);
  }
  std::size_t place_of_call(std::size_t i) const { return i + (says_text() ? 1 : 0); }

  void text_part(JsonWriter& out, std::string_view text) {
    out.begin_object();
    out.member("type", "output_text");
    out.member("text", text);
    out.key("annotations");
    out.begin_array();
    out.end_array();
    out.end_object();
  }
  void message_item(JsonWriter& out, bool done) {
    out.begin_object();
    out.member("id", message_id());
    out.member("type", "message");
    out.member("status", done ? "completed" : "in_progress");
    out.member("role", "assistant");
    out.key("content");
    out.begin_array();
    if (done) text_part(out, reply_.message.text);
    out.end_array();
    out.end_object();
  }
  void call_item(JsonWriter& out, std::size_t i, bool done) {
    const ToolCall& call = reply_.message.calls[i];
    out.begin_object();
    out.member("id", call_item_id(i));
    out.member("type", "function_call");
    out.member("status", done ? "completed" : "in_progress");
    out.member("call_id", call.id);
    out.member("name", call.name);
    out.member("arguments", done ? std::string_view(call.arguments) : std::string_view());
    out.end_object();
  }

  void item_event(const std::string& type, std::size_t place, std::size_t call, bool done) {
    event(type, [&](JsonWriter& out) {
      out.member("output_index", place);
      out.key("item");
      if (says_text() && place == 0) {
        message_item(out, done);
      } else {
        call_item(out, call, done);
      }
    });
  }
  void part_event(const std::string& type, std::string_view text) {
    event(type, [&](JsonWriter& out) {
      where_in_text(out);
      out.key("part");
      text_part(out, text);
    });
  }
  void where_in_text(JsonWriter& out) {
    out.member("item_id", message_id());
    out.member("output_index", 0);
    out.member("content_index", 0);
  }

  void write_text() {
    item_event("response.output_item.added", 0, 0, false);
    part_event("response.content_part.added", "");
    for (const std::string_view piece : pieces_of(reply_.message.text)) {
      event("response.output_text.delta", [&](JsonWriter& out) {
        where_in_text(out);
        out.member("delta", piece);
      });
    }
    event("response.output_text.done", [&](JsonWriter& out) {
      where_in_text(out);
      out.member("text", reply_.message.text);
    });
    part_event("response.content_part.done", reply_.message.text);
    item_event("response.output_item.done", 0, 0, true);
  }
  void write_call(std::size_t i) {
    const ToolCall& call = reply_.message.calls[i];
    const std::size_t place = place_of_call(i);
    item_event("response.output_item.added", place, i, false);
    for (const std::string_view piece : small_pieces(call.arguments)) {
      event("response.function_call_arguments.delta", [&](JsonWriter& out) {
        out.member("item_id", call_item_id(i));
        out.member("output_index", place);
        out.member("delta", piece);
      });
    }
    event("response.function_call_arguments.done", [&](JsonWriter& out) {
      out.member("item_id", call_item_id(i));
      out.member("output_index", place);
      out.member("name", call.name);
      out.member("arguments", call.arguments);
    });
    item_event("response.output_item.done", place, i, true);
  }

  const Reply& reply_;
  const AnswerId& id_;
  std::vector<std::string> events_;
};

}  // namespace

std::vector<std::string> response_events(const Reply& reply, const AnswerId& id) {
  return ResponseWriter(reply, id).events();
}
std::string response_answer(const Reply& reply, const AnswerId& id) {
  return ResponseWriter(reply, id).answer();
}

}  // namespace tiffany::agent::wire
