// How much room the segments of a journal take.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/memory_disk.hpp"
#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace segments_test {

TEST(WalSegments, OwnersThatAreKilledEarlyTakeLittleRoom) {
  const auto disk = std::make_shared<MemoryDisk>();
  for (int owner = 1; owner <= 60; ++owner) {
    Scheduler scheduler(Options().virtual_time());
    LogIndex index;
    const auto live = [&]() -> Task<void> {
      LogOptions options(kDirectory);
      options.disk = disk;
      const std::shared_ptr<Log> log = co_await Log::open(options, index);
      EXPECT_EQ(log->epoch(), static_cast<std::uint64_t>(owner));
      const std::string id = task_id(1).text();
      log->append(index.at(task_id(1)), Entry{RecordType::StepEnd, id, "\"n\":1"});
      co_await log->flush();
    };
    scheduler.spawn(live);
    scheduler.run();
    disk->crash();
  }
  const LogIndex index = scan(*disk, kDirectory, Layout::journal);
  EXPECT_TRUE(index.damage.empty());
  EXPECT_EQ(index.find(task_id(1))->last_seq, 60u);
  EXPECT_LT(disk->used(), std::uint64_t{1} << 20);
}

}  // namespace segments_test
}  // namespace tiffany::wal::test
