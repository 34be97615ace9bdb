// Determinism: programs that are made from seeds come back from any point of their lives.
#include <gtest/gtest.h>

#include "durable/memory_test.hpp"
#include "durable/random_program.hpp"
#include "sanitized.hpp"

namespace tiffany {
namespace replay_test {

class ReplayTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(ReplayTest);

TEST_P(ReplayTest, D5_TheSameSeedGivesTheSameTraceAndTheSameLog) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    LoggedCrashTest first(GetParam());
    LoggedCrashTest second(GetParam());
    random_program::forget();
    const auto a = random_program::live(first, seed, random_program::Outside::cancels);
    random_program::forget();
    const auto b = random_program::live(second, seed, random_program::Outside::cancels);
    EXPECT_EQ(a, b) << seed;
    EXPECT_FALSE(a.results.empty());
  }
}

// Cut off at several random points, and recovered each time. What comes from outside then comes at
// other times, so that results need not be those of an undisturbed life; but what the log had said
// stays, every task ends, and everything is the same when the whole log is replayed once more.
TEST_P(ReplayTest, D5_ProgramsComeBackFromAnyPointAndTheLogStays) {
  for (std::uint64_t seed = 1; seed <= 60 / test::kSlower; ++seed) {
    random_program::Lives lives(GetParam(), seed);
    const std::string wrong = lives.run();
    EXPECT_EQ(wrong, "") << "seed " << seed;
  }
}

TEST(ReplayOfFilesTest, D5_AReplayOfTheWholeLogGivesTheSameResultsAndTheSameCommands) {
  for (std::uint64_t seed = 1; seed <= 200 / test::kSlower; ++seed) {
    random_program::Lives lives(wal::Layout::files, seed);
    const std::string wrong = lives.replay();
    EXPECT_EQ(wrong, "") << "seed " << seed;
  }
}

}  // namespace replay_test
}  // namespace tiffany
