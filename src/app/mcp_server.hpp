// An MCP server over two streams of bytes: the tasks of a daemon as tools of an editor or an agent.
// Internal.
//
// `initialize` chooses a version of the handshake era for the process. Calls of tools run beside
// one another; what needs no daemon is answered in its order.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "app/mcp_engine.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany::app {

class McpServer {
 public:
  static constexpr std::size_t kLongestMessage = std::size_t{8} << 20;
  static constexpr std::size_t kMostCalls = 64;  // at a time, and messages in a batch

  McpServer(McpDoor& door, ByteStream& in, ByteStream& out, bool with_approvals)
      : watched_(door),
        engine_(door, with_approvals, &watched_),
        lines_(in, kLongestMessage),
        out_(out) {}

  // Until the input ends or nobody reads the output. Waits of clients are then given up, and other
  // calls have a few seconds to be answered. Tasks go on.
  Task<void> run();

 private:
  // Requests that are answered together, and how many of them are not yet.
  struct Batch {
    std::size_t open = 0;
    std::string answers{};
  };
  using BatchPtr = std::shared_ptr<Batch>;
  // Hears of its own progress. A line of that is written by a task of its own: a cancelled call
  // leaves no half of a line.
  struct Call final : McpListener {
    Task<void> tell(std::string notification) override;
    McpServer* server = nullptr;
    McpCall what{};
    BatchPtr batch{};
    Handle<void> telling{};
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

  void start(Scope& calls, RpcMessage message, const McpAsker& asker, BatchPtr batch);
  // The call that a notification has cancelled, if any.
  CallPtr cancelled_by(const RpcMessage& message);

  static Task<void> run_call(McpServer* server, CallPtr call);
  static Task<void> tell_of_changes(McpServer* server);
  static Task<void> say_beside(McpServer* server, std::string message);

  // Writes an answer, or adds it to its batch. An empty one counts as answered.
  Task<void> reply(BatchPtr batch, std::string answer);
  Task<void> say(std::string message);

  McpSubscriptions watched_;
  McpEngine engine_;
  McpLines lines_;
  ByteStream& out_;
  std::string version_;  // that `initialize` has chosen; empty: none yet
  std::map<std::string, Running> running_;
  Mutex writing_;
  bool gone_ = false;  // nobody reads the output
  Scope* calls_ = nullptr;
  Handle<void> watching_{};
};

}  // namespace tiffany::app
