#include "tiffany/durable/inspect.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace inspect_test {

using namespace std::chrono_literals;

class InspectTest : public DurableWorld {
 protected:
  template <class F>
  void look(F body) {
    Scheduler scheduler(Options().virtual_time());
    auto handle = scheduler.spawn(&InspectTest::run_body<F>, &body);
    scheduler.run();
    const auto outcome = outcome_of(handle, false);
    if (!outcome.ok()) std::rethrow_exception(outcome.error());
  }

 private:
  template <class F>
  static Task<void> run_body(F* body) {
    co_await (*body)();
  }
};
TIFFANY_ON_EVERY_LAYOUT(InspectTest);

int packed = 0;

Durable<int> parcel(Flow& flow, int weight) {
  const int price = co_await flow.step("weigh", [&] { return weight * 3; });
  auto paid = co_await flow.promise<bool>("paid");
  auto late = co_await flow.timer(48h);
  if (const auto first = co_await flow.race(paid, late); first.index == 1) co_return -1;
  co_await flow.step("pack", [&] { ++packed; });
  co_return price;
}
Durable<int> parcel_weighed_twice(Flow& flow, int weight) {
  const int price = co_await flow.step("weigh again", [&] { return weight * 3; });
  co_await flow.promise<bool>("paid");
  co_return price;
}

Registry with(Durable<int> (*code)(Flow&, int), int version = 1) {
  Registry types;
  types.add("parcel", version, code);
  return types;
}

TEST_P(InspectTest, D3_InspectSaysWhatATaskWouldDoNextAndDoesNothing) {
  types_ = [] { return with(parcel); };
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("parcel", 2);
    co_await sleep(1h);
  });
  const auto before = wal::scan(*wal::system_disk(), directory_ + "/wal", GetParam());
  look([&]() -> Task<void> {
    const Registry types = with(parcel);
    const Inspection seen = co_await inspect(types, log_options(), id);
    EXPECT_TRUE(seen.agrees) << seen.difference;
    EXPECT_EQ(seen.commands, 3u);
    EXPECT_EQ(seen.next.size(), 2u);
    if (seen.next.size() == 2) {
      EXPECT_EQ(seen.next[0].substr(0, 17), "wait for promise ");
      EXPECT_EQ(seen.next[1], "wait until 1970-01-03T00:00:00.000000Z (timer#1)");
    }
    EXPECT_EQ(seen.events.size(), 1u);
  });
  EXPECT_EQ(packed, 0);
  const auto after = wal::scan(*wal::system_disk(), directory_ + "/wal", GetParam());
  EXPECT_EQ(before.records, after.records);
}

TEST_P(InspectTest, D7_ReplayOfATaskThatEndedGivesItsResultAndItsTraceAgain) {
  packed = 0;
  types_ = [] { return with(parcel); };
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("parcel", 5);
    EXPECT_EQ(co_await host.result<int>(id), -1);
  });
  look([&]() -> Task<void> {
    const Registry types = with(parcel);
    const Inspection seen = co_await replay(types, log_options(), id);
    EXPECT_TRUE(seen.agrees) << seen.difference;
    EXPECT_TRUE(seen.same_result);
    EXPECT_EQ(seen.events.size(), 2u);
  });
}

TEST_P(InspectTest, D7_AnUpgradeCheckNamesTheTasksThatANewProgramCouldNotGoOnWith) {
  types_ = [] { return with(parcel); };
  live([&](Host& host) -> Task<void> {
    co_await host.start("parcel", 2);
    co_await host.start("parcel", 3);
    co_await sleep(1h);
  });
  look([&]() -> Task<void> {
    const Registry same = with(parcel);
    UpgradeCheck check = co_await check_upgrade(same, log_options());
    EXPECT_EQ(check.agree, 2u);
    const Registry changed = with(parcel_weighed_twice);
    check = co_await check_upgrade(changed, log_options());
    EXPECT_EQ(check.diverge, 2u);
    EXPECT_NE(check.text().find("The log says step \"weigh#1\""), std::string::npos)
        << check.text();
    EXPECT_NE(check.text().find("the code asks for step \"weigh again#1\""), std::string::npos);
    const Registry newer = with(parcel, 2);
    check = co_await check_upgrade(newer, log_options());
    EXPECT_EQ(check.paused, 2u);
  });
}

}  // namespace inspect_test
}  // namespace tiffany
