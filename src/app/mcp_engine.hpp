// What a message of MCP is answered with, over whichever carrier it came. Internal.
//
// Both eras are served, also beside one another: a request whose `_meta` names version 2026-07-28
// stands for itself; every other one is of the version that a handshake has chosen.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/mcp_door.hpp"
#include "app/mcp_message.hpp"
#include "app/mcp_subscriptions.hpp"
#include "app/mcp_tools.hpp"

namespace tiffany::app {

inline constexpr std::string_view kModernMcp = "2026-07-28";
// Whether that is a version with a handshake (2024-11-05 to 2025-11-25).
bool has_handshake(std::string_view version) noexcept;
// Batches came with JSON-RPC and left with 2025-06-18.
bool has_batches(std::string_view version) noexcept;
// Throws RpcFailure kNoVersion, for a version that is none of ours.
[[noreturn]] void refuse_mcp_version(const std::string& version);
// The version that a request says it is of, in its `_meta`; empty: none.
std::string version_in_meta(const RpcMessage& message);

// Who asks, of one request.
struct McpAsker {
  bool modern = false;       // 2026-07-28
  bool tasks = false;        // has the tasks extension
  bool elicits = false;      // asks its person what a server wants to know
  std::string version = {};  // of the handshake; empty: none
};

struct McpCall {
  RpcMessage message{};
  McpAsker asker{};
  const McpTool* tool = nullptr;      // of tools/call: one of ours,
  const App::Tool* of_app = nullptr;  // or one of the program's
  std::string progress_token{};       // of the client, as JSON; empty: it wants to hear nothing
  // Whether it may take long although nothing is done: a wait for a task.
  bool waits() const noexcept { return tool != nullptr && tool->name == "wait"; }
  // Whether it may take long: a wait, or a tool of the program, which starts a task before.
  bool takes_long() const noexcept { return waits() || of_app != nullptr; }
};

class McpEngine {
 public:
  // The door outlives the engine, and the engine its calls. `watched` is where subscriptions are
  // kept; null: there are none.
  McpEngine(McpDoor& door, bool with_approvals, McpSubscriptions* watched = nullptr)
      : door_(door), with_approvals_(with_approvals), watched_(watched) {}

  // `version`: that a handshake has chosen; empty: none was made. RpcFailure.
  McpAsker asker_of(const RpcMessage& message, const std::string& version) const;
  void require_method(const RpcMessage& message, const McpAsker& asker) const;
  // The result of what needs no daemon; nothing for other requests. Throws RpcFailure.
  std::optional<std::string> answer_at_once(const RpcMessage& message, const McpAsker& asker) const;
  // The version that is spoken behind an `initialize`. RpcFailure.
  static std::string version_for(const RpcMessage& initialize);
  // RpcFailure, also when there is no such tool.
  McpCall call_of(RpcMessage message, const McpAsker& asker) const;
  // The whole answer, also when it is an error. The listener hears of progress on the way; null:
  // nobody does.
  Task<std::string> answer(const McpCall* call, McpListener* listener = nullptr) const;
  // Its result. RpcFailure.
  Task<std::string> result_of(const McpCall* call, McpListener* listener) const;

 private:
  bool knows(std::string_view method, bool modern) const noexcept;
  std::string capabilities(bool modern) const;
  Task<std::string> about_task(const McpCall* call) const;
  Task<std::string> about_resources(const McpCall* call) const;
  Task<std::string> watch(const McpCall* call) const;
  Task<std::string> submit_as_task(const McpCall* call, std::string arguments) const;
  Task<std::string> call_of_app(const McpCall* call, std::string arguments,
                                McpListener* listener) const;
  std::string result_text(const McpAsker& asker, std::string members,
                          std::string_view type = "complete") const;
  std::string server_info() const;

  McpDoor& door_;
  bool with_approvals_;
  McpSubscriptions* watched_;
};

}  // namespace tiffany::app
