// Plans from a shell.
#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_plans_test {

class CliPlans : public DepotTest {
 protected:
  static std::string file(const std::string& name, const std::string& text) {
    const std::string path = directory_->path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
};

constexpr const char* kGreeting =
    "name: greeting\n"
    "params: {who: {default: ann}}\n"
    "steps:\n"
    " - {name: greet, run: [echo, 'hello ${{ params.who }}']}\n"
    " - {name: ok, needs: [greet], approve: 'go on?'}\n"
    " - {name: wave, needs: [ok], run: [\"true\"]}\n";

TEST_F(CliPlans, APlanRunsIsApprovedAndItsOutputShown) {
  const std::string plan = file("greeting.yaml", kGreeting);
  EXPECT_EQ(depot("plan check " + plan).status, 0);
  const CliSaid run = depot("run --detach --param who=bob " + plan);
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string id = run.out.substr(0, 36);
  ASSERT_TRUE(shows("plan status " + id, "awaiting approval"));
  EXPECT_EQ(depot("output " + id + " greet").out, "hello bob\n");
  EXPECT_EQ(depot("approve " + id + " --digest 00").status, 1) << "another text was shown";
  const CliSaid approved = depot("approve " + id + " -m fine");
  EXPECT_EQ(approved.out, id + "  approve ok\n") << approved.err;
  EXPECT_NE(approved.err.find("go on?"), std::string::npos) << approved.err;
  EXPECT_NE(approved.err.find("digest "), std::string::npos) << approved.err;
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_NE(depot("plan status " + id).out.find("wave"), std::string::npos);
}

TEST_F(CliPlans, MistakesAreSaidWithTheirPlaces) {
  const std::string bad = file("bad.yaml", "steps:\n - {name: a, needs: [b], run: [\"true\"]}\n");
  const CliSaid checked = depot("plan check " + bad);
  EXPECT_EQ(checked.status, 1);
  EXPECT_NE(checked.err.find(bad + ":2:"), std::string::npos) << checked.err;
  EXPECT_EQ(depot("run " + bad).status, 2);
  EXPECT_NE(depot("run /nowhere.yaml").status, 0);
  EXPECT_EQ(depot("run nobody-knows-it").status, 4);
  EXPECT_EQ(depot("plan status " + started("naps")).status, 4) << "a task that is no plan";
}

TEST_F(CliPlans, AFailedPlanEndsTheCommandThatFollowsIt) {
  const std::string plan = file("f.yaml", "steps:\n - {name: a, run: [\"false\"]}\n");
  const CliSaid said = depot("run " + plan);
  EXPECT_EQ(said.status, 1) << said.out << said.err;
}

}  // namespace cli_plans_test
}  // namespace tiffany::daemon_tests
