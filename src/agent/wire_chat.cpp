// Chat completions: chunks with deltas, by the index of a call; the end is [DONE].
#include <utility>
#include <vector>

#include "agent/wire_parts.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent::wire {

namespace {

class ChatAssembler final : public Assembler {
 public:
  void event(std::string_view data, const LiveText& live) override {
    if (data == "[DONE]") {
      complete_ = true;
    } else {
      read(data, live);
    }
  }
  void body(std::string_view json) override {
    read(json, LiveText());
    complete_ = true;
  }

 private:
  void read(std::string_view json, const LiveText& live) {
    JsonReader in(json);
    if (in.kind() != JsonKind::object) in.fail("an object", in.offset());
    members(in, [&](std::string_view name) {
      if (name == "choices") {
        elements(in, [&] { read_choice(in, live); });
      } else if (name == "usage" && in.kind() == JsonKind::object) {
        usage_ = read_usage(in);
      } else if (name == "error" && in.kind() != JsonKind::null) {
        throw Error(Errc::model_failed, "The endpoint says in its reply: " + read_error(in));
      } else {
        in.raw();
      }
    });
    in.end();
  }

  // Only the first of several is ours: nobody asked for others.
  void read_choice(JsonReader& in, const LiveText& live) {
    JsonReader ahead = in;
    std::int64_t index = 0;
    members(ahead, [&](std::string_view name) {
      if (name == "index") {
        index = count_or_nothing(ahead);
      } else {
        ahead.raw();
      }
    });
    if (index != 0) {
      in.raw();
      return;
    }
    members(in, [&](std::string_view name) {
      if (name == "delta" || name == "message") {
        read_delta(in, live);
      } else if (name == "finish_reason" && in.kind() == JsonKind::string) {
        finish_ = in.string();
      } else {
        in.raw();
      }
    });
  }

  void read_delta(JsonReader& in, const LiveText& live) {
    members(in, [&](std::string_view name) {
      if (name == "content" || name == "refusal") {
        const std::string piece = string_or_nothing(in);
        if (name == "refusal" && !piece.empty()) refused_ = true;
        text_ += piece;
        if (live && !piece.empty()) live(piece);
      } else if (name == "tool_calls") {
        elements(in, [&] { read_call(in); });
      } else {
        in.raw();
      }
    });
  }

  void read_call(JsonReader& in) {
    std::int64_t index = -1;
    PartOfCall part;
    members(in, [&](std::string_view name) {
      if (name == "index") {
        index = count_or_nothing(in);
      } else if (name == "id") {
        part.id = string_or_nothing(in);
      } else if (name == "function") {
        members(in, [&](std::string_view member) {
          if (member == "name") {
            part.name = string_or_nothing(in);
          } else if (member == "arguments") {
            part.arguments = string_or_nothing(in);
          } else {
            in.raw();
          }
        });
      } else {
        in.raw();
      }
    });
    add(index, std::move(part));
  }

  // Some endpoints leave the index out: a part with an id, or a name, begins a call then.
  void add(std::int64_t index, PartOfCall part) {
    if (index < 0) {
      const bool begins = calls_.empty() || !part.id.empty() || !part.name.empty();
      index = begins ? next_ : next_ - 1;
    }
    PartOfCall& call = calls_[index];
    if (calls_.size() > kMostCalls) {
      throw Error(Errc::bad_reply,
                  "The reply has more than " + std::to_string(kMostCalls) + " calls of tools.");
    }
    next_ = calls_.rbegin()->first + 1;
    set_once(call.id, std::move(part.id), "id");
    set_once(call.name, std::move(part.name), "name");
    call.arguments += part.arguments;
  }
  static void set_once(std::string& to, std::string from, const char* what) {
    if (from.empty() || from == to) return;
    if (!to.empty()) {
      throw Error(Errc::bad_reply,
                  std::string("A call of a tool has changed its ") + what + " on the way.");
    }
    to = std::move(from);
  }

  Reply gathered() override {
    if (finish_.empty()) {
      throw Error(Errc::bad_reply, "The reply does not say why it ended (finish_reason).");
    }
    Reply reply;
    reply.message = Message::assistant(std::move(text_));
    for (auto& [index, call] : calls_) {
      ToolCall made;
      made.id = std::move(call.id);
      made.name = std::move(call.name);
      made.arguments = std::move(call.arguments);
      reply.message.calls.push_back(std::move(made));
    }
    reply.usage = usage_;
    if (finish_ == "length") {
      reply.stop = Stop::length;
    } else if (refused_ || finish_ == "content_filter") {
      reply.stop = Stop::refused;
    } else {
      // Some endpoints say "stop" behind calls.
      reply.stop = reply.message.calls.empty() ? Stop::end : Stop::tools;
    }
    return reply;
  }

  std::string text_;
  bool refused_ = false;
  std::map<std::int64_t, PartOfCall> calls_;
  std::int64_t next_ = 0;
  std::string finish_;
  Usage usage_;
};

}  // namespace

std::unique_ptr<Assembler> chat_assembler() { return std::make_unique<ChatAssembler>(); }

}  // namespace tiffany::agent::wire
