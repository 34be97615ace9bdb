// A server of tools over all of its connections: which era it is of, what it offers, and calls.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/mcp_link.hpp"
#include "agent/mcp_list.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany::agent::mcp {

using Connect = std::function<Task<std::shared_ptr<Link>>()>;

// A call, and what became of it.
struct Call {
  Call() = default;
  std::string tool{};       // as the server calls it
  std::string arguments{};  // a JSON object
  std::string pin{};        // of what the tool is expected to be
  std::string drift{};      // the pin that it has by now: it was not called
  std::string difference{};
  bool sent = false;  // the server may have it
  CallResult result{};
};

class Session {
 public:
  Session(McpOptions chosen, Connect connect);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Asks what is offered, and keeps it. Within McpOptions::start.
  Task<void> learn();
  // The same, without keeping it.
  Task<ToolList> offered();
  // The call, within McpOptions::deadline. Throws Error when nobody answered; see Call::sent.
  Task<void> call(Call& what);
  // The end of a call that the server goes on with as a task, within McpOptions::task. It is only
  // looked at, so another process may go on with that. Throws Error when the server does not say
  // how it stands for as long as McpOptions::deadline.
  Task<CallResult> await_task(std::string task);
  Task<void> cancel_task(std::string task);  // as far as the server can be told
  Task<void> close();

  const McpOptions options;
  ToolList kept{};
  bool known = false;

 private:
  enum class Era : std::uint8_t { unknown, modern, handshake };

  Task<std::shared_ptr<Link>> connected();
  Task<std::shared_ptr<Link>> connect_now();
  Task<void> agree(Link& link);
  Task<bool> discover(Link& link);
  Task<void> shake_hands(Link& link);
  Task<ToolList> list(Link& link);
  Task<void> list_again(const std::shared_ptr<Link>& link);
  Task<Said> ask(Link& link, std::string method, std::string params, bool cancels);
  Task<void> make(Call& what);
  Task<bool> hand_over(Call& what, std::string& why);
  Task<Said> ask_about(std::string method, std::string task);
  Task<CallResult> look_at_task(std::string task);
  bool drifted(Call& what) const;
  Duration pause() const;
  std::string version() const;
  [[noreturn]] void fail(const Error& error) const;
  std::string about() const;

  Connect connect_;
  std::shared_ptr<Link> link_;
  Mutex connecting_;
  Era era_ = Era::unknown;
  bool died_of_probe_ = false;
  ToolList now_;                                                 // as the connection has it
  std::shared_ptr<bool> stale_ = std::make_shared<bool>(false);  // the list has changed meanwhile
  std::int64_t last_id_ = 0;
  int failures_ = 0;  // in a row
  Time next_try_{};
  Scrubber secrets_{};
};

}  // namespace tiffany::agent::mcp
