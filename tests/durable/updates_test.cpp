// Updates: requests that a task may refuse, and whose answers are recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace updates_test {

using namespace std::chrono_literals;

constexpr UpdateName<int, int> add{"add"};
constexpr UpdateName<std::string, int> add_text{"add"};
constexpr UpdateName<int, void> stop{"stop"};
constexpr UpdateName<int, std::string> slow{"slow"};
constexpr UpdateName<int, int> unheard{"unheard"};

const Uuid kId = Uuid::derived(Uuid(), "sum");
Uuid update_id(int number) { return Uuid::derived(Uuid(), "update " + std::to_string(number)); }

void not_negative(int number) {
  if (number < 0) throw std::invalid_argument("a negative number");
}

// Sums what it is told until it is stopped.
Durable<int> sums(Flow& flow) {
  int sum = 0;
  bool stopped = false;
  const auto adds = flow.on_update(add, not_negative, [&](int number) { return sum += number; });
  const auto stops = flow.on_update(stop, [&](int) { stopped = true; });
  co_await flow.wait_until([&] { return stopped; });
  co_return sum;
}

class UpdateTest : public MemoryTest {
 protected:
  template <class T>
  static Task<std::string> sentence_of(Task<T> task) {
    try {
      co_await std::move(task);
    } catch (const Error& e) {
      co_return e.what();
    }
    co_return "";
  }
};
TIFFANY_IN_EVERY_STORE(UpdateTest);

TEST_P(UpdateTest, AnUpdateIsAnsweredByTheCodeOfTheTask) {
  only("sums", sums);
  world.live([&](Host& host) -> Task<void> {
    const DurableRef<int> ref = co_await host.start(StartOptions().id(kId), sums);
    EXPECT_EQ(co_await ref.update(add, 5), 5);
    EXPECT_EQ(co_await host.update(kId, add, 7), 12);
    co_await ref.update(stop, 0);
    EXPECT_EQ(co_await ref.result(), 12);
  });
}

TEST_P(UpdateTest, WhatTheValidatorRefusesIsNotRecorded) {
  only("sums", sums);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "sums");
    EXPECT_EQ(co_await host.update(kId, add, 1), 1);
    EXPECT_EQ(co_await error_of(host.update(kId, add, -1)), Errc::update_refused);
    EXPECT_NE((co_await sentence_of(host.update(kId, add, -1))).find("a negative number"),
              std::string::npos);
    EXPECT_EQ(co_await host.update(kId, add, 2), 3);
    co_await host.close();
  });
  std::size_t requests = 0;
  for (const std::string& line : world.lines(kId)) {
    requests += line.find(R"("update":"add")") != std::string::npos ? 1 : 0;
    EXPECT_EQ(line.find(R"("value":-1)"), std::string::npos) << line;
  }
  EXPECT_EQ(requests, 2u);
}

TEST_P(UpdateTest, TheSameIdGivesTheSameAnswerWhereverTheProcessIsCutOff) {
  only("sums", sums);
  world.crash_everywhere(
      [] {},
      [&](Host& host) -> Task<void> {
        co_await host.start_as(kId, "sums");
        for (int i = 1; i <= 4; ++i) {
          EXPECT_EQ(co_await host.update(kId, add, i, update_id(i)), i * (i + 1) / 2)
              << world.crashed_after;
        }
        EXPECT_EQ(co_await host.update(kId, add, 2, update_id(2)), 3) << "it has gone on since";
        co_await host.update(kId, stop, 0, update_id(5));
        EXPECT_EQ(co_await host.result<int>(kId), 10) << world.crashed_after;
        EXPECT_EQ(co_await host.update(kId, add, 3, update_id(3)), 6) << "it has ended";
      },
      [] {});
}

TEST_P(UpdateTest, ARefusalSaysWhyAndRecordsNothing) {
  only("sums", sums);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.update(kId, add, 1)), Errc::unknown_durable);
    co_await host.start_as(kId, "sums");
    EXPECT_EQ(co_await error_of(host.update(kId, unheard, 1)), Errc::unknown_durable);
    EXPECT_EQ(co_await error_of(host.update(kId, add_text, "one")), Errc::bad_json);
    EXPECT_EQ(co_await error_of(host.update_json(kId, "add", "[1,")), Errc::bad_json);
    EXPECT_EQ(co_await error_of(host.update_json(kId, "", "1")), Errc::bad_argument);
    EXPECT_EQ(co_await host.update(kId, add, 1, update_id(1)), 1);
    EXPECT_EQ(co_await error_of(host.update(kId, add, 2, update_id(1))), Errc::update_conflict);
    co_await host.pause(kId);
    EXPECT_EQ(co_await error_of(host.update(kId, add, 1)), Errc::durable_stopped);
    co_await host.resume(kId);
    EXPECT_EQ(co_await host.update(kId, add, 1), 2);
    co_await host.update(kId, stop, 0);
    EXPECT_EQ(co_await host.result<int>(kId), 2);
    EXPECT_EQ(co_await error_of(host.update(kId, add, 1)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.update(kId, add, 2, update_id(1))), Errc::update_conflict);
  });
}

TEST_P(UpdateTest, AnEvictedTaskIsWokenByAnUpdate) {
  world.host_options.hot_tasks = 1;
  only("sums", sums);
  world.live([&](Host& host) -> Task<void> {
    std::vector<Uuid> all;
    for (int i = 0; i < 4; ++i) all.push_back(co_await host.start("sums"));
    for (int round = 1; round <= 3; ++round) {
      for (const Uuid& id : all) EXPECT_EQ(co_await host.update(id, add, 2), 2 * round);
      co_await sleep(1s);
    }
  });
}

// ---- Handlers that wait ----

Durable<int> serves(Flow& flow) {
  int sum = 0;
  bool stopped = false;
  const auto adds = flow.on_update(slow, not_negative, [&](int number) -> Durable<std::string> {
    const int doubled = co_await flow.step("double", [&] {
      effects.push_back(std::to_string(number));
      return 2 * number;
    });
    co_await flow.sleep(1h);
    sum += doubled;
    co_return "sum " + std::to_string(sum);
  });
  const auto stops = flow.on_update(stop, [&](int) { stopped = true; });
  co_await flow.serve([&] { return stopped; });
  co_return sum;
}

TEST_P(UpdateTest, AHandlerMayAwaitStepsWhereverTheProcessIsCutOff) {
  only("serves", serves);
  world.crash_everywhere(
      [] { effects.clear(); },
      [&](Host& host) -> Task<void> {
        co_await host.start_as(kId, "serves");
        EXPECT_EQ(co_await host.update(kId, slow, 1, update_id(1)), "sum 2") << world.crashed_after;
        EXPECT_EQ(co_await host.update(kId, slow, 2, update_id(2)), "sum 6") << world.crashed_after;
        EXPECT_EQ(co_await host.update(kId, slow, 1, update_id(1)), "sum 2");
        co_await host.update(kId, stop, 0, update_id(3));
        EXPECT_EQ(co_await host.result<int>(kId), 6) << world.crashed_after;
      },
      [&] { EXPECT_LE(effects.size(), 3u) << world.crashed_after; });
}

TEST_P(UpdateTest, HandlersThatWaitAreCalledOneAtATimeInTheOrderOfArrivals) {
  only("serves", serves);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "serves");
    const auto ask = [](Host* to, int number) -> Task<std::string> {
      co_return co_await to->update(kId, slow, number);
    };
    auto first = spawn(ask, &host, 1);
    auto second = spawn(ask, &host, 2);
    auto third = spawn(ask, &host, 3);
    const auto all = co_await gather(first, second, third);
    EXPECT_EQ(std::get<0>(all), "sum 2");
    EXPECT_EQ(std::get<1>(all), "sum 6");
    EXPECT_EQ(std::get<2>(all), "sum 12");
  });
}

TEST_P(UpdateTest, ACancelEndsAHandlerThatWaitsAndItsCallerIsTold) {
  only("serves", serves);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "serves");
    const auto ask = [](Host* to) -> Task<Errc> { return error_of(to->update(kId, slow, 1)); };
    auto asks = spawn(ask, &host);
    co_await sleep(1s);
    co_await host.cancel(kId, "enough");
    EXPECT_EQ(co_await asks, Errc::durable_failed);
    EXPECT_EQ(co_await error_of(host.result<int>(kId)), Errc::durable_cancelled);
  });
}

TEST_P(UpdateTest, APausedTaskAnswersWhatItWasAskedBeforeWhenItGoesOn) {
  only("serves", serves);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "serves");
    const auto ask = [](Host* to) -> Task<Errc> {
      return error_of(to->update(kId, slow, 1, update_id(1)));
    };
    auto asks = spawn(ask, &host);
    co_await sleep(1s);
    co_await host.pause(kId);
    EXPECT_EQ(co_await asks, Errc::durable_stopped);
    co_await host.resume(kId);
    EXPECT_EQ(co_await host.update(kId, slow, 1, update_id(1)), "sum 2");
  });
}

TEST_P(UpdateTest, AHostThatIsClosedTellsThoseWhoWait) {
  only("serves", serves);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "serves");
    const auto ask = [](Host* to) -> Task<Errc> {
      return error_of(to->update(kId, slow, 1, update_id(1)));
    };
    auto asks = spawn(ask, &host);
    co_await sleep(1s);
    co_await host.close();
    EXPECT_EQ(co_await asks, Errc::durable_stopped);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.update(kId, slow, 1, update_id(1)), "sum 2");
  });
}

TEST_P(UpdateTest, ATaskThatIsQueuedAnswersWhenItHasBegun) {
  world.types = [] {
    Registry types;
    types.add("sums", 1, sums, TypeOptions().at_most(1));
    return types;
  };
  world.live([&](Host& host) -> Task<void> {
    const Uuid first = co_await host.start("sums");
    co_await host.start_as(kId, "sums");
    const auto ask = [](Host* to) -> Task<int> { co_return co_await to->update(kId, add, 4); };
    auto asks = spawn(ask, &host);
    co_await sleep(1s);
    EXPECT_EQ(host.info(kId)->status, DurableStatus::queued);
    co_await host.update(first, stop, 0);
    EXPECT_EQ(co_await asks, 4);
  });
}

TEST_P(UpdateTest, UpdatesOfTasksThatAreEvictedAtOnceAreDoneOnceWhereverTheProcessIsCutOff) {
  world.host_options.hot_tasks = 0;
  only("serves", serves);
  world.crash_everywhere(
      [] {},
      [&](Host& host) -> Task<void> {
        co_await host.start_as(kId, "serves");
        EXPECT_EQ(co_await host.update(kId, slow, 1, update_id(1)), "sum 2") << world.crashed_after;
        EXPECT_EQ(co_await host.update(kId, slow, 2, update_id(2)), "sum 6") << world.crashed_after;
        co_await host.update(kId, stop, 0, update_id(3));
        EXPECT_EQ(co_await host.result<int>(kId), 6) << world.crashed_after;
      },
      [] {});
}

// In a step of its own task: a plain handler is called while the step runs, one that waits is not.
Host* own_host = nullptr;
Durable<std::string> updates_itself(Flow& flow) {
  int sum = 0;
  const auto adds = flow.on_update(add, [&](int number) { return sum += number; });
  const auto slows = flow.on_update(slow, [&](int) -> Durable<std::string> { co_return "?"; });
  const int got = co_await flow.step("plain", [] { return own_host->update(kId, add, 3); });
  std::string text = std::to_string(got) + " ";
  try {
    co_await flow.step("slow", [] { return own_host->update(kId, slow, 3); });
  } catch (const StepFailed& e) {
    text += std::to_string(static_cast<int>(*e.cause()));
  }
  co_return text;
}

TEST_P(UpdateTest, AStepMayUpdateItsOwnTaskUnlessTheHandlerWaitsForTheStep) {
  only("task", updates_itself);
  world.live([&](Host& host) -> Task<void> {
    own_host = &host;
    co_await host.start_as(kId, "task");
    EXPECT_EQ(co_await host.result<std::string>(kId),
              "3 " + std::to_string(static_cast<int>(Errc::self_join)));
  });
}

// ---- What a handler may do ----

Durable<std::string> uses_flow(Flow& flow) {
  std::string text;
  const auto adds = flow.on_update(add, [&](int number) {
    if (number == 13) throw Error(Errc::bad_argument, "thirteen");
    flow.set_attribute("last", number);
    text += std::to_string(flow.random().below(1000)) + " ";
    return number + static_cast<int>(text.size());
  });
  co_await flow.sleep(100h);
  co_return text;
}

TEST_P(UpdateTest, AHandlerUsesTheFlowAndFailsTheSameInEveryReplay) {
  only("uses_flow", uses_flow);
  for (int life = 0; life < 3; ++life) {
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(kId, "uses_flow");
      co_await host.update(kId, add, 1, update_id(1));
      try {
        co_await host.update(kId, add, 13, update_id(13));
        ADD_FAILURE() << "thirteen is refused";
      } catch (const DurableFailed& e) {
        EXPECT_STREQ(e.what(), "thirteen");
        EXPECT_EQ(e.cause(), Errc::bad_argument);
      }
      co_await host.update(kId, add, 2, update_id(2));
      if (life < 2) co_return;
      const std::string all = co_await host.result<std::string>(kId);
      EXPECT_EQ(std::count(all.begin(), all.end(), ' '), 2);
    });
    EXPECT_EQ(world.recovery.diverged, 0u);
  }
}

int factor = 1;
Durable<void> other_answers(Flow& flow) {
  const auto adds = flow.on_update(add, [](int number) { return factor * number; });
  co_await flow.sleep(100h);
}

TEST_P(UpdateTest, AReplayThatAnswersOtherwiseIsADivergence) {
  only("task", other_answers);
  factor = 1;
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "task");
    EXPECT_EQ(co_await host.update(kId, add, 3, update_id(1)), 3);
  });
  factor = 2;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(kId)->status, DurableStatus::diverged);
    EXPECT_EQ(co_await error_of(host.update(kId, add, 3, update_id(1))), Errc::durable_stopped);
  });
  factor = 1;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.update(kId, add, 3, update_id(1)), 3);
  });
}

Durable<std::string> handles_for_an_hour(Flow& flow) {
  {
    const auto adds = flow.on_update(slow, [](int) -> Durable<std::string> { co_return "?"; });
    co_await flow.sleep(1h);
  }
  co_await flow.sleep(1h);
  co_return "over";
}

TEST_P(UpdateTest, AnUpdateThatNobodyHandlesEndsWithItsTask) {
  only("task", handles_for_an_hour);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "task");
    EXPECT_EQ(co_await error_of(host.update(kId, slow, 1, update_id(1))), Errc::durable_stopped)
        << "it is not served";
    EXPECT_EQ(co_await host.result<std::string>(kId), "over");
  });
}

TEST_P(UpdateTest, ThereIsABoundOnUpdatesThatWait) {
  only("task", handles_for_an_hour);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "task");
    const auto ask = [](Host* to, int number) -> Task<Errc> {
      return error_of(to->update(kId, slow, number));
    };
    std::vector<Handle<Errc>> all;
    for (int i = 0; i <= static_cast<int>(kMostWaitingUpdates); ++i) {
      all.push_back(spawn(ask, &host, i));
    }
    std::size_t too_many = 0;
    for (const Handle<Errc>& each : all) {
      const Errc end = co_await each;
      too_many += end == Errc::too_many_updates ? 1 : 0;
      EXPECT_TRUE(end == Errc::too_many_updates || end == Errc::durable_stopped);
    }
    EXPECT_EQ(too_many, 1u);
  });
}

// ---- Checkpoints ----

// Counts in its checkpoints; what comes while one is being made is handled after it.
Durable<int> checkpoints(Flow& flow) {
  int sum = flow.state(0);
  const auto adds = flow.on_update(add, not_negative, [&](int number) { return sum += number; });
  const int before = sum;
  co_await flow.wait_until([&] { return sum != before; });
  if (sum >= 10) co_return sum;
  co_await flow.checkpoint(sum);
  co_return 0;
}

TEST_P(UpdateTest, AnswersAndUpdatesThatWaitAreKeptOverCheckpoints) {
  only("task", checkpoints);
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(kId, "task");
                           const auto ask = [](Host* to, int number) -> Task<int> {
                             co_return co_await to->update(kId, add, number, update_id(number));
                           };
                           for (int i = 1; i <= 3; i += 2) {
                             auto one = spawn(ask, &host, i);
                             auto two = spawn(ask, &host, i + 1);
                             const auto both = co_await gather(one, two);
                             EXPECT_EQ(std::get<0>(both), i == 1 ? 1 : 6) << world.crashed_after;
                             EXPECT_EQ(std::get<1>(both), i == 1 ? 3 : 10) << world.crashed_after;
                           }
                           EXPECT_EQ(co_await host.result<int>(kId), 10);
                           EXPECT_EQ(co_await host.update(kId, add, 1, update_id(1)), 1);
                           EXPECT_EQ(co_await error_of(host.update(kId, add, 9, update_id(1))),
                                     Errc::update_conflict);
                         },
                         [] {});
}

Durable<std::string> checkpoint_in_handler(Flow& flow) {
  std::string text;
  const auto adds = flow.on_update(slow, [&](int) -> Durable<std::string> {
    try {
      co_await flow.checkpoint(1);
    } catch (const Error& e) {
      text = std::to_string(static_cast<int>(e.code()));
    }
    co_return text;
  });
  co_await flow.serve([&] { return !text.empty(); });
  co_return text;
}

TEST_P(UpdateTest, ACheckpointInAHandlerIsRefused) {
  only("task", checkpoint_in_handler);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "task");
    EXPECT_EQ(co_await host.update(kId, slow, 1), "317");
    EXPECT_EQ(co_await host.result<std::string>(kId), "317");
  });
}

Durable<int> keeps_some(Flow& flow) {
  int sum = 0;
  const auto adds = flow.on_update(add, [&](int number) { return sum += number; });
  co_await flow.sleep(1000h);
  co_return sum;
}

TEST_P(UpdateTest, SoManyAnswersAreKeptAndOlderOnesAreForgotten) {
  only("task", keeps_some);
  const int last = static_cast<int>(kAnswersKept) + 1;
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kId, "task");
    for (int i = 1; i <= last; ++i) co_await host.update(kId, add, 1, update_id(i));
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.update(kId, add, 1, update_id(2)), 2);
    EXPECT_EQ(co_await host.update(kId, add, 1, update_id(last)), last);
    EXPECT_EQ(co_await host.update(kId, add, 1, update_id(1)), last + 1) << "a new one";
  });
  for (int life = 0; life < 2; ++life) {
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(host.info(kId)->status, DurableStatus::running) << host.info(kId)->detail;
      EXPECT_EQ(co_await host.update(kId, add, 1, update_id(1)), last + 1) << "it has an answer";
      EXPECT_EQ(co_await host.update(kId, add, 1, update_id(last)), last);
      if (life == 0) co_await host.update(kId, add, 1, update_id(2));
    });
  }
}

// An answer that is forgotten while its record is on its way to the disk.
TEST_P(UpdateTest, ManyUpdatesAtOnceAreAnsweredOrTheirCallersAreTold) {
  only("task", keeps_some);
  for (int turns = 0; turns < 12; ++turns) {
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(kId, "task");
      const auto ask = [](Host* to, int number) -> Task<Errc> {
        return error_of(to->update(kId, add, 1, update_id(number)));
      };
      std::vector<Handle<Errc>> all;
      for (int i = 0; i < 3 * static_cast<int>(kAnswersKept); ++i) {
        all.push_back(spawn(ask, &host, 1000 * (turns + 1) + i));
      }
      for (int i = 0; i < turns; ++i) co_await yield();
      co_await host.close();
      for (const auto& each : all) {
        const Errc end = co_await each;
        EXPECT_TRUE(end == Errc{} || end == Errc::durable_stopped || end == Errc::durable_misuse)
            << static_cast<int>(end);
      }
    });
  }
}

}  // namespace updates_test
}  // namespace tiffany
