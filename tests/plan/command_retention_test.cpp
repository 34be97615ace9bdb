#include "tiffany/plan/command_retention.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>

#include "exec/exec_world.hpp"
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

}  // namespace command_retention_test
}  // namespace tiffany
