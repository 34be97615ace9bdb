#include "tiffany/io/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace process_test {

using namespace std::chrono_literals;
using test::code_of;
using test::what_of;

class ProcessTest : public OnEveryReactor {
 protected:
  // No child may be left, dead or alive.
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    OnEveryReactor::TearDown();
  }
};
TIFFANY_ON_EVERY_REACTOR(ProcessTest);

Task<ProcessOutput> shell(std::string script, std::string input) {
  co_return co_await run_command(Command("sh").arg("-c").arg(script), input);
}

TEST_P(ProcessTest, T8_ACommandGetsItsInputAndGivesItsOutputItsErrorsAndItsCode) {
  const auto outcome =
      run(shell, std::string("tr a-z A-Z; echo oops >&2; exit 3"), std::string("hello"));
  EXPECT_EQ(outcome.value().output, "HELLO");
  EXPECT_EQ(outcome.value().errors, "oops\n");
  EXPECT_EQ(outcome.value().status.text(), "exit code 3");
}

TEST_P(ProcessTest, T8_MegabytesGoThroughACommand) {
  const std::string text(2'000'000, 'x');
  EXPECT_EQ(run(shell, std::string("cat"), text).value().output, text);
}

TEST_P(ProcessTest, T8_ACommandThatDoesNotReadItsInputIsNoError) {
  EXPECT_TRUE(run(shell, std::string("true"), std::string(1'000'000, 'x')).value().status.ok());
}

TEST_P(ProcessTest, AnExitStatusThatSomebodyElseTookIsAnErrorAndNoSuccess) {
  struct sigaction ignored{};
  struct sigaction before{};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGCHLD, &ignored, &before), 0);  // the kernel reaps children by itself then
  const auto outcome = run(shell, std::string("exit 3"), std::string());
  ASSERT_EQ(sigaction(SIGCHLD, &before, nullptr), 0);
  ASSERT_TRUE(outcome.failed());
  EXPECT_EQ(code_of(outcome.error()), Errc::io_failed);
  EXPECT_NE(what_of(outcome.error()).find("SIGCHLD is ignored"), std::string::npos)
      << what_of(outcome.error());
}

Task<ProcessOutput> with_limit(std::string script, std::size_t limit) {
  co_return co_await run_command(Command("sh").arg("-c").arg(script), {},
                                 RunOptions().limit(limit));
}

TEST_P(ProcessTest, ACommandThatWritesTooMuchIsCutOffWithAMark) {
  const auto outcome =
      run(with_limit, std::string("head -c 1000000 /dev/zero | tr '\\0' x; echo no >&2"), 10u);
  ASSERT_TRUE(outcome.ok()) << what_of(outcome.error());
  EXPECT_EQ(outcome.value().output, "xxxxxxxxxx\n[and 999990 more bytes]\n");
  EXPECT_EQ(outcome.value().output_dropped, 999'990u);
  EXPECT_EQ(outcome.value().errors, "no\n");
  EXPECT_EQ(outcome.value().errors_dropped, 0u);
  EXPECT_TRUE(outcome.value().status.ok());
}

Task<bool> gives_up_an_endless_one() {
  const auto outcome = co_await within(20ms, with_limit("yes", 10'000));
  co_return outcome.timed_out();
}

TEST_P(ProcessTest, ACommandThatWritesForEverIsKilledByATimeout) {
  EXPECT_TRUE(run(gives_up_an_endless_one).value());
}

Task<void> starts_nothing() {
  Process process(Command("tiffany-no-such-program"));
  co_await process.wait();
}

TEST_P(ProcessTest, T8_AProgramThatDoesNotExistIsAnErrorWithItsName) {
  EXPECT_EQ(
      what_of(run(starts_nothing).error()),
      "start on tiffany-no-such-program failed: No such file or directory (errno 2). No program "
      "of that name is in PATH, or the interpreter in its first line is missing.");
}

Task<ExitStatus> killed() {
  Process process(Command("sleep").arg("1000"));
  process.kill(SIGTERM);
  const ExitStatus first = co_await process.wait();
  const ExitStatus again = co_await process.wait();
  EXPECT_EQ(first.signal, again.signal);
  process.kill(SIGTERM);  // harmless
  co_return first;
}

TEST_P(ProcessTest, T8_AProcessThatASignalEndedSaysWhich) {
  EXPECT_EQ(run(killed).value().text(), "killed by signal 15");
}

Task<void> sleeps_for_long() {
  Process process(Command("sleep").arg("1000"));
  co_await process.wait();
}

Task<bool> gives_up() {
  const auto result = co_await within(1ms, sleeps_for_long());
  co_return result.timed_out();
}

TEST_P(ProcessTest, T8_AProcessWhoseTaskIsCancelledIsKilledAndReaped) {
  EXPECT_TRUE(run(gives_up).value());
}

TEST_P(ProcessTest, T8_ACommandCanBeCancelledAtEveryStep) {
  cancel_at_every_step(shell, std::string("cat; echo error >&2"), std::string(100'000, 'x'));
}

Task<ProcessOutput> where_and_what() {
  co_return co_await run_command(
      Command("sh").arg("-c").arg("pwd; echo $COLOUR").directory("/").env("COLOUR", "green"));
}

TEST_P(ProcessTest, T8_ACommandRunsInItsDirectoryAndWithItsEnvironment) {
  EXPECT_EQ(run(where_and_what).value().output, "/\ngreen\n");
}

// ---- Grandchildren ----

Task<std::string> rest_of(const ByteStream* from) {
  std::string all;
  std::array<char, 256> room;
  while (const std::size_t n = co_await from->read(room)) all.append(room.data(), n);
  co_return all;
}

Task<std::string> ends_a_family() {
  ByteStream output;
  {
    Process process(
        Command("sh").arg("-c").arg("(sleep 2; echo survived) & echo begun; wait").pipe_output());
    std::array<char, 6> room;
    co_await process.output().read(room);
    output = std::move(process.output());
  }
  co_return co_await rest_of(&output);  // until nobody has the other end any more
}

TEST_P(ProcessTest, AProcessThatIsDestroyedTakesItsGrandchildrenAlong) {
  EXPECT_EQ(run(ends_a_family).value(), "");
}

TEST_P(ProcessTest, ACommandDoesNotWaitForAGrandchildThatHoldsThePipe) {
  const auto outcome = run(shell, std::string("(sleep 2; echo late) & echo early"), std::string());
  EXPECT_EQ(outcome.value().output, "early\n");
}

TEST_P(ProcessTest, ACommandDoesNotWaitForAGrandchildThatHasLeftItsGroup) {
  const auto outcome =
      run(shell, std::string("setsid sh -c 'sleep 2; echo late' & echo early"), std::string());
  EXPECT_EQ(outcome.value().output, "early\n");
}

TEST_P(ProcessTest, AProcessHasAGroupOfItsOwn) {
  const auto outcome =
      run(shell, std::string("echo $$; cut -d' ' -f5 /proc/$$/stat"), std::string());
  const std::string& text = outcome.value().output;
  const std::size_t line = text.find('\n');
  EXPECT_EQ(text.substr(0, line + 1), text.substr(line + 1));
}

// ---- Environment, directory, errors ----

TEST_P(ProcessTest, WhatIsInOurEnvironmentIsNotHandedOnUnlessAskedFor) {
  setenv("TIFFANY_TEST_SECRET", "hidden", 1);
  const auto outcome = run(
      shell, std::string("echo ${TIFFANY_TEST_SECRET-unset}; test -n \"$PATH\""), std::string());
  unsetenv("TIFFANY_TEST_SECRET");
  EXPECT_EQ(outcome.value().output, "unset\n");
  EXPECT_TRUE(outcome.value().status.ok()) << "PATH is handed on";
}

Task<ProcessOutput> with_everything() {
  co_return co_await run_command(
      Command("sh").arg("-c").arg("echo $TIFFANY_TEST_SECRET").inherit_environment());
}

Task<ProcessOutput> with_nothing() {
  co_return co_await run_command(Command("env").clear_environment().env("A", "1").env("A", "2"));
}

TEST_P(ProcessTest, ACommandGetsAllOfTheEnvironmentOrNothingOfItWhenAsked) {
  setenv("TIFFANY_TEST_SECRET", "hidden", 1);
  EXPECT_EQ(run(with_everything).value().output, "hidden\n");
  unsetenv("TIFFANY_TEST_SECRET");
  EXPECT_EQ(run(with_nothing).value().output, "A=2\n") << "the last one counts";
}

Task<ProcessOutput> with_variable(std::string name) {
  co_return co_await run_command(Command("env").env(name, "1"));
}

TEST_P(ProcessTest, AVariableWithoutAProperNameIsRefused) {
  EXPECT_EQ(code_of(run(with_variable, std::string()).error()), Errc::bad_argument);
  EXPECT_EQ(code_of(run(with_variable, std::string("A=B")).error()), Errc::bad_argument);
  EXPECT_EQ(code_of(run(with_variable, std::string("A\0B", 3)).error()), Errc::bad_argument);
}

Task<ProcessOutput> in_a_directory(std::string path) {
  co_return co_await run_command(Command("true").directory(path));
}

TEST_P(ProcessTest, AWorkingDirectoryThatIsMissingIsAnErrorThatNamesIt) {
  EXPECT_EQ(what_of(run(in_a_directory, std::string("/no/such/directory")).error()),
            "start on true failed: No such file or directory (errno 2). Its working directory "
            "\"/no/such/directory\" does not exist.");
  EXPECT_EQ(what_of(run(in_a_directory, std::string("/etc/passwd")).error()),
            "start on true failed: Not a directory (errno 20). Its working directory "
            "\"/etc/passwd\" is not a directory.");
}

Task<ProcessOutput> with_argument(std::string argument) {
  co_return co_await run_command(Command("tiffany-no-such-program").arg(argument));
}

TEST_P(ProcessTest, TheErrorOfACommandWithALongArgumentIsShort) {
  const std::string text = what_of(run(with_argument, std::string(100'000, 'x')).error());
  EXPECT_LT(text.size(), 600u);
  EXPECT_NE(text.find("(100024 bytes)"), std::string::npos) << text;
}

TEST_P(ProcessTest, AnArgumentWithAZeroByteIsRefused) {
  const std::string text = what_of(run(with_argument, std::string("a\0b", 3)).error());
  EXPECT_NE(text.find("zero byte"), std::string::npos) << text;
}

TEST_P(ProcessTest, T8_AChildHasNoDescriptorButTheThree) {
  const auto outcome = run(shell, std::string("ls /proc/self/fd"), std::string());
  EXPECT_EQ(outcome.value().output, "0\n1\n2\n3\n");  // the last is of ls itself
}

}  // namespace process_test
}  // namespace tiffany
