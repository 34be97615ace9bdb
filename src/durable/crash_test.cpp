#include "tiffany/durable/crash_test.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

thread_local bool CrashTest::alive_ = true;

wal::LogOptions CrashTest::log_options() const {
  wal::LogOptions options("wal");
  options.layout = layout;
  options.segment_size = std::size_t{64} << 10;
  options.disk = disk;
  options.provider = provider;
  options.process = 0;  // one that is the same in every run
  return options;
}

bool CrashTest::drive(Scheduler& scheduler, const Handle<void>& task, std::size_t most_slices) {
  struct Life {
    wal::MemoryDisk& disk;
    ~Life() {
      disk.crash();
      alive_ = false;  // what the scheduler does to end its tasks never happened
    }
  };
  const Life life{*disk};
  for (slices = 0; !task.done() && slices < most_slices; ++slices) {
    if (scheduler.step()) continue;
    if (scheduler.armed_timers() == 0) {
      throw Error(Errc::deadlock,
                  "The program of a CrashTest waits for something that nobody will do.");
    }
    scheduler.poll(kEndOfTime);
  }
  trace = scheduler.trace_hash();
  if (!task.done()) return false;
  const auto outcome = outcome_of(task, false);
  if (!outcome.ok()) std::rethrow_exception(outcome.error());
  return true;
}

}  // namespace tiffany
