// What is behind a Host. Its tasks keep it, so that it is there until the last of them has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany {

class HostCore : public std::enable_shared_from_this<HostCore> {
 public:
  HostCore(const Registry& types, wal::LogOptions log, HostOptions options);
  ~HostCore();
  HostCore(const HostCore&) = delete;
  HostCore& operator=(const HostCore&) = delete;
  Task<Recovery> open();
  // Reads the log and runs nothing; `look` then runs one task along its log.
  void open_to_look();
  Task<Inspection> look(Uuid id);
  bool knows(const DurableInfo& task) const noexcept;
  // Which tasks are quarantined, and why.
  std::string unreadable() const;
  Task<void> close();
  // `fresh`: nobody can have used the id before.
  Task<Uuid> start_task(std::string type, std::string arguments, Uuid id, bool fresh);
  Uuid new_id() noexcept;
  Task<std::string> result_json(Uuid id);
  Task<void> signal_json(Uuid id, std::string name, std::string value);
  Task<bool> complete_json(Uuid promise, std::string value, bool success);
  Task<void> cancel(Uuid id, std::string why);
  Task<void> kill(Uuid id, std::string why);
  Task<void> pause(Uuid id);
  Task<void> resume(Uuid id);
  Task<void> retry(Uuid id, std::string from);
  Task<Uuid> fork(Uuid id, std::string from);
  Task<Compaction> compact(Retention keep);
  std::string query(Uuid id, std::string_view name);
  std::optional<DurableInfo> info(Uuid task);
  std::vector<DurableInfo> tasks();
  wal::RecordStore& store() noexcept { return *store_; }
  // The host is gone: what runs ends where it is.
  void abandon() noexcept;

 private:
  friend class FlowState;
  struct HostedTask;
  class Changing;
  class Held;

  bool is_open() const noexcept { return store_ != nullptr && !closing_; }
  // Throws for what is not in the log, and says where it is.
  HostedTask& entry(const Uuid& id, std::string_view what);
  HostedTask* find(const Uuid& id) const noexcept;
  HostedTask& add_entry(wal::StoredTask& log);
  HostedTask& add_task(const DurableType& type, const Uuid& id, const Uuid& parent);
  void append_spawn(HostedTask& entry, const std::string& arguments, wal::Level level,
                    wal::Ticket* ticket);
  void require_same_start(const HostedTask& before, const Uuid& id, const std::string& type,
                          const std::string& arguments);
  void require_not_retired(const Uuid& id, std::string_view what) const;
  void begin(HostedTask& entry, std::string arguments, std::int64_t time);
  Task<void> begin_synced(HostedTask* entry, std::string arguments);
  Task<void> record_end(FlowState* flow, HostedTask* entry, DurableStatus status,
                        std::string result);
  // Nobody changes it, and the log has room: both are so until the next suspension.
  Task<void> until_settled(HostedTask* entry);
  // Throws Errc::log_uncertain when damage of the log may have held a task that is not in it.
  void require_never_used(const Uuid& id) const;
  std::vector<Uuid> children_of(const HostedTask& task) const;
  Task<void> pause_now(HostedTask* task);
  Task<void> resume_now(HostedTask* task, std::string payload);
  Task<void> kill_now(HostedTask* task, std::string why);
  void require_type(HostedTask& task);
  void require_way_back(HostedTask& task, const std::string& from);
  void require_no_promise(const HostedTask& task, const std::string& from);
  Task<Uuid> fork_now(HostedTask* task, std::string from);
  std::string result_of(const HostedTask& task);
  void begin_again(HostedTask& entry);
  void run_flow(HostedTask& entry);
  void leave(HostedTask& task);
  Task<void> close_now();
  Task<void> run(HostedTask* entry);
  std::optional<Durable<std::string>> code_of(HostedTask& entry);
  static void require_arguments(const DurableType& type, const std::string& arguments);
  void ended(HostedTask& entry, DurableStatus status, std::string detail);
  Task<void> stop(HostedTask& task);
  Task<void> cancel_child(Uuid id);
  bool may_archive(const HostedTask& entry) const noexcept;
  using Copied = wal::RecordStore::Copied;
  Task<Compaction> compact_now(Retention keep, bool only_completed);
  Task<std::vector<Copied>> archive_ended(bool drop, bool only_completed);
  // Compacts the log when HostOptions say that it is worth it.
  void consider_compaction();
  Task<void> compact_by_itself();
  std::vector<Uuid> take_archived(const std::vector<Copied>& copied);
  Task<void> keep_only(Retention keep, Compaction* done);
  bool archived(const Uuid& id) const;
  std::unique_ptr<HostedTask> from_archive(const Uuid& id);
  // The promise of a task whose code is not here, as its log knows it.
  struct Asked {
    Uuid task;
    std::string name;
    bool kept = false;
  };
  struct AtRest {
    HostedTask* task = nullptr;  // none: there is no such promise
    Asked* promise = nullptr;
  };
  AtRest find_at_rest(const Uuid& promise);
  void read_promises(HostedTask& entry);

  // Calls from a step of a task that wait for the end of that step.
  struct Stopping {
    const HostedTask* by;
    const HostedTask* of;
    bool with_children;
  };
  class StoppingNow;
  const HostedTask* caller() const noexcept;
  bool covers(const HostedTask& of, bool with_children, const HostedTask& task) const noexcept;
  bool waits_for(const HostedTask& of, bool with_children, const HostedTask& task) const noexcept;
  void require_other(const HostedTask& task, bool with_children, std::string_view what) const;

  Task<void> send(HostedTask* task, bool signal, std::string name, std::string value);
  bool has_command(const HostedTask& entry, std::string_view id);
  Task<void> record(HostedTask& task, wal::RecordType type, std::string payload);
  void require_alive(const HostedTask& task, std::string_view what) const;
  DurableInfo info_of(const HostedTask& entry, bool one_of_many = false);

  // Opening.
  bool prepare(HostedTask& entry);
  bool prepare_readable(HostedTask& entry);
  bool resume_or_quarantine(HostedTask& entry);
  bool check_type(HostedTask& entry);
  void read_first(HostedTask& entry);
  bool may_replay() const noexcept;

  // How a task ended, as its log says.
  struct End {
    DurableStatus status = DurableStatus::completed;
    std::string detail;  // the result, or why there is none
    std::string trace;
  };
  // Of an HostedTask that is `unread`. Errc::log_damaged when the record, or a value that it names,
  // cannot be read. `one_of_many`: files are kept open for the next.
  End end_of(const HostedTask& entry, bool one_of_many = false);
  std::string end_line(const HostedTask& entry, bool one_of_many);

  // For flows.
  void replayed(FlowState& flow) noexcept;
  void note_divergence(FlowState& flow, const std::string& text);
  void flow_broken(FlowState& flow, const std::exception_ptr& error) noexcept;
  void adopt_child(detail::Slot& slot);
  bool looking() const noexcept { return looking_ != nullptr; }
  void would(std::string what);
  void would_take(detail::Slot& slot);
  void seen(const FlowState& flow);
  void seen_end(const HostedTask& entry, DurableStatus status, const std::string& result);
  void happened(std::string what);

  const Registry types_;
  wal::LogOptions log_options_;
  HostOptions options_;
  Scheduler* scheduler_ = nullptr;
  std::shared_ptr<wal::RecordStore> store_;
  bool closing_ = false;
  bool closed_ = false;
  std::string payload_;  // scratch
  Recovery recovery_;
  std::unordered_map<Uuid, std::unique_ptr<HostedTask>, UuidHash> entries_;
  std::vector<HostedTask*> order_;                                  // as they came to be
  std::unordered_map<Uuid, detail::Slot*, UuidHash> promises_;      // and children, by their UUID
  std::unordered_map<Uuid, Asked, UuidHash> at_rest_;               // of HostedTask::promises_read
  std::unordered_map<const TaskRecord*, const HostedTask*> steps_;  // whose step a task runs
  std::vector<Stopping> stopping_;
  Mutex compacting_;
  bool compacts_by_itself_ = false;
  std::uint64_t look_again_ = 0;  // with so many bytes compaction is considered next
  Random random_{0};
  Inspection* looking_ = nullptr;  // effects are forbidden; what would happen is noted here
  std::size_t replaying_tasks_ = 0;
  std::size_t replaying_bytes_ = 0;
  ManualResetEvent replay_room_{true};
  ManualResetEvent changed_;
};

}  // namespace tiffany
