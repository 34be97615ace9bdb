// The ids of tasks that have left the archive, and damage to the file that holds them.
#include "../../src/wal/retired_ids.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tiffany/tiffany.hpp"
#include "tiffany/wal/memory_disk.hpp"

namespace tiffany::wal {
namespace retired_ids_test {

class RetiredIdsTest : public testing::Test {
 protected:
  static Uuid id(int n) { return Uuid::derived(Uuid(), std::to_string(n)); }
  std::size_t add(RetiredIds& ids, int from, int to, std::size_t most = 100) {
    std::size_t forgotten = 0;
    std::vector<Uuid> all;
    for (int n = from; n < to; ++n) all.push_back(id(n));
    run_virtual([&]() -> Task<void> { forgotten = co_await ids.add(all, most); });
    return forgotten;
  }
  template <class F>
  static void run_virtual(F program) {
    Scheduler scheduler(Options().virtual_time());
    auto handle = scheduler.spawn(program);
    scheduler.run();
    ASSERT_TRUE(handle.done());
  }
  RetiredIds loaded() {
    RetiredIds ids;
    ids.load(disk, "wal");
    return ids;
  }
  std::string content() { return std::string(disk.read("wal/retired.ids")->bytes()); }
  void overwrite(const std::string& bytes) {
    run_virtual([&]() -> Task<void> {
      co_await disk.remove("wal/retired.ids");
      const auto file = disk.open("wal/retired.ids");
      co_await file->write(0, bytes);
      co_await file->sync();
    });
  }
  wal::MemoryDisk disk;
  RetiredIdsTest() { disk.make_directory("wal"); }
};

TEST_F(RetiredIdsTest, AreKnownAgainWhenTheFileIsRead) {
  RetiredIds ids = loaded();
  EXPECT_FALSE(ids.contains(id(1)));
  EXPECT_EQ(add(ids, 0, 10), 0u);
  EXPECT_EQ(add(ids, 5, 20), 0u);  // some of them are there already
  const RetiredIds again = loaded();
  EXPECT_EQ(again.size(), 20u);
  EXPECT_EQ(again.damage(), "");
  for (int n = 0; n < 20; ++n) EXPECT_TRUE(again.contains(id(n)));
  EXPECT_FALSE(again.contains(id(20)));
  EXPECT_EQ(content().size(), 21u * 20);
}

TEST_F(RetiredIdsTest, TheOldestAreForgottenBeyondTheBound) {
  RetiredIds ids = loaded();
  EXPECT_EQ(add(ids, 0, 90), 0u);
  EXPECT_EQ(add(ids, 90, 120), 20u);
  const RetiredIds again = loaded();
  EXPECT_EQ(again.size(), 100u);
  for (int n = 0; n < 120; ++n) EXPECT_EQ(again.contains(id(n)), n >= 20) << n;
}

TEST_F(RetiredIdsTest, EveryChangedByteAndEveryCutIsFound) {
  RetiredIds ids = loaded();
  add(ids, 0, 4);
  const std::string right = content();
  for (std::size_t at = 0; at < right.size(); ++at) {
    std::string wrong = right;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x10);
    overwrite(wrong);
    EXPECT_NE(loaded().damage(), "") << at;
    overwrite(right.substr(0, at));
    EXPECT_NE(loaded().damage(), "") << at;
  }
  // Two that changed places.
  std::string swapped = right;
  std::swap_ranges(swapped.begin() + 20, swapped.begin() + 40, swapped.begin() + 40);
  overwrite(swapped);
  EXPECT_NE(loaded().damage(), "");
  overwrite(right);
  EXPECT_EQ(loaded().damage(), "");
}

}  // namespace retired_ids_test
}  // namespace tiffany::wal
