// CrashTest::tear_everywhere: durable tasks on a disk that tears writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/saga.hpp"

namespace tiffany {
namespace tear_test {

using namespace std::chrono_literals;

const Uuid kTask = Uuid::derived(Uuid(), "torn");

class TearTest : public MemoryTest {};
TIFFANY_IN_BOTH_LAYOUTS(TearTest);

std::map<std::string, int> done;  // by the keys of steps
void do_once(Attempt& attempt) {
  if (CrashTest::alive()) ++done[attempt.key()];
}

Durable<int> leaf(Flow& flow, int x) {
  co_await flow.step("leaf", do_once);
  co_await flow.sleep(1h);
  co_return x * 10;
}
Durable<std::string> tree(Flow& flow) {
  std::string all = flow.state(std::string());
  if (all.empty()) {
    try {
      co_await flow.step("once", StepOptions().at_most_once(), [] {});
    } catch (const StepUnknown&) {
      // begun before the crash: nobody knows
    }
    auto one = co_await flow.spawn<int>("leaf", 1);
    auto two = co_await flow.spawn<int>("leaf", 2);
    all = co_await flow.step("long", [] { return std::string(70'000, 'x'); });
    all = all.substr(0, 3) + std::to_string(co_await one + co_await two);
    co_await flow.checkpoint(all);
  }
  co_await flow.step("last", do_once);
  co_return all + co_await flow.signal<std::string>("word");
}
Registry tree_types() {
  Registry types;
  types.add("tree", 1, tree);
  types.add("leaf", 1, leaf);
  return types;
}

TEST_P(TearTest, EverythingThatWasAcknowledgedIsThereHoweverTheRestIsTorn) {
  world.types = tree_types;
  std::size_t cut = 0;
  std::size_t trials = 0;
  world.tear_everywhere([&] { done.clear(); },
                        [&](Host& host) -> Task<void> {
                          EXPECT_EQ(world.recovery.quarantined, 0U) << world.recovery.text();
                          for (const std::string& note : world.recovery.notes) {
                            const bool whole = note.find("unfinished write") == std::string::npos;
                            EXPECT_FALSE(whole) << note;  // nothing else is damaged
                            cut += whole ? 0 : 1;
                          }
                          co_await host.start_as(kTask, "tree");
                          if (host.info(kTask)->status == DurableStatus::running) {
                            try {
                              co_await host.signal(kTask, "word", std::string("!"));
                            } catch (const Error& e) {
                              EXPECT_EQ(e.code(), Errc::durable_stopped) << e.what();
                            }
                          }
                          EXPECT_EQ(co_await host.result<std::string>(kTask), "xxx30!");
                        },
                        [&] {
                          ++trials;
                          // A step may be run again when its end was lost, and is not forgotten.
                          EXPECT_EQ(done.size(), 3U) << world.crashed_after << " " << world.tear;
                        });
  EXPECT_GT(cut, 10U) << "writes were torn in " << trials << " trials";
}

TEST_P(TearTest, ASagaIsUndoneHoweverWritesAreTorn) {
  static std::vector<std::string> kept;
  struct Body {
    static void give_back(std::string what) { std::erase(kept, what); }
    static Durable<void> take_two(Flow& flow, Saga& saga) {
      for (const char* const what : {"room", "seat"}) {
        saga.undo(std::string("undo ") + what, give_back, std::string(what));
        co_await flow.step(what, [&] {
          if (CrashTest::alive() && std::find(kept.begin(), kept.end(), what) == kept.end()) {
            kept.emplace_back(what);
          }
        });
      }
      throw NotRetryable("no more");
    }
    static Durable<void> trip(Flow& flow) { co_await run_saga(flow, take_two); }
  };
  only("trip", Body::trip);
  world.tear_everywhere([] { kept.clear(); },
                        [](Host& host) -> Task<void> {
                          co_await host.start_as(kTask, "trip");
                          EXPECT_EQ(co_await error_of(host.result_json(kTask)),
                                    Errc::durable_failed);
                        },
                        [&] { EXPECT_TRUE(kept.empty()) << world.crashed_after; });
}

TEST_P(TearTest, ATrialIsTheSameEachTime) {
  world.types = tree_types;
  const auto traces = [&] {
    std::vector<std::uint64_t> all;
    world.tear_everywhere([] {},
                          [&](Host& host) -> Task<void> {
                            co_await host.start_as(kTask, "tree");
                            co_await sleep(30min);
                          },
                          [&] { all.push_back(world.trace); });
    return all;
  };
  EXPECT_EQ(traces(), traces());
}

TEST_P(TearTest, AnotherStoreThanALogIsRefused) {
  world.provider = database_provider();
  if (world.provider == nullptr) return;
  EXPECT_THROW(world.tear_everywhere([] {}, [](Host&) -> Task<void> { co_return; }, [] {}), Error);
}

}  // namespace tear_test
}  // namespace tiffany
