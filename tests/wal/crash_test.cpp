// The world stops before or after each operation that the log asks of the disk, and in the middle
// of each write. Whatever the disk makes of what was not synced: everybody who was told that his
// record is safe finds it, nothing is found that was not written, and nothing is called damage,
// because nothing is.
#include <gtest/gtest.h>

#include <string>

#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace crash_test {

class WalCrashTest : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(, WalCrashTest, testing::Values(Layout::journal, Layout::files),
                         [](const testing::TestParamInfo<Layout>& layout) {
                           return layout.param == Layout::journal ? "journal" : "files";
                         });

constexpr std::uint64_t kSeeds = 6;

std::size_t operations_of(Layout layout) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(layout, true);
  EXPECT_EQ(story.tell(disk), nullptr);
  return disk->operations();
}

// In the journal records are found in the order in which they were written, up to one of them.
std::string first_ones_only(const Found& found, Story& story) {
  if (story.layout() != Layout::journal) return {};
  bool gone = false;
  for (const Told& record : story.records()) {
    const bool there = found.complete(record.task, record.seq);
    if (there && gone) return "a record is there and one before it is not";
    gone = gone || !there;
  }
  return {};
}

// What the next process finds; and the one after that, when the power goes while the next one is at
// it.
std::string complaint_after(const FaultDisk& crashed, const Story& until_then, const Reboot& how,
                            bool then_go_on = true) {
  Story story = until_then;
  const auto disk = crashed.reboot(how);
  const Found found(*disk, story);
  if (std::string wrong = found.after_crash(story); !wrong.empty()) return wrong;
  if (std::string wrong = first_ones_only(found, story); !wrong.empty()) return wrong;
  if (!then_go_on) return {};
  // What it read it has acted upon: all of that must stay.
  std::deque<Told>& records = story.records();
  std::erase_if(records,
                [&](const Told& record) { return !found.complete(record.task, record.seq); });
  for (Told& record : records) record.told = true;
  if (story.go_on(disk) != nullptr) return "the log cannot be opened again";
  const auto after = disk->reboot(Reboot::lost());
  const Found again(*after, story);
  std::string wrong = again.after_crash(story);
  if (!wrong.empty()) return "after the next process: " + wrong;
  if (again.index.epoch <= found.index.epoch) return "the next owner has no higher epoch";
  return {};
}

TEST_P(WalCrashTest, D2_WithoutACrashEverythingIsThere) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(GetParam(), true);
  ASSERT_EQ(story.tell(disk), nullptr);
  for (const Reboot& how : {Reboot::lost(), Reboot::kept()}) {
    const auto after = disk->reboot(how);
    const Found found(*after, story);
    EXPECT_EQ(found.after_crash(story), "");
    for (const Told& record : story.records()) {
      EXPECT_TRUE(found.complete(record.task, record.seq)) << record.task.text() << record.seq;
    }
    EXPECT_TRUE(found.index.shut_down);
    EXPECT_EQ(found.index.epoch, 3u);
    EXPECT_EQ(found.index.cut, 0u);
    if (GetParam() == Layout::journal) {
      EXPECT_GE(found.index.segments.size(), 3u);
      EXPECT_GT(found.index.base, 5u);
    }
  }
}

TEST_P(WalCrashTest, D2_ACrashBeforeOrAfterAnyOperationLosesNothingThatWasSafe) {
  const std::size_t operations = operations_of(GetParam());
  ASSERT_GT(operations, 50u);
  std::size_t tried = 0;
  for (std::size_t k = 0; k < 2 * operations; k += kEvery) {
    const auto disk = std::make_shared<FaultDisk>();
    k % 2 == 0 ? disk->stop_before(k / 2) : disk->stop_after(k / 2);
    Story story(GetParam(), true);
    story.tell(disk);
    ASSERT_TRUE(disk->ended());
    const auto check = [&](const Reboot& how, const char* what, std::uint64_t seed) {
      const std::string wrong = complaint_after(*disk, story, how);
      EXPECT_EQ(wrong, "") << (k % 2 == 0 ? "before " : "after ") << disk->did().back() << " (" << k
                           << "), " << what << " " << seed;
      ++tried;
      return wrong.empty();
    };
    bool right = check(Reboot::lost(), "lost", 0) && check(Reboot::kept(), "kept", 0);
    for (std::uint64_t seed = 0; right && seed < kSeeds; ++seed) {
      right = check(Reboot::seeded(k * kSeeds + seed), "seed", k * kSeeds + seed);
    }
    if (!right) break;
  }
  RecordProperty("crashes", static_cast<int>(tried));
}

// Whatever is not synced is torn at every byte of it.
TEST_P(WalCrashTest, D2_AWriteThatIsTornAtAnyByteLosesNothingThatWasSafe) {
  std::size_t tried = 0;
  for (std::size_t k = 0;; ++k) {
    const auto disk = std::make_shared<FaultDisk>();
    disk->stop_after(k);
    Story story(GetParam());
    story.tell_first_part(disk);
    if (!disk->ended()) break;
    const std::string& last = disk->did().back();
    if (!last.starts_with("write ") || last == "write wal/next") continue;
    const std::uint64_t bytes = disk->unsynced();
    for (std::uint64_t torn = 0; torn <= bytes; torn += kEvery, ++tried) {
      const std::string wrong =
          complaint_after(*disk, story, Reboot::torn_at(torn), torn % 29 == 0);
      ASSERT_EQ(wrong, "") << "after " << last << " (" << k << "), torn at " << torn;
    }
  }
  EXPECT_GT(tried, 10'000 / kEvery);
  RecordProperty("tears", static_cast<int>(tried));
}

// The same again and again on one disk: every process dies early, and the power goes now and then.
TEST_P(WalCrashTest, D2_AHundredCrashesInARowLoseNothingThatWasSafe) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Random random(seed, "crashes");
    auto disk = std::make_shared<FaultDisk>();
    Story story(GetParam(), true);
    for (int life = 0; life < 100; ++life) {
      disk->stop_after(random.below(life == 0 ? 60 : 12));
      (life == 0 ? story.tell_first_part(disk) : story.go_on(disk));
      const std::uint64_t how = random.below(4);
      disk = disk->reboot(how == 0   ? Reboot::lost()
                          : how == 1 ? Reboot::kept()
                                     : Reboot::seeded(random.next()));
      // A number is used again when the record that had it was lost: then only the new one exists.
      const Found found(*disk, story);
      ASSERT_EQ(found.after_crash(story), "") << "seed " << seed << ", life " << life;
      std::erase_if(story.records(),
                    [&](const Told& record) { return !found.complete(record.task, record.seq); });
    }
  }
}

}  // namespace crash_test
}  // namespace tiffany::wal::test
