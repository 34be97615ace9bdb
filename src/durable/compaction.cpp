// Tasks that have ended leave the log for the archive. Those that have not are written again behind
// all others, so that what is before them can go.
#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "durable/hosted_task.hpp"
#include "durable/records.hpp"
#include "tiffany/durable/limits.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

bool HostCore::archived(const Uuid& id) const { return store_ != nullptr && store_->archived(id); }

// Null when it is not there.
std::unique_ptr<HostCore::HostedTask> HostCore::from_archive(const Uuid& id) {
  if (!archived(id)) return nullptr;
  const std::string content = store_->read_archived(id);
  std::string_view bytes = content;
  // Somebody may have spoken to it after its end.
  while (!bytes.empty()) {
    bytes.remove_suffix(1);
    const std::string line(bytes.substr(bytes.rfind('\n') + 1));
    wal::RecordView view;
    if (wal::read_line(line, 0, view) != wal::LineFault::none) break;
    if (view.type == wal::RecordType::TaskExit || view.type == wal::RecordType::TaskAbort) {
      auto entry = std::make_unique<HostedTask>(std::make_unique<wal::StoredTask>());
      entry->log.id = id;
      wal::note_record(entry->log, view);
      entry->spawn = content.substr(0, content.find('\n') + 1);
      const wal::RecordView first = wal::view_of(entry->spawn);
      records::Spawn begun = records::Spawn::read(detail::Fields(first.payload));
      entry->type_name = std::move(begun.name);
      entry->version = begun.version;
      entry->end = line + "\n";
      entry->unread = true;
      entry->status = status_at_end(entry->log);
      return entry;
    }
    bytes.remove_suffix(line.size());
  }
  throw Error(Errc::log_damaged, store_->name() + "/archive/" + id.text() +
                                     ".wal: expected the end of a task, found none that can be "
                                     "read.");
}

// A child stays until its parent has ended, which may still ask for it.
bool HostCore::may_archive(const HostedTask& entry) const noexcept {
  if (!entry.log.ended || entry.flow != nullptr || entry.changing > 0 || entry.held > 0 ||
      entry.status == DurableStatus::quarantined) {
    return false;
  }
  const HostedTask* const parent = entry.parent.nil() ? nullptr : find(entry.parent);
  return parent == nullptr || parent->log.ended;
}

Task<Compaction> HostCore::compact(Retention keep) {
  if (keep.age && keep.age->count() < 0) {
    throw Error(Errc::bad_argument, "Host::compact: nothing is younger than a negative age.");
  }
  const Mutex::Guard alone = co_await compacting_.lock();
  if (!is_open()) {
    throw Error(Errc::durable_misuse, "Host::compact needs an open host: co_await host.open().");
  }
  co_return co_await compact_now(keep, false);
}

Task<Compaction> HostCore::compact_now(Retention keep, bool only_completed) {
  Compaction done;
  if (!store_->found().damage.empty()) {
    done.skipped = "the log is damaged; what is in it is kept for those who mend it";
    co_return done;
  }
  // What the archive would drop at once is not written into it: on a full disk there is no room.
  const bool drop = keep.bytes && *keep.bytes == 0 && store_->found().retired_damage.empty();
  const std::vector<Copied> copied = co_await archive_ended(drop, only_completed);
  if (drop) {
    // Before the tasks leave the log, so that there is no moment in which their ids are free. An id
    // that is in both places, because of a crash or of a retry meanwhile, is that of the task in
    // the log.
    std::vector<Uuid> ids;
    ids.reserve(copied.size());
    for (const Copied& copy : copied) ids.push_back(copy.id);
    done.forgotten = co_await store_->retire(std::move(ids), kMostRetiredIds);
  }
  store_->require_open();
  std::vector<Uuid> gone = take_archived(copied);
  done.archived = gone.size();
  if (drop) done.removed = gone.size();
  done.kept = co_await store_->drop(std::move(gone));
  look_again_ = 0;
  co_await keep_only(keep, &done);
  done.values = co_await store_->remove_unused_values();
  co_return done;
}

// Copies them, and gives which. With `drop` nothing is written. Whoever comes meanwhile has its
// turn next time.
Task<std::vector<HostCore::Copied>> HostCore::archive_ended(bool drop, bool only_completed) {
  std::vector<const wal::StoredTask*> ended;
  for (const HostedTask* entry : order_) {
    if (!may_archive(*entry)) continue;
    if (only_completed && entry->status != DurableStatus::completed) continue;
    ended.push_back(&entry->log);
  }
  if (!drop) co_return co_await store_->archive(std::move(ended));
  std::vector<Copied> all;
  all.reserve(ended.size());
  for (const wal::StoredTask* task : ended) all.push_back({task->id, task->last_seq});
  co_return all;
}

// ---- By itself ----

void HostCore::consider_compaction() {
  if (options_.compact_above == 0 || compacts_by_itself_ || !is_open() || store_->sealed()) return;
  const std::uint64_t all = store_->bytes();
  if (all <= options_.compact_above || all < look_again_ || !store_->found().damage.empty()) {
    return;
  }
  std::uint64_t needed = 0;
  for (const HostedTask* entry : order_) {
    if (may_archive(*entry) && entry->status == DurableStatus::completed) continue;
    needed += store_->bytes(entry->log);
  }
  // Counting takes its time: not for every task that ends.
  look_again_ = all + options_.compact_above / 4;
  if (needed > all / 2) return;
  compacts_by_itself_ = true;
  scheduler_->spawn.with_priority(255)(&HostCore::compact_by_itself, shared_from_this())
      .named("compaction");
}

// What goes wrong is said, and tried again when the log has grown.
Task<void> HostCore::compact_by_itself() {
  struct Over {
    bool& flag;
    ~Over() { flag = false; }
  };
  const Over over{compacts_by_itself_};
  const Mutex::Guard alone = co_await compacting_.lock();
  if (!is_open() || store_->sealed()) co_return;
  std::string failed;
  try {
    co_await compact_now(options_.keep, true);
  } catch (const std::exception& error) {
    failed = error.what();
  }
  if (!failed.empty() && !store_->sealed()) {
    scheduler_->log("The log in " + store_->name() + " was not compacted: " + failed);
  }
}

// From here on the archive has them; not those that have gone on since they were copied.
std::vector<Uuid> HostCore::take_archived(const std::vector<Copied>& copied) {
  std::vector<Uuid> gone;
  for (const Copied& copy : copied) {
    const HostedTask& entry = *find(copy.id);
    if (may_archive(entry) && entry.log.last_seq == copy.last_seq) gone.push_back(copy.id);
  }
  const std::unordered_set<Uuid, UuidHash> all(gone.begin(), gone.end());
  std::erase_if(order_, [&](const HostedTask* entry) { return all.contains(entry->log.id); });
  for (const Uuid& id : gone) entries_.erase(id);
  std::erase_if(at_rest_, [&](const auto& each) { return all.contains(each.second.task); });
  return gone;
}

Task<void> HostCore::keep_only(Retention keep, Compaction* done) {
  if (!keep.age && !keep.bytes) co_return;
  std::vector<wal::ArchivedTask> all = store_->list_archive();
  std::uint64_t total = 0;
  for (const wal::ArchivedTask& each : all) total += each.size;
  std::sort(all.begin(), all.end(), [](const wal::ArchivedTask& a, const wal::ArchivedTask& b) {
    return a.time != b.time ? a.time < b.time : a.id < b.id;
  });
  const std::int64_t now = store_->clock().now();
  std::vector<Uuid> go;
  for (const wal::ArchivedTask& old : all) {
    const bool too_old = keep.age && (now - old.time) / 1'000'000 > keep.age->count();
    if (!too_old && !(keep.bytes && total > *keep.bytes)) break;
    total -= old.size;
    go.push_back(old.id);
  }
  if (go.empty()) co_return;
  if (!store_->found().retired_damage.empty()) {
    done->skipped = "nothing was removed from the archive. " + store_->found().retired_damage;
    co_return;
  }
  done->removed += go.size();
  done->forgotten += co_await store_->retire(std::move(go), kMostRetiredIds);
}

}  // namespace tiffany
