// Pausing, resuming, killing, retrying and forking.
#pragma once

#include <string>
#include <string_view>

#include "durable/hosted_task.hpp"
#include "tiffany/durable/actor.hpp"

namespace tiffany {

class Lifecycle {
 public:
  explicit Lifecycle(HostCore& host) noexcept : host_(host) {}
  Task<void> kill(Uuid id, std::string why, Actor actor);
  Task<void> pause(Uuid id, Actor actor);
  Task<void> resume(Uuid id, Actor actor);
  Task<void> retry(Uuid id, std::string from, Actor actor);
  Task<Uuid> fork(Uuid id, std::string from, Actor actor);

 private:
  Task<void> kill_now(HostedTask* task, std::string why, Actor actor);
  Task<void> pause_now(HostedTask* task, std::string payload);
  Task<void> resume_now(HostedTask* task, std::string payload);
  Task<Uuid> fork_now(HostedTask* task, std::string from, Actor actor);
  void require_type(HostedTask& task);
  void require_way_back(HostedTask& task, const std::string& from);
  void require_nothing_open(const HostedTask& task, const std::string& from);
  bool has_command(const HostedTask& entry, std::string_view id);

  HostCore& host_;
};

}  // namespace tiffany
