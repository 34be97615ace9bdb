#include "tiffany/core/state_map.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::test {
namespace state_map_test {

// A map with values that are numbers, under hashes that the test chooses.
class MapOfInts {
 public:
  explicit MapOfInts(Arena& arena) : arena_(&arena) {}

  void put(std::uint64_t hash, std::string_view name, int value) {
    map_.put(*arena_, Ref<StateEntry>::adopt(make_in<StateValue<int>>(*arena_, hash, name, value)));
  }
  // -1 when there is none.
  int get(std::uint64_t hash, std::string_view name) const {
    const StateEntry* entry = map_.find(hash, name, state_type<int>);
    return entry != nullptr ? static_cast<const StateValue<int>*>(entry)->value() : -1;
  }
  bool empty() const { return map_.empty(); }

 private:
  Arena* arena_;
  StateMap map_;
};

class StateMapTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(arena_->live_blocks(), 0u) << "a node or entry is left";
    arena_->retire();
  }
  Arena* arena_ = Arena::create();
};

TEST_F(StateMapTest, W5_AnEmptyMapHasNothing) {
  const MapOfInts map(*arena_);
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.get(1, "a"), -1);
}

TEST_F(StateMapTest, W5_WhatIsPutIsFoundAndWhatIsPutAgainReplacesIt) {
  MapOfInts map(*arena_);
  map.put(1, "a", 10);
  map.put(2, "b", 20);
  map.put(1, "a", 11);
  EXPECT_FALSE(map.empty());
  EXPECT_EQ(map.get(1, "a"), 11);
  EXPECT_EQ(map.get(2, "b"), 20);
  EXPECT_EQ(map.get(2, "c"), -1);
  EXPECT_EQ(map.get(3, "c"), -1);
}

TEST_F(StateMapTest, W5_NamesWithTheSameHashAreDifferentNames) {
  MapOfInts map(*arena_);
  map.put(7, "a", 1);
  map.put(7, "b", 2);
  map.put(7, "c", 3);
  const MapOfInts before = map;
  map.put(7, "b", 20);
  map.put(7, "d", 4);
  EXPECT_EQ(map.get(7, "a"), 1);
  EXPECT_EQ(map.get(7, "b"), 20);
  EXPECT_EQ(map.get(7, "c"), 3);
  EXPECT_EQ(map.get(7, "d"), 4);
  EXPECT_EQ(map.get(7, "e"), -1);
  EXPECT_EQ(before.get(7, "b"), 2);
  EXPECT_EQ(before.get(7, "d"), -1);
}

TEST_F(StateMapTest, W5_HashesThatDifferInTheirLastDigitOnlyAreTakenApart) {
  MapOfInts map(*arena_);
  const std::uint64_t other = std::uint64_t{1} << 60;
  map.put(0, "a", 1);
  map.put(other, "a", 2);
  map.put(other, "b", 3);
  EXPECT_EQ(map.get(0, "a"), 1);
  EXPECT_EQ(map.get(other, "a"), 2);
  EXPECT_EQ(map.get(other, "b"), 3);
}

TEST_F(StateMapTest, W5_ACopyDoesNotSeeWhatIsPutIntoTheOther) {
  MapOfInts one(*arena_);
  for (std::uint64_t i = 0; i < 100; ++i) one.put(i * 0x1111, std::to_string(i), int(i));
  MapOfInts two = one;
  one.put(0x1111, "1", 1000);
  two.put(0x2222, "2", 2000);
  two.put(5, "new", 1);
  EXPECT_EQ(one.get(0x1111, "1"), 1000);
  EXPECT_EQ(one.get(0x2222, "2"), 2);
  EXPECT_EQ(one.get(5, "new"), -1);
  EXPECT_EQ(two.get(0x1111, "1"), 1);
  EXPECT_EQ(two.get(0x2222, "2"), 2000);
}

TEST_F(StateMapTest, W5_WritingToAMapThatNobodySharesMakesNothingButTheEntry) {
  MapOfInts map(*arena_);
  for (int i = 0; i < 1000; ++i) {
    map.put(hash_name(std::to_string(i)), std::to_string(i), i);
  }
  const std::size_t blocks = arena_->live_blocks();
  for (int i = 0; i < 1000; ++i) {
    map.put(hash_name(std::to_string(i)), std::to_string(i), -i);
  }
  EXPECT_EQ(arena_->live_blocks(), blocks);
}

TEST_F(StateMapTest, W5_AWriteToASharedMapCopiesNoMoreThanOnePath) {
  MapOfInts map(*arena_);
  for (int i = 0; i < 10'000; ++i) {
    map.put(hash_name(std::to_string(i)), std::to_string(i), i);
  }
  const MapOfInts snapshot = map;
  const std::size_t blocks = arena_->live_blocks();
  map.put(hash_name("5000"), "5000", -1);
  EXPECT_LE(arena_->live_blocks() - blocks, 7u);
}

TEST_F(StateMapTest, W5_ManyCopiesAgreeWithCopiesOfAStdMap) {
  Random random(1, "state map");
  std::vector<MapOfInts> maps(1, MapOfInts(*arena_));
  std::vector<std::map<std::string, int>> models(1);
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t at = random.below(maps.size());
    if (random.below(50) == 0 && maps.size() < 20) {
      maps.push_back(maps[at]);
      models.push_back(models[at]);
    } else if (random.below(200) == 0 && maps.size() > 1) {
      maps.erase(maps.begin() + static_cast<std::ptrdiff_t>(at));
      models.erase(models.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      // Few hashes for many names: every depth, and nodes with several names.
      const std::string name = std::to_string(random.below(500));
      maps[at].put(hash_name(name) % 97 * 0x0101010101010101u, name, round);
      models[at][name] = round;
    }
  }
  for (std::size_t at = 0; at < maps.size(); ++at) {
    for (int n = 0; n < 500; ++n) {
      const std::string name = std::to_string(n);
      const auto found = models[at].find(name);
      ASSERT_EQ(maps[at].get(hash_name(name) % 97 * 0x0101010101010101u, name),
                found != models[at].end() ? found->second : -1);
    }
  }
}

}  // namespace state_map_test
}  // namespace tiffany::test
