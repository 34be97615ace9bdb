// What is known of durable tasks and of the work of a host on its log. Part of durable/host.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/uuid.hpp"

namespace tiffany {

class Interceptor;

enum class DurableStatus : std::uint8_t {
  running,      // its code is under way, or waits
  queued,       // until the limits of its type allow that its code begins
  paused,       // by an operator, or because its type is not here
  diverged,     // its code does not do what its log says
  quarantined,  // its log is damaged
  completed,
  failed,
  cancelled,
};
std::string_view name_of(DurableStatus status) noexcept;

struct DurableInfo {
  Uuid id;
  std::string type;
  int version = 0;
  DurableStatus status = DurableStatus::running;
  std::string detail;           // the result as JSON, or why
  std::string key;              // StartOptions::key; empty: none
  std::int64_t began = 0;       // when it was started; microseconds since 1970
  Uuid parent{};                // nil: none
  std::string attributes = "";  // a JSON object; empty: none
  std::uint64_t records = 0;    // the number of its last record; zero: it has left the log
};

struct Recovery {
  std::size_t resumed = 0;
  std::size_t paused = 0;  // no such type, or no such version
  std::size_t diverged = 0;
  std::size_t quarantined = 0;
  std::size_t finished = 0;  // had ended before
  std::vector<std::string>
      notes;  // a sentence for each task that was not resumed, and for each damage
  std::string text() const;
};

// What is kept of tasks that have ended, in archive/<uuid>.wal. What is older or beyond that size
// goes, the oldest first.
class Retention {
 public:
  Retention() = default;
  std::optional<std::chrono::seconds> age{};
  std::optional<std::uint64_t> bytes{};
};

class HostWatcher;

class HostOptions {
 public:
  HostOptions() = default;
  bool start_paused = false;  // resume nothing by itself
  bool records_only = false;  // and nothing when asked to: the next to open the log does
  // How many tasks, and how many bytes of their logs, are read and replayed at a time.
  std::size_t replay_tasks = 256;
  std::size_t replay_bytes = std::size_t{32} << 20;
  // A log with more bytes than this, of which more than half are needed by nobody any more, is
  // compacted by itself, beside the tasks, after the host was opened or when a task has ended.
  // Completed tasks go into the archive; tasks that failed or were cancelled stay, because they may
  // be retried. Zero: only Host::compact() compacts.
  std::uint64_t compact_above = std::uint64_t{32} << 20;
  // How many tasks keep their code in memory while they wait. Beyond that, those that have waited
  // longest are ended without a word in the log, as by close(), and replayed by what wakes them: a
  // timer, a signal, a promise, the end of a child, a query, a cancel. Eviction changes what a task
  // costs, never what it does.
  static constexpr std::size_t kAllTasks = static_cast<std::size_t>(-1);
  std::size_t hot_tasks = kAllTasks;
  Retention keep{};                // of the archive, when the log is compacted by itself
  HostWatcher* watcher = nullptr;  // outlives the host (durable/host_view.hpp)
  // Told of starts, signals, steps and ends, and asked (durable/interceptor.hpp).
  std::vector<std::shared_ptr<Interceptor>> interceptors{};
};

struct Compaction {
  std::size_t archived = 0;   // tasks that had ended
  std::size_t kept = 0;       // tasks that have not, and whose records were written again
  std::size_t removed = 0;    // tasks that left the archive, or never came to it
  std::size_t forgotten = 0;  // ids of tasks that went earlier, beyond kMostRetiredIds
  std::size_t values = 0;     // long values that nobody names any more
  std::string skipped;        // why nothing was done, if nothing was
};

}  // namespace tiffany
