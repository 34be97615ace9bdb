#include "tiffany/structure/graph.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tasks.hpp"

namespace tiffany {
namespace graph_test {

using namespace test;

Task<int> breaks(std::string why) {
  co_await sleep(1ms);
  throw std::runtime_error(why);
}

// The error without the places in this file, which move.
std::string without_lines(std::string text) {
  const std::string file = "graph_test.cpp:";
  for (std::size_t at = 0; (at = text.find(file, at)) != std::string::npos;) {
    at += file.size();
    text.erase(at, text.find_first_not_of("0123456789", at) - at);
  }
  return text;
}

TEST(TaskGraph, T19_RunsEveryNodeAfterThoseItComesAfter) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    graph.add("c", step, std::ref(trace), "c", 1).after("a", "b");  // added before what it names
    graph.add("a", step, std::ref(trace), "a", 5);
    graph.add("b", step, std::ref(trace), "b", 10).after(std::string("a"));
    const std::string name = "d";
    auto d = graph.add(name, step, std::ref(trace), "d", 2);
    EXPECT_EQ(d.name(), "d");
    EXPECT_EQ(graph.size(), 4u);
    co_await graph.run();
    EXPECT_EQ(now(), Time(16ms));
    EXPECT_EQ(d.value(), 2);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "+d", "-d", "-a", "+b", "-b", "+c", "-c"}));
}

TEST(TaskGraph, T19_NodesUseTheResultsOfThoseTheyComeAfter) {
  const auto program = []() -> Task<void> {
    TaskGraph graph;
    auto left = graph.add("left", []() -> Task<int> { co_return 20; });
    auto right = graph.add("right", []() -> Task<std::string> { co_return "22"; });
    auto sum =
        graph.add("sum", [=]() -> Task<int> { co_return left.value() + std::stoi(right.value()); });
    sum.after("left", "right");
    auto done = graph.add("done", []() -> Task<void> { co_return; }).after("sum");
    co_await graph.run();
    EXPECT_EQ(sum.value(), 42);
    EXPECT_EQ(done.value(), Unit());
    EXPECT_EQ(sum.outcome().value(), 42);
  };
  run_program(program);
}

TEST(TaskGraph, T19_AResultThatIsNotThereYetNamesTheEdgeThatIsMissing) {
  const auto program = []() -> Task<void> {
    TaskGraph graph;
    auto slow = graph.add("slow", []() -> Task<int> {
      co_await sleep(5ms);
      co_return 1;
    });
    EXPECT_EQ(without_lines(what_of(thrown_by([&] { slow.value(); }))),
              "The result of node \"slow\", added at graph_test.cpp:, was asked for before it was "
              "started. A task that uses it must come after it: .after(\"slow\").");
    auto hasty = graph.add("hasty", [=]() -> Task<int> { co_return slow.value(); });
    try {
      co_await graph.run();
    } catch (const TasksFailed& failed) {
      EXPECT_EQ(
          without_lines(what_of(failed.failures().at(0).error)),
          "The result of node \"slow\", added at graph_test.cpp:, was asked for before it had "
          "ended. A task that uses it must come after it: .after(\"slow\").");
    }
    EXPECT_EQ(code_of(thrown_by([&] { hasty.value(); })), Errc::bad_graph);
    EXPECT_TRUE(hasty.outcome().failed());
  };
  run_program(program);
}

// ---- What is wrong with a graph is found before anything starts ----

TEST(TaskGraph, T19_WrongNamesAreListedBeforeAnythingStarts) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    graph.add("a", step, std::ref(trace), "a", 5).after("nobody");
    graph.add("b", step, std::ref(trace), "b", 5).after("a", "b");
    graph.add("a", step, std::ref(trace), "a", 5);
    const auto error = thrown_by([&] { static_cast<void>(graph.run()); });
    EXPECT_EQ(code_of(error), Errc::bad_graph);
    EXPECT_EQ(without_lines(what_of(error)),
              "The task graph cannot be run:\n"
              "  node \"a\", added at graph_test.cpp:, has the name of one added at "
              "graph_test.cpp:\n"
              "  node \"a\", added at graph_test.cpp:, comes after \"nobody\", which is not in the "
              "graph\n"
              "  node \"b\", added at graph_test.cpp:, comes after itself\n"
              "Nothing has been started.");
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
    co_return;
  };
  run_program(program);
  EXPECT_EQ(trace, Trace());
}

TEST(TaskGraph, T19_ACircleIsPrintedAsAPath) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    graph.add("before", step, std::ref(trace), "x", 5);
    graph.add("entry", step, std::ref(trace), "x", 5).after("before", "a");
    graph.add("a", step, std::ref(trace), "x", 5).after("before", "c");
    graph.add("b", step, std::ref(trace), "x", 5).after("a");
    graph.add("c", step, std::ref(trace), "x", 5).after("b");
    const auto error = thrown_by([&] { graph.validate(); });
    EXPECT_EQ(code_of(error), Errc::bad_graph);
    EXPECT_EQ(
        what_of(error),
        "The task graph cannot be run, because these nodes come after each other in a circle: "
        "\"a\" -> \"c\" -> \"b\" -> \"a\".\nNothing has been started.");
    co_return;
  };
  run_program(program);
}

TEST(TaskGraph, T19_RunsOnce) {
  const auto program = []() -> Task<void> {
    TaskGraph graph;
    co_await graph.run();
    EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(graph.run()); })), Errc::bad_graph);
  };
  run_program(program);
}

// ---- Failure ----

TEST(TaskGraph, T19_AFailureSkipsWhatComesAfterItAndNothingElse) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    auto bad = graph.add("bad", breaks, "broke");
    auto skipped = graph.add("skipped", step, std::ref(trace), "skipped", 1).after("bad");
    graph.add("in turn", step, std::ref(trace), "in turn", 1).after("skipped");
    graph.add("other", step, std::ref(trace), "other", 5);
    graph.add("clean", step, std::ref(trace), "clean", 1)
        .after("skipped", "other")
        .if_failed(IfFailed::run);
    auto strict = graph.add("strict", step, std::ref(trace), "strict", 1)
                      .after("skipped")
                      .if_failed(IfFailed::fail);
    try {
      co_await graph.run();
      ADD_FAILURE() << "did not throw";
    } catch (const TasksFailed& failed) {
      EXPECT_EQ(failed.failures().size(), 2u);
      EXPECT_EQ(what_of(failed.failures().at(0).error), "broke");
      EXPECT_EQ(code_of(failed.failures().at(1).error), Errc::dependency_failed);
    }
    EXPECT_EQ(now(), Time(6ms));
    EXPECT_EQ(what_of(thrown_by([&] { bad.value(); })), "broke");
    EXPECT_TRUE(skipped.outcome().cancelled());
    EXPECT_TRUE(strict.outcome().failed());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+other", "-other", "+clean", "-clean"}));
}

TEST(TaskGraph, T19_AFailureThatALaterNodeLooksAtIsNotThrown) {
  const auto program = []() -> Task<void> {
    TaskGraph graph;
    auto bad = graph.add("bad", breaks, "broke");
    auto repair = graph.add(
        "repair", [=]() -> Task<std::string> { co_return what_of(bad.outcome().error()); });
    repair.after("bad").if_failed(IfFailed::run);
    co_await graph.run();
    EXPECT_EQ(repair.value(), "broke");
  };
  run_program(program);
}

TEST(TaskGraph, T19_CancelledWhileItRunsItCancelsAllAndWaits) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    graph.add("a", step, std::ref(trace), "a", 50);
    auto b = graph.add("b", step, std::ref(trace), "b", 1).after("a");
    EXPECT_TRUE((co_await within(10ms, graph.run())).timed_out());
    EXPECT_EQ(now(), Time(10ms));
    EXPECT_TRUE(b.outcome().cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a"}));
}

TEST(TaskGraph, T19_ANodeOutlivesItsGraphAndItsScheduler) {
  std::shared_ptr<GraphNode<std::string>> kept;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    kept = std::make_shared<GraphNode<std::string>>(
        graph.add("text", []() -> Task<std::string> { co_return "still here, and rather long"; }));
    co_await graph.run();
  };
  {
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(std::ref(program));
    scheduler.run();
  }
  EXPECT_EQ(kept->value(), "still here, and rather long");
}

// ---- The longest path ----

TEST(TaskGraph, T19_KnowsItsChainsBeforehand) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskGraph graph;
    graph.add("alone", step, std::ref(trace), "alone", 0);
    graph.add("a", step, std::ref(trace), "a", 0);
    graph.add("b", step, std::ref(trace), "b", 0);
    graph.add("b2", step, std::ref(trace), "b2", 0).after("b");
    graph.add("b3", step, std::ref(trace), "b3", 0).after("b2");
    graph.add("a2", step, std::ref(trace), "a2", 0).after("a").cost(7);
    co_await graph.run();
  };
  run_program(program, Options().virtual_time().order(longest_path_order()));
  const Trace begin(trace.begin(), trace.begin() + 3);
  EXPECT_EQ(begin, Trace({"+a", "+b", "+alone"}));
}

TEST(TaskGraph, T19_ALongChainTakesLinearTime) {
  const auto program = []() -> Task<void> {
    TaskGraph graph;
    int ran = 0;
    const auto f = [&]() -> Task<void> {
      ++ran;
      co_return;
    };
    constexpr int kNodes = 20000;
    for (int i = 0; i < kNodes; ++i) {
      auto node = graph.add(std::to_string(i), std::ref(f));
      if (i > 0) node.after(std::to_string(i - 1));
    }
    co_await graph.run();
    EXPECT_EQ(ran, kNodes);
  };
  run_program(program, Options().virtual_time().order(longest_path_order()));
}

}  // namespace graph_test
}  // namespace tiffany
