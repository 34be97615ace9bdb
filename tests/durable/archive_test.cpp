// Tasks that have left the log: what is said of them, and of their ids.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace archive_test {

using namespace std::chrono_literals;

class ArchiveTest : public MemoryTest {
 protected:
  static Durable<int> doubles(Flow& flow, int n) {
    const int twice = co_await flow.step("double", [&] {
      effects.push_back("doubled");
      return 2 * n;
    });
    if (n < 0) throw std::runtime_error("less than nothing");
    co_return twice;
  }
  static Durable<int> hopes(Flow& flow) {
    auto promise = co_await flow.promise<int>("hope");
    promise_id = promise.id();
    co_return co_await promise;
  }
  static inline Uuid promise_id;

  ArchiveTest() {
    world.types = [] {
      Registry types;
      types.add("doubles", 3, doubles, TypeOptions().accepts_from(1));
      types.add("hopes", 1, hopes);
      return types;
    };
  }
  static Retention nothing() {
    Retention keep;
    keep.bytes = 0;
    return keep;
  }
  const Uuid good = Uuid::derived(Uuid(), "good");
  const Uuid bad = Uuid::derived(Uuid(), "bad");

  // One that completed and one that failed, in the archive.
  Task<void> fill(Host* host) {
    co_await host->start_as(good, "doubles", 7);
    co_await host->result<int>(good);
    co_await host->start_as(bad, "doubles", -1);
    co_await error_of(host->result<int>(bad));
  }
};
TIFFANY_IN_EVERY_STORE(ArchiveTest);

TEST_P(ArchiveTest, ATaskInTheArchiveIsKnownByEveryCall) {
  const auto look = [&](Host& host) -> Task<void> {
    const auto info = host.info(good);
    EXPECT_TRUE(info.has_value());
    if (!info || !host.info(bad)) co_return;
    EXPECT_EQ(info->id, good);
    EXPECT_EQ(info->type, "doubles");
    EXPECT_EQ(info->version, 3);
    EXPECT_EQ(info->status, DurableStatus::completed);
    EXPECT_EQ(info->detail, "14");
    EXPECT_EQ(host.info(bad)->status, DurableStatus::failed);
    EXPECT_EQ(host.info(bad)->detail, "less than nothing");
    EXPECT_EQ(co_await error_of(host.signal(good, "word", 1)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.pause(good)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.resume(good)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.cancel(good, "late")), Errc{});  // as of any that has ended
    EXPECT_EQ(co_await error_of(host.kill(good, "late")), Errc{});
    EXPECT_EQ(co_await error_of(host.retry(bad, "double#1")), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.retry(good, "double#1")), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.fork(good, "double#1")), Errc::durable_stopped);
    EXPECT_THROW(host.query(good, "how far"), Error);
    EXPECT_EQ(co_await host.result<int>(good), 14);
    EXPECT_FALSE(host.info(Uuid::derived(Uuid(), "nobody")));
  };
  world.live([&](Host& host) -> Task<void> {
    co_await fill(&host);
    EXPECT_EQ((co_await host.compact()).archived, 2u);
    co_await look(host);
  });
  world.live(look);
}

TEST_P(ArchiveTest, AnIdThatRetentionDroppedIsRefusedAndNothingRunsAgain) {
  world.live([&](Host& host) -> Task<void> {
    co_await fill(&host);
    EXPECT_EQ((co_await host.compact(nothing())).removed, 2u);
  });
  const auto look = [&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start_as(good, "doubles", 7)), Errc::id_retired);
    EXPECT_EQ(co_await error_of(host.start_as(bad, "doubles", -1)), Errc::id_retired);
    EXPECT_EQ(co_await error_of(host.result<int>(good)), Errc::id_retired);
    EXPECT_EQ(co_await error_of(host.signal(good, "word", 1)), Errc::id_retired);
    EXPECT_FALSE(host.info(good));
  };
  world.live(look);
  world.live([&](Host& host) -> Task<void> {
    co_await look(host);
    const Uuid other = Uuid::derived(Uuid(), "other");
    co_await host.start_as(other, "doubles", 1);
    EXPECT_EQ(co_await host.result<int>(other), 2);
    EXPECT_EQ((co_await host.compact(nothing())).removed, 1u);
    co_await look(host);
    EXPECT_EQ(co_await error_of(host.start_as(other, "doubles", 1)), Errc::id_retired);
  });
  EXPECT_EQ(effects.size(), 3u);
}

TEST_P(ArchiveTest, AnIdIsRefusedWhereverTheProcessDiedWhileItWasDropped) {
  std::size_t started_again = 0;
  world.crash_everywhere(
      [&] {
        effects.clear();
        started_again = 0;
      },
      [&](Host& host) -> Task<void> {
        try {
          co_await host.start_as(good, "doubles", 7);
          co_await host.result<int>(good);
        } catch (const Error& e) {
          if (e.code() != Errc::id_retired) throw;
        }
        co_await host.compact(nothing());
        try {
          co_await host.start_as(good, "doubles", 7);
          ++started_again;
        } catch (const Error& e) {
          if (e.code() != Errc::id_retired) throw;
        }
      },
      [&] {
        // The step itself may run twice, when the crash was before its record.
        EXPECT_EQ(started_again, 0u) << world.crashed_after;
        EXPECT_LE(effects.size(), 2u) << world.crashed_after;
      });
}

// ---- Promises ----

TEST_P(ArchiveTest, OnlyOneOfThreeCompletersAtOnceIsTheFirst) {
  std::vector<std::string> heard;
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("hopes");
    co_await sleep(1s);
    co_await scope([&](Scope& all) -> Task<void> {
      for (int i = 0; i < 3; ++i) {
        all.spawn([&, i]() -> Task<void> {
          const bool first = co_await host.complete(promise_id, i);
          heard.push_back(first ? "first" : "later");
        });
      }
      co_return;
    });
    EXPECT_EQ(co_await host.result<int>(id), 0);
  });
  std::sort(heard.begin(), heard.end());
  EXPECT_EQ(heard, (std::vector<std::string>{"first", "later", "later"}));
}

// A crash at every slice: whoever heard that a promise was completed is right.
TEST_P(ArchiveTest, NobodyHearsThatAPromiseWasCompletedWhichACrashTakesBack) {
  bool heard = false;
  const Uuid id = Uuid::derived(Uuid(), "hopes");
  for (const bool at_rest : {false, true}) {
    std::size_t late = 0;
    world.crash_everywhere(
        [&] { heard = false; },
        [&](Host& host) -> Task<void> {
          co_await host.start_as(id, "hopes");
          if (heard) {
            // Another process asks: it must not be the first.
            if (host.info(id)->status == DurableStatus::paused) co_await host.resume(id);
            if (co_await host.result<int>(id) == 3) ++late;
            co_return;
          }
          while (promise_id.nil()) co_await sleep(1s);
          co_await sleep(1s);
          if (at_rest && host.info(id)->status == DurableStatus::running) co_await host.pause(id);
          co_await scope([&](Scope& all) -> Task<void> {
            all.spawn([&]() -> Task<void> { co_await host.complete(promise_id, 1); });
            all.spawn([&]() -> Task<void> {
              const bool first = co_await host.complete(promise_id, 2);
              if (!first && CrashTest::alive()) heard = true;
            });
            co_return;
          });
          if (host.info(id)->status == DurableStatus::paused) co_await host.resume(id);
          co_await host.result<int>(id);
        },
        [] {});
    EXPECT_EQ(late, 0u);
  }
}

TEST_P(ArchiveTest, APromiseThatIsCompletedAgainAfterTheEndOfItsTaskGivesFalse) {
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("hopes");
    co_await sleep(1s);
    EXPECT_TRUE(co_await host.complete(promise_id, 1));
    EXPECT_EQ(co_await host.result<int>(id), 1);
    EXPECT_FALSE(co_await host.complete(promise_id, 2));
    EXPECT_FALSE(co_await host.complete_json(promise_id, "no", false));
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_FALSE(co_await host.complete(promise_id, 3));
    EXPECT_FALSE(co_await host.complete(promise_id, 3));
    EXPECT_EQ(co_await host.result<int>(id), 1);
    EXPECT_EQ(co_await error_of(host.complete(Uuid::derived(id, "x"), 3)), Errc::unknown_durable);
  });
}

TEST_P(ArchiveTest, APromiseThatNobodyCompletedBeforeItsTaskEndedCannotBeAnyMore) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("hopes");
    co_await sleep(1s);
    co_await host.kill(id, "enough");
    EXPECT_EQ(co_await error_of(host.complete(promise_id, 1)), Errc::durable_stopped);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.complete(promise_id, 1)), Errc::durable_stopped);
  });
}

TEST_P(ArchiveTest, APromiseOfAPausedTaskIsCompletedOnceAndIsThereWhenItGoesOn) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("hopes");
    co_await sleep(1s);
    co_await host.pause(id);
    EXPECT_TRUE(co_await host.complete(promise_id, 4));
    EXPECT_FALSE(co_await host.complete(promise_id, 5));
    co_await host.resume(id);
    EXPECT_EQ(co_await host.result<int>(id), 4);
    EXPECT_FALSE(co_await host.complete(promise_id, 6));
  });
}

}  // namespace archive_test
}  // namespace tiffany
