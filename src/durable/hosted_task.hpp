// What a host knows of one task, and the table of all of them.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "durable/failure.hpp"
#include "tiffany/base/rare_text.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/shared_name.hpp"
#include "tiffany/detail/base/uuid_table.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany {

struct HostedTask {
  explicit HostedTask(wal::StoredTask& of);
  // Of a task in the archive, which the store does not list.
  struct FromArchive {};
  explicit HostedTask(FromArchive);
  ~HostedTask();
  HostedTask(const HostedTask&) = delete;
  HostedTask& operator=(const HostedTask&) = delete;

  std::uint64_t number = 0;  // in the order in which tasks came to be
  struct Archived {
    wal::StoredTask log;
    std::string spawn;  // its first record
    std::string end;    // the record of its end
  };
  std::unique_ptr<Archived> archived;  // of a task in the archive
  wal::StoredTask& log;
  const DurableType* type = nullptr;
  Ref<SharedName> named;   // as its type; null: that is not known
  std::int64_t began = 0;  // microseconds since 1970
  Uuid parent;
  RareText detail;                  // its result, or why it does not run
  detail::FailurePtr failure;       // of one that has failed; null: nothing is known
  std::unique_ptr<FlowState> flow;  // while its code is under way
  Handle<void> task;                // that runs the code
  ManualResetEvent done;            // set when the status or `broken` has changed
  std::exception_ptr broken;        // why it does not go on in this host
  int version = 0;
  std::uint32_t changing = 0;  // it is being started, paused, resumed, retried, killed, or ends
  std::uint32_t held = 0;      // so many look at it across a suspension: it stays where it is
  std::uint32_t in_queue = 0;  // the number of its place there (Admission); zero: it is in none
  DurableStatus status = DurableStatus::running;
  // It had ended when the log was opened, or is in the archive: its result, or why it has none, is
  // not in `detail` but is read when somebody asks, see Results::end_of.
  bool unread = false;
  bool counted = false;                  // by Admission, as one that runs
  ParentEnd at_end = ParentEnd::cancel;  // of a child
  bool promises_read = false;            // PromiseTable has what its log says of its promises
  std::optional<std::uint8_t> priority;  // none: that of its type
  // Of a task whose code was ended because it was idle (Eviction).
  struct Rest {
    std::int64_t due = 0;        // when its first timer is; zero: it has none
    std::uint64_t alarm = 0;     // that is set for it; zero: none
    std::vector<Uuid> promises;  // which PromiseTable knows meanwhile
    bool asleep = false;
  };
  std::unique_ptr<Rest> rest;  // null: it never was
  // As recorded; empty: that is not known.
  const std::string& type_name() const noexcept;
  bool asleep() const noexcept { return rest != nullptr && rest->asleep; }
  // Of its code; its type is known then.
  std::uint8_t urgency() const noexcept { return priority.value_or(type->priority); }
  // What its start said besides (StartOptions).
  struct Marks {
    std::string key;
    std::int64_t until = 0;   // when it is cancelled; zero: never
    std::uint64_t alarm = 0;  // that is set for it; zero: none
    Attributes attributes;    // changed by Search only
  };
  std::unique_ptr<Marks> marks;  // null: nothing
};

// Keeps a task in the table across a suspension.
class Held {
 public:
  explicit Held(HostedTask& entry) noexcept : entry_(entry) { ++entry_.held; }
  ~Held() { --entry_.held; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  HostedTask& entry_;
};

// Marks a task that somebody changes, so that others wait with what they want from it.
class Changing {
 public:
  Changing(HostedTask& entry, ManualResetEvent& changed) noexcept
      : entry_(entry), changed_(changed) {
    ++entry_.changing;
  }
  ~Changing() {
    if (--entry_.changing == 0) changed_.set();
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  HostedTask& entry_;
  ManualResetEvent& changed_;
};

// The tasks of the log, in the order in which they came to be.
class HostedTasks {
 public:
  HostedTasks() = default;
  ~HostedTasks();
  HostedTasks(const HostedTasks&) = delete;
  HostedTasks& operator=(const HostedTasks&) = delete;

  // Null: the log does not have it.
  HostedTask* find(const Uuid& id) const noexcept;
  HostedTask& add(wal::StoredTask& log);
  // They are in the archive from here on.
  void remove(const std::unordered_set<Uuid, UuidHash>& tasks);
  auto begin() const noexcept { return order_.begin(); }
  auto end() const noexcept { return order_.end(); }
  std::size_t size() const noexcept { return order_.size(); }
  // The task with that number, which is here; the place of the first with a higher one.
  HostedTask* by_number(std::uint64_t number) const noexcept;
  std::size_t first_after(std::uint64_t number) const noexcept;
  // Tasks may be added while others are gone through.
  HostedTask& operator[](std::size_t place) const noexcept { return *order_[place]; }
  // The name of a type, which its tasks share.
  Ref<SharedName> name_of_type(const std::string& type);

 private:
  struct IdOf {
    const Uuid& operator()(const HostedTask& task) const noexcept { return task.log.id; }
  };
  detail::UuidTable<HostedTask, IdOf> by_id_;
  std::vector<HostedTask*> order_;  // owns them
  std::uint64_t last_ = 0;
  std::unordered_map<std::string, Ref<SharedName>> names_;
};

// Of a task that has ended.
inline DurableStatus status_at_end(const wal::StoredTask& task) noexcept {
  return task.failed      ? DurableStatus::failed
         : task.cancelled ? DurableStatus::cancelled
                          : DurableStatus::completed;
}

}  // namespace tiffany
