// Programs as tools: real commands, in a checkout and a sandbox.
#include "tiffany/agent/command_tool.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "agent/repository.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::agent {
namespace command_tool_test {

using canvas_support::Repository;
using canvas_support::Scratch;

class CommandToolTest : public testing::Test {
 protected:
  CommandToolTest()
      : commands_(scratch_ / "commands", TIFFANY_RUN), workshop_(commands_, scratch_ / "work") {
    where_.task = Uuid::derived(Uuid(), "task");
    where_.key = "key";
    where_.repository = repository_.path();
    where_.canvas = Canvas::open(repository_.path(), "main").keep(where_.task.text());
  }
  // Of `sh -c script`, without a sandbox unless there is a level.
  Tool& tool(const std::string& script, int level = 0, bool writes = false) {
    Manifest manifest;
    manifest.name = "do";
    manifest.about = "Does something.";
    manifest.argv = {"sh", "-c", script};
    manifest.effect = ToolEffect::idempotent;
    manifest.sandbox = level;
    if (writes) manifest.writes = {"."};
    tools_ = ToolSet();
    add_command_tool(tools_, std::move(manifest), workshop_);
    return *tools_.find("do");
  }
  ToolAnswer run(Tool& tool) {
    ToolAnswer answer;
    Scheduler scheduler(Options().clock(system_reactor()));
    const auto program = [&]() -> Task<void> { answer = co_await tool.run(where_, "{}"); };
    scheduler.spawn(program);
    scheduler.run();
    return answer;
  }

  Scratch scratch_;
  Repository repository_;
  exec::Commands commands_;
  Workshop workshop_;
  ToolSet tools_;
  ToolContext where_;
};

TEST_F(CommandToolTest, SeesTheFilesOfTheCanvasAndTellsWhatItPrintedAndItsExitCode) {
  const ToolAnswer answer = run(tool("cat README.md; echo bad >&2; ls -a; exit 3"));
  EXPECT_EQ(answer.text.substr(0, 7), "# Shop\n") << answer.text;
  EXPECT_NE(answer.text.find("[standard error]\nbad\n"), std::string::npos) << answer.text;
  EXPECT_EQ(answer.text.find(".git\n"), std::string::npos) << "no repository is there";
  EXPECT_TRUE(answer.failed);
  EXPECT_EQ(answer.exit, 3);
  EXPECT_EQ(answer.canvas, where_.canvas) << "nothing was changed";
}

TEST_F(CommandToolTest, WhatAToolThatMayWriteChangedIsInTheCanvas) {
  const ToolAnswer answer = run(tool("echo more >> ten.txt; rm logo.bin; echo x > a.o", 0, true));
  EXPECT_FALSE(answer.failed) << answer.text;
  EXPECT_NE(answer.canvas.tree, where_.canvas.tree);
  Canvas canvas = Canvas::reopen(repository_.path(), answer.canvas);
  EXPECT_EQ(canvas.read("ten.txt").bytes, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\nmore\n");
  EXPECT_FALSE(canvas.has("logo.bin"));
  EXPECT_FALSE(canvas.has("a.o")) << "ignored";
  EXPECT_EQ(repository_.git("status --short"), "") << "the working tree is as it was";
}

TEST_F(CommandToolTest, WhatAToolThatMayNotWriteDidIsGone) {
  const ToolAnswer answer = run(tool("echo more >> ten.txt"));
  EXPECT_EQ(answer.canvas, where_.canvas);
}

TEST_F(CommandToolTest, ASecondCallWithTheSameKeyTakesTheEndOfTheFirstAndDoesNothing) {
  Tool& counts = tool("echo once >> " + (scratch_ / "ledger") + "; echo more >> ten.txt", 0, true);
  const ToolAnswer first = run(counts);
  const ToolAnswer again = run(counts);
  EXPECT_EQ(canvas_support::read_file(scratch_ / "ledger"), "once\n");
  EXPECT_EQ(again.canvas, first.canvas) << "its files are still there";
  where_.key = "another";
  run(counts);
  EXPECT_EQ(canvas_support::read_file(scratch_ / "ledger"), "once\nonce\n");
}

TEST_F(CommandToolTest, InASandboxNothingIsWrittenBesideTheFilesAndTheLevelIsTold) {
  const std::string outside = scratch_ / "outside";
  const ToolAnswer answer =
      run(tool("echo in > inside && echo x > " + outside + "; cat inside", 2, true));
  EXPECT_EQ(answer.level, 2) << answer.text;
  EXPECT_FALSE(std::filesystem::exists(outside)) << answer.text;
  EXPECT_NE(answer.text.find("in\n"), std::string::npos) << answer.text;
}

TEST_F(CommandToolTest, AStoppedCallEndsItsCommand) {
  Tool& sleeper = tool("echo begun > " + (scratch_ / "begun") + "; sleep 600");
  ToolAnswer answer;
  Scheduler scheduler(Options().clock(system_reactor()));
  const auto call = [&]() -> Task<void> { answer = co_await sleeper.run(where_, "{}"); };
  const auto stopper = [&]() -> Task<void> {
    while (!std::filesystem::exists(scratch_ / "begun")) {
      co_await sleep(std::chrono::milliseconds(5));
    }
    co_await sleeper.stop(where_);
  };
  scheduler.spawn(call);
  scheduler.spawn(stopper);
  scheduler.run();
  EXPECT_TRUE(answer.failed);
}

TEST_F(CommandToolTest, ASecretThatNobodyHasASourceForIsRefused) {
  Manifest manifest;
  manifest.name = "push";
  manifest.about = "Pushes.";
  manifest.argv = {"true"};
  manifest.secrets = {"TOKEN"};
  EXPECT_THROW(add_command_tool(tools_, manifest, workshop_), Error);
  workshop_.secrets.push_back(exec::Secret::from_variable("TOKEN", "PATH"));
  EXPECT_NO_THROW(add_command_tool(tools_, manifest, workshop_));
}

}  // namespace command_tool_test
}  // namespace tiffany::agent
