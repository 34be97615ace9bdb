// What those outside see of a task: keys, promises and answers to queries.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace outside_test {

class OutsideTest : public DurableWorld {};
TIFFANY_ON_EVERY_LAYOUT(OutsideTest);

// ---- Names after a checkpoint ----

std::vector<std::string> keys;
std::vector<Uuid> promises;

Durable<int> makes_rounds(Flow& flow, int most) {
  int round = flow.state(0);
  while (round < most) {
    co_await flow.step("pay", [&](Attempt& attempt) { keys.push_back(attempt.key()); });
    auto promise = co_await flow.promise<bool>("approval");
    promises.push_back(promise.id());
    const int k = co_await flow.signal<int>("go on");
    round += k;
    promise = DurableHandle<bool>();
    co_await flow.checkpoint(round);
  }
  co_return round;
}

TEST_P(OutsideTest, D3_AKeyOrAPromiseOfTheSameNameIsAnotherOneAfterACheckpoint) {
  keys.clear();
  promises.clear();
  types_ = [] {
    Registry types;
    types.add("makes_rounds", 1, makes_rounds);
    return types;
  };
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("makes_rounds", 2);
    co_await host.signal(id, "go on", 1);
    while (promises.size() < 2) co_await yield();
  });
  // In the second round, once more.
  live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "go on", 1);
    EXPECT_EQ(co_await host.result<int>(id), 2);
  });
  EXPECT_EQ((std::set<std::string>(keys.begin(), keys.end()).size()), 2u);
  EXPECT_EQ((std::set<Uuid>(promises.begin(), promises.end()).size()), 2u);
  ASSERT_EQ(promises.size(), 3u);
  EXPECT_EQ(promises[1], promises[2]);  // the same again when it comes back
}

// ---- Queries ----

bool local_is_gone = false;
struct Local {
  Local() { local_is_gone = false; }
  ~Local() { local_is_gone = true; }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
};

Durable<void> answers(Flow& flow) {
  const Local local;
  const auto query =
      flow.on_query("local", [] { return std::string(local_is_gone ? "gone" : "here"); });
  co_await flow.step("work", [] {});
}

TEST_P(OutsideTest, D3_AQueryIsNotAnsweredByCodeThatHasEnded) {
  types_ = [] {
    Registry types;
    types.add("answers", 1, answers);
    return types;
  };
  std::vector<std::string> all;
  live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("answers");
    while (host.info(id)->status == DurableStatus::running) {
      try {
        all.push_back(host.query(id, "local"));
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::unknown_durable);
      }
      co_await yield();
    }
  });
  EXPECT_EQ(std::count(all.begin(), all.end(), "gone"), 0);
  EXPECT_GT(std::count(all.begin(), all.end(), "here"), 0);
}

}  // namespace outside_test
}  // namespace tiffany
