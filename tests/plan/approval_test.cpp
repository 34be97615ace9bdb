#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "plan/plan_world.hpp"

namespace tiffany {
namespace plan_approval_test {

using namespace std::chrono_literals;
using plan::Approval;
using plan::PlanEnd;
using plan::PlanView;
using Words = std::vector<std::string>;

constexpr const char* kAsks = R"(
steps:
  - {name: a, outputs: [v], run: [do, a]}
  - {name: ask, needs: [a], approve: "Ship ${{ steps.a.outputs.v }}?", timeout: 3d}
  - {name: ship, needs: [ask], run: [do, ship]}
)";

class PlanApproval : public PlanTest {
 protected:
  PlanApproval() { commands.script["a"] = {{.outputs = "v=7\n"}}; }
  // The one that waits.
  static Task<plan::UnitView> question(Host* host) {
    for (;;) {
      const PlanView view = co_await host->ask(kPlanTask, plan::kPlanView);
      for (const plan::UnitView& each : view.units) {
        if (each.state == "awaiting approval") co_return each;
      }
      co_await sleep(10ms);
    }
  }
  static Task<void> answer(Host* host, plan::UnitView question, Approval said) {
    EXPECT_TRUE(co_await host->complete(*Uuid::parse(question.promise), said));
  }
  static Approval yes(const std::string& digest) {
    Approval said;
    said.approved = true;
    said.digest = digest;
    said.by = "ada";
    return said;
  }
  std::string run_with(std::function<Task<void>(Host*)> person) {
    std::string failure;
    world.live([&](Host& host) -> Task<void> {
      co_await start(host);
      co_await person(&host);
      try {
        end = co_await host.result<PlanEnd>(kPlanTask);
      } catch (const Error& error) {
        failure = error.what();
      }
    });
    return failure;
  }
};

TEST_F(PlanApproval, AStepGoesOnWhenTheTextWithItsDigestIsApproved) {
  read(kAsks);
  EXPECT_EQ(run_with([](Host* host) -> Task<void> {
              const plan::UnitView asked = co_await question(host);
              EXPECT_EQ(asked.text, "Ship 7?");
              EXPECT_EQ(asked.digest, plan::digest_of("Ship 7?"));
              co_await answer(host, asked, yes(asked.digest));
            }),
            "");
  EXPECT_EQ(commands.begun, (Words{"a", "ship"}));
}

TEST_F(PlanApproval, AnApprovalOfAnotherTextIsNoAnswerAndItIsAskedAgain) {
  read(kAsks);
  EXPECT_EQ(run_with([](Host* host) -> Task<void> {
              const plan::UnitView first = co_await question(host);
              co_await answer(host, first, yes(plan::digest_of("Ship 8?")));
              co_await sleep(1h);
              const plan::UnitView second = co_await question(host);
              EXPECT_NE(second.promise, first.promise);
              co_await answer(host, second, yes(second.digest));
            }),
            "");
}

TEST_F(PlanApproval, AValueThatIsNoAnswerIsRefusedAndTheQuestionStays) {
  read(kAsks);
  EXPECT_EQ(run_with([&](Host* host) -> Task<void> {
              const plan::UnitView asked = co_await question(host);
              const Uuid promise = *Uuid::parse(asked.promise);
              for (const char* const value : {"\"yes\"", "7", "[]", "{\"approved\":\"yes\"}"}) {
                std::string said;
                try {
                  co_await host->complete_json(promise, value, true);
                } catch (const Error& error) {
                  said = error.what();
                }
                EXPECT_NE(said.find("The promise is as it was."), std::string::npos) << said;
              }
              co_await answer(host, asked, yes(asked.digest));
            }),
            "");
  EXPECT_EQ(state_of("ship"), "done");
}

TEST_F(PlanApproval, AStepThatIsRejectedFailsWithTheReason) {
  read(kAsks);
  const std::string said = run_with([](Host* host) -> Task<void> {
    const plan::UnitView asked = co_await question(host);
    Approval no;
    no.by = "bob";
    no.note = "Not on a Friday.";
    co_await answer(host, asked, no);
  });
  EXPECT_NE(said.find("It was not approved by bob. Not on a Friday."), std::string::npos) << said;
  EXPECT_EQ(commands.begun, Words{"a"});
}

TEST_F(PlanApproval, NobodyWhoAnswersInTimeIsNoApproval) {
  read(kAsks);
  const std::string said = run_with([](Host*) -> Task<void> { co_return; });
  EXPECT_NE(said.find("Nobody approved it in time."), std::string::npos) << said;
}

}  // namespace plan_approval_test
}  // namespace tiffany
