// What a client hears while a call waits for a task: notifications/progress. Internal.
//
// Many clients give up on a call that says nothing for a minute. So something is said when the task
// has gone on, and now and then although it has not.
#pragma once

#include <cstdint>
#include <string>

#include "app/mcp_door.hpp"

namespace tiffany::app {

// Who hears notifications that belong to one request.
class McpListener {
 public:
  virtual ~McpListener() = default;
  // A notification is one message without line breaks. It may be left out for a client that reads
  // slowly: the next one says more.
  virtual Task<void> tell(std::string notification) = 0;
};

class McpProgress {
 public:
  // `token` is the client's, as JSON. Nothing is told without a token or a listener.
  McpProgress(McpDoor& door, McpListener* listener, std::string token)
      : door_(door), listener_(token.empty() ? nullptr : listener), token_(std::move(token)) {}

  // The task as the API tells it, when it has ended or after so long. CliFailure.
  Task<Json> wait(std::string id, int seconds);

 private:
  // How far a task is: steps of a plan, turns of an agent, records of any other.
  struct Standing {
    std::int64_t done = 0;
    std::int64_t total = 0;  // 0: nobody knows
    bool in_records = false;
    std::string message{};
  };
  Task<Json> wait_and_tell(std::string id, int seconds);
  Task<void> tell_when_due(Json task);
  Task<void> tell_end(const Json* task);
  Task<Standing> standing_of(Json task);
  Task<void> tell(const Standing* standing);

  McpDoor& door_;
  McpListener* listener_;
  std::string token_;
  Standing last_{};
  std::int64_t records_ = -1;  // of the task, when it was looked at last
  int beats_ = 0;              // notifications since `last_`, which was told then
  bool told_ = false;
  Time told_at_{};
};

}  // namespace tiffany::app
