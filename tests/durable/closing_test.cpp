// D4: tasks that are stopped, killed and closed at every moment: nothing hangs, nothing is left,
// nothing is done that nobody recorded.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "durable/memory_test.hpp"
#include "tiffany/durable/limits.hpp"

namespace tiffany {
namespace closing_test {

using namespace std::chrono_literals;

class ClosingTest : public MemoryTest {
 protected:
  static Task<void> let_run(int slices) {
    for (int i = 0; i < slices; ++i) co_await yield();
  }
  static std::optional<DurableStatus> status_of(const Host& host, std::string_view type) {
    for (const DurableInfo& info : host.tasks()) {
      if (info.type == type) return info.status;
    }
    return std::nullopt;
  }
};
TIFFANY_IN_BOTH_LAYOUTS(ClosingTest);

// Has steps that wait, and takes every exception for one that it can do without.
Durable<int> swallows(Flow& flow) {
  int done = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      done += co_await flow.step("s", []() -> Task<int> {
        co_await yield();
        co_return 1;
      });
    } catch (...) {
    }
  }
  co_return done;
}

TEST_P(ClosingTest, D4_ATaskThatIsPausedAtAnyMomentAsksForNothingMoreAndGoesOnWhereItWas) {
  only("body", swallows);
  for (int wait = 0; wait < 40; ++wait) {
    world.disk = std::make_shared<MemoryDisk>();
    world.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start("body");
      co_await let_run(wait);
      const Errc code = co_await error_of(host.pause(id));
      const DurableStatus status = host.info(id)->status;
      EXPECT_EQ(status, code == Errc{} ? DurableStatus::paused : DurableStatus::completed) << wait;
      co_await let_run(20);
      EXPECT_EQ(host.info(id)->status, status) << wait << ": it went on";
      if (status == DurableStatus::paused) co_await host.resume(id);
      EXPECT_EQ(co_await host.result<int>(id), 3) << wait;
    });
  }
}

Durable<void> child(Flow& flow) { co_await flow.signal<int>("never"); }
Durable<void> parent(Flow& flow) {
  auto both = co_await flow.spawn<void>("child");
  co_await both;
}
Registry family() {
  Registry types;
  types.add("parent", 1, parent);
  types.add("child", 1, child);
  return types;
}

TEST_P(ClosingTest, D4_AKillWhileTheHostIsClosedEndsAndAParentThatEndedLeavesNoChild) {
  world.types = family;
  for (int wait = 0; wait < 40; ++wait) {
    world.disk = std::make_shared<MemoryDisk>();
    Errc code{};
    world.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start("parent");
      co_await let_run(10);
      const auto kills = [&]() -> Task<Errc> { co_return co_await error_of(host.kill(id, "x")); };
      auto killed = Scheduler::require("test").spawn(std::cref(kills));
      co_await let_run(wait);
      co_await host.close();
      code = co_await killed;
    });
    world.live([&](Host& host) -> Task<void> {
      co_await let_run(20);
      const bool gone = status_of(host, "parent") == DurableStatus::cancelled;
      if (code == Errc{}) {
        EXPECT_TRUE(gone) << wait;
      }
      if (gone) {
        EXPECT_NE(status_of(host, "child"), DurableStatus::running) << wait;
      }
    });
  }
}

TEST_P(ClosingTest, D4_WhereverAProcessDiesThatKillsAParentNoChildIsLeft) {
  world.types = family;
  const Uuid id = Uuid::derived(Uuid(), "parent");
  bool ended = false;
  int kept = 0, gone = 0;
  for (std::size_t slices = 20; !ended; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    ended = world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_as(id, "parent");
          co_await let_run(10);
          co_await host.kill(id, "x");
        },
        slices);
    world.live([&](Host& host) -> Task<void> {
      co_await let_run(40);
      if (status_of(host, "parent") != DurableStatus::cancelled) {
        ++kept;
        co_return;
      }
      ++gone;
      EXPECT_NE(status_of(host, "child"), DurableStatus::running) << slices;
    });
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(gone, 0);
}

Task<void> nap() { co_await sleep(1h); }
Durable<int> stubborn(Flow& flow) {
  co_return co_await flow.step("s", []() -> Task<int> {
    co_await shield(nap());
    co_return 1;
  });
}

TEST_P(ClosingTest, D4_ACloseThatIsCancelledGoesOnAndTheNextOneWaitsForIt) {
  only("body", stubborn);
  const Registry types = world.types();
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    co_await let_run(10);
    const auto result = [&]() -> Task<Errc> { co_return co_await error_of(host.result<int>(id)); };
    auto waits = Scheduler::require("test").spawn(std::cref(result));
    co_await let_run(10);
    const auto closes = [&]() -> Task<void> { co_await host.close(); };
    auto first = Scheduler::require("test").spawn(std::cref(closes));
    co_await let_run(10);
    first.cancel("too slow");
    co_await host.close();
    EXPECT_EQ(co_await waits, Errc::durable_stopped);
    Host next(types, world.log_options());
    EXPECT_EQ((co_await next.open()).resumed, 1u) << "the log is free";
    co_await next.close();
  });
}

TEST_P(ClosingTest, D4_WhoWaitsForATaskThatCouldNotBeStartedIsTold) {
  only("body", swallows);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = host.new_id();
    const auto starts = [&]() -> Task<Errc> {
      co_return co_await error_of(host.start_as(id, "body"));
    };
    const auto waits = [&]() -> Task<Errc> { co_return co_await error_of(host.result<int>(id)); };
    world.disk->fail();
    auto a = Scheduler::require("test").spawn(std::cref(starts));
    auto b = Scheduler::require("test").spawn(std::cref(waits));
    EXPECT_EQ(co_await a, Errc::log_sealed);
    EXPECT_EQ(co_await b, Errc::log_sealed);
    EXPECT_EQ(co_await error_of(host.close()), Errc::log_sealed);
    EXPECT_EQ(co_await error_of(host.close()), Errc::log_sealed) << "it says so as often as asked";
    world.disk->mend();
  });
}

Uuid answer;
Durable<std::size_t> asks(Flow& flow) {
  auto promise = co_await flow.promise<int>("answer");
  answer = promise.id();
  std::string sentence;
  try {
    co_await promise;
  } catch (const Error& e) {
    sentence = e.what();
  }
  if (sentence.size() < 1000) co_return sentence.size();
  throw std::runtime_error(std::string(2'000'000, 'x'));
}

TEST_P(ClosingTest, D4_AFailureWithALongSentenceIsNotLostAndALongerOneIsRefused) {
  only("body", asks);
  Uuid id;
  std::string sentence;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    co_await let_run(10);
    EXPECT_EQ(co_await error_of(host.complete_json(answer, std::string(2'000'000, 'y'), false)),
              Errc::bad_argument);
    EXPECT_TRUE(co_await host.complete_json(answer, std::string(kLongestReason, 'y'), false));
    EXPECT_EQ(co_await error_of(host.result<std::size_t>(id)), Errc::durable_failed);
    sentence = host.info(id)->detail;
    EXPECT_GT(sentence.size(), 1000u);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->status, DurableStatus::failed);
    EXPECT_EQ(host.info(id)->detail, sentence);
    co_return;
  });
}

}  // namespace closing_test
}  // namespace tiffany
