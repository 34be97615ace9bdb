// What is behind a Host: what its parts share, and the parts, one for each idea. Tasks keep it, so
// that it is there until the last of them has ended.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "durable/admission.hpp"
#include "durable/alarms.hpp"
#include "durable/children.hpp"
#include "durable/compaction.hpp"
#include "durable/effects.hpp"
#include "durable/eviction.hpp"
#include "durable/hosted_task.hpp"
#include "durable/interceptors.hpp"
#include "durable/lifecycle.hpp"
#include "durable/messages.hpp"
#include "durable/opening.hpp"
#include "durable/promise_table.hpp"
#include "durable/results.hpp"
#include "durable/runs.hpp"
#include "durable/search.hpp"
#include "durable/starts.hpp"
#include "durable/step_callers.hpp"
#include "tiffany/core/close_first.hpp"
#include "tiffany/durable/host.hpp"

namespace tiffany {

class HostCore final : public std::enable_shared_from_this<HostCore>, public CloseFirst {
 public:
  HostCore(const Registry& types, wal::LogOptions log, HostOptions options);
  ~HostCore();
  HostCore(const HostCore&) = delete;
  HostCore& operator=(const HostCore&) = delete;

  // ---- Shared ----
  const Registry types;
  wal::LogOptions log_options;
  HostOptions options;
  Scheduler* scheduler = nullptr;
  std::shared_ptr<wal::RecordStore> store;  // null before open()
  std::unique_ptr<FlowEffects> effects;     // live, but for inspection
  std::string payload;                      // scratch, until the next append
  Random random{0};                         // of ids
  ManualResetEvent changed;                 // a Changing has ended
  bool closing = false;
  bool abandoned = false;  // by abandon()

  bool is_open() const noexcept { return store != nullptr && !closing; }
  void require_open(std::string_view what) const;
  Uuid new_id() noexcept { return Uuid::random(random); }

  // ---- Parts ----
  PromiseTable promises;
  Children children;
  StepCallers callers;
  Starts starts;
  Runs runs;
  Results results;
  Messages messages;
  Interceptors interceptors;
  Lifecycle lifecycle;
  Compactor compactor;
  Opening opening;
  Alarms alarms;
  Search search;
  Admission admission;
  Eviction eviction;
  HostedTasks tasks;  // the last: flows that go tell the other parts

  // ---- What parts need of a task ----
  // Throws for what is not in the log, and says where it is.
  HostedTask& require_task(const Uuid& id, std::string_view what);
  // Throws Errc::durable_stopped for one that has ended or is quarantined.
  void require_alive(const HostedTask& task, std::string_view what) const;
  // Of one whose code is not here: what is recorded for it must be readable for the host that has
  // its codec. Throws Errc::value_not_decoded when this host does not.
  void require_codec_of(const HostedTask& task, std::string_view what);
  // False: no code here goes on with its log; `detail` of the task says why.
  bool check_type(HostedTask& entry) const;
  // Nobody changes it, its code is here if nothing stops it, and the log has room: all of that is
  // so until the next suspension.
  Task<void> until_settled(HostedTask* entry);
  // Appends a record of a task whose code is not here, and waits until it is on the disk.
  Task<void> record(HostedTask& task, wal::RecordType type, std::string content);

  // Tells the watcher of the host, if it has one.
  void tell(const Uuid& task, const wal::Entry& record, wal::Level level) noexcept;

  // ---- Going ----
  Task<void> close();
  Handle<void> begin_close() override;
  // The host is gone: what runs ends where it is.
  void abandon() noexcept;

 private:
  Task<void> close_now();
  static Task<void> close_kept(std::shared_ptr<HostCore> host);
  bool closed_ = false;
};

}  // namespace tiffany
