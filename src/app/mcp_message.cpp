#include "app/mcp_message.hpp"

#include <algorithm>

#include "app/cli_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::app {
namespace {

constexpr std::size_t kLongestId = 256;

bool is_whole_number(std::string_view text) noexcept {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Batches are looked at before they are parsed.
std::string_view without_space(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

void require_json(std::string_view json) {
  std::string why;
  try {
    JsonReader in(json);
    in.raw();
    in.end();
    return;
  } catch (const Error& error) {
    why = error.what();
  }
  throw RpcFailure{rpc::kNoJson, "The message is no JSON text: " + why};
}

}  // namespace

// ---- RawObject ----

RawObject RawObject::parse(std::string_view json) {
  RawObject object;
  JsonReader in(json);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (!object.members_.emplace(name, in.raw()).second) {
      throw Error(Errc::bad_json, "The member " + quoted_json(name) + " is there twice.");
    }
  }
  in.end();
  return object;
}

std::optional<JsonKind> RawObject::kind(std::string_view name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return std::nullopt;
  return JsonReader(std::string_view(found->second)).kind();
}

std::string RawObject::raw(std::string_view name, std::string_view fallback) const {
  const auto found = members_.find(name);
  return found == members_.end() ? std::string(fallback) : found->second;
}

std::string RawObject::text(std::string_view name) const {
  if (kind(name) != JsonKind::string) return "";
  return JsonReader(std::string_view(members_.find(name)->second)).string();
}

RawObject RawObject::object(std::string_view name) const {
  if (!is_object(name)) return {};
  return parse(members_.find(name)->second);
}

// ---- Messages ----

std::string rpc_id_in(const RawObject& object, std::string_view name) {
  const std::string raw = object.raw(name);
  const JsonKind kind = object.kind(name).value_or(JsonKind::null);
  if (raw.size() <= kLongestId) {
    // The same text has the same id, with whatever escapes it is written.
    if (kind == JsonKind::string) return quoted_json(object.text(name));
    if (kind == JsonKind::number && is_whole_number(raw)) return raw;
  }
  throw RpcFailure{rpc::kNoRequest, "\"" + std::string(name) +
                                        "\" is a string or a whole number, of at most 256 bytes."};
}

RpcMessage read_rpc_message(std::string_view json) {
  require_json(json);
  RpcMessage message;
  std::string why;
  try {
    if (!without_space(json).starts_with('{')) {
      throw RpcFailure{rpc::kNoRequest, "A message is a JSON object."};
    }
    const RawObject object = RawObject::parse(json);
    if (object.has("id")) message.id = rpc_id_in(object, "id");
    if (object.text("jsonrpc") != "2.0") {
      throw RpcFailure{rpc::kNoRequest, "A message has the member \"jsonrpc\": \"2.0\".", "",
                       message.id};
    }
    if (!object.has("method") && (object.has("result") || object.has("error"))) return message;
    message.method = object.text("method");
    if (message.method.empty()) {
      throw RpcFailure{rpc::kNoRequest, "A request has a member \"method\", which is a string.", "",
                       message.id};
    }
    if (object.has("params") && !object.is_object("params")) {
      throw RpcFailure{rpc::kBadParams, "\"params\" is an object.", "", message.id};
    }
    message.params = object.object("params");
    return message;
  } catch (const Error& error) {
    why = error.what();
  }
  throw RpcFailure{rpc::kNoRequest, "The message is no request: " + why, "", message.id};
}

bool is_rpc_batch(std::string_view json) noexcept { return without_space(json).starts_with('['); }

std::vector<std::string> read_rpc_batch(std::string_view json, std::size_t most) {
  require_json(json);
  std::vector<std::string> all;
  JsonReader in(json);
  in.begin_array();
  while (in.next_element()) {
    if (all.size() == most) {
      throw RpcFailure{rpc::kNoRequest,
                       "A batch has at most " + std::to_string(most) + " messages."};
    }
    all.emplace_back(in.raw());
  }
  if (all.empty()) throw RpcFailure{rpc::kNoRequest, "A batch has at least one message."};
  return all;
}

std::string rpc_result(const std::string& id, const std::string& result) {
  return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":" + result + "}";
}

// Without an id when there is none to name: MCP has no id that is null.
std::string rpc_error(const std::string& id, const RpcFailure& failure) {
  std::string text = "{\"jsonrpc\":\"2.0\",";
  if (!id.empty()) text += "\"id\":" + id + ",";
  text += "\"error\":{\"code\":" + std::to_string(failure.code) +
          ",\"message\":" + quoted_json(failure.sentence);
  if (!failure.data.empty()) text += ",\"data\":" + failure.data;
  return text + "}}";
}

// ---- Lines ----

Task<McpLines::Came> McpLines::next(std::string* line) {
  constexpr std::size_t kRoom = 65536;
  if (room_.empty()) room_.resize(kRoom);
  for (;;) {
    const std::size_t end = buffer_.find('\n', looked_);
    if (end != std::string::npos) {
      line->assign(buffer_, 0, end);
      buffer_.erase(0, end + 1);
      looked_ = 0;
      if (skips_) {
        skips_ = false;  // this was the rest of the long one
        continue;
      }
      co_return line->size() > longest_ ? Came::too_long : Came::line;
    }
    looked_ = buffer_.size();
    if (skips_) {
      buffer_.clear();
      looked_ = 0;
    } else if (buffer_.size() > longest_) {
      skips_ = true;
      co_return Came::too_long;
    }
    if (ended_) {
      if (buffer_.empty()) co_return Came::end;
      line->swap(buffer_);
      buffer_.clear();
      looked_ = 0;
      co_return Came::line;
    }
    const std::size_t came = co_await from_->read(Room(room_.data(), room_.size()));
    buffer_.append(room_.data(), came);
    ended_ = came == 0;
  }
}

}  // namespace tiffany::app
