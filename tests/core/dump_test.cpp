// P6: what every task waits for, where, since when, and who wants it to stop. The dump of a program
// of ten tasks, to the byte, is examples/bakery.
#include "tiffany/core/dump.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/spawn_chain.hpp"

namespace tiffany {
namespace dump_test {

using namespace test;

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

// A dump as data. Tasks by name.
class Seen final : public DumpVisitor {
 public:
  explicit Seen(const Scheduler& of) { of.dump(*this); }

  void on_scheduler(const SchedulerView& view) override { scheduler = view; }
  void on_scope(const ScopeView& view) override { scopes.push_back(view); }
  void on_task(const TaskView& view) override {
    order.push_back(view.task.id().text());
    SeenTask& task = tasks[std::string(view.task.name())];
    task.state = view.task.state();
    task.call = view.call;
    task.waits_for = view.waits_for;
    task.since = view.since;
    task.frames = view.stack.sites().size();
    task.hidden = view.stack.hidden();
    task.spawns = view.spawned.steps().size();
    task.scope = view.scope.text();
    task.cancel = view.cancel;
    task.shielded = view.shielded;
  }

  struct SeenTask {
    TaskState state;
    std::string call;
    std::string waits_for;
    std::optional<Time> since;
    std::size_t frames;
    std::size_t hidden;
    std::size_t spawns;
    std::string scope;
    CancelReasonPtr cancel;
    bool shielded;
  };
  SchedulerView scheduler;
  std::vector<ScopeView> scopes;
  std::map<std::string, SeenTask> tasks;
  Trace order;
};

Task<void> nap(Duration time) { co_await sleep(time); }

TEST(Dump, P6_AnEmptySchedulerHasOneScopeAndNoTasks) {
  Scheduler scheduler(Options().virtual_time());
  EXPECT_EQ(scheduler.dump_text(),
            "Scheduler at 0 ns: 0 tasks\n"
            "  0 timers armed, 0 external promises pending, 0 slices\n"
            "  spawned 0, completed 0, failed 0, cancelled 0\n"
            "  trace hash 0000000000000000\n"
            "scope root: 0 tasks\n");
  EXPECT_EQ(scheduler.dump_json(),
            "{\"now_ns\":0,\"live\":0,\"ready\":0,\"states\":{},\"blocked\":{},\"timers\":0,"
            "\"externals\":0,\"slices\":0,\"spawned\":0,\"completed\":0,\"failed\":0,"
            "\"cancelled\":0,\"trace_hash\":\"0000000000000000\",\n"
            "\"scopes\":[\n{\"name\":\"root\",\"tasks\":0}\n],\n\"tasks\":[\n]}");
}

TEST(Dump, P6_SaysSinceWhenAndAgainAfterEachWait) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    co_await sleep(3ms);
    co_await sleep(4ms);
  };
  scheduler.spawn(std::ref(program)).named("sleeper");
  scheduler.run_until(Time(2ms));
  EXPECT_EQ(Seen(scheduler).tasks["sleeper"].since, Time(0ms));
  expect_in(scheduler.dump_text(),
            "task #1 \"sleeper\": blocked in sleep for 2 ms, since 0 ns\n"
            "      waits for the time 3 ms\n      at dump_test.cpp:");
  scheduler.run_until(Time(5ms));
  EXPECT_EQ(Seen(scheduler).tasks["sleeper"].since, Time(3ms));
  expect_in(scheduler.dump_text(), "blocked in sleep for 2 ms, since 3 ms\n");
  scheduler.run();
}

TEST(Dump, P6_EveryStateAndTheOrderOfTheSlots) {
  Scheduler scheduler(Options().virtual_time().quantum(2));
  std::optional<Seen> seen;
  const auto program = [&]() -> Task<void> {
    Promise<void> promise;
    const auto waits = [](Future<void> future) -> Task<void> { co_await future; };
    const auto yields = []() -> Task<void> { co_await yield(); };
    const auto counts = []() -> Task<void> {
      co_await checkpoint();
      co_await checkpoint();
      co_await sleep(1ms);
    };
    auto woken = spawn(waits, promise.future()).named("woken");
    auto blocked = spawn(nap, 1ms).named("blocked");
    auto suspended = spawn(yields).named("suspended");
    auto preempted = spawn(counts).named("preempted");
    co_await yield();
    promise.complete();
    auto pending = spawn(nap, 1ms).named("pending");
    seen.emplace(scheduler);
    EXPECT_EQ(seen->scheduler.ready(), scheduler.ready_len());
    co_await gather(woken, blocked, suspended, preempted, pending);
  };
  scheduler.spawn(std::ref(program)).named("running");
  scheduler.run();
  EXPECT_EQ(seen->order, Trace({"#1", "#2", "#3", "#4", "#5", "#6"}));
  EXPECT_EQ(seen->tasks["running"].state, TaskState::running);
  EXPECT_EQ(seen->tasks["running"].frames, 0u) << "it has noted only where it was last";
  EXPECT_EQ(seen->tasks["woken"].state, TaskState::ready);
  EXPECT_EQ(seen->tasks["woken"].call, "") << "what it waited for has arrived";
  EXPECT_FALSE(seen->tasks["woken"].since);
  EXPECT_EQ(seen->tasks["blocked"].state, TaskState::blocked);
  EXPECT_EQ(seen->tasks["blocked"].call, "sleep");
  EXPECT_EQ(seen->tasks["suspended"].state, TaskState::suspended);
  EXPECT_EQ(seen->tasks["suspended"].frames, 1u);
  EXPECT_EQ(seen->tasks["preempted"].state, TaskState::preempted);
  EXPECT_EQ(seen->tasks["pending"].state, TaskState::pending);
  EXPECT_EQ(seen->tasks["pending"].frames, 0u);
  EXPECT_EQ(seen->scheduler.live(), 6u);
}

// While it runs, the frame that a task was suspended in last may be gone.
TEST(Dump, P6_ARunningTaskWhoseCallHasEndedCanBeShown) {
  std::string text;
  const auto program = [&]() -> Task<void> {
    co_await nap(1ms);
    text = Scheduler::current()->dump_text();
  };
  run_program(program);
  expect_in(text, "task #1 \"main\": running\n      spawned at harness.hpp:");
}

TEST(Dump, P4_CountsWhatHasEndedAndHow) {
  Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
  const auto program = [&]() -> Task<void> {
    const auto fails = []() -> Task<void> {
      co_await yield();
      throw 1;
    };
    ExternalPromise<int> outside;
    for (int i = 0; i < 3; ++i) co_await spawn(nap, 1ms);
    for (int i = 0; i < 2; ++i) spawn(fails);
    auto unlucky = spawn(nap, 1h);
    co_await sleep(1ms);
    unlucky.cancel();
    auto left = spawn(nap, 1h);
    co_await yield();
    const Seen seen(scheduler);
    EXPECT_EQ(seen.scheduler.completed, 3u);
    EXPECT_EQ(seen.scheduler.failed, 2u);
    EXPECT_EQ(seen.scheduler.cancelled, 1u);
    EXPECT_EQ(seen.scheduler.spawned, 8u);
    EXPECT_EQ(seen.scheduler.live(), scheduler.live_tasks());
    EXPECT_EQ(seen.scheduler.timers, 1u);
    EXPECT_EQ(seen.scheduler.externals, 1u);
    EXPECT_EQ(seen.scheduler.slices, scheduler.slices());
    EXPECT_EQ(seen.scheduler.trace_hash, scheduler.trace_hash());
    EXPECT_EQ(seen.scheduler.now, now());
    left.cancel();
    outside.complete(1);
  };
  scheduler.spawn(std::ref(program));
  scheduler.run();
  EXPECT_EQ(Seen(scheduler).scheduler.spawned, 8u);
}

// A call of one's own is known by its name, too.
class Doze final : public SystemCall {
 public:
  static constexpr CallName call_name{"doze"};
  Answer start(Scheduler&, TaskRecord&) { return Answer::parked; }
  void withdraw(TaskRecord&) noexcept override {}
  void finish() noexcept {}
  std::string describe() const override { return "nothing in \"particular\"\n"; }
  bool waits_for_outside() const noexcept override { return true; }
};

TEST(Dump, P4_CountsTheBlockedByCall) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = [&]() -> Task<void> {
    const auto dozes = []() -> Task<void> { co_await Doze(); };
    auto a = spawn(dozes).named("dozer \xff");
    auto b = spawn(dozes);
    auto c = spawn(nap, 1ms);
    co_await gather(a, b, c);
  };
  scheduler.spawn(std::ref(program));
  scheduler.step_until_idle();
  const Seen seen(scheduler);
  using Counts = std::vector<std::pair<std::string_view, std::size_t>>;
  EXPECT_EQ(seen.scheduler.blocked, Counts({{"doze", 2}, {"gather", 1}, {"sleep", 1}}));
  expect_in(scheduler.dump_text(), "\n  blocked in doze: 2, gather: 1, sleep: 1\n");
  expect_in(scheduler.dump_json(), "\"blocked\":{\"doze\":2,\"gather\":1,\"sleep\":1}");
  expect_in(scheduler.dump_json(),
            "\"name\":\"dozer \xEF\xBF\xBD\",\"state\":\"blocked\",\"call\":\"doze\","
            "\"waits_for\":\"nothing in \\\"particular\\\"\\n\"");
  scheduler.shutdown();
}

TEST(Dump, P6_ScopesFormATree) {
  Scheduler scheduler(Options().virtual_time());
  const auto child = []() -> Task<void> {
    co_await scope([](Scope& s) -> Task<void> {
      s.spawn(nap, 1h).named("grandchild");
      co_await sleep(1h);
    });
  };
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& outer) -> Task<void> {
      outer.set_timeout(10s);
      outer.spawn(nap, 1h).named("outer child");
      co_await scope([&](Scope& inner) -> Task<void> {
        inner.spawn(std::ref(child)).named("child");
        inner.cancel("enough");
        co_await shield(nap(1h));
      });
    });
  };
  scheduler.spawn(std::ref(program)).named("main");
  scheduler.step_until_idle();
  Seen seen(scheduler);
  ASSERT_EQ(seen.scopes.size(), 3u);
  EXPECT_EQ(seen.scopes[0].name.text(), "root");
  EXPECT_EQ(seen.scopes[0].tasks, 1u);
  EXPECT_EQ(seen.scopes[1].name.text(), "#1/1");
  EXPECT_EQ(seen.scopes[1].parent.text(), "root");
  EXPECT_EQ(seen.scopes[1].deadline, Time(10s));
  EXPECT_EQ(seen.scopes[1].cancel, nullptr);
  EXPECT_EQ(seen.scopes[2].name.text(), "#1/2");
  EXPECT_EQ(seen.scopes[2].parent.text(), "#1/1");
  EXPECT_EQ(seen.scopes[2].cancel->message, "enough");
  EXPECT_EQ(seen.tasks["main"].scope, "root");
  EXPECT_EQ(seen.tasks["outer child"].scope, "#1/1");
  expect_in(scheduler.dump_text(),
            "scope root: 1 task\n"
            "scope #1/1: 1 task, inside root, deadline 10 s\n"
            "scope #1/2: 0 tasks, inside #1/1\n      cancelled by task #1 at dump_test.cpp:");
  expect_in(scheduler.dump_json(),
            "{\"name\":\"#1/1\",\"owner\":\"#1\",\"parent\":\"root\",\"tasks\":1,"
            "\"deadline_ns\":10000000000},\n"
            "{\"name\":\"#1/2\",\"owner\":\"#1\",\"parent\":\"#1/1\",\"tasks\":0,"
            "\"cancel\":{\"cause\":\"requested\",\"message\":\"enough\",\"by\":\"#1\","
            "\"file\":\"dump_test.cpp\",\"line\":");
  scheduler.shutdown();
}

TEST(Dump, P6_AScopeInATaskOfAScopeIsInsideThatOne) {
  Scheduler scheduler(Options().virtual_time());
  const auto child = []() -> Task<void> {
    co_await scope([](Scope& s) -> Task<void> {
      s.spawn(nap, 1h).named("grandchild");
      co_return;
    });
  };
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(std::ref(child)).named("child");
      co_return;
    });
  };
  scheduler.spawn(std::ref(program)).named("main");
  scheduler.step_until_idle();
  Seen seen(scheduler);
  ASSERT_EQ(seen.scopes.size(), 3u);
  EXPECT_EQ(seen.scopes[2].name.text(), "#2/1");
  EXPECT_EQ(seen.scopes[2].parent.text(), "#1/1");
  EXPECT_EQ(seen.tasks["grandchild"].scope, "#2/1");
  scheduler.shutdown();
}

TEST(Dump, P6_SaysWhoAskedForACancelWhereAndWhen) {
  Scheduler scheduler(Options().virtual_time());
  const auto stubborn = []() -> Task<void> { co_await shield(nap(1h)); };
  const auto unwinding = []() -> Task<void> {
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
    }
    co_await shield(nap(1h));
  };
  const auto limited = []() -> Task<void> { static_cast<void>(co_await within(1ms, nap(1h))); };
  auto first = scheduler.spawn(std::ref(stubborn)).named("stubborn");
  auto second = scheduler.spawn(std::ref(unwinding)).named("unwinding");
  auto third = scheduler.spawn(std::ref(limited)).named("limited");
  const auto program = [&]() -> Task<void> {
    co_await sleep(5ms);
    first.cancel("too long", std::source_location::current());
    second.cancel();
  };
  scheduler.spawn(std::ref(program)).named("boss");
  scheduler.run_until(Time(6ms));
  Seen seen(scheduler);
  const CancelReason& reason = *seen.tasks["stubborn"].cancel;
  EXPECT_EQ(reason.requester, TaskId(4, 1));
  EXPECT_EQ(reason.message, "too long");
  EXPECT_EQ(reason.time, Time(5ms));
  EXPECT_TRUE(seen.tasks["stubborn"].shielded);
  EXPECT_NE(seen.tasks["unwinding"].cancel, nullptr);
  expect_in(scheduler.dump_text(),
            ": too long (requested), asked at 5 ms, held back by a shield\n");
  expect_in(scheduler.dump_json(), "\"time_ns\":5000000,\"shielded\":true}");
  scheduler.shutdown();
}

// A cancel that was asked for and has not been thrown yet.
TEST(Dump, P6_ShowsACancelThatIsOnItsWay) {
  Scheduler scheduler(Options().virtual_time());
  auto handle = scheduler.spawn(nap, 1h).named("victim");
  scheduler.step_until_idle();
  handle.cancel("from outside");
  Seen seen(scheduler);
  EXPECT_EQ(seen.tasks["victim"].state, TaskState::ready);
  EXPECT_FALSE(seen.tasks["victim"].shielded);
  expect_in(scheduler.dump_text(), "\n      cancelled at dump_test.cpp:");
  scheduler.run();
}

TEST(Dump, P6_WhatCouldBeLongIsCutShort) {
  Scheduler scheduler(Options().virtual_time());
  std::function<Task<void>(int)> deep = [&](int depth) -> Task<void> {
    if (depth > 0) {
      co_await deep(depth - 1);
    } else {
      co_await sleep(1h);
    }
  };
  std::function<Task<void>(int)> chain = [&](int left) -> Task<void> {
    if (left > 0) spawn(std::ref(chain), left - 1).named(left == 1 ? "last" : "link");
    co_await sleep(1h);
  };
  scheduler.spawn(std::ref(deep), 99).named("digger");
  scheduler.spawn(std::ref(chain), 20).named("first");
  scheduler.step_until_idle();
  Seen seen(scheduler);
  EXPECT_EQ(seen.tasks["digger"].frames, 32u);
  EXPECT_EQ(seen.tasks["digger"].hidden, 68u);
  EXPECT_EQ(seen.tasks["first"].spawns, 1u);
  EXPECT_EQ(seen.tasks["last"].spawns, 8u);
  expect_in(scheduler.dump_text(), "\n      ... and 68 more\n      spawned at dump_test.cpp:");
  expect_in(scheduler.dump_json(), "\"frames_hidden\":68");
  scheduler.shutdown();
}

TEST(Dump, P6_TheSpawnChainEndsWhereAParentIsGone) {
  Scheduler scheduler(Options().virtual_time());
  const auto parent = []() -> Task<void> {
    spawn(nap, 1h).named("orphan");
    co_return;
  };
  scheduler.spawn(std::ref(parent));
  scheduler.step_until_idle();
  EXPECT_EQ(Seen(scheduler).tasks["orphan"].spawns, 1u);
  expect_in(scheduler.dump_text(), " by task #1\n      in scope root");
  scheduler.shutdown();
}

TEST(Dump, P6_PollStyleTasksHaveNoStack) {
  class Waits final : public AgentTask<int> {
    Poll<int> poll(PollContext& context) override {
      context.wake_after(1h);
      return Poll<int>::pending();
    }
  };
  Scheduler scheduler(Options().virtual_time());
  spawn_agent(scheduler.root(), std::make_unique<Waits>()).named("machine");
  scheduler.step_until_idle();
  Seen seen(scheduler);
  EXPECT_EQ(seen.tasks["machine"].call, "poll");
  EXPECT_EQ(seen.tasks["machine"].waits_for, "its timer");
  EXPECT_EQ(seen.tasks["machine"].frames, 0u);
  scheduler.shutdown();
}

TEST(Dump, P6_LookingChangesNothing) {
  const auto run = [](bool look) {
    Scheduler scheduler(Options().virtual_time());
    const auto program = []() -> Task<void> {
      std::vector<Handle<void>> handles;
      for (int i = 0; i < 10; ++i) handles.push_back(spawn(nap, std::chrono::milliseconds(i)));
      co_await gather(handles);
    };
    scheduler.spawn(std::ref(program));
    std::string last;
    while (scheduler.live_tasks() > 0) {
      if (look) {
        const std::string once = scheduler.dump_text() + scheduler.dump_json();
        EXPECT_EQ(once, scheduler.dump_text() + scheduler.dump_json());
      }
      scheduler.run_until(scheduler.now() + 1ms);
    }
    return scheduler.dump_text();
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace dump_test
}  // namespace tiffany
