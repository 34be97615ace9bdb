#include "tiffany/detail/base/uuid_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/random.hpp"

namespace tiffany::detail {
namespace uuid_table_test {

struct Item {
  explicit Item(const Uuid& of) : id(of) {}
  Uuid id;
};
struct IdOf {
  const Uuid& operator()(const Item& item) const noexcept { return item.id; }
};
using Table = UuidTable<Item, IdOf>;

TEST(UuidTable, AnEmptyOneFindsAndErasesNothing) {
  Table table;
  EXPECT_EQ(table.find(Uuid()), nullptr);
  table.erase(Uuid());
  EXPECT_EQ(table.size(), 0u);
}

// Of few ids, so that they come and go; compared with a map.
TEST(UuidTable, WhatIsThereIsFoundInWhateverOrderItCameAndWent) {
  Random choices(7, "uuid table");
  std::vector<std::unique_ptr<Item>> items;
  for (int i = 0; i < 500; ++i) {
    items.push_back(std::make_unique<Item>(Uuid::derived(Uuid(), std::to_string(i))));
  }
  Table table;
  std::map<std::size_t, bool> there;
  for (int turn = 0; turn < 20'000; ++turn) {
    const std::size_t which = choices.below(items.size());
    bool& in = there[which];
    in ? table.erase(items[which]->id) : table.add(*items[which]);
    in = !in;
    const std::size_t other = choices.below(items.size());
    ASSERT_EQ(table.find(items[other]->id), there[other] ? items[other].get() : nullptr) << turn;
  }
  std::size_t seen = 0;
  table.for_each([&](const Item&) { ++seen; });
  EXPECT_EQ(seen, table.size());
}

// Somebody may choose ids that count up: they differ in their last bytes.
TEST(UuidTable, IdsThatCountUpDoNotMakeItSlow) {
  std::vector<std::unique_ptr<Item>> items;
  Table table;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = std::to_string(i);
    text = std::string(12 - text.size(), '0') + text;
    items.push_back(std::make_unique<Item>(*Uuid::parse("00000000-0000-4000-8000-" + text)));
    table.add(*items.back());
  }
  for (const auto& each : items) ASSERT_EQ(table.find(each->id), each.get());
}

TEST(UuidTable, OneThatWasMovedFromIsEmpty) {
  Item item(Uuid::derived(Uuid(), "x"));
  Table table;
  table.add(item);
  Table other = std::move(table);
  EXPECT_EQ(other.find(item.id), &item);
  // NOLINTNEXTLINE(bugprone-use-after-move)
  EXPECT_EQ(table.find(item.id), nullptr);
}

}  // namespace uuid_table_test
}  // namespace tiffany::detail
