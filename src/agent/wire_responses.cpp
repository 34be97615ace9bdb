// Responses: events with a type, about items by their place in the output; the end is
// response.completed or response.incomplete.
#include <utility>

#include "agent/wire_parts.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent::wire {

namespace {

struct Item {
  bool is_call = false;
  PartOfCall call{};
  std::string text{};
  bool refused = false;
};

// An event as far as it is used: its members may come in any order.
struct ResponseEvent {
  std::string type{};
  std::string delta{};
  std::string arguments{};
  std::string error{};
  std::string_view item{};
  std::string_view response{};
  std::int64_t index = 0;
};

class ResponsesAssembler final : public Assembler {
 public:
  void event(std::string_view data, const LiveText& live) override {
    if (data == "[DONE]") return;  // not of this protocol, but some say it
    const ResponseEvent come = read_event(data);
    const std::string_view type = come.type;
    if (type == "response.output_item.added" || type == "response.output_item.done") {
      take_item(come.index, come.item);
    } else if (type == "response.output_text.delta" || type == "response.refusal.delta") {
      Item& item = item_at(come.index);
      item.text += come.delta;
      item.refused = item.refused || type == "response.refusal.delta";
      if (live && !come.delta.empty()) live(come.delta);
    } else if (type == "response.function_call_arguments.delta") {
      item_at(come.index).call.arguments += come.delta;
    } else if (type == "response.function_call_arguments.done") {
      item_at(come.index).call.arguments = come.arguments;
    } else if (type == "response.completed" || type == "response.incomplete" ||
               type == "response.failed") {
      take_response(come.response);
    } else if (type == "error") {
      fail(come.error);
    }
  }
  void body(std::string_view json) override { take_response(json); }

 private:
  [[noreturn]] static void fail(const std::string& sentence) {
    throw Error(Errc::model_failed, "The endpoint says in its reply: " + sentence);
  }

  static ResponseEvent read_event(std::string_view data) {
    ResponseEvent come;
    JsonReader in(data);
    if (in.kind() != JsonKind::object) in.fail("an object", in.offset());
    members(in, [&](std::string_view name) {
      if (name == "type") {
        come.type = string_or_nothing(in);
      } else if (name == "delta") {
        come.delta = string_or_nothing(in);
      } else if (name == "arguments") {
        come.arguments = string_or_nothing(in);
      } else if (name == "message") {
        come.error = string_or_nothing(in);
      } else if (name == "error" && in.kind() != JsonKind::null) {
        come.error = read_error(in);
      } else if (name == "output_index") {
        come.index = count_or_nothing(in);
      } else if (name == "item") {
        come.item = in.raw();
      } else if (name == "response") {
        come.response = in.raw();
      } else {
        in.raw();
      }
    });
    in.end();
    return come;
  }

  Item& item_at(std::int64_t index) {
    Item& item = items_[index];
    if (items_.size() > kMostCalls) {
      throw Error(Errc::bad_reply,
                  "The reply has more than " + std::to_string(kMostCalls) + " items.");
    }
    return item;
  }

  // What an item says of itself replaces what came of it before.
  void take_item(std::int64_t index, std::string_view json) {
    if (json.empty()) throw Error(Errc::bad_reply, "An event about an item has no item.");
    std::string type;
    Item made;
    JsonReader in(json);
    members(in, [&](std::string_view name) {
      if (name == "type") {
        type = string_or_nothing(in);
      } else if (name == "call_id") {
        made.call.id = string_or_nothing(in);
      } else if (name == "name") {
        made.call.name = string_or_nothing(in);
      } else if (name == "arguments") {
        made.call.arguments = string_or_nothing(in);
      } else if (name == "content") {
        elements(in, [&] { read_content(in, made); });
      } else {
        in.raw();
      }
    });
    if (type != "message" && type != "function_call") return;  // reasoning and the like
    made.is_call = type == "function_call";
    item_at(index) = std::move(made);
  }

  static void read_content(JsonReader& in, Item& made) {
    members(in, [&](std::string_view name) {
      if (name == "text" || name == "refusal") {
        const std::string piece = string_or_nothing(in);
        made.refused = made.refused || (name == "refusal" && !piece.empty());
        made.text += piece;
      } else {
        in.raw();
      }
    });
  }

  void take_response(std::string_view json) {
    if (json.empty()) throw Error(Errc::bad_reply, "The last event has no response.");
    std::string status;
    std::string error;
    std::string reason;
    std::string_view output = "[]";
    JsonReader in(json);
    if (in.kind() != JsonKind::object) in.fail("an object", in.offset());
    members(in, [&](std::string_view name) {
      if (name == "status") {
        status = string_or_nothing(in);
      } else if (name == "error" && in.kind() != JsonKind::null) {
        error = read_error(in);
      } else if (name == "usage" && in.kind() == JsonKind::object) {
        usage_ = read_usage(in);
      } else if (name == "output") {
        output = in.raw();
      } else if (name == "incomplete_details") {
        members(in, [&](std::string_view detail) {
          if (detail == "reason") {
            reason = string_or_nothing(in);
          } else {
            in.raw();
          }
        });
      } else {
        in.raw();
      }
    });
    in.end();
    if (!error.empty() || status == "failed") fail(error);
    if (status == "incomplete") {
      stop_ = reason == "content_filter" ? Stop::refused : Stop::length;
    } else if (status != "completed") {
      throw Error(Errc::bad_reply, "The response is not completed at its end.");
    }
    if (items_.empty()) take_output(output);
    complete_ = true;
  }

  // Of a reply that was not streamed.
  void take_output(std::string_view output) {
    JsonReader in(output);
    std::int64_t index = 0;
    elements(in, [&] { take_item(index++, in.raw()); });
  }

  Reply gathered() override {
    Reply reply;
    bool refused = false;
    for (auto& [index, item] : items_) {
      refused = refused || item.refused;
      reply.message.text += item.text;
      if (!item.is_call) continue;
      ToolCall made;
      made.id = std::move(item.call.id);
      made.name = std::move(item.call.name);
      made.arguments = std::move(item.call.arguments);
      reply.message.calls.push_back(std::move(made));
    }
    reply.message.role = Role::assistant;
    reply.usage = usage_;
    reply.stop = stop_;
    if (stop_ == Stop::end && refused) reply.stop = Stop::refused;
    if (stop_ == Stop::end && !reply.message.calls.empty()) reply.stop = Stop::tools;
    return reply;
  }

  std::map<std::int64_t, Item> items_;
  Stop stop_ = Stop::end;
  Usage usage_;
};

}  // namespace

std::unique_ptr<Assembler> assembler_of(Protocol protocol) {
  if (protocol == Protocol::chat) return chat_assembler();
  return std::make_unique<ResponsesAssembler>();
}

}  // namespace tiffany::agent::wire
