// What comes to a durable task, and when its code may be shown it.
#include "../../src/durable/arrivals.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiffany::detail {
namespace arrivals_test {

Arrival arrival(Arrival::Kind kind, std::string id, std::uint64_t seq) {
  Arrival made;
  made.kind = kind;
  made.id = std::move(id);
  made.seq = seq;
  return made;
}
Arrival signal(std::string id, std::uint64_t seq) {
  return arrival(Arrival::Kind::signal, std::move(id), seq);
}

TEST(Arrivals, NothingIsTakenBeforeItIsOnTheDisk) {
  Arrivals all;
  all.push(signal("a", 1));
  all.push(signal("b", 2));
  EXPECT_FALSE(all.can_take());
  all.next_is_synced();
  ASSERT_TRUE(all.can_take());
  EXPECT_EQ(all.take().id, "a");
  EXPECT_FALSE(all.can_take());
  EXPECT_EQ(all.size(), 1U);
}

TEST(Arrivals, EverythingOfALogIsOnTheDisk) {
  Arrivals all;
  std::vector<Arrival> log;
  for (std::uint64_t i = 0; i < 3000; ++i) log.push_back(signal(std::to_string(i), i));
  all.load(std::move(log));
  all.push(signal("new", 3000));
  for (std::uint64_t i = 0; i < 3000; ++i) EXPECT_EQ(all.take().id, std::to_string(i));
  EXPECT_FALSE(all.can_take());
  all.next_is_synced();
  EXPECT_EQ(all.take().id, "new");
  EXPECT_TRUE(all.empty());
}

TEST(Arrivals, TheFirstCancelIsTheOneThatTheCodeHasNotBeenShown) {
  Arrivals all;
  EXPECT_EQ(all.first_cancel(), nullptr);
  all.load({signal("a", 1), arrival(Arrival::Kind::cancel, "one", 2),
            arrival(Arrival::Kind::cancel, "two", 3)});
  EXPECT_EQ(all.first_cancel()->id, "one");
  all.take();
  all.take();
  EXPECT_EQ(all.first_cancel()->id, "two");
  all.take();
  EXPECT_EQ(all.first_cancel(), nullptr);
}

}  // namespace arrivals_test
}  // namespace tiffany::detail
