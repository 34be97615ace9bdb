// An MCP server over two streams of bytes: the tasks of a daemon as tools of an editor or an agent.
// Internal.
//
// Both eras are served, also beside one another: `initialize` chooses a version of the handshake
// era (2024-11-05 to 2025-11-25) for the process; a request whose `_meta` names version 2026-07-28
// stands for itself. Calls of tools run beside one another; what needs no daemon is answered in its
// order.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/cli.hpp"
#include "app/mcp_message.hpp"
#include "app/mcp_tools.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany::app {

class McpServer {
 public:
  static constexpr std::size_t kLongestMessage = std::size_t{8} << 20;
  static constexpr std::size_t kMostCalls = 64;  // at a time, and messages in a batch

  McpServer(Cli& cli, ByteStream& in, ByteStream& out, bool with_approvals)
      : cli_(cli), lines_(in, kLongestMessage), out_(out), with_approvals_(with_approvals) {}

  // Until the input ends or nobody reads the output. Waits of clients are then given up, and other
  // calls have a few seconds to be answered. Tasks go on.
  Task<void> run();

 private:
  // Who asks, of one request.
  struct Asker {
    bool modern = false;  // 2026-07-28
    bool tasks = false;   // has the tasks extension
  };
  // Requests that are answered together, and how many of them are not yet.
  struct Batch {
    std::size_t open = 0;
    std::string answers{};
  };
  using BatchPtr = std::shared_ptr<Batch>;
  struct Call {
    RpcMessage message{};
    Asker asker{};
    BatchPtr batch{};
    const McpTool* tool = nullptr;
  };
  using CallPtr = std::shared_ptr<Call>;
  struct Running {
    CallPtr call{};
    Handle<void> task{};
  };

  Task<void> read_all(Scope& calls);
  Task<void> take_line(Scope& calls, std::string line);
  Task<void> take_batch(Scope& calls, std::string text);
  Task<void> take(Scope& calls, RpcMessage message, BatchPtr batch);
  void end_waits();

  void require_method(const RpcMessage& message, const Asker& asker) const;
  Asker asker_of(const RpcMessage& message) const;
  // The result of what needs no daemon; nothing for other requests. Throws RpcFailure.
  std::optional<std::string> answer_at_once(const RpcMessage& message, const Asker& asker);
  std::string initialize(const RpcMessage& message);
  void start(Scope& calls, RpcMessage message, const Asker& asker, BatchPtr batch);
  // The call that a notification has cancelled, if any.
  CallPtr cancelled_by(const RpcMessage& message);

  static Task<void> run_call(McpServer* server, CallPtr call);
  Task<std::string> answer(CallPtr call);
  Task<std::string> result_of(CallPtr call);
  Task<std::string> submit_as_task(CallPtr call, std::string arguments);

  // Writes an answer, or adds it to its batch. An empty one counts as answered.
  Task<void> reply(BatchPtr batch, std::string answer);
  Task<void> say(std::string message);
  std::string result_text(const Asker& asker, std::string members,
                          std::string_view type = "complete") const;
  std::string server_info() const;

  Cli& cli_;
  McpLines lines_;
  ByteStream& out_;
  bool with_approvals_;
  std::string version_;  // that `initialize` has chosen; empty: none yet
  std::map<std::string, Running> running_;
  Mutex writing_;
  bool gone_ = false;  // nobody reads the output
  Scope* calls_ = nullptr;
};

}  // namespace tiffany::app
