#include "tiffany/io/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace {

using namespace std::chrono_literals;
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

Task<ProcessOutput> endless() { co_return co_await run_command(Command("yes"), {}, 10'000); }

TEST_P(ProcessTest, T8_ACommandThatWritesTooMuchIsKilledAndAnError) {
  EXPECT_NE(what_of(run(endless).error()).find("File too large"), std::string::npos);
}

Task<void> starts_nothing() {
  Process process(Command("tiffany-no-such-program"));
  co_await process.wait();
}

TEST_P(ProcessTest, T8_AProgramThatDoesNotExistIsAnErrorWithItsName) {
  EXPECT_EQ(what_of(run(starts_nothing).error()),
            "start on tiffany-no-such-program failed: No such file or directory (errno 2).");
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

TEST_P(ProcessTest, T8_AChildHasNoDescriptorButTheThree) {
  const auto outcome = run(shell, std::string("ls /proc/self/fd"), std::string());
  EXPECT_EQ(outcome.value().output, "0\n1\n2\n3\n");  // the last is of ls itself
}

}  // namespace
}  // namespace tiffany
