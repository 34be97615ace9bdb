#include "tiffany/plan/command_retention.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>

#include "exec/exec_world.hpp"
#include "tiffany/plan/run.hpp"
#include "tiffany/wal/log_options.hpp"

namespace tiffany {
namespace command_retention_test {

using namespace std::chrono_literals;
using exec::CommandResult;
using exec::CommandSpec;

Durable<int> succeed(Flow& /*flow*/) { co_return 1; }
Durable<int> fail(Flow& /*flow*/) {
  throw Error(Errc::bad_argument, "It failed.");
  co_return 1;
}

class CommandRetention : public ExecTest {
 protected:
  // A command that ended so long ago.
  void put_command(const std::string& name, const std::string& owner, std::chrono::hours ago) {
    CommandSpec spec({"true"});
    if (!owner.empty()) spec.owner = id_of(owner).text();
    put(file_of(id_of(name), "spec.json"), to_json(spec));
    put(file_of(id_of(name), "supervisor"), "{}");
    CommandResult end;
    end.end = exec::CommandEnd::exited;
    end.ended_us =
        (static_cast<std::int64_t>(std::time(nullptr)) - std::chrono::seconds(ago).count()) *
        1'000'000;
    put(file_of(id_of(name), "exit.json"), to_json(end));
  }
  bool there(const std::string& name) const {
    return std::filesystem::exists(file_of(id_of(name), "spec.json"));
  }
};

TEST_F(CommandRetention, CommandsGoWithTheirTasksAndCompletedOnesWithTheirAge) {
  put_command("new", "completed", 1h);
  put_command("old", "completed", 24h * 40);
  put_command("old of a failed task", "failed", 24h * 40);
  put_command("of a task that is gone", "gone", 1h);
  put_command("of nobody", "", 24h * 40);
  CommandSpec spec({"true"});
  spec.owner = id_of("gone").text();
  put(file_of(id_of("never begun"), "spec.json"), to_json(spec));
  put(file_of(id_of("runs"), "spec.json"), to_json(spec));
  put(file_of(id_of("runs"), "supervisor"), "{}");
  Registry types;
  types.add("succeed", 1, succeed);
  types.add("fail", 1, fail);
  exec::Commands all = commands();
  program([&]() -> Task<void> {
    Host host(types, wal::LogOptions(at("wal")));
    co_await host.open();
    co_await host.start_as(id_of("completed"), "succeed");
    co_await host.start_as(id_of("failed"), "fail");
    co_await host.result<int>(id_of("completed"));
    try {
      co_await host.result<int>(id_of("failed"));
    } catch (const Error&) {
    }
    EXPECT_EQ(co_await plan::forget_old_commands(all, host, 24h * 30), 3u);
    EXPECT_EQ(co_await plan::forget_old_commands(all, host, std::nullopt), 0u);
    co_await host.close();
  });
  EXPECT_TRUE(there("new"));
  EXPECT_FALSE(there("old"));
  EXPECT_TRUE(there("old of a failed task"));
  EXPECT_FALSE(there("of a task that is gone"));
  EXPECT_TRUE(there("of nobody"));
  EXPECT_FALSE(there("never begun"));
  EXPECT_TRUE(there("runs"));
}

// The plan has a command with a shell and a child of its own, and a sub-plan with one more.
TEST_F(CommandRetention, WhatAPlanRanDoesNotGoOnWhenThePlanWasKilled) {
  const Fifo fifo(at("fifo"));
  const std::string inner = "steps: [{name: b, grace: 100ms, shell: true, env: {F: " + fifo.path() +
                            "}, run: 'echo $$ > $F; sleep 1000'}]";
  const plan::Checked checked =
      plan::check("steps:\n- {name: a, grace: 100ms, shell: true, env: {F: " + fifo.path() +
                      "}, run: 'sleep 1000 & echo $! > $F; wait'}\n- {name: p, plan: p.yaml}",
                  "plan.yaml", {{"p.yaml", inner}});
  ASSERT_EQ(checked.text(), "");
  exec::Commands all = commands();
  plan::PlanServices services(all);
  Registry types;
  plan::add_plans(types, services);
  std::vector<pid_t> processes;
  program([&]() -> Task<void> {
    Host host(types, wal::LogOptions(at("wal")));
    co_await host.open();
    co_await host.start_as(id_of("plan"), plan::kPlanType, *checked.plan, plan::Values());
    for (int i = 0; i < 2; ++i) {
      const std::string line = co_await offload([&] { return fifo.line(); });
      processes.push_back(std::atoi(line.c_str()));
    }
    co_await host.kill(id_of("plan"), "enough");
    EXPECT_EQ(co_await plan::stop_orphans(all, host), 1u);  // the sub-plan has stopped its own
    co_await host.close();
  });
  for (const pid_t process : processes) {
    EXPECT_GT(process, 1);
    EXPECT_TRUE(ends(process));
  }
}

TEST_F(CommandRetention, CommandsOfTasksThatGoOnAreNotStopped) {
  Registry types;
  types.add("succeed", 1, succeed);
  exec::Commands all = commands();
  CommandSpec spec({"true"});
  spec.owner = id_of("paused").text();
  put(file_of(id_of("runs"), "spec.json"), to_json(spec));
  put(file_of(id_of("runs"), "supervisor"), "{}");
  put_command("ended", "nobody knows", 1h);
  program([&]() -> Task<void> {
    Host host(types, wal::LogOptions(at("wal")));
    co_await host.open();
    co_await host.start_as(id_of("paused"), "succeed");
    co_await host.pause(id_of("paused"));
    EXPECT_EQ(co_await plan::stop_orphans(all, host), 0u);
    co_await host.close();
  });
}

}  // namespace command_retention_test
}  // namespace tiffany
