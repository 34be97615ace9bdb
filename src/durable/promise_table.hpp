// The promises of all tasks of a host, by their UUIDs: whoever keeps one knows no more of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "durable/hosted_task.hpp"
#include "durable/slot.hpp"
#include "tiffany/detail/base/uuid_table.hpp"

namespace tiffany {

class PromiseTable {
 public:
  explicit PromiseTable(HostCore& host) noexcept : host_(host) {}
  // A task waits for it.
  void open(detail::PromiseSlot& promise);
  // It was kept, and whoever keeps it once more is told so.
  void keep(const Uuid& promise);
  // The code of its task is gone, or has given it up.
  void close(const Uuid& promise) noexcept;
  // Those tasks are in the archive.
  void forget(const std::unordered_set<Uuid, UuidHash>& tasks);
  // The code of that task is ended because it is idle: its promises are known as if its log had
  // been read. Gives them.
  std::vector<Uuid> rest(const FlowState& flow);
  void forget(const std::vector<Uuid>& promises) noexcept;
  // Host::promises.
  std::vector<OpenPromise> list(std::size_t most);
  // Host::promises_of.
  std::vector<OpenPromise> of(std::span<const Uuid> tasks);
  // Host::promise.
  std::optional<OpenPromise> find(const Uuid& promise);
  // Host::complete_json.
  Task<bool> complete(Uuid promise, std::string value, bool success, Actor actor);

 private:
  // The promise of a task whose code is not here, as its log knows it.
  struct Asked {
    Uuid task;
    std::string name;
    std::int64_t since = 0;
    bool kept = false;
  };
  struct AtRest {
    HostedTask* task = nullptr;  // none: there is no such promise
    Asked* promise = nullptr;
  };
  AtRest find_at_rest(const Uuid& promise);
  bool is_open(const Uuid& promise, const Asked& asked) const;
  template <class Visit>
  void for_each_open(Visit visit);
  void read(HostedTask& entry);

  HostCore& host_;
  struct IdOf {
    const Uuid& operator()(const detail::PromiseSlot& slot) const noexcept { return slot.uuid; }
  };
  detail::UuidTable<detail::PromiseSlot, IdOf> slots_;  // that are not kept
  std::unordered_set<Uuid, UuidHash> kept_;             // of code that is here
  std::unordered_map<Uuid, Asked, UuidHash> at_rest_;   // of HostedTask::promises_read
};

}  // namespace tiffany
