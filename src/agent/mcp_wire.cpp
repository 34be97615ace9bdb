#include "agent/mcp_wire.hpp"

#include <algorithm>
#include <chrono>

#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::agent::mcp {

// ---- Members ----

Members Members::parse(std::string_view json) {
  Members members;
  JsonReader in(json);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (!members.all_.emplace(name, in.raw()).second) {
      throw Error(Errc::bad_json, "The member " + json_text(name) + " is there twice.");
    }
  }
  in.end();
  return members;
}

std::optional<JsonKind> Members::kind(std::string_view name) const {
  const auto found = all_.find(name);
  if (found == all_.end()) return std::nullopt;
  return JsonReader(std::string_view(found->second)).kind();
}

std::string Members::raw(std::string_view name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? std::string() : found->second;
}

std::string Members::text(std::string_view name) const {
  if (kind(name) != JsonKind::string) return {};
  return JsonReader(std::string_view(all_.find(name)->second)).string();
}

Members Members::object(std::string_view name) const {
  if (kind(name) != JsonKind::object) return {};
  return parse(all_.find(name)->second);
}

std::optional<std::int64_t> Members::integer(std::string_view name) const {
  if (kind(name) != JsonKind::number) return std::nullopt;
  try {
    return JsonReader(std::string_view(all_.find(name)->second)).integer();
  } catch (const Error&) {  // a fraction, or beyond 64 bits
    return std::nullopt;
  }
}

void Members::array(std::string_view name,
                    const std::function<void(std::string_view)>& each) const {
  if (kind(name) != JsonKind::array) return;
  JsonReader in(std::string_view(all_.find(name)->second));
  in.begin_array();
  while (in.next_element()) each(in.raw());
}

// ---- What a server says ----

namespace {

[[noreturn]] void refuse_message(const std::string& why) {
  throw Error(Errc::bad_reply, "It said something that is no message of JSON-RPC 2.0: " + why);
}

// The same number has the same id, however it is written.
std::string id_of(const Members& message) {
  constexpr std::size_t kLongest = 256;
  std::string raw = message.raw("id");
  if (raw.size() > kLongest) refuse_message("its id is longer than 256 bytes.");
  switch (message.kind("id").value_or(JsonKind::null)) {
    case JsonKind::null:
      return {};
    case JsonKind::string:
      return json_text(message.text("id"));
    case JsonKind::number:
      return raw;
    default:
      refuse_message("its id is neither a string nor a number.");
  }
}

}  // namespace

Said read_said(std::string_view json) {
  Said said;
  try {
    const Members message = Members::parse(json);
    if (message.text("jsonrpc") != "2.0") refuse_message("\"jsonrpc\" is not \"2.0\".");
    said.id = id_of(message);
    said.method = message.text("method");
    if (!said.method.empty()) {
      said.params = message.object("params");
      return said;
    }
    said.result = message.raw("result");
    if (message.has("error")) {
      const Members error = message.object("error");
      said.code = error.integer("code").value_or(0);
      said.error = error.text("message");
      said.result.clear();
    } else if (said.result.empty()) {
      refuse_message("it has neither a method, nor a result, nor an error.");
    }
  } catch (const Error& error) {
    if (error.code() == Errc::bad_reply) throw;
    refuse_message(error.what());
  }
  return said;
}

// ---- What we say ----

std::string json_text(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

namespace {

constexpr std::string_view kTasks = "io.modelcontextprotocol/tasks";
constexpr std::string_view kClient = R"({"name":"tiffany","version":"1"})";

std::string meta_text(std::int64_t id, std::string_view version) {
  std::string text = "\"_meta\":{\"progressToken\":" + std::to_string(id);
  if (!version.empty()) {
    text += ",\"io.modelcontextprotocol/protocolVersion\":" + json_text(version);
    text += ",\"io.modelcontextprotocol/clientInfo\":" + std::string(kClient);
    text += ",\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{" +
            json_text(kTasks) + ":{}}}";
  }
  return text + "}";
}

}  // namespace

std::string request_text(std::int64_t id, std::string_view method, std::string_view params,
                         std::string_view version) {
  std::string text = "{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(id) +
                     ",\"method\":" + json_text(method) + ",\"params\":{";
  text += params;
  if (!params.empty()) text += ",";
  return text + meta_text(id, version) + "}}";
}

std::string notification_text(std::string_view method, std::string_view params) {
  std::string text = "{\"jsonrpc\":\"2.0\",\"method\":" + json_text(method);
  if (!params.empty()) text += ",\"params\":{" + std::string(params) + "}";
  return text + "}";
}

std::string initialize_params() {
  return "\"protocolVersion\":" + json_text(kHandshake) +
         ",\"capabilities\":{},\"clientInfo\":" + std::string(kClient);
}

std::string answer_text(const std::string& id) {
  return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{}}";
}

std::string refusal_text(const std::string& id, const std::string& method) {
  return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"error\":{\"code\":" + std::to_string(kNoMethod) +
         ",\"message\":" +
         json_text("This client does not answer " + in_a_sentence(method, 80) + ".") + "}}";
}

// ---- What a tool answered ----

namespace {

// About so many bytes, of base64.
std::string size_text(const std::string& base64) { return std::to_string(base64.size() / 4 * 3); }

std::string content_text(const Members& part) {
  const std::string type = part.text("type");
  if (type == "text") return plain_text(part.text("text"));
  const std::string kind = in_a_sentence(part.text("mimeType"), 80);
  if (type == "image" || type == "audio") {
    return "[" + std::string(type == "image" ? "a picture" : "a sound") + ", " + kind + ", " +
           size_text(part.raw("data")) + " bytes: it is not shown]";
  }
  if (type == "resource_link") {
    return "[a link to " + in_a_sentence(part.text("uri")) + ", " +
           in_a_sentence(part.text("name"), 80) + "]";
  }
  if (type == "resource") {
    const Members resource = part.object("resource");
    const std::string uri = in_a_sentence(resource.text("uri"));
    if (resource.has("text")) return "[" + uri + "]\n" + plain_text(resource.text("text"));
    return "[" + uri + ", " + in_a_sentence(resource.text("mimeType"), 80) + ", " +
           size_text(resource.raw("blob")) + " bytes: it is not shown]";
  }
  return "[content of the type " + in_a_sentence(type, 80) + ": it is not shown]";
}

bool same_json(const std::string& text, const std::string& json) {
  try {
    return canonical_json(text) == canonical_json(json);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

constexpr std::size_t kLongestTaskId = 256;

CallResult read_call_result(std::string_view json) {
  CallResult result;
  try {
    const Members members = Members::parse(json);
    const std::string type = members.text("resultType");
    if (type == "task") {
      result.task = members.text("taskId");
      const bool good = !result.task.empty() && result.task.size() <= kLongestTaskId &&
                        std::all_of(result.task.begin(), result.task.end(),
                                    [](char c) { return c > 0x20 && c < 0x7f; });
      if (good) return result;
      throw Error(Errc::bad_reply, "its task has no id of visible characters.");
    }
    if (!type.empty() && type != "complete") {
      result.failed = true;
      result.text = type == "input_required"
                        ? "The tool asks its user for something before it goes on, and nobody is "
                          "asked here."
                        : "The tool answered with a result of the type " + in_a_sentence(type, 80) +
                              ", which is not understood here.";
      return result;
    }
    result.failed = members.raw("isError") == "true";
    std::string structured = members.raw("structuredContent");
    members.array("content", [&](std::string_view part) {
      const std::string text = content_text(Members::parse(part));
      // A server of this era says the same as text, for older clients.
      if (!structured.empty() && same_json(text, structured)) structured.clear();
      if (!result.text.empty()) result.text += "\n";
      result.text += text;
    });
    if (!structured.empty() && structured != "null") {
      if (!result.text.empty()) result.text += "\n";
      result.text += plain_text(structured);
    }
  } catch (const Error& error) {
    throw Error(Errc::bad_reply, std::string("Its result is none: ") + error.what());
  }
  if (result.text.empty()) result.text = "(The tool answered without a text.)";
  return result;
}

// ---- Tasks of the server ----

TaskState read_task_state(std::string_view json) {
  using namespace std::chrono_literals;
  constexpr std::int64_t kLongestPauseMs = 60'000;
  TaskState state;
  try {
    const Members task = Members::parse(json);
    const std::string status = task.text("status");
    state.about = in_a_sentence(task.text("statusMessage"), 200);
    const std::int64_t pause = task.integer("pollIntervalMs").value_or(1'000);
    state.pause = std::chrono::milliseconds(std::clamp<std::int64_t>(pause, 100, kLongestPauseMs));
    state.ended = status == "completed" || status == "failed" || status == "cancelled";
    state.asks = status == "input_required";
    if (status == "completed") {
      state.result = read_call_result(task.raw("result"));
      if (!state.result.task.empty()) throw Error(Errc::bad_reply, "a task of a task.");
    } else if (state.ended) {
      const Members error = task.object("error");
      const std::string why = plain_text(error.text("message").substr(0, 4096));
      state.result.failed = true;
      state.result.text = "The server says that the call was " +
                          std::string(status == "failed" ? "begun and failed" : "cancelled") +
                          (why.empty() ? "." : ": " + why);
    } else if (!state.asks && status != "working") {
      throw Error(Errc::bad_reply, "it has no status that is known.");
    }
  } catch (const Error& error) {
    throw Error(Errc::bad_reply, std::string("Its task is none: ") + error.what());
  }
  return state;
}

// ---- Text of others ----

namespace {

bool turns_around(std::string_view sequence) noexcept {
  // U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069, and what nobody sees: U+E0000 on.
  if (sequence == "\xd8\x9c") return true;
  if (sequence.starts_with("\xf3\xa0")) return true;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(sequence[1]);
  const auto third = static_cast<unsigned char>(sequence[2]);
  if (second == 0x80) return (third >= 0x8b && third <= 0x8f) || (third >= 0xaa && third <= 0xae);
  return second == 0x81 && third >= 0xa0 && third <= 0xaf;
}

bool is_control(std::string_view sequence) noexcept {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const tiffany::detail::Utf8 found = tiffany::detail::utf8_at(text, at);
    const std::string_view sequence = text.substr(at, found.bytes);
    at += found.bytes;
    if (!found.good) {
      out += '?';
    } else if (!is_control(sequence) && !turns_around(sequence)) {
      out += sequence;
    }
  }
  return out;
}

std::string in_a_sentence(std::string_view text, std::size_t longest) {
  std::string shown = tiffany::detail::shown(plain_text(text.substr(0, longest)));
  if (text.size() > longest) shown += "...";
  return shown;
}

}  // namespace tiffany::agent::mcp
