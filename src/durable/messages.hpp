// What is sent to tasks: signals, cancels, queries, updates.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "durable/hosted_task.hpp"
#include "tiffany/durable/actor.hpp"

namespace tiffany {
namespace detail {
struct KnownUpdate;
struct UpdateHandler;
}  // namespace detail

class Messages {
 public:
  explicit Messages(HostCore& host) noexcept : host_(host) {}
  Task<void> signal(Uuid id, std::string name, std::string value, Actor actor = Actor());
  Task<void> cancel(Uuid id, std::string why, Actor actor = Actor());
  // To the task, if its code is here; or else to its log.
  Task<void> send(HostedTask* task, bool signal, std::string name, std::string value,
                  Actor actor = Actor());
  std::string query(Uuid id, std::string_view name);
  // The same when the code of the task has come to the end of its log.
  Task<std::string> ask(Uuid id, std::string name);
  // Gives the answer, which is on the disk. `id`: nil for a fresh one.
  Task<std::string> update(Uuid task, std::string name, std::string request, Uuid id);

 private:
  // Returns when nobody changes the task and its code has come to the end of its log, or when
  // nothing of it runs: all of that is so until the next suspension. `also_queued`: one that has
  // not begun is waited for, too.
  Task<void> until_code(HostedTask* task, bool also_queued);
  std::shared_ptr<detail::KnownUpdate> accept_update(HostedTask& task, const std::string& name,
                                                     const std::string& request,
                                                     const std::string& id);

  void require_other_task(const HostedTask& task, const detail::UpdateHandler& handler,
                          const std::string& name) const;

  HostCore& host_;
};

}  // namespace tiffany
