// What users, operators and commands try.
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "exec/exec_world.hpp"

namespace tiffany {
namespace exec_attack_test {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;

class Attacked : public ExecTest {};

const Uuid kId = ExecTest::id_of("a command");

TEST_F(Attacked, ManyWhoBeginOneIdAtTheSameTimeRunItOnce) {
  const CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  std::vector<pid_t> others;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(run(kId, spec).ok() ? 0 : 1);
    others.push_back(child);
  }
  exec::Commands all = commands();
  program([&]() -> Task<void> {
    std::vector<Handle<CommandResult>> runs;
    for (int i = 0; i < 4; ++i) {
      runs.push_back(spawn(&exec::Commands::run, &all, kId, spec));
    }
    for (const Handle<CommandResult>& each : runs) EXPECT_TRUE((co_await each).ok());
  });
  for (const pid_t child : others) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Attacked, ACommandThatKillsItsSupervisorHasAnUnknownEndAndIsNotRunAgain) {
  const CommandSpec spec = shell("echo once >> \"$1\"; kill -9 $PPID; cat", {at("ledger")});
  EXPECT_EQ(run(kId, spec).end, CommandEnd::unknown);
  EXPECT_EQ(run(kId, spec).end, CommandEnd::unknown);
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Attacked, AWordThatTheKernelDoesNotTakeIsSaid) {
  const CommandResult end = run(kId, CommandSpec({"echo", std::string(300'000, 'x')}));
  EXPECT_EQ(end.end, CommandEnd::not_started);
  EXPECT_NE(end.why.find("Argument list too long"), std::string::npos) << end.why;
}

TEST_F(Attacked, ASpecThatIsTooLongIsRefusedAndNothingHasBegun) {
  CommandSpec spec({"true"});
  spec.environment.emplace_back("A", std::string(3 << 20, 'x'));
  try {
    run(kId, spec);
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::command_failed);
    EXPECT_NE(std::string(error.what()).find("at most 2 MiB"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(file_of(kId, "supervisor")));
}

// A limit on the size of files stands for a disk that takes nothing more.
TEST_F(Attacked, OnAFullDiskNothingBeginsAndTheReasonIsSaid) {
  const CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    try {
      run(kId, spec);
    } catch (const Error& error) {
      const std::string said = error.what();
      _exit(said.find("tiffany-run cannot write") != std::string::npos ? 0 : 2);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(at("ledger")), "");
  EXPECT_TRUE(run(kId, spec).ok());
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Attacked, ACommandThatWritesWithoutEndIsStoppedAndKeepsItsBounds) {
  CommandSpec spec = shell("echo $$ > \"$1\"; exec yes", {at("begun")});
  const Fifo begun(at("begun"));
  spec.output_bytes = 10'000;
  const pid_t child = fork();
  if (child == 0) _exit(run(kId, spec).end == CommandEnd::stopped ? 0 : 1);
  begun.line();
  stop(kId);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_LE(std::filesystem::file_size(file_of(kId, "out")), 10'100u);
}

TEST_F(Attacked, ARunThatIsCancelledAtAnyMomentLosesNothing) {
  exec::Commands all = commands();
  for (std::size_t step = 0; step < 100; ++step) {
    const Uuid id = id_of(std::to_string(step));
    CommandSpec spec = shell("echo \"$2\" >> \"$1\"", {at("ledger"), std::to_string(step)});
    spec.synced = false;
    Scheduler scheduler(Options().clock(system_reactor()));
    auto handle = scheduler.spawn(&exec::Commands::run, &all, id, spec);
    while (scheduler.slices() < step && !handle.done()) {
      if (!scheduler.step()) scheduler.poll(scheduler.now() + std::chrono::seconds(1));
    }
    const bool over = handle.done();
    handle.cancel("at step " + std::to_string(step));
    scheduler.run();
    EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
    EXPECT_TRUE(run(id, spec).ok()) << step;
    if (!over) continue;
    std::string every;
    for (std::size_t i = 0; i <= step; ++i) every += std::to_string(i) + "\n";
    EXPECT_EQ(text_of(at("ledger")), every);
    return;
  }
  ADD_FAILURE() << "it never came to its end";
}

TEST_F(Attacked, ACommandThatWritesItsOwnEndDoesNotDecideIt) {
  const std::string forged = to_json(CommandResult());
  const CommandResult end = run(
      kId, shell("cd \"$(dirname \"$TIFFANY_OUTPUT\")\"; printf '%s' \"$1\" > exit.json; exit 9",
                 {forged}));
  EXPECT_EQ(end.text(), "exit code 9");
  EXPECT_EQ(from_json<CommandResult>(text_of(file_of(kId, "exit.json"))).code, 9);
}

TEST_F(Attacked, WhatACommandPutsInTheWayOfItsEndGoesAside) {
  int number = 0;
  for (const char* const attack :
       {"rm exit.json.new; mkdir -p exit.json.new/x", "rm exit.json.new; ln -s /etc exit.json.new",
        "mkdir -p exit.json/x", "cd ..; rm -rf \"$TIFFANY_COMMAND\"",
        "rm out err spec.json supervisor lock"}) {
    const Uuid id = id_of("attack " + std::to_string(number++));
    const CommandResult end = run(
        id, shell(std::string("cd \"$(dirname \"$TIFFANY_OUTPUT\")\"; ") + attack + "; exit 9"));
    EXPECT_EQ(end.text(), "exit code 9") << attack;
    EXPECT_EQ(from_json<CommandResult>(text_of(file_of(id, "exit.json"))).code, 9) << attack;
  }
}

TEST_F(Attacked, ACommandThatClosesItsStreamsOrLeavesThemToOthersEnds) {
  EXPECT_EQ(run(id_of("closes"), shell("exec >&- 2>&-; exit 4")).code, 4);
  const CommandResult end =
      run(id_of("leaves"), shell("(trap '' TERM HUP; setsid sleep 1000 &) ; echo gone; exit 5"));
  EXPECT_EQ(end.code, 5);
  EXPECT_EQ(text_of(file_of(id_of("leaves"), "out")), "gone\n");
}

TEST_F(Attacked, ACommandThatHearsNoSignalIsKilledAfterItsGrace) {
  const Fifo begun(at("begun"));
  CommandSpec spec =
      shell("trap '' TERM INT HUP; echo > \"$1\"; while :; do sleep 1; done", {begun.path()});
  spec.grace_ms = 20;
  CommandResult end;
  program([&]() -> Task<void> {
    exec::Commands all = commands();
    auto running = spawn([&]() -> Task<CommandResult> { return all.run(kId, spec); });
    co_await offload([&] { return begun.line(); });
    co_await all.stop(kId);
    end = co_await running;
  });
  EXPECT_EQ(end.end, CommandEnd::stopped);
}

}  // namespace exec_attack_test
}  // namespace tiffany
