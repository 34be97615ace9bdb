#include "tiffany/io/terminal.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace terminal_test {

using namespace std::chrono_literals;

class TerminalTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(TerminalTest);

Task<std::string> screen_of(Terminal* terminal) {
  std::string all;
  std::array<char, 256> room;
  for (;;) {
    const std::size_t n = co_await terminal->read(room);
    if (n == 0) co_return all;
    all.append(room.data(), n);
  }
}

// Until the text has appeared.
Task<void> wait_for(Terminal* terminal, std::string text) {
  std::string all;
  std::array<char, 256> room;
  while (all.find(text) == std::string::npos) {
    const std::size_t n = co_await terminal->read(room);
    if (n == 0) co_return;
    all.append(room.data(), n);
  }
}

Task<std::string> shell(std::string script) {
  Terminal terminal(100, 30);
  Process process = terminal.start(Command("sh").arg("-c").arg(script));
  const std::string screen = co_await screen_of(&terminal);
  const ExitStatus end = co_await process.wait();
  co_return screen + "(" + end.text() + ")";
}

TEST_P(TerminalTest, AProgramSeesATerminalAtAllThreeDescriptors) {
  EXPECT_EQ(
      run(shell, std::string("test -t 0 && test -t 1 && test -t 2 && stty size; exit 3")).value(),
      "30 100\r\n(exit code 3)");
}

TEST_P(TerminalTest, TheTerminalIsTheControllingOneOfItsSession) {
  EXPECT_EQ(run(shell, std::string("echo hello > /dev/tty")).value(), "hello\r\n(exit code 0)");
}

Task<std::string> types_a_line() {
  Terminal terminal;
  Process process = terminal.start(Command("sh").arg("-c").arg("read x; echo got $x"));
  co_await terminal.write("tea\n");
  const std::string screen = co_await screen_of(&terminal);
  co_await process.wait();
  co_return screen;
}

TEST_P(TerminalTest, WhatIsTypedIsEchoedAndRead) {
  EXPECT_EQ(run(types_a_line).value(), "tea\r\ngot tea\r\n");
}

Task<std::string> interrupts() {
  Terminal terminal;
  Process process = terminal.start(Command("sh").arg("-c").arg("echo ready; exec sleep 100"));
  co_await wait_for(&terminal, "ready");
  co_await terminal.write("\x03");
  const ExitStatus end = co_await process.wait();
  co_return end.text();
}

TEST_P(TerminalTest, ControlCIsASignal) {
  EXPECT_EQ(run(interrupts).value(), "killed by signal 2");
}

Task<std::string> resizes() {
  Terminal terminal;
  Process process = terminal.start(Command("sh").arg("-c").arg(
      "trap 'stty size; exit' WINCH; echo ready; while :; do read x; done"));
  co_await wait_for(&terminal, "ready");
  terminal.resize(132, 50);
  co_await terminal.write("\n");
  const std::string screen = co_await screen_of(&terminal);
  co_await process.wait();
  co_return screen.find("50 132") != std::string::npos ? "resized" : screen;
}

TEST_P(TerminalTest, AProgramHearsOfANewSize) { EXPECT_EQ(run(resizes).value(), "resized"); }

Task<std::string> hangs_up() {
  Terminal terminal;
  Process process = terminal.start(Command("sh").arg("-c").arg("echo ready; exec sleep 100"));
  co_await wait_for(&terminal, "ready");
  terminal.close();
  const ExitStatus end = co_await process.wait();
  co_return end.text();
}

TEST_P(TerminalTest, ClosingTheTerminalHangsUp) {
  EXPECT_EQ(run(hangs_up).value(), "killed by signal 1");
}

TEST_P(TerminalTest, AProgramThatIsNotThereIsAnError) {
  const auto error = run([]() -> Task<void> {
                       Terminal terminal;
                       Process process = terminal.start(Command("no-such-program-at-all"));
                       co_await process.wait();
                     }).error();
  EXPECT_EQ(test::code_of(error), Errc::io_failed);
}

TEST_P(TerminalTest, AConversationCanBeCancelledAtEveryStep) { cancel_at_every_step(types_a_line); }

}  // namespace terminal_test
}  // namespace tiffany
