// Vectors in memory: the same as the file has, whatever was written in between.
#include "agent/memory_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "agent/repository.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace memory_vectors_test {

using canvas_support::Scratch;
using Numbers = std::vector<std::int8_t>;

Numbers any_numbers(Random& random, std::size_t size) {
  Numbers made;
  for (std::size_t i = 0; i < size; ++i) {
    made.push_back(static_cast<std::int8_t>(static_cast<int>(random.below(256)) - 128));
  }
  return made;
}

TEST(MemoryVectors, EveryWayToMultiplyGivesTheSameSum) {
  Random random(1);
  for (std::size_t size = 0; size < 130; ++size) {
    const Numbers a = any_numbers(random, size);
    const Numbers b = any_numbers(random, size);
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += a[i] * b[i];
    EXPECT_EQ(portable_dot_product(a.data(), b.data(), size), sum) << size;
    EXPECT_EQ(fastest_dot_product()(a.data(), b.data(), size), sum) << size;
  }
  const Numbers least(MemoryLimits::kDimension, -128);
  const auto most = static_cast<std::int32_t>(MemoryLimits::kDimension) * 128 * 128;
  EXPECT_EQ(portable_dot_product(least.data(), least.data(), least.size()), most);
  EXPECT_EQ(fastest_dot_product()(least.data(), least.data(), least.size()), most);
}

TEST(MemoryVectors, WhatIsPutReplacedAndRemovedInAnyOrderIsFoundAsInAList) {
  Random random(2);
  MemoryVectors vectors;
  vectors.clear(8);
  std::map<std::int64_t, Numbers> all;
  for (int i = 0; i < 3000; ++i) {
    const auto key = static_cast<std::int64_t>(random.below(400));
    if (random.below(3) == 0) {
      vectors.remove(key);
      all.erase(key);
    } else {
      all[key] = any_numbers(random, 8);
      vectors.put(key, "fact", 0, all[key]);
    }
    if (i % 100 != 99) continue;
    ASSERT_EQ(vectors.size(), all.size());
    const Numbers wanted = any_numbers(random, 8);
    std::vector<std::int64_t> found;
    for (const MemoryVectors::Near& each : vectors.nearest(wanted, {}, 0, 400)) {
      EXPECT_EQ(all.count(each.key), 1u) << each.key;
      found.push_back(each.key);
    }
    ASSERT_EQ(found.size(), all.size());
    const auto dot = [&](std::int64_t of) {
      const Numbers& own = all[of];
      const double length = portable_dot_product(own.data(), own.data(), 8);
      const double sum = portable_dot_product(own.data(), wanted.data(), 8);
      return length == 0 ? 0 : sum * std::abs(sum) / length;
    };
    for (std::size_t k = 1; k < found.size(); ++k) {
      EXPECT_GE(dot(found[k - 1]) + 1e-3, dot(found[k]));
    }
  }
  vectors.put(7, "fact", 0, any_numbers(random, 9));
  EXPECT_EQ(vectors.size(), all.size()) << "of another dimension";
}

// Two objects on one file, of which one writes and both recall, beside one that has just read it.
TEST(MemoryVectors, ARecallIsThatOfTheFileWhateverWasWrittenBefore) {
  const Scratch scratch;
  const std::string path = scratch / "memory.db";
  Memory memory(path);
  Memory beside(path);
  Random random(3);
  std::vector<std::string> ids;
  for (int i = 0; i < 400; ++i) {
    Note note;
    note.kind = random.below(2) == 0 ? "fact" : "rule";
    note.text = "note " + std::to_string(random.below(60));
    note.task = "t" + std::to_string(i);
    note.made_us = i;
    if (random.below(4) == 0) note.expires_us = i + 20;
    if (random.below(3) != 0) note.vector = any_numbers(random, 16);
    note.model = random.below(8) == 0 ? "other" : "one";
    Memory& writer = random.below(10) == 0 ? beside : memory;
    const std::uint64_t what = random.below(10);
    if (what < 6) ids.push_back(writer.remember(note));
    if (what == 6 && !ids.empty()) writer.forget(ids[random.below(ids.size())], i);
    if (what == 7) writer.expire(i);
    if (what == 8 && !ids.empty()) {
      MemoryVector one;
      one.id = ids[random.below(ids.size())];
      one.vector = any_numbers(random, 16);
      writer.embed("one", {one});
    }
    if (what == 9) {  // what is refused leaves nothing
      note.vector = any_numbers(random, 3);
      note.text.clear();
      EXPECT_THROW(writer.remember(note), Error);
    }
    Query query;
    query.vector = any_numbers(random, 16);
    query.model = "one";
    query.now_us = i;
    query.most = 100;
    if (random.below(3) == 0) query.kinds = {"rule"};
    Memory fresh(path);
    const std::vector<Recalled> expected = fresh.recall(query).notes;
    ASSERT_EQ(memory.recall(query).notes, expected) << "after " << i;
    if (i % 5 == 0) {
      ASSERT_EQ(beside.recall(query).notes, expected) << "after " << i;
    }
  }
}

}  // namespace memory_vectors_test
}  // namespace tiffany::agent
