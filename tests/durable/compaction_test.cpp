#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/durable_world.hpp"
#include "durable/waiting_disk.hpp"
#include "tiffany/wal/memory_disk.hpp"

namespace tiffany {
namespace compaction_test {

using namespace std::chrono_literals;

class CompactionTest : public DurableWorld {
 protected:
  CompactionTest() {
    types_ = [] {
      Registry types;
      types.add("quick", 1, &CompactionTest::quick);
      types.add("slow", 1, &CompactionTest::slow);
      types.add("sums", 1, &CompactionTest::sums);
      types.add("fails", 1, &CompactionTest::fails);
      return types;
    };
  }
  static Durable<int> quick(Flow& flow, int n) {
    co_return co_await flow.step("double", [&] { return 2 * n; });
  }
  static Durable<int> slow(Flow& flow, int n) {
    const int first = co_await flow.step("double", [&] { return 2 * n; });
    co_return first + co_await flow.signal<int>("more");
  }
  static Durable<int> sums(Flow& flow) {
    int sum = 0;
    for (;;) {
      const int n = co_await flow.signal<int>("n");
      if (n == 0) co_return sum;
      sum += n;
    }
  }
  static Durable<int> fails(Flow& flow) {
    const bool works = co_await flow.step("try", [] { return may_work; });
    if (!works) throw std::runtime_error("it does not work");
    co_return 1;
  }
  static inline bool may_work = false;

  static Task<void> compact(Host* host) { co_await host->compact(); }
  std::size_t files(const std::string& below, const std::string& suffix) const {
    std::size_t n = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_ + "/wal" + below)) {
      if (file.path().string().ends_with(suffix)) ++n;
    }
    return n;
  }
};
TIFFANY_ON_EVERY_LAYOUT(CompactionTest);

TEST_P(CompactionTest, D5_TasksThatEndedGoIntoTheArchiveAndTheOthersGoOn) {
  Uuid ended;
  Uuid waits;
  for (int life = 0; life < 3; ++life) {
    live([&](Host& host) -> Task<void> {
      if (life == 0) waits = co_await host.start("slow", 100);
      ended = co_await host.start("quick", life);
      EXPECT_EQ(co_await host.result<int>(ended), 2 * life);
    });
  }
  live([&](Host& host) -> Task<void> {
    const Compaction done = co_await host.compact();
    EXPECT_EQ(done.archived, 3u);
    EXPECT_EQ(host.tasks().size(), 1u);
    EXPECT_EQ(co_await host.result<int>(ended), 4);  // from the archive
  });
  EXPECT_EQ(files("/archive", ".wal"), 3u);
  if (GetParam() == wal::Layout::journal) {
    EXPECT_EQ(files("", ".journal"), 1u);
  }
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(recovery.resumed, 1u) << recovery.text();
    co_await host.signal(waits, "more", 7);
    EXPECT_EQ(co_await host.result<int>(waits), 207);
  });
}

TEST_P(CompactionTest, D5_WhatIsRecordedWhileTheLogIsCompactedIsNotLost) {
  const auto disk = std::make_shared<WaitingDisk>();
  disk_ = disk;
  for (int time = 1; time <= 10; ++time) {
    disk->file_time = 5;
    disk->directory_time = time;
    // With little room the records of some tasks are moved when those of others are not yet; with
    // much, some that are to be moved are not written yet.
    most_queued_ = time % 2 == 0 ? 1000 : 100'000;
    std::vector<Uuid> ids;
    std::vector<int> sent(8, 0);
    live([&](Host& host) -> Task<void> {
      for (std::size_t i = 0; i < sent.size(); ++i) ids.push_back(co_await host.start("sums"));
      co_await host.result<int>(co_await host.start("quick", 1));
      auto compaction = spawn(compact, &host);
      co_await scope([&](Scope& all) -> Task<void> {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          all.spawn([&, i]() -> Task<void> {
            for (; !compaction.done(); ++sent[i]) co_await host.signal(ids[i], "n", 1);
          });
        }
        co_return;
      });
      co_await compaction;
    });
    live([&](Host& host) -> Task<void> {
      EXPECT_EQ(recovery.resumed, ids.size()) << time << ": " << recovery.text();
      EXPECT_TRUE(recovery.notes.empty()) << time << ": " << recovery.text();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        co_await host.signal(ids[i], "n", 0);
        EXPECT_EQ(co_await host.result<int>(ids[i]), sent[i]) << time;
      }
    });
  }
}

TEST_P(CompactionTest, D5_ATaskThatIsRetriedWhileTheLogIsCompactedGoesOnOrIsInTheArchive) {
  const auto disk = std::make_shared<WaitingDisk>();
  disk_ = disk;
  for (int time = 0; time <= 20; ++time) {
    disk->directory_time = 3;
    may_work = false;
    Uuid id;
    bool refused = false;
    live([&](Host& host) -> Task<void> {
      id = co_await host.start("fails");
      try {
        co_await host.result<int>(id);
      } catch (const Error&) {
      }
      may_work = true;
      auto compaction = spawn(compact, &host);
      co_await sleep(time * 1ms);
      try {
        co_await host.retry(id, "try#1");
      } catch (const Error& error) {
        refused = error.code() == Errc::durable_stopped;
      }
      co_await compaction;
    });
    live([&](Host& host) -> Task<void> {
      bool failed = false;
      int result = 0;
      try {
        result = co_await host.result<int>(id);
      } catch (const Error& error) {
        failed = error.code() == Errc::durable_failed;
      }
      EXPECT_EQ(failed, refused) << time << ": " << recovery.text();
      EXPECT_EQ(result, refused ? 0 : 1) << time << ": " << recovery.text();
    });
  }
}

TEST_P(CompactionTest, D5_ACompactionThatFindsTheDiskFullSaysSoAndLosesNothing) {
  const auto disk = std::make_shared<WaitingDisk>();
  disk_ = disk;
  bool worked = false;
  for (int operations = 0; !worked; ++operations) {
    std::filesystem::remove_all(directory_ + "/wal");
    disk->left = -1;
    Uuid ended, unfinished;
    int heard = 0;
    live([&](Host& host) -> Task<void> {
      ended = co_await host.start("quick", 20);
      co_await host.result<int>(ended);
      unfinished = co_await host.start("sums");
      co_await host.signal(unfinished, "n", 1);
      ++heard;
      disk->left = operations;
      std::string sentence;
      try {
        co_await host.compact();
        worked = true;
      } catch (const Error& error) {
        sentence = error.what();
      }
      EXPECT_TRUE(worked || sentence.find("No space left") != std::string::npos) << sentence;
      disk->left = -1;  // there is room again
      try {
        co_await host.signal(unfinished, "n", 1);
        ++heard;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::log_sealed) << operations << ": " << error.what();
      }
    });
    live([&](Host& host) -> Task<void> {
      EXPECT_TRUE(recovery.notes.empty()) << operations << ": " << recovery.text();
      EXPECT_EQ(co_await host.result<int>(ended), 40) << operations;
      co_await host.signal(unfinished, "n", 0);
      EXPECT_EQ(co_await host.result<int>(unfinished), heard) << operations;
      EXPECT_TRUE((co_await host.compact()).skipped.empty());
    });
  }
}

TEST_P(CompactionTest, D5_TheArchiveKeepsWhatIsYoungAndFitsAndNoMore) {
  std::vector<Uuid> ids;
  live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      ids.push_back(co_await host.start("quick", i));
      co_await host.result<int>(ids.back());
      co_await sleep(1h);
    }
    Retention keep;
    keep.age = std::chrono::hours(3);
    const Compaction done = co_await host.compact(keep);
    EXPECT_EQ(done.archived, 5u);
    EXPECT_EQ(done.removed, 2u);  // those of five and four hours ago
  });
  EXPECT_EQ(files("/archive", ".wal"), 3u);
  live([&](Host& host) -> Task<void> {
    Retention keep;
    keep.bytes = 0;
    const Compaction done = co_await host.compact(keep);
    EXPECT_EQ(done.removed, 3u);
    bool retired = false;
    try {
      co_await host.result<int>(ids[4]);
    } catch (const Error& error) {
      retired = error.code() == Errc::id_retired;
    }
    EXPECT_TRUE(retired);
  });
}

TEST_P(CompactionTest, ManyTasksAreArchivedWithFewSyncs) {
  const auto disk = std::make_shared<WaitingDisk>();
  disk_ = disk;
  live([&](Host& host) -> Task<void> {
    std::vector<Uuid> ids;
    for (int i = 0; i < 300; ++i) ids.push_back(co_await host.start("quick", i));
    for (const Uuid& id : ids) co_await host.result<int>(id);
    disk->syncs = 0;
    EXPECT_EQ((co_await host.compact()).archived, 300u);
    EXPECT_LT(disk->syncs, 15);
    EXPECT_EQ(co_await host.result<int>(ids[299]), 598);
  });
  EXPECT_EQ(files("/archive", ".wal"), 300u);
}

TEST_P(CompactionTest, ALogThatIsMostlyOfNoMoreUseIsCompactedByItself) {
  host_options.compact_above = 20'000;
  std::vector<Uuid> ids;
  live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 200; ++i) {
      ids.push_back(co_await host.start("quick", i));
      co_await host.result<int>(ids.back());
    }
    co_await sleep(1s);
    EXPECT_LT(host.tasks().size(), 150u);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(co_await host.result<int>(ids[static_cast<std::size_t>(i)]), 2 * i);
    }
  });
  live([&](Host& host) -> Task<void> {
    EXPECT_TRUE(recovery.notes.empty()) << recovery.text();
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(co_await host.result<int>(ids[static_cast<std::size_t>(i)]), 2 * i);
    }
  });
}

TEST_P(CompactionTest, AFullDiskCanBeReadOpenedAndCompacted) {
  if (GetParam() == wal::Layout::files) return;  // where nothing is written to open a log
  const auto disk = std::make_shared<wal::MemoryDisk>();
  disk_ = disk;
  disk->limit(std::uint64_t{512} << 10);
  std::size_t done = 0;
  Errc failed{};
  live([&](Host& host) -> Task<void> {
    try {
      for (;; ++done) co_await host.result<int>(co_await host.start("quick", 1));
    } catch (const Error& error) {
      failed = error.code();
    }
  });
  EXPECT_EQ(failed, Errc::log_sealed);
  disk->limit(disk->used());
  const std::string directory = directory_ + "/wal";
  EXPECT_GE(wal::scan(*disk, directory, wal::Layout::journal).tasks.size(), done);
  live([&](Host& host) -> Task<void> {
    Retention nothing;
    nothing.bytes = 0;
    EXPECT_GE((co_await host.compact(nothing)).archived, done);
    EXPECT_EQ(co_await host.result<int>(co_await host.start("quick", 4)), 8);
  });
  EXPECT_LT(disk->used(), std::uint64_t{300} << 10);
}

}  // namespace compaction_test
}  // namespace tiffany
