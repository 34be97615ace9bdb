#include "tiffany/wal/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "tiffany/wal/values.hpp"
#include "wal/golden_lines.hpp"
#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace log_test {

class WalLogTest : public testing::TestWithParam<Layout> {
 protected:
  std::shared_ptr<FaultDisk> disk = std::make_shared<FaultDisk>();
  Story story{GetParam()};

  template <class F>
  void run(F program) {
    const std::exception_ptr error = Story::run(*disk, std::move(program));
    if (error != nullptr) std::rethrow_exception(error);
  }
};
INSTANTIATE_TEST_SUITE_P(, WalLogTest, testing::Values(Layout::journal, Layout::files),
                         [](const testing::TestParamInfo<Layout>& layout) {
                           return layout.param == Layout::journal ? "journal" : "files";
                         });

TEST_P(WalLogTest, D1_RecordsOfATaskComeBackInTheOrderInWhichTheyWereAppended) {
  ASSERT_EQ(story.tell(disk), nullptr);
  const Found found(*disk, story);
  EXPECT_EQ(found.invented, "");
  for (const Told& record : story.records()) {
    EXPECT_TRUE(found.complete(record.task, record.seq));
  }
  EXPECT_TRUE(found.index.find(task_id(1))->ended);
  EXPECT_FALSE(found.index.find(task_id(2))->ended);
}

TEST_P(WalLogTest, D1_TicketsAreToldInTheOrderOfTheirRecordsAndOnlyAfterTheSync) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    for (int i = 0; i < 5; ++i) story.add(*log, task, RecordType::StepEnd, Level::sync, 10);
    const std::size_t before = disk->operations();
    for (const Told& record : story.records()) EXPECT_FALSE(record.told);
    while (!story.records().back().told) {
      bool all = true;
      for (const Told& record : story.records()) {
        EXPECT_TRUE(all || !record.told);
        all = all && record.told;
      }
      co_await yield();
    }
    // One write and one sync for all five.
    std::size_t syncs = 0;
    for (std::size_t k = before; k < disk->operations(); ++k) {
      syncs += disk->did()[k].starts_with("sync wal/") ? 1 : 0;
    }
    EXPECT_EQ(syncs, 1u);
    EXPECT_EQ(Found(*disk->reboot(Reboot::lost()), story).found.at(task_id(1)), 5u);
  });
}

TEST_P(WalLogTest, D1_ALazyRecordIsSyncedWithTheNextOneThatMustBe) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    const std::size_t before = disk->operations();
    story.add(*log, task, RecordType::Spawn, Level::lazy);
    for (int i = 0; i < 20; ++i) co_await yield();
    EXPECT_EQ(disk->operations(), before);
    story.add(*log, task, RecordType::StepStart, Level::sync);
    while (!story.records().back().told) co_await yield();
    EXPECT_EQ(Found(*disk->reboot(Reboot::lost()), story).found.at(task_id(1)), 2u);
  });
}

TEST_P(WalLogTest, D1_ARecordThatIsLongerThanASegmentIsWrittenAllTheSame) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    story.add(*log, task, RecordType::Spawn, Level::sync);
    story.add(*log, task, RecordType::StepEnd, Level::sync, 3 * kSegment);
    story.add(*log, task, RecordType::StepEnd, Level::sync, 5);
    co_await log->close();
  });
  const auto after = disk->reboot(Reboot::lost());
  const Found found(*after, story);
  EXPECT_EQ(found.after_crash(story), "");
  EXPECT_EQ(found.found.at(task_id(1)), 3u);
}

TEST_P(WalLogTest, D1_ARecordThatIsTooLongForALineIsRefusedAndTheLogGoesOn) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    story.add(*log, task, RecordType::Spawn, Level::sync);
    EXPECT_THROW(story.add(*log, task, RecordType::StepEnd, Level::sync, kLongestLine), Error);
    story.records().pop_back();
    story.add(*log, task, RecordType::StepEnd, Level::sync);
    co_await log->close();
  });
  EXPECT_EQ(Found(*disk, story).found.at(task_id(1)), 2u);
}

TEST_P(WalLogTest, D1_AfterTheLogIsClosedNothingCanBeAppended) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    co_await log->close();
    EXPECT_THROW(story.add(*log, task, RecordType::Spawn, Level::sync), Error);
    story.records().clear();
  });
}

TEST_P(WalLogTest, D1_ThousandsOfTasksDoNotOpenThousandsOfFilesAtATime) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    Random random(1);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 3000; ++i) {
        TaskLog& task = round == 0 ? index.at(Uuid::random(random))
                                   : *index.tasks[index.tasks.size() - 1 - random.below(3000)];
        story.add(*log, task, RecordType::StepEnd, Level::sync, 5);
      }
      co_await log->flush();
    }
    co_await log->close();
  });
  EXPECT_LT(disk->most_open, 1000u);
  EXPECT_EQ(scan(*disk, kDirectory, GetParam()).tasks.size(), 3001u);
  EXPECT_TRUE(scan(*disk, kDirectory, GetParam()).damage.empty());
}

TEST(WalCompactionTest, D2_WhatACrashLeftOfAnEarlierCompactionIsNotMixedIntoTheNext) {
  const auto disk = std::make_shared<FaultDisk>();
  disk->put("wal/base.new", "99999998 4294967295\nand more");
  Story story(Layout::journal);
  EXPECT_EQ(story.tell(disk), nullptr);
  const Found found(*disk, story);
  EXPECT_EQ(found.after_crash(story), "");
  EXPECT_GT(found.index.base, 1u);
}

TEST(WalFilesTest, D1_ATaskWhoseFileWasTakenAwayBeginsAnother) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(Layout::files);
  const std::exception_ptr error = Story::run(*disk, [&]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog once;
    once.id = task_id(1);
    story.add(*log, once, RecordType::Spawn, Level::sync);
    co_await log->flush();
    co_await disk->remove("wal/" + task_id(1).text() + ".wal");
    story.records().clear();
    TaskLog again;
    again.id = task_id(1);
    story.add(*log, again, RecordType::Spawn, Level::sync);
    co_await log->flush();
  });
  ASSERT_EQ(error, nullptr);
  EXPECT_EQ(Found(*disk->reboot(Reboot::lost()), story).found[task_id(1)], 1u);
}

// ---- Records that this program does not know ----

std::string path_of_last(const FaultDisk& disk, Layout layout) {
  std::string last;
  for (const auto& [path, bytes] : disk.contents()) {
    if (path.ends_with(".journal")) last = path;
  }
  return layout == Layout::journal ? last : "wal/" + task_id(2).text() + ".wal";
}

// Puts a line behind the last one, as a later version of this program would have.
void write_behind(FaultDisk& disk, Layout layout, std::string line) {
  const std::string path = path_of_last(disk, layout);
  std::uint32_t number = 0;
  for (const Segment& segment : scan(disk, kDirectory, layout).segments) number = segment.number;
  line = reseeded(line, layout == Layout::journal ? seed_of_segment(number) : 0);
  std::string& bytes = disk.bytes_of(path);
  const std::size_t end = bytes.rfind("\"}\n") + 3;
  if (bytes.size() < end + line.size()) bytes.resize(end + line.size());
  bytes.replace(end, line.size(), line);
}

std::string line_for(const Uuid& task, std::uint64_t seq, const std::string& version,
                     const std::string& type) {
  return R"({"v":)" + version + R"(,"ts":")" + std::string(kTs) + R"(","type":")" + type +
         R"(","task_id":")" + task.text() + R"(","of":"sheep","seq":)" + std::to_string(seq) +
         R"(,"tid":1,"vt":5,"crc":"00000000"})";
}

TEST_P(WalLogTest, D1_ARecordOfAnUnknownTypeIsKeptAndChangesNothing) {
  ASSERT_EQ(story.tell(disk), nullptr);
  const std::uint64_t last = scan(*disk, kDirectory, GetParam()).find(task_id(2))->last_seq;
  write_behind(*disk, GetParam(), line_for(task_id(2), last + 1, "1", "Dream"));
  const LogIndex index = scan(*disk, kDirectory, GetParam());
  EXPECT_TRUE(index.damage.empty());
  const TaskLog& task = *index.find(task_id(2));
  EXPECT_EQ(task.quarantine, "");
  EXPECT_EQ(task.last_seq, last + 1);
  EXPECT_FALSE(task.ended);
  const std::vector<std::string> lines = LineReader(*disk, kDirectory).read_all(task);
  EXPECT_EQ(lines.size(), last + 1);
  EXPECT_NE(lines.back().find("\"type\":\"Dream\""), std::string::npos);
}

TEST_P(WalLogTest, D1_ARecordOfAnotherVersionIsDamage) {
  ASSERT_EQ(story.tell(disk), nullptr);
  const std::uint64_t last = scan(*disk, kDirectory, GetParam()).find(task_id(2))->last_seq;
  write_behind(*disk, GetParam(), line_for(task_id(2), last + 1, "2", "Spawn"));
  const LogIndex index = scan(*disk, kDirectory, GetParam());
  ASSERT_EQ(index.damage.size(), 1u);
  EXPECT_NE(index.damage[0].text().find("expected version 1 of the format"), std::string::npos)
      << index.damage[0].text();
  EXPECT_NE(index.find(task_id(2))->quarantine, "");
  EXPECT_EQ(index.find(task_id(1))->quarantine, "");  // it has ended
}

// ---- Owners ----

TEST_P(WalLogTest, D4_ASecondOwnerIsRefusedUntilTheFirstHasClosedTheLog) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    std::string sentence;
    try {
      LogIndex other;
      co_await Log::open(story.options(disk), other);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::log_busy);
      sentence = e.what();
    }
    EXPECT_NE(sentence.find("The log in wal is being written by process "), std::string::npos)
        << sentence;
    co_await log->close();
    LogIndex other;
    const std::shared_ptr<Log> second = co_await Log::open(story.options(disk), other);
    EXPECT_EQ(second->epoch(), log->epoch() + 1);
    co_await second->close();
  });
}

TEST_P(WalLogTest, D4_EveryOwnerHasAHigherEpochThanTheOneBefore) {
  for (std::uint64_t owner = 1; owner <= 20; ++owner) {
    run([this, owner]() -> Task<void> {
      LogIndex index;
      const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
      EXPECT_EQ(log->epoch(), owner);
      if (owner % 2 == 0) co_await log->close();
    });
    disk = disk->reboot(Reboot::lost());
    EXPECT_EQ(scan(*disk, kDirectory, GetParam()).epoch, owner);
  }
}

// The lock file is removed while its owner writes, and another process becomes the owner. The first
// one notices before it tells anybody that a record is safe.
TEST_P(WalLogTest, D4_AnOwnerWhoseLockWasRemovedIsFencedAtItsNextSync) {
  run([this]() -> Task<void> {
    LogIndex old_index;
    const std::shared_ptr<Log> old = co_await Log::open(story.options(disk), old_index);
    TaskLog& old_task = old_index.at(task_id(1));
    story.add(*old, old_task, RecordType::Spawn, Level::sync);
    co_await old->flush();
    disk->remove_lock("wal/lock");
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    EXPECT_EQ(log->epoch(), 2u);
    EXPECT_EQ(index.at(task_id(1)).last_seq, 1u);
    Story stale(GetParam());
    TaskLog& other = old_index.at(task_id(2));
    stale.add(*old, other, RecordType::Spawn, Level::sync);
    std::exception_ptr error;
    try {
      co_await old->flush();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::log_fenced) << e.what();
      EXPECT_NE(std::string(e.what()).find("wal/lock"), std::string::npos) << e.what();
      error = std::current_exception();
    }
    EXPECT_NE(error, nullptr);
    EXPECT_FALSE(stale.records()[0].told);
    EXPECT_TRUE(stale.records()[0].failed);
    EXPECT_TRUE(old->sealed());
    // The new owner goes on, through some segments.
    for (int i = 0; i < 20; ++i) {
      story.add(*log, index.at(task_id(1)), RecordType::StepStart, Level::sync);
      co_await log->flush();
    }
    co_await log->close();
  });
  const Found found(*disk, story);
  EXPECT_EQ(found.after_crash(story), "");
  EXPECT_EQ(found.found.at(task_id(1)), 21u);
}

// An owner that was stopped for a while may be anywhere when it goes on: also between two
// operations on the directory.
TEST_P(WalLogTest, D4_AFencedOwnerDestroysNothingOfItsFollowerWhereverItWas) {
  for (std::size_t fill = 0; fill < 40; ++fill) {
    disk = std::make_shared<FaultDisk>();
    story = Story(GetParam());
    Story stale(GetParam());
    run([&]() -> Task<void> {
      LogIndex old_index;
      const std::shared_ptr<Log> old = co_await Log::open(story.options(disk), old_index);
      TaskLog& old_task = old_index.at(task_id(1));
      story.add(*old, old_task, RecordType::Spawn, Level::sync);
      co_await old->flush();
      for (int i = 0; i < 30; ++i) stale.add(*old, old_task, RecordType::StepStart, Level::sync);
      for (std::size_t i = 0; i < fill; ++i) co_await yield();  // its writer is under way
      disk->remove_lock("wal/lock");
      std::size_t safe = 0;
      for (const Told& record : stale.records()) safe += record.told ? 1u : 0u;
      LogIndex index;
      std::shared_ptr<Log> log;
      try {
        log = co_await Log::open(story.options(disk), index);
        const std::uint64_t found = index.at(task_id(1)).last_seq;
        EXPECT_GE(found, 1 + safe);
        for (int i = 0; i < 15; ++i) {
          story.add(*log, index.at(task_id(2)), RecordType::Spawn, Level::sync);
          co_await log->flush();
        }
        std::size_t told = 0;
        for (const Told& record : stale.records()) told += record.told ? 1u : 0u;
        EXPECT_LE(1 + told, found) << "the old owner acknowledged what its follower did not read";
        co_await log->close();
      } catch (const Error& e) {  // the follower may be refused, when the old one was in its way
        EXPECT_TRUE(e.code() == Errc::log_sealed || e.code() == Errc::io_failed) << e.what();
      }
      try {
        stale.add(*old, old_task, RecordType::StepEnd, Level::sync);
        co_await old->flush();
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::log_fenced) << e.what();
      }
      EXPECT_TRUE(old->sealed());
    });
    const Found found(*disk, story);
    EXPECT_TRUE(found.index.damage.empty()) << found.index.damage[0].text();
    EXPECT_TRUE(found.complete(task_id(2), story.safe(task_id(2)))) << fill;
  }
}

// On a disk without locks: the token in the lock file tells.
TEST(WalOwnerTest, D4_WhatAnOlderOwnerWritesAfterwardsIsIgnored) {
  const auto disk = std::make_shared<FaultDisk>();
  disk->locks = false;
  Story story(Layout::journal);
  const std::exception_ptr error = Story::run(*disk, [&]() -> Task<void> {
    LogIndex old_index;
    const std::shared_ptr<Log> old = co_await Log::open(story.options(disk), old_index);
    TaskLog& old_task = old_index.at(task_id(1));
    story.add(*old, old_task, RecordType::Spawn, Level::sync);
    co_await old->flush();
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    EXPECT_EQ(log->epoch(), 2u);
    TaskLog& task = *index.find(task_id(1));
    Story stale(Layout::journal);
    stale.add(*old, old_task, RecordType::TaskExit, Level::sync);
    Errc fenced{};
    try {
      co_await old->flush();
    } catch (const Error& e) {
      fenced = e.code();
    }
    EXPECT_EQ(fenced, Errc::log_fenced);
    story.add(*log, task, RecordType::StepStart, Level::sync);
    co_await log->flush();
    co_await log->close();
  });
  ASSERT_EQ(error, nullptr);
  const Found found(*disk, story);
  EXPECT_EQ(found.invented, "");
  EXPECT_EQ(found.found.at(task_id(1)), 2u);
  EXPECT_FALSE(found.index.find(task_id(1))->ended);
  EXPECT_TRUE(found.index.damage.empty());
}

TEST(WalOwnerTest, D4_ASegmentOfAnOlderOwnerBehindThatOfANewerOneIsIgnored) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(Layout::journal);
  ASSERT_EQ(story.tell(disk), nullptr);
  const LogIndex before = scan(*disk, kDirectory, Layout::journal);
  ASSERT_EQ(before.epoch, 3u);
  // What the first owner would have written, had it come to life again and gone on to the next
  // segment.
  const std::uint32_t number = before.segments.back().number + 1;
  std::string bytes;
  const std::string owner =
      R"("epoch":1,"pid":1,"segment":)" + std::to_string(number) + R"(,"after":10)";
  append_line(bytes, Entry{RecordType::Owner, kNil, owner, 99}, kTs, 0, true);
  const std::string id = task_id(2).text();
  const std::uint64_t last = before.find(task_id(2))->last_seq;
  append_line(bytes, Entry{RecordType::TaskExit, id, "\"result\":1", last + 1}, kTs,
              seed_of_segment(number), false);
  disk->put("wal/" + segment_name(number), bytes);
  const Found found(*disk, story);
  EXPECT_EQ(found.after_crash(story), "");
  EXPECT_FALSE(found.index.find(task_id(2))->ended);
  EXPECT_EQ(found.index.find(task_id(2))->last_seq, last);
  // Also when a newer one comes behind it; but then something is missing there.
  {
    auto contents = disk->contents();
    std::string newer;
    const std::string next =
        R"("epoch":4,"pid":1,"segment":)" + std::to_string(number + 1) + R"(,"after":10)";
    append_line(newer, Entry{RecordType::Owner, kNil, next, 99}, kTs, 0, true);
    contents["wal/" + segment_name(number + 1)] = newer;
    FaultDisk other(contents);
    const LogIndex index = scan(other, kDirectory, Layout::journal);
    EXPECT_FALSE(index.damage.empty());
    EXPECT_FALSE(index.find(task_id(2))->ended);
    EXPECT_NE(index.find(task_id(2))->quarantine, "");
  }
  // And the next owner of the log puts its own in that place.
  ASSERT_EQ(story.go_on(disk), nullptr);
  EXPECT_EQ(Found(*disk, story).after_crash(story), "");
}

TEST_P(WalLogTest, D5_ASegmentThatNobodyNeedsIsUsedAgainAndWhatWasInItIsNotRead) {
  if (GetParam() == Layout::files) return;  // which has no segments
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    const auto fill_segment = [&]() -> Task<void> {
      for (int i = 0; i < 12; ++i) {
        story.add(*log, task, RecordType::StepEnd, Level::sync, 300);
        co_await log->flush();
      }
    };
    const auto made = [&] {
      return std::count(disk->did().begin(), disk->did().end(), "write wal/next");
    };
    for (int i = 0; i < 3; ++i) co_await fill_segment();
    task.records.erase(task.records.begin() + 1, task.records.end() - 1);  // as a checkpoint does
    log->begin_moving();
    log->move(task);
    co_await log->flush();
    co_await log->forget(std::vector<Uuid>());
    const auto before = made();
    const std::uint32_t first = scan(*disk, kDirectory, Layout::journal).segments.back().number;
    for (std::uint32_t last = first; last == first;) {
      story.add(*log, task, RecordType::StepEnd, Level::sync, 300);
      co_await log->flush();
      const LogIndex now = scan(*disk, kDirectory, Layout::journal);
      last = now.segments.back().number;
      EXPECT_EQ(now.cut, 0u);
      EXPECT_TRUE(now.damage.empty()) << now.damage.front().text();
      EXPECT_EQ(now.find(task.id)->last_seq, task.last_seq);
    }
    EXPECT_EQ(made(), before) << "nothing was filled with zeros for the segment after the next";
  });
}

TEST(WalSegmentTest, D2_WhatAFileHeldBeforeItBecameASegmentIsNotTakenForAnUnfinishedWrite) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(Layout::journal);
  std::string other;
  while (other.size() < story.options(disk).segment_size) other += "{\"v\":\n";
  disk->put("wal/next", other);
  const std::exception_ptr error = Story::run(*disk, [&]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    for (std::size_t size = 10; size < 24; ++size) {
      story.add(*log, task, RecordType::StepEnd, Level::sync, size);
      co_await log->flush();
      const LogIndex now = scan(*disk, kDirectory, Layout::journal);
      EXPECT_EQ(now.cut, 0u) << size;
      EXPECT_TRUE(now.damage.empty()) << now.damage.front().text();
      EXPECT_EQ(now.find(task.id)->last_seq, task.last_seq);
    }
  });
  EXPECT_EQ(error, nullptr);
}

TEST_P(WalLogTest, D5_ValuesAreRemovedExceptThoseThatAreNeededOrWerePutAsideSince) {
  run([this]() -> Task<void> {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(story.options(disk), index);
    TaskLog& task = index.at(task_id(1));
    const auto put = [&](char c) {
      const std::string value = "\"" + std::string(70'000, c) + "\"";
      const std::string id = task.id.text();
      std::string payload = "\"result\":";
      log->add_value(payload, value);
      log->append(task, Entry{RecordType::StepEnd, id, payload});
      return value_name(value);
    };
    const auto there = [&](const std::string& name) {
      return disk->exists(std::string(kDirectory) + "/values/" + name + ".json");
    };
    const std::string old = put('a');
    const std::string needed = put('b');
    const std::string again = put('c');
    co_await log->flush();
    log->watch_values();
    EXPECT_EQ(put('c'), again);
    const std::string recent = put('d');
    co_await log->flush();
    std::unordered_set<std::string> all_needed;
    all_needed.insert(needed);
    EXPECT_EQ(co_await log->remove_values_except(std::move(all_needed)), 1u);
    EXPECT_FALSE(there(old));
    EXPECT_TRUE(there(needed) && there(again) && there(recent));
    put('a');
    co_await log->close();
    EXPECT_TRUE(there(old)) << "it was put aside once more";
  });
}

}  // namespace log_test
}  // namespace tiffany::wal::test
