#include "durable/results.hpp"

#include <string_view>
#include <utility>

#include "durable/host_core.hpp"
#include "durable/records.hpp"
#include "durable/wait_graph.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

using wal::RecordType;

Task<std::string> Results::wait(Uuid id) {
  if (const auto old = host_.tasks.find(id) == nullptr ? from_archive(id) : nullptr)
    co_return value_of(*old);
  HostedTask& task = host_.require_task(id, "Host::result");
  if (!task.log.ended && host_.callers.now() == &task) {
    throw Error(Errc::self_join, "Host::result was called in a step of task " + id.text() +
                                     " for its own result, which comes when the step has ended.");
  }
  const Held held(task);
  // A retry takes the end back, so it is asked again each time that the task was changed.
  while (!task.log.ended) {
    if (task.broken != nullptr) std::rethrow_exception(task.broken);
    if (task.status > DurableStatus::paused) {
      throw Error(Errc::durable_stopped, "Task " + id.text() + " does not run: " + task.detail);
    }
    task.done.reset();
    co_await ResultWait(task);
  }
  co_return value_of(task);
}

std::string Results::value_of(const HostedTask& task) {
  End end;
  if (task.unread) {
    end = end_of(task);
  } else {
    end.detail = task.detail;
    if (task.failure != nullptr) end.failure = *task.failure;
  }
  if (task.status == DurableStatus::completed) return end.detail;
  if (task.status == DurableStatus::cancelled) throw Error(Errc::durable_cancelled, end.detail);
  throw DurableFailed(end.detail, end.failure.type, end.failure.cause());
}

detail::Failure Results::failure_of(const HostedTask& task) {
  if (task.unread) return end_of(task).failure;
  return task.failure != nullptr ? *task.failure : detail::Failure();
}

DurableInfo Results::short_info(const HostedTask& entry) {
  DurableInfo info{entry.log.id, entry.type_name(), entry.version, entry.status, entry.detail, {}};
  info.began = entry.began;
  info.parent = entry.parent;
  info.records = entry.log.last_seq;
  if (entry.marks != nullptr) {
    info.key = entry.marks->key;
    info.attributes = Search::json(entry.marks->attributes);
  }
  return info;
}

// A result that cannot be read is not given for another one.
DurableInfo Results::info_of(const HostedTask& entry, bool one_of_many) {
  DurableInfo info = short_info(entry);
  if (!entry.unread) return info;
  try {
    info.detail = end_of(entry, one_of_many).detail;
  } catch (const Error& error) {
    if (error.code() == Errc::value_not_decoded) throw;
    info.status = DurableStatus::quarantined;
    info.detail = error.what();
  }
  return info;
}

// A task that has ended has ended also for those who cannot read its result.
DurableInfo Results::shown_info(const HostedTask& entry, bool one_of_many) {
  try {
    return info_of(entry, one_of_many);
  } catch (const Error& error) {
    DurableInfo info = short_info(entry);
    const std::string line = line_of_end(entry, one_of_many);
    const detail::Fields fields(wal::view_of(line).payload);
    const std::string summary = wal::encoded_summary(fields.raw("result"));
    info.detail = to_json(summary.empty() ? std::string(error.what()) : summary);  // JSON, as ever
    return info;
  }
}

// An archive that cannot be read is said, and not taken for a task that never was.
std::optional<DurableInfo> Results::info(Uuid task) {
  if (const HostedTask* const found = host_.tasks.find(task)) return shown_info(*found);
  try {
    const std::unique_ptr<HostedTask> old = from_archive(task);
    if (old == nullptr) return std::nullopt;
    DurableInfo info = shown_info(*old);
    info.id = task;
    return info;
  } catch (const Error& error) {
    return DurableInfo{task, "", 0, DurableStatus::quarantined, error.what(), {}};
  }
}

std::vector<DurableInfo> Results::list() {
  std::vector<DurableInfo> all;
  all.reserve(host_.tasks.size());
  for (const HostedTask* entry : host_.tasks) all.push_back(shown_info(*entry, true));
  if (host_.store != nullptr) host_.store->done_reading();
  return all;
}

std::string Results::line_of_end(const HostedTask& entry, bool one_of_many) {
  if (entry.archived != nullptr) return entry.archived->end;
  // Somebody may have spoken to it after its end.
  for (std::size_t i = host_.store->count(entry.log); i-- > 0;) {
    std::string line = host_.store->read_one(entry.log, i, !one_of_many);
    const RecordType type = wal::view_of(line).type;
    if (type == RecordType::TaskExit || type == RecordType::TaskAbort) return line;
  }
  throw Error(Errc::log_damaged,
              "The log of task " + entry.log.id.text() + " has no record of its end.");
}

// Results of tasks that had ended when the log was opened stay on the disk until somebody asks.
Results::End Results::end_of(const HostedTask& entry, bool one_of_many) {
  const std::string line = line_of_end(entry, one_of_many);
  const wal::RecordView view = wal::view_of(line);
  records::End recorded = records::End::read(detail::Fields(view.payload));
  End end;
  end.trace = std::move(recorded.trace);
  if (view.type == RecordType::TaskExit) {
    end.detail = records::value_in(view, *host_.store, recorded.value);
    return end;
  }
  const bool failed = recorded.reason == "failed";
  end.status = failed ? DurableStatus::failed : DurableStatus::cancelled;
  end.detail = std::move(recorded.value);
  end.failure = std::move(recorded.failure);
  return end;
}

bool Results::archived(const Uuid& id) const {
  return host_.store != nullptr && host_.store->archived(id);
}

// Null when it is not there.
std::unique_ptr<HostedTask> Results::from_archive(const Uuid& id) {
  if (!archived(id)) return nullptr;
  const std::string content = host_.store->read_archived(id);
  std::string_view bytes = content;
  // Somebody may have spoken to it after its end.
  while (!bytes.empty()) {
    bytes.remove_suffix(1);
    const std::string line(bytes.substr(bytes.rfind('\n') + 1));
    wal::RecordView view;
    if (wal::read_line(line, 0, view) != wal::LineFault::none) break;
    if (view.type == wal::RecordType::TaskExit || view.type == wal::RecordType::TaskAbort) {
      auto entry = std::make_unique<HostedTask>(HostedTask::FromArchive());
      entry->log.id = id;
      wal::note_record(entry->log, view);
      entry->archived->spawn = content.substr(0, content.find('\n') + 1);
      const wal::RecordView first = wal::view_of(entry->archived->spawn);
      records::Spawn begun = records::Spawn::read(detail::Fields(first.payload));
      entry->named = SharedName::make(std::move(begun.name));
      entry->version = begun.version;
      entry->began = wal::parse_time(first.ts).value_or(0);
      entry->parent = begun.parent;
      if (!begun.marks.key.empty()) {
        entry->marks = std::make_unique<HostedTask::Marks>();
        entry->marks->key = std::move(begun.marks.key);
      }
      entry->archived->end = line + "\n";
      entry->unread = true;
      entry->status = status_at_end(entry->log);
      return entry;
    }
    bytes.remove_suffix(line.size());
  }
  throw Error(Errc::log_damaged, host_.store->name() + "/archive/" + id.text() +
                                     ".wal: expected the end of a task, found none that can be "
                                     "read.");
}

}  // namespace tiffany
