#include "tiffany/durable/crash_test.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

thread_local bool CrashTest::alive_ = true;

wal::LogOptions CrashTest::log_options() const {
  wal::LogOptions options("wal");
  options.layout = layout;
  options.segment_size = std::size_t{64} << 10;
  options.disk = disk;
  if (torn_disk != nullptr) options.disk = torn_disk;
  options.provider = provider;
  options.codec = codec;
  options.process = 0;  // one that is the same in every run
  return options;
}

void CrashTest::require_log() const {
  if (provider == nullptr) return;
  throw Error(Errc::bad_argument,
              "CrashTest::tear_everywhere tears writes to a log, and the records of this test are "
              "in another store (CrashTest::provider). Use crash_everywhere.");
}

// What the dead process still does, it does to the disk of before.
void CrashTest::die() {
  disk->crash();
  if (torn_disk == nullptr) return;
  // The first three fates of each slice are those that find most; others are by chance.
  const auto number = static_cast<std::uint64_t>(crashed_after) * 131 + tear;
  switch (crashed_after == kToTheEnd ? 0 : tear) {
    case 0:
      torn_disk = torn_disk->reboot(wal::Reboot::lost());
      break;
    case 1:
      torn_disk = torn_disk->reboot(wal::Reboot::torn_at(torn_disk->unsynced() / 2));
      break;
    case 2:
      torn_disk = torn_disk->reboot(wal::Reboot::kept());
      break;
    default:
      torn_disk = torn_disk->reboot(wal::Reboot::seeded(number));
  }
}

bool CrashTest::drive(Scheduler& scheduler, const Handle<void>& task, std::size_t most_slices) {
  struct Life {
    CrashTest& test;
    ~Life() {
      test.die();
      alive_ = false;  // what the scheduler does to end its tasks never happened
    }
  };
  const Life life{*this};
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
