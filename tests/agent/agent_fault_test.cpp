// Agents whose log or repository fails under them: nothing is lost, and they go on afterwards.
#include <gtest/gtest.h>

#include <string>

#include "agent/agent_world.hpp"

namespace tiffany::agent {
namespace agent_fault_test {

using namespace std::chrono_literals;

class AgentFaultTest : public testing::Test, public AgentWorld {
 protected:
  AgentFaultTest() {
    model.replies = {calls("read"), calls("once"), calls("write"), Message::assistant("Change it")};
  }
  // Approves what is asked until the task has ended, or for so long.
  static Task<void> approve_all(Host* host, Uuid id, Duration longest = 1h) {
    for (Duration passed{}; passed < longest; passed += 2ms) {
      const auto info = host->info(id);
      if (info && info->status >= DurableStatus::completed) co_return;
      const AgentView view = co_await host->ask(id, kAgentView);
      if (view.question) co_await answer(host, *view.question, Verdict::approve);
      co_await sleep(2ms);
    }
  }
  Task<void> break_disk(Duration after) {
    co_await sleep(after);
    test.disk->fail();
  }
};

// A write or a sync that fails, or a full disk, at any moment of an agent's life.
TEST_F(AgentFaultTest, WheneverTheLogFailsThereIsOneCommitAfterItIsMended) {
  const Uuid id = Uuid::derived(Uuid(), "disk");
  const Instruction ask = change_something();
  int unfinished = 0;
  for (Duration at = 0ms; at < 140ms; at += 3ms) {
    test.disk = std::make_shared<wal::MemoryDisk>();
    repositories.commits.clear();
    repositories.committed = once->runs = 0;
    test.live([&](Host& host) -> Task<void> {
      const auto breaks = Scheduler::require("test").spawn([&] { return break_disk(at); });
      try {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        co_await approve_all(&host, id, 1s);
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == Errc::log_sealed || error.code() == Errc::unknown_durable)
            << error.what();
      }
      co_await breaks;
      co_await sleep(1s);
      const auto info = host.info(id);
      unfinished += info && info->status == DurableStatus::completed ? 0 : 1;
    });
    test.disk->mend();
    test.live([&](Host& host) -> Task<void> {
      co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
      co_await approve_all(&host, id);
      EXPECT_TRUE((co_await host.result<Summary>(id)).success) << at.count();
    });
    EXPECT_EQ(repositories.committed, 1) << at.count();
    EXPECT_LE(once->runs, 1) << at.count();
  }
  EXPECT_GT(unfinished, 20);
}

TEST_F(AgentFaultTest, ARepositoryThatIsGoneForSecondsIsWaitedFor) {
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    repositories.broken = "there is not a git repository.";
    co_await answer(&host, *view.question, Verdict::approve);
    co_await sleep(10s);
    EXPECT_EQ(host.info(id)->status, DurableStatus::running);
    repositories.broken.clear();
    EXPECT_TRUE((co_await host.result<Summary>(id)).success);
  });
  EXPECT_EQ(repositories.committed, 1);
}

// The approval is in the log, and is not asked for again.
TEST_F(AgentFaultTest, ARepositoryThatStaysGoneFailsTheTaskWhichIsTakenBackToTheCommit) {
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    repositories.broken = "there is not a git repository.";
    co_await answer(&host, *view.question, Verdict::approve);
    std::string failed;
    try {
      static_cast<void>(co_await host.result<Summary>(id));
    } catch (const DurableFailed& error) {
      failed = error.what();
    }
    EXPECT_NE(failed.find("there is not a git repository."), std::string::npos) << failed;
    EXPECT_EQ(repositories.committed, 0);
    EXPECT_EQ(repositories.forgotten, 0) << "the canvas is kept for a retry";
    repositories.broken.clear();
    co_await host.retry(id, "commit#1");
    EXPECT_TRUE((co_await host.result<Summary>(id)).success);
  });
  EXPECT_EQ(repositories.committed, 1);
  EXPECT_EQ(once->runs, 1);
}

}  // namespace agent_fault_test
}  // namespace tiffany::agent
