// Signals that wait for a task.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../src/durable/mailbox.hpp"
#include "durable/memory_test.hpp"

namespace tiffany {
namespace mailbox_test {

using namespace std::chrono_literals;

TEST(DurableMailbox, GivesTheValuesOfANameInTheirOrder) {
  detail::SignalBox box;
  EXPECT_FALSE(box.has("a"));
  box.put("a", "1");
  box.put("b", "2");
  box.put("a", "3");
  box.put("c", "4");
  EXPECT_TRUE(box.has("a"));
  EXPECT_EQ(box.take("b"), "2");
  EXPECT_FALSE(box.has("b"));
  EXPECT_EQ(box.take("a"), "1");
  box.put("b", "5");
  std::string all;
  for (const auto& [name, value] : box) all += name + value;
  EXPECT_EQ(all, "a3c4b5");
  EXPECT_EQ(box.size(), 3u);
  EXPECT_EQ(box.take("a"), "3");
  EXPECT_EQ(box.take("b"), "5");
  EXPECT_EQ(box.take("c"), "4");
  EXPECT_EQ(box.size(), 0u);
  box.put("a", "6");
  box.clear();
  EXPECT_FALSE(box.has("a"));
}

TEST(DurableMailbox, AgreesWithAPlainListWhateverIsPutAndTaken) {
  Random random(7, "mailbox");
  detail::SignalBox box;
  std::vector<std::pair<std::string, std::string>> list;
  for (int i = 0; i < 5000; ++i) {
    const std::string name(1, static_cast<char>('a' + random.below(5)));
    if (random.below(3) != 0) {
      box.put(name, std::to_string(i));
      list.emplace_back(name, std::to_string(i));
      continue;
    }
    const auto first = std::find_if(list.begin(), list.end(),
                                    [&](const auto& each) { return each.first == name; });
    ASSERT_EQ(box.has(name), first != list.end());
    if (first == list.end()) continue;
    ASSERT_EQ(box.take(name), first->second);
    list.erase(first);
    ASSERT_EQ(box.size(), list.size());
  }
  auto expected = list.begin();
  for (const auto& [name, value] : box) {
    EXPECT_EQ(name, expected->first);
    EXPECT_EQ(value, expected->second);
    ++expected;
  }
}

class MailboxTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(MailboxTest);

// Waits for a name while many signals of another one come, saves its state with them, and then
// takes them.
Durable<int> hears_many(Flow& flow, int most) {
  if (flow.state(0) == 0) {
    co_await flow.signal<int>("go");
    co_await flow.checkpoint(1);
  }
  int in_order = 0;
  for (int i = 0; i < most; ++i) {
    const int heard = co_await flow.signal<int>("word");
    if (heard == i) ++in_order;
  }
  co_return in_order;
}

TEST_P(MailboxTest, ManySignalsOfOneNameWaitWhileAnotherIsAwaited) {
  constexpr int kMany = 3000;
  only("hears_many", hears_many);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("hears_many", kMany);
    for (int i = 0; i < kMany; i += 500) {
      co_await scope([&](Scope& all) -> Task<void> {
        for (int k = i; k < i + 500; ++k) {
          all.spawn([&, k]() -> Task<void> { co_await host.signal(id, "word", k); });
        }
        co_return;
      });
    }
  });
  world.live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "go", 0);
    EXPECT_EQ(co_await host.result<int>(id), kMany);
  });
}

// ---- Heartbeats ----

Durable<std::string> beats_often(Flow& flow, int times) {
  co_return co_await flow.step("work", StepOptions().retry(Retry(2, 1ms)),
                               [&](Attempt& attempt) -> Task<std::string> {
                                 if (!attempt.details().empty()) co_return attempt.details();
                                 for (int i = 1; i <= times; ++i)
                                   attempt.heartbeat(std::to_string(i));
                                 co_await sleep(1s);
                                 throw std::runtime_error("once more");
                               });
}

TEST_P(MailboxTest, HeartbeatsThatComeFasterThanTheDiskShareARecordAndTheLastOneIsKept) {
  constexpr int kBeats = 20'000;
  only("beats_often", beats_often);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    const std::uint64_t before = host.store().counters().records;
    id = co_await host.start("beats_often", kBeats);
    EXPECT_EQ(co_await host.result<std::string>(id), std::to_string(kBeats));
    EXPECT_LT(host.store().counters().records - before, 20u);
  });
}

TEST_P(MailboxTest, TheLastHeartbeatIsThereAfterACrash) {
  only("beats_often", beats_often);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("beats_often", 100);
    co_await sleep(500ms);  // the step still runs
  });
  world.live(
      [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "100"); });
}

}  // namespace mailbox_test
}  // namespace tiffany
