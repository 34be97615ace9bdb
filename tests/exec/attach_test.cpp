// Commands and the deaths of those around them.
#include <sys/wait.h>

#include <csignal>

#include "exec/exec_world.hpp"

namespace tiffany {
namespace attach_test {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;
using exec::SupervisorMark;

const Uuid kId = ExecTest::id_of("a command");

class Attach : public ExecTest {
 protected:
  // Says that it has begun, waits to be let go, and writes a line into the ledger.
  CommandSpec held() const {
    return shell("echo $$ > \"$1\"; read line < \"$2\"; echo $line >> \"$3\"; exit 7",
                 {begun_.path(), go_.path(), at("ledger")});
  }
  SupervisorMark mark() const {
    return from_json<SupervisorMark>(text_of(file_of(kId, "supervisor")));
  }
  // Another program that runs the command, to be killed.
  pid_t begin_elsewhere(CommandSpec spec) const {
    const pid_t child = fork();
    if (child == 0) {
      run(kId, std::move(spec));
      _exit(0);
    }
    return child;
  }
  static void kill_and_reap(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  Fifo begun_{at("begun")};
  Fifo go_{at("go")};
};

TEST_F(Attach, ACommandGoesOnWhenItsProgramIsKilledAndTheNextOneTakesItsEnd) {
  const pid_t child = begin_elsewhere(held());
  begun_.line();
  kill_and_reap(child);
  go_.write_line("done");
  const CommandResult end = run(kId, held());
  EXPECT_EQ(end.end, CommandEnd::exited);
  EXPECT_EQ(end.code, 7);
  EXPECT_EQ(text_of(at("ledger")), "done\n");
}

TEST_F(Attach, TheEndOfACommandThatEndedWhileNobodyWasThereIsTaken) {
  const pid_t child = begin_elsewhere(held());
  begun_.line();
  kill_and_reap(child);
  const auto supervisor = static_cast<pid_t>(mark().pid);
  go_.write_line("done");
  EXPECT_TRUE(ends(supervisor));
  EXPECT_EQ(run(kId, held()).code, 7);
  EXPECT_EQ(text_of(at("ledger")), "done\n");
}

TEST_F(Attach, ACancelledRunLeavesTheCommandToTheNext) {
  exec::Commands all = commands();
  program([&]() -> Task<void> {
    auto first = spawn(&exec::Commands::run, &all, kId, held());
    co_await offload([](const Fifo* fifo) { fifo->line(); }, &begun_);
    first.cancel("enough");
    EXPECT_TRUE((co_await first.outcome()).cancelled());
    go_.write_line("done");
    const CommandResult end = co_await all.run(kId, held());
    EXPECT_EQ(end.code, 7);
  });
  EXPECT_EQ(text_of(at("ledger")), "done\n");
}

TEST_F(Attach, ACommandWhoseSupervisorIsKilledDiesWithItAndItsEndIsUnknown) {
  const CommandSpec spec =
      shell("setsid sh -c 'echo $$ > \"$1\"; exec cat \"$2\"' sh \"$1\" \"$2\" & cat \"$2\"",
            {begun_.path(), go_.path()});
  const pid_t child = begin_elsewhere(spec);
  const int grandchild = std::stoi(begun_.line());
  kill_and_reap(child);
  kill(static_cast<pid_t>(mark().pid), SIGKILL);
  const CommandResult end = run(kId, spec);
  EXPECT_EQ(end.end, CommandEnd::unknown);
  EXPECT_NE(end.why.find("supervisor of the command was killed"), std::string::npos) << end.why;
  EXPECT_GT(end.begun_us, 0);
  EXPECT_TRUE(ends(grandchild));
  EXPECT_EQ(to_json(run(kId, spec)), to_json(end)) << "the verdict stays";
}

TEST_F(Attach, ACommandOfAnEarlierStartOfTheMachineIsUnknownAndNotRunAgain) {
  SupervisorMark old;
  old.pid = getpid();
  old.started = 1;
  old.boot = "00000000-0000-0000-0000-000000000000";
  old.begun_us = 5;
  put(file_of(kId, "supervisor"), to_json(old));
  put(file_of(kId, "spec.json"), to_json(held()));
  const CommandResult end = run(kId, held());
  EXPECT_EQ(end.end, CommandEnd::unknown);
  EXPECT_NE(end.why.find("machine was started anew"), std::string::npos) << end.why;
  EXPECT_EQ(text_of(at("ledger")), "");
}

TEST_F(Attach, ANumberThatIsAnotherProcessNowIsNotWaitedFor) {
  SupervisorMark old;
  old.pid = getpid();  // it runs, and did not begin then
  old.started = 1;
  old.boot = text_of("/proc/sys/kernel/random/boot_id").substr(0, 36);
  put(file_of(kId, "supervisor"), to_json(old));
  put(file_of(kId, "spec.json"), to_json(held()));
  EXPECT_EQ(run(kId, held()).end, CommandEnd::unknown);
}

TEST_F(Attach, ACommandWhoseSpecWasWrittenAndThatNeverBeganBegins) {
  const CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  put(file_of(kId, "spec.json"), to_json(spec));
  put(file_of(kId, "lock"), "");
  EXPECT_TRUE(run(kId, spec).ok());
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Attach, DamagedFilesAreSaidAndNothingIsRunAgain) {
  const CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  run(kId, spec);
  for (const char* const name : {"exit.json", "spec.json"}) {
    const std::string whole = text_of(file_of(kId, name));
    for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2)}) {
      put(file_of(kId, name), text);
      try {
        run(kId, spec);
        ADD_FAILURE() << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::command_damaged);
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
    put(file_of(kId, name), whole);
  }
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Attach, AStopEndsTheCommandAndWhatLeftItsGroup) {
  CommandSpec spec =
      shell("setsid sh -c 'echo $$ > \"$1\"; exec cat \"$2\"' sh \"$1\" \"$2\" & cat \"$2\"",
            {begun_.path(), go_.path()});
  spec.grace_ms = 10;
  const pid_t child = begin_elsewhere(spec);
  const int grandchild = std::stoi(begun_.line());
  stop(kId);
  EXPECT_EQ(run(kId, spec).end, CommandEnd::stopped);
  EXPECT_TRUE(ends(grandchild));
  waitpid(child, nullptr, 0);
}

TEST_F(Attach, ACommandThatWasStoppedBeforeItBeganNeverBegins) {
  stop(kId);
  const CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  const CommandResult end = run(kId, spec);
  EXPECT_EQ(end.end, CommandEnd::stopped);
  EXPECT_EQ(end.begun_us, 0);
  EXPECT_EQ(text_of(at("ledger")), "");
}

TEST_F(Attach, ASupervisorThatIsToldToEndByTheSystemSaysThatNobodyKnows) {
  const pid_t child = begin_elsewhere(held());
  begun_.line();
  kill(static_cast<pid_t>(mark().pid), SIGTERM);
  EXPECT_EQ(run(kId, held()).end, CommandEnd::unknown);
  waitpid(child, nullptr, 0);
}

TEST_F(Attach, WhatRunsIsNotForgottenAndWhatHasEndedIs) {
  const pid_t child = begin_elsewhere(held());
  begun_.line();
  exec::Commands all = commands();
  program([&]() -> Task<void> {
    try {
      co_await all.forget(kId);
      ADD_FAILURE() << "forgotten";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("runs. Stop it"), std::string::npos);
    }
    go_.write_line("done");
    co_await all.run(kId, held());
    co_await all.forget(kId);
    co_await all.forget(kId);
  });
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(std::filesystem::exists(commands_at() + "/" + kId.text()));
}

TEST_F(Attach, ASweepEndsAndRemovesWhatNobodyKnows) {
  const pid_t child = begin_elsewhere(held());
  begun_.line();
  run(id_of("known"), CommandSpec({"true"}));
  run(id_of("old"), CommandSpec({"true"}));
  put(commands_at() + "/a file of somebody", "else");
  exec::Commands all = commands();
  program([&]() -> Task<void> {
    std::set<Uuid> keep{id_of("known")};
    EXPECT_EQ(co_await all.sweep(std::move(keep)), 2u);
  });
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(file_of(id_of("known"), "exit.json")));
  EXPECT_FALSE(std::filesystem::exists(file_of(kId, "lock")));
  EXPECT_EQ(text_of(at("ledger")), "");
}

// A program that is killed at any moment: each command ran once, and none is lost.
TEST_F(Attach, FiftyProgramsThatAreKilledAnywhereRunEachCommandOnce) {
  Random random(20261117);
  for (int round = 0; round < 50; ++round) {
    const Uuid id = id_of("round " + std::to_string(round));
    const CommandSpec spec = shell("echo \"$2\" >> \"$1\"", {at("ledger"), std::to_string(round)});
    const pid_t child = fork();
    if (child == 0) {
      run(id, spec);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(random.below(15'000)));  // a fault, not a step
    kill_and_reap(child);
    EXPECT_TRUE(run(id, spec).ok()) << round;
  }
  std::string all;
  for (int round = 0; round < 50; ++round) all += std::to_string(round) + "\n";
  EXPECT_EQ(text_of(at("ledger")), all);
}

}  // namespace attach_test
}  // namespace tiffany
