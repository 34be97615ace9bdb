// Limits of types and keys: what may run now, what is queued, and in which order it comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/wal/payload_codec.hpp"

namespace tiffany {
namespace admission_test {

using namespace std::chrono_literals;

std::vector<std::string> begun;  // in which order the code of tasks began
std::map<std::string, int> running;
int most_running = 0;

struct Inside {
  explicit Inside(std::string key) : name(std::move(key)) {
    ++running[name];
    ++running["all"];
    most_running = std::max(most_running, running["all"]);
  }
  ~Inside() {
    --running[name];
    --running["all"];
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  std::string name;
};

Durable<int> works(Flow& flow, std::string name) {
  begun.push_back(name);
  const Inside inside(name.substr(0, 1));
  co_await flow.step("work", [&] { effects.push_back(name); });
  co_await flow.sleep(1h);
  co_return 1;
}

class AdmissionTest : public MemoryTest {
 protected:
  AdmissionTest() {
    begun.clear();
    running.clear();
    most_running = 0;
  }
  void with(TypeOptions options) {
    world.types = [options] {
      Registry types;
      types.add("works", 1, works, options);
      return types;
    };
  }
  static Task<DurableRef<int>> start(Host& host, std::string name, std::string key = "") {
    StartOptions options;
    if (!key.empty()) options = StartOptions().key(std::move(key));
    return host.start(std::move(options), works, std::move(name));
  }
};
TIFFANY_IN_EVERY_STORE(AdmissionTest);

TEST_P(AdmissionTest, NoMoreTasksOfATypeRunThanItsLimitAndTheOthersAreQueued) {
  with(TypeOptions().at_most(2));
  world.live([&](Host& host) -> Task<void> {
    const Time start_time = now();
    std::vector<DurableRef<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(co_await start(host, "a" + std::to_string(i)));
    co_await sleep(1s);
    EXPECT_EQ(begun, (std::vector<std::string>{"a0", "a1"}));
    EXPECT_EQ(all[4].info()->status, DurableStatus::queued);
    for (const auto& ref : all) co_await ref.result();
    EXPECT_EQ(now() - start_time, 3h);
  });
  EXPECT_EQ(most_running, 2);
  EXPECT_EQ(effects, (std::vector<std::string>{"a0", "a1", "a2", "a3", "a4"}));
}

TEST_P(AdmissionTest, KeysTakeTurnsAndNoKeyHasMoreThanItsLimit) {
  with(TypeOptions().at_most(2).at_most_per_key(1));
  world.live([&](Host& host) -> Task<void> {
    std::vector<DurableRef<int>> all;
    for (const char* name : {"a0", "a1", "a2", "b0", "b1", "c0"}) {
      all.push_back(co_await start(host, name, std::string(1, name[0])));
    }
    co_await sleep(1s);
    EXPECT_EQ(begun, (std::vector<std::string>{"a0", "b0"}));
    for (const auto& ref : all) co_await ref.result();
  });
  EXPECT_EQ(begun, (std::vector<std::string>{"a0", "b0", "a1", "b1", "c0", "a2"}));
}

TEST_P(AdmissionTest, SmallPrioritiesRunFirst) {
  with(TypeOptions().at_most(1));
  world.live([&](Host& host) -> Task<void> {
    co_await start(host, "first");
    const auto low = co_await host.start(StartOptions().priority(50), works, "low");
    const auto high = co_await host.start(StartOptions().priority(1), works, "high");
    co_await low.result();
  });
  EXPECT_EQ(begun, (std::vector<std::string>{"first", "high", "low"}));
}

TEST_P(AdmissionTest, ARateLetsSoManyBeginInATime) {
  with(TypeOptions().rate(2, 10s));
  world.live([&](Host& host) -> Task<void> {
    std::vector<DurableRef<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(co_await start(host, "a" + std::to_string(i)));
    co_await sleep(1s);
    EXPECT_EQ(begun.size(), 2u);
    co_await sleep(5s);
    EXPECT_EQ(begun.size(), 3u);
    co_await sleep(10s);
    EXPECT_EQ(begun.size(), 5u);
    for (const auto& ref : all) co_await ref.result();
  });
}

TEST_P(AdmissionTest, ARateOfAKeyHoldsOnlyThatKeyBack) {
  with(TypeOptions().rate_per_key(1, 10s));
  world.live([&](Host& host) -> Task<void> {
    std::vector<DurableRef<int>> all;
    for (const char* name : {"a0", "a1", "b0"}) {
      all.push_back(co_await start(host, name, std::string(1, name[0])));
    }
    co_await sleep(1s);
    EXPECT_EQ(begun, (std::vector<std::string>{"a0", "b0"}));
    for (const auto& ref : all) co_await ref.result();
  });
}

TEST_P(AdmissionTest, AQueuedTaskCanBeCancelledKilledAndPausedAndTakesSignals) {
  with(TypeOptions().at_most(1));
  world.live([&](Host& host) -> Task<void> {
    const auto first = co_await start(host, "first");
    const auto cancelled = co_await start(host, "cancelled");
    const auto killed = co_await start(host, "killed");
    const auto paused = co_await start(host, "paused");
    const auto last = co_await start(host, "last");
    co_await sleep(1s);
    co_await host.signal(last.id(), "unheard", 1);
    co_await cancelled.cancel("enough");
    EXPECT_EQ(co_await error_of(cancelled.result()), Errc::durable_cancelled);
    co_await host.kill(killed.id(), "enough");
    EXPECT_EQ(co_await error_of(killed.result()), Errc::durable_cancelled);
    co_await host.pause(paused.id());
    EXPECT_EQ(paused.info()->status, DurableStatus::paused);
    co_await last.result();
    co_await host.resume(paused.id());
    co_await paused.result();
    EXPECT_EQ(first.info()->status, DurableStatus::completed);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"first", "last", "paused"}));
}

TEST_P(AdmissionTest, APausedTaskMakesRoomForAnother) {
  with(TypeOptions().at_most(1));
  world.live([&](Host& host) -> Task<void> {
    const auto first = co_await start(host, "first");
    const auto second = co_await start(host, "second");
    co_await sleep(1s);
    co_await host.pause(first.id());
    co_await sleep(1s);
    EXPECT_EQ(second.info()->status, DurableStatus::running);
    co_await host.resume(first.id());
    EXPECT_EQ(first.info()->status, DurableStatus::queued);
    co_await first.result();
  });
}

TEST_P(AdmissionTest, TasksThatHadBegunGoOnAndTheQueueIsMadeAnewInTheOrderOfTheLog) {
  with(TypeOptions().at_most(1));
  std::vector<Uuid> ids;
  world.live([&](Host& host) -> Task<void> {
    const auto urgent = StartOptions().priority(50).key("x");
    ids.push_back((co_await host.start(urgent, works, "first")).id());
    for (int i = 0; i < 3; ++i) {
      co_await sleep(1s);
      ids.push_back((co_await start(host, std::to_string(i))).id());
    }
    co_await sleep(1s);
  });
  begun.clear();
  world.live([&](Host& host) -> Task<void> {
    for (const Uuid& id : ids) co_await host.attach(works, id).result();
  });
  EXPECT_EQ(begun, (std::vector<std::string>{"first", "0", "1", "2"}));
  EXPECT_EQ(most_running, 1);
}

TEST_P(AdmissionTest, EveryTaskHasItsTurnWhereverTheProcessDies) {
  with(TypeOptions().at_most(1).at_most_per_key(1));
  world.crash_everywhere(
      [] {
        effects.clear();
        running.clear();
        most_running = 0;
      },
      [&](Host& host) -> Task<void> {
        std::vector<DurableRef<int>> all;
        for (int i = 0; i < 3; ++i) {
          const std::string name(1, static_cast<char>('a' + i));
          const Uuid id = Uuid::derived(Uuid(), "admission " + name);
          auto options = StartOptions().id(id).key(name);
          all.push_back(co_await host.start(std::move(options), works, name));
        }
        for (const auto& ref : all) EXPECT_EQ(co_await ref.result(), 1);
      },
      [&] {
        EXPECT_EQ(most_running, 1) << "crash after slice " << world.crashed_after;
        const std::set<std::string> different(effects.begin(), effects.end());
        EXPECT_EQ(different.size(), 3u);
      });
}

// Each point of time at which the task before may end while the other is killed or paused.
constexpr int kTurns = 16;

TEST_P(AdmissionTest, ATaskThatIsKilledInTheQueueNeverBeginsWheneverTheOneBeforeEnds) {
  with(TypeOptions().at_most(1));
  for (int turns = 0; turns < kTurns; ++turns) {
    const Uuid killed = Uuid::derived(Uuid(), "killed " + std::to_string(turns));
    world.live([&](Host& host) -> Task<void> {
      const auto first = co_await start(host, "a");
      co_await host.start(StartOptions().id(killed), works, "b");
      co_await sleep_until(now() + 1h - 1ms);
      spawn([](DurableRef<int> of) -> Task<void> { co_await of.cancel("enough"); }, first);
      for (int i = 0; i < turns; ++i) co_await yield();
      co_await host.kill(killed, "enough");
      EXPECT_EQ(running["b"], 0) << "its code goes on after " << turns << " turns";
      const std::size_t done = effects.size();
      co_await sleep(2h);
      EXPECT_EQ(effects.size(), done) << "it goes on after " << turns << " turns";
      EXPECT_EQ(host.info(killed)->status, DurableStatus::cancelled);
      const auto last = co_await start(host, "c");
      co_await last.result();
    });
  }
}

TEST_P(AdmissionTest, ATaskThatIsPausedInTheQueueDoesNotBeginWheneverTheOneBeforeEnds) {
  with(TypeOptions().at_most(1));
  for (int turns = 0; turns < kTurns; ++turns) {
    const Uuid paused = Uuid::derived(Uuid(), "paused " + std::to_string(turns));
    world.live([&](Host& host) -> Task<void> {
      const auto first = co_await start(host, "a");
      co_await host.start(StartOptions().id(paused), works, "b");
      co_await sleep(1s);
      spawn([](DurableRef<int> of) -> Task<void> { co_await of.cancel("enough"); }, first);
      for (int i = 0; i < turns; ++i) co_await yield();
      co_await host.pause(paused);
      EXPECT_EQ(running["b"], 0) << "its code goes on after " << turns << " turns";
      EXPECT_EQ(host.info(paused)->status, DurableStatus::paused);
      const auto last = co_await start(host, "c");
      co_await last.result();
      co_await host.resume(paused);
      EXPECT_EQ(co_await host.result<int>(paused), 1);
    });
  }
}

inline constexpr SignalName<int> word{"word"};
Durable<int> hears(Flow& flow) { co_return co_await flow.signal(word); }

TEST_P(AdmissionTest, ASignalToATaskInTheQueueIsHeardWheneverItsTurnComes) {
  world.types = [] {
    Registry types;
    types.add("hears", 1, hears, TypeOptions().at_most(1));
    return types;
  };
  for (int turns = 0; turns < kTurns; ++turns) {
    world.live([&](Host& host) -> Task<void> {
      const auto first = co_await host.start(hears);
      const auto second = co_await host.start(hears);
      co_await sleep(1s);
      spawn([](DurableRef<int> of) -> Task<void> { co_await of.signal(word, 1); }, first);
      for (int i = 0; i < turns; ++i) co_await yield();
      co_await second.signal(word, 2);
      const auto heard = co_await within(1h, second.result());
      EXPECT_TRUE(heard.has_value()) << "it was not heard after " << turns << " turns";
      if (!heard.has_value()) co_await host.kill(second.id(), "it waits for ever");
    });
  }
}

// Cannot read values with that text any more.
class ForgetfulCodec : public wal::PayloadCodec {
 public:
  ForgetfulCodec() = default;
  Encoded encode(std::string_view json) const override { return {"k", std::string(json)}; }
  std::optional<std::string> decode(std::string_view, std::string_view bytes) const override {
    if (!forgotten.empty() && bytes.find(forgotten) != std::string_view::npos) return std::nullopt;
    return std::string(bytes);
  }
  std::string forgotten;
};

TEST_P(AdmissionTest, ATaskThatIsQuarantinedWhenItsTurnComesMakesRoomForAnother) {
  with(TypeOptions().at_most(1));
  const auto codec = std::make_shared<ForgetfulCodec>();
  world.codec = codec;
  world.live([&](Host& host) -> Task<void> {
    co_await start(host, "first");
    const auto damaged = co_await start(host, "damaged");
    const auto last = co_await start(host, "last");
    codec->forgotten = "damaged";
    const auto result = co_await within(3h, last.result());
    EXPECT_TRUE(result.has_value()) << "the quarantined task keeps its place";
    EXPECT_EQ(damaged.info()->status, DurableStatus::quarantined);
    codec->forgotten.clear();
  });
}

TEST_P(AdmissionTest, ATimeoutReachesATaskInTheQueue) {
  with(TypeOptions().at_most(1));
  Uuid waits;
  world.live([&](Host& host) -> Task<void> {
    const auto first = co_await start(host, "first");
    const auto late = co_await host.start(StartOptions().timeout(10min), works, "late");
    waits = late.id();
    const Time start_time = now();
    EXPECT_EQ(co_await error_of(late.result()), Errc::durable_cancelled);
    EXPECT_EQ(now() - start_time, 10min);
    EXPECT_EQ(first.info()->status, DurableStatus::running);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"first"}));
}

TEST(Admission, ALimitThatLetsNothingRunIsRefused) {
  const auto refused = [](const TypeOptions& options) {
    Registry types;
    try {
      types.add("works", 1, works, options);
    } catch (const Error& e) {
      return e.code() == Errc::bad_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused(TypeOptions().at_most(0)));
  EXPECT_TRUE(refused(TypeOptions().at_most_per_key(0)));
  EXPECT_TRUE(refused(TypeOptions().rate(0, 1s)));
  EXPECT_TRUE(refused(TypeOptions().rate(1, 0s)));
  EXPECT_TRUE(refused(TypeOptions().rate_per_key(1, -1s)));
  EXPECT_FALSE(refused(TypeOptions().rate(1, 1s).at_most(1)));
}

}  // namespace admission_test
}  // namespace tiffany
