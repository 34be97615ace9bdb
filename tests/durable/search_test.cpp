// Finding tasks by what was said of them, a page at a time, without reading a log.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace search_test {

using namespace std::chrono_literals;

Durable<int> ships(Flow& flow, int number) {
  flow.set_attribute("stage", "packing");
  co_await flow.step("pack", [] {});
  flow.set_attribute("stage", "shipping");
  flow.set_attribute("heavy", number % 2 == 0);
  co_await flow.sleep(24h);
  flow.set_attribute("stage", "shipped");
  co_return number;
}
Durable<int> rounds(Flow& flow) {
  const int round = flow.state(0);
  if (round == 0) flow.set_attribute("since", "the first round");
  if (round == 2) {
    co_await flow.sleep(24h);
    co_return round;
  }
  co_await flow.checkpoint(round + 1);
  co_return round;
}
Durable<int> convoys(Flow& flow) {
  auto first = co_await flow.spawn<int>("ships", 7);
  auto second = co_await flow.spawn<int>("ships", 8);
  co_return co_await first + co_await second;
}
Durable<int> refuses(Flow& flow) {
  int refused = 0;
  const auto attempt = [&](std::string name, const Attribute& value) {
    try {
      flow.set_attribute(std::move(name), value);
    } catch (const Error& e) {
      refused += e.code() == Errc::bad_argument ? 1 : 100;
    }
  };
  attempt("", 1);
  attempt(std::string(201, 'n'), 1);
  attempt("long", std::string(201, 'v'));
  attempt("bad", "\xff");
  for (int i = 0; i < 33; ++i) attempt("a" + std::to_string(i), i);
  co_return refused;
}

class SearchTest : public MemoryTest {
 protected:
  SearchTest() {
    world.types = [] {
      Registry types;
      types.add("ships", 1, ships);
      types.add("rounds", 1, rounds);
      types.add("convoys", 1, convoys);
      types.add("refuses", 1, refuses);
      return types;
    };
  }
  static Task<DurableRef<int>> ship(Host& host, int number, std::string customer) {
    auto options = StartOptions().attribute("customer", customer).attribute("number", number);
    return host.start(std::move(options).key(customer), ships, number);
  }
  static std::size_t count(Host& host, const TaskFilter& filter) {
    return host.tasks(filter, PageOptions(1000)).tasks.size();
  }
};
TIFFANY_IN_EVERY_STORE(SearchTest);

TEST_P(SearchTest, TasksAreFoundByWhatTheirStartAndTheirCodeSaid) {
  const auto look = [](Host& host) {
    EXPECT_EQ(count(host, TaskFilter()), 10u);
    EXPECT_EQ(count(host, TaskFilter().attribute("customer", "Ada")), 5u);
    EXPECT_EQ(count(host, TaskFilter().key("Bob").type("ships")), 5u);
    EXPECT_EQ(count(host, TaskFilter().attribute("number", 3)), 1u);
    EXPECT_EQ(count(host, TaskFilter().attribute("stage", "shipping")), 10u);
    EXPECT_EQ(count(host, TaskFilter().attribute("stage", "packing")), 0u);
    EXPECT_EQ(count(host, TaskFilter().attribute("heavy", true).attribute("customer", "Ada")), 5u);
    EXPECT_EQ(count(host, TaskFilter().attribute("heavy", 1)), 0u) << "a number is no truth value";
    EXPECT_EQ(count(host, TaskFilter().status(DurableStatus::completed)), 0u);
    EXPECT_EQ(count(host, TaskFilter().attribute("nothing", "x")), 0u);
  };
  world.live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 10; ++i) co_await ship(host, i, i % 2 == 0 ? "Ada" : "Bob");
    co_await sleep(1s);
    look(host);
  });
  world.live([&](Host& host) -> Task<void> {
    look(host);
    co_await sleep(25h);
    EXPECT_EQ(count(host, TaskFilter().attribute("stage", "shipped")), 10u);
    EXPECT_EQ(count(host, TaskFilter().status(DurableStatus::completed)), 10u);
    co_await host.compact();
    EXPECT_EQ(count(host, TaskFilter().attribute("customer", "Ada")), 0u) << "in the archive";
  });
}

TEST_P(SearchTest, NoLogIsReadForAPage) {
  world.live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 5; ++i) co_await ship(host, i, "Ada");
    co_await sleep(25h);
    co_await host.close();
  });
  world.live([&](Host& host) -> Task<void> {
    const std::uint64_t before = host.store().counters().lines_read;
    const TaskPage page = host.tasks(TaskFilter().attribute("customer", "Ada"));
    EXPECT_EQ(page.tasks.size(), 5u);
    EXPECT_EQ(page.tasks[0].status, DurableStatus::completed);
    EXPECT_EQ(host.store().counters().lines_read, before);
    co_return;
  });
}

TEST_P(SearchTest, PagesHaveEachTaskOnceAlsoWhenTasksComeAndGoMeanwhile) {
  world.live([&](Host& host) -> Task<void> {
    std::vector<Uuid> ids;
    for (int i = 0; i < 10; ++i) {
      const auto ref = co_await ship(host, i, "Ada");
      ids.push_back(ref.id());
    }
    for (const TaskFilter& filter : {TaskFilter(), TaskFilter().attribute("customer", "Ada")}) {
      std::vector<Uuid> seen;
      std::string cursor;
      do {
        const TaskPage page = host.tasks(filter, PageOptions(3, cursor));
        for (const DurableInfo& each : page.tasks) seen.push_back(each.id);
        cursor = page.next;
      } while (!cursor.empty());
      EXPECT_EQ(seen, ids);
    }
    const TaskPage first = host.tasks(TaskFilter(), PageOptions(5));
    co_await host.kill(ids[4], "the last of the page");
    co_await host.compact();
    co_await ship(host, 10, "Ada");
    const TaskPage second = host.tasks(TaskFilter(), PageOptions(5, first.next));
    EXPECT_EQ(second.tasks.size(), 5u);
    EXPECT_EQ(second.tasks[0].id, ids[5]);
    EXPECT_FALSE(second.next.empty());
  });
}

TEST_P(SearchTest, PagesWithTheNewestFirstHaveEachTaskOnceAlsoWhenNewOnesCome) {
  world.live([&](Host& host) -> Task<void> {
    std::vector<Uuid> ids;
    for (int i = 0; i < 10; ++i) {
      const auto ref = co_await ship(host, i, "Ada");
      ids.insert(ids.begin(), ref.id());
    }
    for (const TaskFilter& filter : {TaskFilter(), TaskFilter().attribute("customer", "Ada")}) {
      std::vector<Uuid> seen;
      std::string cursor;
      do {
        const TaskPage page = host.tasks(filter, PageOptions(3, cursor).newest_first());
        for (const DurableInfo& each : page.tasks) seen.push_back(each.id);
        if (cursor.empty()) co_await ship(host, 10 + static_cast<int>(seen.size()), "Ada");
        cursor = page.next;
      } while (!cursor.empty());
      EXPECT_EQ(seen, ids);
      ids.insert(ids.begin(), host.tasks(filter, PageOptions(1).newest_first()).tasks[0].id);
    }
  });
}

TEST_P(SearchTest, ChildrenAreFoundByTheirParentAlsoAfterARestart) {
  const Uuid id = Uuid::derived(Uuid(), "convoy");
  world.live([&](Host& host) -> Task<void> {
    co_await ship(host, 1, "Ada");
    co_await host.start(StartOptions().id(id), convoys);
    co_await sleep(1h);
    EXPECT_EQ(count(host, TaskFilter().parent(id)), 2u);
    EXPECT_EQ(count(host, TaskFilter().parent(Uuid())), 2u) << "those without a parent";
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(count(host, TaskFilter().parent(id)), 2u);
    EXPECT_EQ(count(host, TaskFilter().parent(id).type("rounds")), 0u);
    co_return;
  });
}

TEST_P(SearchTest, AttributesAreKeptOverCheckpointsWhereverTheProcessDies) {
  const Uuid id = Uuid::derived(Uuid(), "rounds");
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           const auto ref = co_await host.start(StartOptions().id(id), rounds);
                           EXPECT_EQ(co_await ref.result(), 2);
                           EXPECT_EQ(ref.info()->status, DurableStatus::completed);
                         },
                         [] {});
  world.disk = std::make_shared<MemoryDisk>();
  world.live([&](Host& host) -> Task<void> {
    co_await host.start(rounds);
    co_await sleep(1h);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(count(host, TaskFilter().attribute("since", "the first round")), 1u);
    co_return;
  });
}

bool pay_fails = true;
Durable<int> pays(Flow& flow) {
  co_await flow.step("look", [] {});
  const bool works = co_await flow.step("pay", [] { return !pay_fails; });
  if (!works) {
    flow.set_attribute("unpaid", true);
    throw std::runtime_error("not paid");
  }
  co_await flow.sleep(24h);
  co_return 1;
}

TEST_P(SearchTest, ATaskThatIsRetriedHasTheAttributesOfItsNewHistoryOnly) {
  only("pays", pays);
  pay_fails = true;
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(StartOptions().attribute("customer", "north"), pays);
    id = ref.id();
    EXPECT_EQ(co_await error_of(ref.result()), Errc::durable_failed);
    EXPECT_EQ(count(host, TaskFilter().attribute("unpaid", true)), 1u);
    pay_fails = false;
    co_await host.retry(id, "pay#1");
    co_await sleep(1h);
    EXPECT_EQ(count(host, TaskFilter().attribute("unpaid", true)), 0u);
    EXPECT_EQ(host.info(id)->attributes, R"({"customer":"north"})");
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->attributes, R"({"customer":"north"})");
    co_return;
  });
}

TEST_P(SearchTest, WhatCannotBeAnAttributeOrACursorIsRefused) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(refuses);
    EXPECT_EQ(co_await ref.result(), 5);
    EXPECT_EQ(co_await error_of(host.start(StartOptions().attribute("", 1), refuses)),
              Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start(
                  StartOptions().attribute("x", std::numeric_limits<double>::infinity()), refuses)),
              Errc::bad_argument);
    const auto refused = [&](const PageOptions& page) {
      try {
        static_cast<void>(host.tasks(TaskFilter(), page));
      } catch (const Error& e) {
        return e.code() == Errc::bad_argument;
      }
      return false;
    };
    EXPECT_TRUE(refused(PageOptions(0)));
    EXPECT_TRUE(refused(PageOptions(10'001)));
    EXPECT_TRUE(refused(PageOptions(1, "x")));
    EXPECT_TRUE(refused(PageOptions(1, "7")));
    EXPECT_TRUE(refused(PageOptions(1, "7:x")));
    EXPECT_FALSE(refused(PageOptions(1)));
  });
}

}  // namespace search_test
}  // namespace tiffany
