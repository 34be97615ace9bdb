#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace {

using namespace std::chrono_literals;

class CompactionTest : public DurableWorld {
 protected:
  CompactionTest() {
    types_ = [] {
      Registry types;
      types.add("quick", 1, &CompactionTest::quick);
      types.add("slow", 1, &CompactionTest::slow);
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
    bool unknown = false;
    try {
      co_await host.result<int>(ids[4]);
    } catch (const Error& error) {
      unknown = error.code() == Errc::unknown_durable;
    }
    EXPECT_TRUE(unknown);
  });
}

}  // namespace
}  // namespace tiffany
