// A disk that is full, or that fails to sync. The log is sealed: nobody is told that his record is
// safe who was not told before, and those who were find theirs when the log is opened again.
#include <gtest/gtest.h>

#include <string>

#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace failure_test {

class WalFailureTest : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(, WalFailureTest, testing::Values(Layout::journal, Layout::files),
                         [](const testing::TestParamInfo<Layout>& layout) {
                           return layout.param == Layout::journal ? "journal" : "files";
                         });

Errc code_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code();
  } catch (...) {
  }
  return Errc{};
}
std::string sentence_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

void every_failure(Layout layout, bool halfway) {
  const auto whole = std::make_shared<FaultDisk>();
  Story undisturbed(layout, true);
  ASSERT_EQ(undisturbed.tell(whole), nullptr);
  for (std::size_t k = 0; k < whole->operations(); ++k) {
    const auto disk = std::make_shared<FaultDisk>();
    disk->fail(k, halfway);
    Story story(layout, true);
    const std::exception_ptr error = story.tell(disk);
    const std::string what = disk->did().at(k) + " (" + std::to_string(k) + ")";
    // The next segment is made ahead: what fails there is tried again when the segment is needed.
    // Nothing depends on the room that is kept for a full disk.
    const bool spare =
        what.find("wal/next") != std::string::npos || what.find("wal/reserve") != std::string::npos;
    const bool ahead = spare && error == nullptr;
    if (ahead || what.starts_with("note ")) {  // a hint: nothing depends on it
      EXPECT_EQ(error, nullptr) << what;
    } else {
      ASSERT_NE(error, nullptr) << what;
      EXPECT_TRUE(code_of(error) == Errc::log_sealed || code_of(error) == Errc::io_failed)
          << what << ": " << sentence_of(error);
    }
    for (const Told& record : story.records()) {
      if (record.failed) {
        EXPECT_EQ(code_of(record.why), Errc::log_sealed) << what;
      }
      EXPECT_FALSE(record.told && record.failed);
    }
    for (const Reboot& how : {Reboot::lost(), Reboot::kept(), Reboot::seeded(k)}) {
      Story then = story;
      const auto after = disk->reboot(how);
      const Found found(*after, then);
      ASSERT_EQ(found.after_crash(then), "") << what;
      std::erase_if(then.records(),
                    [&](const Told& record) { return !found.complete(record.task, record.seq); });
      ASSERT_EQ(then.go_on(after), nullptr) << what;
      ASSERT_EQ(Found(*after, then).after_crash(then), "") << what;
    }
  }
}

TEST_P(WalFailureTest, D2_AnyOperationThatFailsSealsTheLogAndLosesNothingThatWasSafe) {
  every_failure(GetParam(), false);
}
TEST_P(WalFailureTest, D2_AnyWriteThatIsCutShortSealsTheLogAndLosesNothingThatWasSafe) {
  every_failure(GetParam(), true);
}

// After a failed sync the cache of the system shows what the disk does not have, and no later sync
// writes it. The next process must not trust the cache: what it acts upon has to be there when the
// power goes.
TEST_P(WalFailureTest, D2_AfterAFailedSyncTheNextProcessWritesAgainWhatOnlyTheCacheHolds) {
  const auto whole = std::make_shared<FaultDisk>();
  Story undisturbed(GetParam(), true);
  ASSERT_EQ(undisturbed.tell(whole), nullptr);
  std::size_t tried = 0;
  for (std::size_t k = 0; k < whole->operations(); ++k) {
    if (!whole->did().at(k).starts_with("sync ")) continue;
    const auto disk = std::make_shared<FaultDisk>();
    disk->fail(k);
    Story story(GetParam(), true);
    story.tell(disk);
    const std::string what = disk->did().at(k) + " (" + std::to_string(k) + ")";
    const auto second = disk->reboot(Reboot::kept());
    const Found found(*second, story);
    ASSERT_EQ(found.after_crash(story), "") << what;
    std::erase_if(story.records(),
                  [&](const Told& record) { return !found.complete(record.task, record.seq); });
    story.all_are_safe();  // the second process has read them, and acts upon them
    ASSERT_EQ(story.go_on(second), nullptr) << what;
    for (const Reboot& how : {Reboot::lost(), Reboot::seeded(k)}) {
      const auto third = second->reboot(how);
      ASSERT_EQ(Found(*third, story).after_crash(story), "") << what;
    }
    ++tried;
  }
  EXPECT_GT(tried, 10u);
}

Task<void> fails_in_the_middle(Story* story, std::shared_ptr<FaultDisk> disk, std::string kind) {
  LogIndex index;
  const std::shared_ptr<Log> log = co_await Log::open(story->options(disk), index);
  TaskLog& task = index.at(task_id(1));
  story->add(*log, task, RecordType::Spawn, Level::sync);
  co_await log->flush();
  const std::size_t then = disk->operations() + (kind == "write" ? 0 : 1);
  // The first record of a file needs no other operation before.
  disk->fail(then);
  story->add(*log, task, RecordType::StepStart, Level::sync);
  story->add(*log, task, RecordType::StepEnd, Level::lazy);
  story->add(*log, task, RecordType::StepStart, Level::sync);
  std::exception_ptr error;
  try {
    co_await log->flush();
  } catch (...) {
    error = std::current_exception();
  }
  EXPECT_TRUE(disk->did().at(then).starts_with(kind)) << disk->did().at(then);
  EXPECT_EQ(code_of(error), Errc::log_sealed);
  EXPECT_NE(sentence_of(error).find("The log in wal takes no more records, because"),
            std::string::npos)
      << sentence_of(error);
  EXPECT_TRUE(log->sealed());
  EXPECT_TRUE(log->has_room());
  EXPECT_TRUE(log->room().is_set());
  const std::size_t operations = disk->operations();
  for (int i = 0; i < 3; ++i) {
    error = nullptr;
    try {
      story->add(*log, task, RecordType::StepEnd, Level::sync);
    } catch (...) {
      error = std::current_exception();
    }
    story->records().pop_back();
    EXPECT_EQ(code_of(error), Errc::log_sealed);
  }
  error = nullptr;
  try {
    co_await log->close();
  } catch (...) {
    error = std::current_exception();
  }
  EXPECT_EQ(code_of(error), Errc::log_sealed);
  EXPECT_EQ(disk->operations(), operations);  // nothing is tried again
}

TEST_P(WalFailureTest, D2_AfterAFailureTicketsFailLaterAppendsThrowAndNothingIsTriedAgain) {
  for (const char* kind : {"write", "sync"}) {
    const auto disk = std::make_shared<FaultDisk>();
    Story story(GetParam());
    const std::exception_ptr error =
        Story::run(*disk, [&]() -> Task<void> { return fails_in_the_middle(&story, disk, kind); });
    ASSERT_EQ(error, nullptr) << sentence_of(error);
    ASSERT_EQ(story.records().size(), 4u);
    EXPECT_TRUE(story.records()[0].told);
    EXPECT_TRUE(story.records()[1].failed);
    EXPECT_TRUE(story.records()[3].failed);
    const auto after = disk->reboot(Reboot::lost());
    const Found found(*after, story);
    EXPECT_EQ(found.after_crash(story), "");
    EXPECT_EQ(found.found.at(task_id(1)), 1u);
    ASSERT_EQ(story.go_on(after), nullptr);
  }
}

}  // namespace failure_test
}  // namespace tiffany::wal::test
