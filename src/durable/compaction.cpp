#include "durable/compaction.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "durable/host_core.hpp"
#include "tiffany/durable/limits.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

// A child stays until its parent has ended, which may still ask for it.
bool Compactor::may_archive(const HostedTask& entry) const noexcept {
  if (!entry.log.ended || entry.flow != nullptr || entry.changing > 0 || entry.held > 0 ||
      entry.status == DurableStatus::quarantined) {
    return false;
  }
  const HostedTask* const parent = entry.parent.nil() ? nullptr : host_.tasks.find(entry.parent);
  return parent == nullptr || parent->log.ended;
}

Task<Compaction> Compactor::compact(Retention keep) {
  if (keep.age && keep.age->count() < 0) {
    throw Error(Errc::bad_argument, "Host::compact: nothing is younger than a negative age.");
  }
  const Mutex::Guard guard = co_await alone.lock();
  host_.require_open("Host::compact");
  co_return co_await compact_now(keep, false);
}

Task<Compaction> Compactor::compact_now(Retention keep, bool only_completed) {
  Compaction done;
  if (!host_.store->found().damage.empty()) {
    done.skipped = "the log is damaged; what is in it is kept for those who mend it";
    co_return done;
  }
  // What the archive would drop at once is not written into it: on a full disk there is no room.
  const bool drop = keep.bytes && *keep.bytes == 0 && host_.store->found().retired_damage.empty();
  const std::vector<Copied> copied = co_await archive_ended(drop, only_completed);
  if (drop) {
    // Before the tasks leave the log, so that there is no moment in which their ids are free. An id
    // that is in both places, because of a crash or of a retry meanwhile, is that of the task in
    // the log.
    std::vector<Uuid> ids;
    ids.reserve(copied.size());
    for (const Copied& copy : copied) ids.push_back(copy.id);
    done.forgotten = co_await host_.store->retire(std::move(ids), kMostRetiredIds);
  }
  host_.store->require_open();
  std::vector<Uuid> gone = take_archived(copied);
  done.archived = gone.size();
  if (drop) done.removed = gone.size();
  done.kept = co_await host_.store->drop(std::move(gone));
  look_again_ = 0;
  co_await keep_only(keep, &done);
  done.values = co_await host_.store->remove_unused_values();
  co_return done;
}

// Copies them, and gives which. With `drop` nothing is written. Whoever comes meanwhile has its
// turn next time.
Task<std::vector<Compactor::Copied>> Compactor::archive_ended(bool drop, bool only_completed) {
  std::vector<const wal::StoredTask*> ended;
  for (const HostedTask* entry : host_.tasks) {
    if (!may_archive(*entry)) continue;
    if (only_completed && entry->status != DurableStatus::completed) continue;
    ended.push_back(&entry->log);
  }
  if (!drop) co_return co_await host_.store->archive(std::move(ended));
  std::vector<Copied> all;
  all.reserve(ended.size());
  for (const wal::StoredTask* task : ended) all.push_back({task->id, task->last_seq});
  co_return all;
}

// ---- By itself ----

void Compactor::consider() {
  if (host_.options.compact_above == 0 || under_way_ || !host_.is_open() || host_.store->sealed())
    return;
  const std::uint64_t all = host_.store->bytes();
  if (all <= host_.options.compact_above || all < look_again_ ||
      !host_.store->found().damage.empty()) {
    return;
  }
  std::uint64_t needed = 0;
  for (const HostedTask* entry : host_.tasks) {
    if (may_archive(*entry) && entry->status == DurableStatus::completed) continue;
    needed += host_.store->bytes(entry->log);
  }
  // Counting takes its time: not for every task that ends.
  look_again_ = all + host_.options.compact_above / 4;
  if (needed > all / 2) return;
  under_way_ = true;
  host_.scheduler->spawn
      .with_priority(255)(&Compactor::by_itself,
                          std::shared_ptr<Compactor>(host_.shared_from_this(), this))
      .named("compaction");
}

// What goes wrong is said, and tried again when the log has grown.
Task<void> Compactor::by_itself() {
  struct Over {
    bool& flag;
    ~Over() { flag = false; }
  };
  const Over over{under_way_};
  const Mutex::Guard guard = co_await alone.lock();
  if (!host_.is_open() || host_.store->sealed()) co_return;
  std::string failed;
  try {
    co_await compact_now(host_.options.keep, true);
  } catch (const std::exception& error) {
    failed = error.what();
  }
  if (!failed.empty() && !host_.store->sealed()) {
    host_.scheduler->log("The log in " + host_.store->name() + " was not compacted: " + failed);
  }
}

// From here on the archive has them; not those that have gone on since they were copied.
std::vector<Uuid> Compactor::take_archived(const std::vector<Copied>& copied) {
  std::vector<Uuid> gone;
  for (const Copied& copy : copied) {
    const HostedTask& entry = *host_.tasks.find(copy.id);
    if (may_archive(entry) && entry.log.last_seq == copy.last_seq) gone.push_back(copy.id);
  }
  const std::unordered_set<Uuid, UuidHash> all(gone.begin(), gone.end());
  for (const Uuid& id : gone) host_.search.forget(*host_.tasks.find(id));
  host_.tasks.remove(all);
  host_.promises.forget(all);
  return gone;
}

Task<void> Compactor::keep_only(Retention keep, Compaction* done) {
  if (!keep.age && !keep.bytes) co_return;
  std::vector<wal::ArchivedTask> all = host_.store->list_archive();
  std::uint64_t total = 0;
  for (const wal::ArchivedTask& each : all) total += each.size;
  std::sort(all.begin(), all.end(), [](const wal::ArchivedTask& a, const wal::ArchivedTask& b) {
    return a.time != b.time ? a.time < b.time : a.id < b.id;
  });
  const std::int64_t now = host_.store->clock().now();
  std::vector<Uuid> go;
  for (const wal::ArchivedTask& old : all) {
    const bool too_old = keep.age && (now - old.time) / 1'000'000 > keep.age->count();
    if (!too_old && !(keep.bytes && total > *keep.bytes)) break;
    total -= old.size;
    go.push_back(old.id);
  }
  if (go.empty()) co_return;
  if (!host_.store->found().retired_damage.empty()) {
    done->skipped = "nothing was removed from the archive. " + host_.store->found().retired_damage;
    co_return;
  }
  done->removed += go.size();
  done->forgotten += co_await host_.store->retire(std::move(go), kMostRetiredIds);
}

Task<wal::BackupReport> Compactor::backup(std::string directory) {
  const Mutex::Guard held = co_await alone.lock();
  host_.require_open("Host::backup");
  co_await host_.store->flush();
  co_return co_await host_.store->copy_to(std::move(directory));
}

}  // namespace tiffany
