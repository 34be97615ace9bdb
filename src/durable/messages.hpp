// What is sent to tasks: signals, cancels, queries.
#pragma once

#include <string>
#include <string_view>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Messages {
 public:
  explicit Messages(HostCore& host) noexcept : host_(host) {}
  Task<void> signal(Uuid id, std::string name, std::string value);
  Task<void> cancel(Uuid id, std::string why);
  // To the task, if its code is here; or else to its log.
  Task<void> send(HostedTask* task, bool signal, std::string name, std::string value);
  std::string query(Uuid id, std::string_view name);
  // The same when the code of the task has come to the end of its log.
  Task<std::string> ask(Uuid id, std::string name);

 private:
  HostCore& host_;
};

}  // namespace tiffany
