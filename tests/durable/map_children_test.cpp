#include "tiffany/durable/map_children.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace map_children_test {

using namespace std::chrono_literals;

int at_once = 0;
int most_at_once = 0;
std::set<std::string> done;

Durable<int> square(Flow& flow, int number) {
  co_await flow.step("work", [&](Attempt& attempt) -> Task<void> {
    struct Between {
      Between() { most_at_once = std::max(most_at_once, ++at_once); }
      ~Between() { --at_once; }
    } between;
    co_await sleep(std::chrono::seconds(10 - number % 7));
    if (CrashTest::alive()) done.insert(attempt.key());
  });
  if (number < 0) throw std::runtime_error("below zero");
  co_return number* number;
}
Durable<int> sum(Flow& flow, int limit, std::vector<int> numbers) {
  const std::vector<int> squares =
      co_await map_children<int>(flow, static_cast<std::size_t>(limit), "square", numbers);
  EXPECT_EQ(squares.size(), numbers.size());
  for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], numbers[i] * numbers[i]);
  co_return std::accumulate(squares.begin(), squares.end(), 0);
}

class MapChildrenTest : public MemoryTest {
 protected:
  MapChildrenTest() {
    at_once = most_at_once = 0;
    done.clear();
    world.types = [] {
      Registry types;
      types.add("square", 1, square);
      types.add("sum", 1, sum);
      return types;
    };
  }
};
TIFFANY_IN_EVERY_STORE(MapChildrenTest);

TEST_P(MapChildrenTest, NoMoreChildrenThanTheLimitRunAtATime) {
  std::vector<int> numbers(20);
  std::iota(numbers.begin(), numbers.end(), 1);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("sum", 3, numbers);
    EXPECT_EQ(co_await host.result<int>(id), 2870);
    const Uuid none = co_await host.start("sum", 3, std::vector<int>());
    EXPECT_EQ(co_await host.result<int>(none), 0);
    const Uuid wrong = co_await host.start("sum", 0, numbers);
    EXPECT_EQ(co_await error_of(host.result<int>(wrong)), Errc::durable_failed);
  });
  EXPECT_EQ(most_at_once, 3);
}

TEST_P(MapChildrenTest, EveryChildIsDoneOnceWhereverTheProcessIsCutOff) {
  const Uuid id = Uuid::derived(Uuid(), "sum");
  const std::vector<int> numbers{3, 1, 2, 5};
  world.crash_everywhere([] { done.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "sum", 2, numbers);
                           EXPECT_EQ(co_await host.result<int>(id), 39) << world.crashed_after;
                         },
                         [&] {
                           EXPECT_EQ(done.size(), 4u) << world.crashed_after;
                           EXPECT_EQ(at_once, 0);
                         });
}

TEST_P(MapChildrenTest, AFailureEndsItAndTheChildrenThatAreUnderWay) {
  const std::vector<int> numbers{6, -1, 3, 4};
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("sum", 2, numbers);
    EXPECT_EQ(co_await error_of(host.result<int>(id)), Errc::durable_failed);
    EXPECT_EQ(at_once, 0);
  });
}

}  // namespace map_children_test
}  // namespace tiffany
