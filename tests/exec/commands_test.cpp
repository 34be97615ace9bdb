#include <csignal>
#include <exception>

#include "exec/exec_world.hpp"

namespace tiffany {
namespace commands_test {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;
using exec::Secret;

class Supervised : public ExecTest {};

const Uuid kId = ExecTest::id_of("a command");

std::string refusal_of(const std::function<void()>& f, Errc expected) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST_F(Supervised, ACommandRunsAndItsEndAndOutputAreThere) {
  const CommandResult end = run(kId, shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(end.end, CommandEnd::exited);
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.text(), "exit code 3");
  EXPECT_GE(end.ended_us, end.begun_us);
  EXPECT_EQ(text_of(file_of(kId, "out")), "out\n");
  EXPECT_EQ(text_of(file_of(kId, "err")), "err\n");
}

TEST_F(Supervised, TheSameIdNeverRunsTwiceAndGivesTheSameEnd) {
  const CommandSpec spec = shell("echo once >> \"$1\"; kill -USR1 $$", {at("ledger")});
  const CommandResult first = run(kId, spec);
  EXPECT_EQ(first.end, CommandEnd::signalled);
  EXPECT_EQ(first.signal, SIGUSR1);
  EXPECT_EQ(to_json(run(kId, spec)), to_json(first));
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Supervised, WordsAreGivenAsTheyAreAndNoShellReadsThem) {
  const std::string odd = "a b; $(touch " + at("hacked") + ") `id` 'x' \"y\" \n *";
  run(kId, CommandSpec({"printf", "%s|%s", odd, ""}));
  EXPECT_EQ(text_of(file_of(kId, "out")), odd + "|");
  EXPECT_FALSE(std::filesystem::exists(at("hacked")));
}

TEST_F(Supervised, TheEnvironmentIsCleanAndInputIsEmpty) {
  setenv("TIFFANY_TEST_TOKEN", "not for commands", 1);
  CommandSpec spec({"sh", "-c", "cat; env"});
  spec.environment.emplace_back("GIVEN", "a=b c");
  run(kId, spec);
  unsetenv("TIFFANY_TEST_TOKEN");
  const std::string out = text_of(file_of(kId, "out"));
  EXPECT_NE(out.find("GIVEN=a=b c\n"), std::string::npos);
  EXPECT_NE(out.find("TIFFANY_COMMAND=" + kId.text() + "\n"), std::string::npos);
  EXPECT_EQ(out.find("TIFFANY_TEST_TOKEN"), std::string::npos) << out;
}

TEST_F(Supervised, ASecretIsInTheEnvironmentOfTheCommandAndNowhereElse) {
  put(at("key"), "s3cret-of-a-file\n");
  setenv("TIFFANY_TEST_TOKEN", "s3cret-of-a-variable", 1);
  CommandSpec spec = shell("test \"$A\" = \"$(cat \"$1\")\" && test ${#B} = 20", {at("key")});
  spec.secrets.push_back(Secret::from_file("A", at("key")));
  spec.secrets.push_back(Secret::from_variable("B", "TIFFANY_TEST_TOKEN"));
  EXPECT_EQ(run(kId, spec).text(), "exit code 0");
  unsetenv("TIFFANY_TEST_TOKEN");
  for (const auto& entry : std::filesystem::directory_iterator(commands_at() + "/" + kId.text())) {
    EXPECT_EQ(text_of(entry.path()).find("s3cret"), std::string::npos) << entry.path();
  }
}

TEST_F(Supervised, ACommandWhoseSecretIsMissingHasNotBegunAndBeginsWhenItIsThere) {
  CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  spec.secrets.push_back(Secret::from_file("KEY", at("key")));
  const std::string said = refusal_of([&] { run(kId, spec); }, Errc::command_failed);
  EXPECT_NE(said.find("variable KEY is in the file " + at("key")), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(file_of(kId, "supervisor")));
  put(at("key"), "there now");
  EXPECT_TRUE(run(kId, spec).ok());
  EXPECT_EQ(text_of(at("ledger")), "once\n");
}

TEST_F(Supervised, AProgramOrADirectoryThatIsNotThereIsSaidAndIsNoCrash) {
  const CommandResult program = run(kId, CommandSpec({"no-such-program-anywhere"}));
  EXPECT_EQ(program.end, CommandEnd::not_started);
  EXPECT_NE(program.why.find("No program of that name"), std::string::npos) << program.why;
  CommandSpec spec({"true"});
  spec.directory = at("nowhere");
  const CommandResult directory = run(id_of("other"), spec);
  EXPECT_EQ(directory.end, CommandEnd::not_started);
  EXPECT_NE(directory.why.find("could not enter its directory " + at("nowhere")), std::string::npos)
      << directory.why;
}

TEST_F(Supervised, AnIdOfAnotherCommandIsRefused) {
  run(kId, CommandSpec({"true"}));
  refusal_of([&] { run(kId, CommandSpec({"false"})); }, Errc::command_conflict);
}

TEST_F(Supervised, WhatCannotBeACommandIsRefusedBeforeAnythingIsWritten) {
  refusal_of([&] { run(kId, CommandSpec()); }, Errc::bad_argument);
  refusal_of([&] { run(kId, CommandSpec({std::string("a\0b", 3)})); }, Errc::bad_argument);
  CommandSpec spec({"true"});
  spec.environment.emplace_back("A=B", "");
  refusal_of([&] { run(kId, spec); }, Errc::bad_argument);
  EXPECT_FALSE(std::filesystem::exists(commands_at()));
}

TEST_F(Supervised, OfALongOutputTheBeginningAndTheEndAreKept) {
  CommandSpec spec({"seq", "1", "100000"});
  spec.output_bytes = 1000;
  const CommandResult end = run(kId, spec);
  const std::string out = text_of(file_of(kId, "out"));
  EXPECT_EQ(out.substr(0, 6), "1\n2\n3\n");
  EXPECT_EQ(out.substr(out.size() - 14), "\n99999\n100000\n");
  EXPECT_EQ(end.output_dropped, 588'895u - 1000u);
  EXPECT_NE(out.find("[587895 bytes left out]"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_of(kId, "out.tail")));
}

TEST_F(Supervised, ACommandThatTakesTooLongIsKilledWithEverythingItStarted) {
  const Fifo said(at("said"));
  const Fifo never(at("never"));
  // The child leaves group and session, and neither hears SIGTERM.
  CommandSpec spec = shell(
      "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > \"$1\"; exec cat \"$2\"' sh \"$1\" "
      "\"$2\" & wait; cat \"$2\"",
      {said.path(), never.path()});
  spec.timeout_ms = 50;
  spec.grace_ms = 10;
  const CommandResult end = run(kId, spec);
  EXPECT_EQ(end.end, CommandEnd::timed_out);
  EXPECT_NE(end.why.find("longer than its 50 ms"), std::string::npos) << end.why;
  pollfd there{said.fd(), POLLIN, 0};
  if (poll(&there, 1, 0) == 1) {  // it may be killed before it had come so far
    EXPECT_TRUE(ends(std::stoi(said.line())));
  }
}

TEST_F(Supervised, WhatACommandLeavesBehindDoesNotOutliveIt) {
  const Fifo said(at("said"));
  const Fifo never(at("never"));
  const CommandResult end =
      run(kId, shell("(setsid sh -c 'echo $$ > \"$0\"; exec cat \"$1\"' \"$1\" \"$2\" &) ; "
                     "read line < \"$3\"; exit 0",
                     {said.path(), never.path(), "/dev/null"}));
  EXPECT_TRUE(end.end == CommandEnd::exited) << end.text();
  pollfd there{said.fd(), POLLIN, 0};
  if (poll(&there, 1, 0) == 1) {
    EXPECT_TRUE(ends(std::stoi(said.line())));
  }
}

TEST_F(Supervised, LimitsOfTheKernelHoldForTheCommand) {
  CommandSpec spec = shell("head -c 5000 /dev/zero > \"$1\"", {at("big")});
  spec.limits.file_bytes = 1000;
  EXPECT_FALSE(run(kId, spec).ok());
  EXPECT_EQ(std::filesystem::file_size(at("big")), 1000u);
}

TEST_F(Supervised, OutputsOfTheCommandAreReadFromTheirFile) {
  exec::Commands all = commands();
  run(kId, shell("echo version=7 >> \"$TIFFANY_OUTPUT\""));
  std::string outputs;
  program(
      [&]() -> Task<void> { outputs = co_await all.read(kId, exec::CommandFile::outputs, 1000); });
  EXPECT_EQ(outputs, "version=7\n");
}

}  // namespace commands_test
}  // namespace tiffany
