#include "tiffany/plan/graph.hpp"

#include <gtest/gtest.h>

#include "tiffany/plan/check.hpp"

namespace tiffany {
namespace plan_graph_test {

const char* const kText = R"(
name: release
steps:
  - {name: build, run: [make]}
  - {name: lint, run: [make, lint]}
  - {name: test, needs: [build], foreach: [a, b], run: [test, "${{ item }}"]}
  - {name: ask, needs: [test, lint], approve: "go?"}
  - {name: ship, needs: [ask], class: at_most_once, retry: 3, run: [ship]}
finally:
  - {name: clean, run: [clean]}
)";

TEST(PlanGraph, IsDrawnInLevels) {
  EXPECT_EQ(plan::graph_text(*plan::check(kText, "x").plan),
            "release\n"
            "[build]\n"
            "[lint]\n"
            "  [test] <- build  (for each of 2)\n"
            "    [ask] <- test, lint  (approval)\n"
            "      [ship] <- ask  (3 attempts, at most once)\n"
            "finally:\n"
            "[clean]\n");
}

TEST(PlanGraph, ALongChainFromItsEndIsDrawnWithoutDelay) {
  std::string text = "name: chain\nsteps:\n";
  for (int i = 499; i > 0; --i) {
    text +=
        "- {name: s" + std::to_string(i) + ", needs: [s" + std::to_string(i - 1) + "], run: [x]}\n";
  }
  const std::string json =
      plan::graph_json(*plan::check(text + "- {name: s0, run: [x]}\n", "x").plan);
  EXPECT_NE(json.find("{\"name\":\"s499\",\"kind\":\"command\",\"phase\":\"steps\","
                      "\"level\":499}"),
            std::string::npos);
}

TEST(PlanGraph, IsGivenForGraphvizAndAsData) {
  const plan::Plan release = *plan::check(kText, "x").plan;
  const std::string dot = plan::graph_dot(release);
  EXPECT_NE(dot.find("\"ask\" [shape=diamond];\n    \"test\" -> \"ask\";"), std::string::npos);
  const std::string json = plan::graph_json(release);
  EXPECT_NE(json.find("{\"name\":\"ship\",\"kind\":\"command\",\"phase\":\"steps\",\"level\":3}"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("[\"ask\",\"ship\"]"), std::string::npos);
}

}  // namespace plan_graph_test
}  // namespace tiffany
