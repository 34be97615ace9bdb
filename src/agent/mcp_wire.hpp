// Messages between us and a server of tools: JSON-RPC 2.0, in both eras of MCP. Nothing here reads
// or writes a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::agent::mcp {

inline constexpr std::string_view kModern = "2026-07-28";
inline constexpr std::string_view kHandshake = "2025-11-25";  // the newest that begins with one

inline constexpr std::int64_t kNoMethod = -32601;
inline constexpr std::int64_t kNoVersion = -32022;

// The members of a JSON object, as they are written.
class Members {
 public:
  Members() = default;
  // Errc::bad_json, also for a name that is there twice.
  static Members parse(std::string_view json);

  bool has(std::string_view name) const { return all_.find(name) != all_.end(); }
  std::optional<JsonKind> kind(std::string_view name) const;
  std::string raw(std::string_view name) const;  // empty: it is not there
  // The content of a string, and the members of an object; empty for everything else.
  std::string text(std::string_view name) const;
  Members object(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  // Calls `each` with the JSON of each element of an array; not at all for everything else.
  void array(std::string_view name, const std::function<void(std::string_view)>& each) const;

 private:
  std::map<std::string, std::string, std::less<>> all_;
};

// One message of a server.
struct Said {
  std::string id{};      // as JSON; empty: a notification, or an error about something unreadable
  std::string method{};  // empty: an answer
  Members params{};
  std::string result{};                // JSON; empty: the answer is an error
  std::optional<std::int64_t> code{};  // of the error
  std::string error{};
  bool is_answer() const noexcept { return method.empty(); }
  bool failed() const noexcept { return code.has_value(); }
};
// Errc::bad_reply for what is no message of JSON-RPC 2.0.
Said read_said(std::string_view json);

// `params`: members without braces, "\"name\":\"x\"". `version`: as every message of the modern era
// says it; empty in the other one. Progress is asked for under the number of the request.
std::string request_text(std::int64_t id, std::string_view method, std::string_view params,
                         std::string_view version);
std::string notification_text(std::string_view method, std::string_view params);
// Of the handshake.
std::string initialize_params();
std::string answer_text(const std::string& id);                              // {}
std::string refusal_text(const std::string& id, const std::string& method);  // -32601
std::string json_text(std::string_view text);

// What a tool answered, as text for a model. Pictures, sounds and links are a sentence each.
struct CallResult {
  std::string text{};
  bool failed = false;
  std::string task{};  // the server goes on with the call under this id, and has not answered yet
};
// Errc::bad_reply for a result that is none.
CallResult read_call_result(std::string_view json);

// How a task of the server stands (the extension io.modelcontextprotocol/tasks).
struct TaskState {
  bool ended = false;
  bool asks = false;    // its user, before it goes on
  CallResult result{};  // when it has ended
  std::string about{};  // what the server says of it
  Duration pause{};     // until it is to be looked at again
};
// The answer to tasks/get. Errc::bad_reply for one that is none.
TaskState read_task_state(std::string_view json);

// What somebody else wrote, as text: valid UTF-8 without control characters, but for line breaks
// and tabs, and without marks that turn its direction around.
std::string plain_text(std::string_view text);
// The same, short and in one line, for sentences of ours.
std::string in_a_sentence(std::string_view text, std::size_t longest = 400);

}  // namespace tiffany::agent::mcp
