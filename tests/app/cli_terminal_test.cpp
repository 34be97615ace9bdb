// The command line on a terminal: colours, widths, questions, Ctrl-C, the whole screen.
#include "tiffany/io/terminal.hpp"

#include "app/cli_runner.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::daemon_tests {
namespace cli_terminal_test {

// What is typed when a text has been shown.
struct Typed {
  std::string when;
  std::string keys;
};

struct Seen {
  std::string text;
  int status = -1;
};

class CliTerminal : public DepotTest {
 protected:
  // Runs a command with a terminal of that many columns, and types.
  static Seen on_terminal(const std::string& arguments, std::vector<Typed> typed = {},
                          std::uint16_t columns = 80, const std::string& variables = "") {
    Seen seen;
    run(bounded(variables + " exec " + words(arguments), std::move(typed), columns, &seen));
    return seen;
  }

 private:
  // A program that waits for what nobody types is killed with its terminal.
  static Task<void> bounded(std::string line, std::vector<Typed> typed, std::uint16_t columns,
                            Seen* seen) {
    const auto ended =
        co_await within(std::chrono::seconds(30), watch_screen(line, typed, columns, seen));
    EXPECT_FALSE(ended.timed_out()) << seen->text;
  }
  static Task<void> watch_screen(std::string line, std::vector<Typed> typed, std::uint16_t columns,
                                 Seen* seen) {
    Terminal terminal(columns, 24);
    Command command("sh");
    std::move(command).arg("-c").arg(line).env("TERM", "xterm-256color");
    Process process = terminal.start(std::move(command));
    std::size_t next = 0;
    std::size_t from = 0;
    std::array<char, 4096> room;
    while (const std::size_t n = co_await terminal.read(room)) {
      seen->text.append(room.data(), n);
      while (next < typed.size()) {
        const std::size_t at = seen->text.find(typed[next].when, from);
        if (at == std::string::npos) break;
        from = at + typed[next].when.size();
        co_await terminal.write(typed[next].keys);
        ++next;
      }
    }
    const ExitStatus end = co_await process.wait();
    seen->status = end.code;
  }
};

TEST_F(CliTerminal, TablesFitTheWidthAndAreColouredUnlessSomebodySaysNo) {
  const std::string id = started("fails '" + std::string(200, 'x') + "'");
  EXPECT_EQ(depot("result --wait " + id).status, 1);
  const Seen seen = on_terminal("ps -a --status failed");
  EXPECT_EQ(seen.status, 0);
  EXPECT_NE(seen.text.find("\x1b[31mfailed\x1b[0m"), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find("…"), std::string::npos) << "cut to fit: " << seen.text;
  EXPECT_EQ(seen.text.find(id), std::string::npos) << "short ids: " << seen.text;
  const std::string plain = on_terminal("ps -a --status failed", {}, 60, "NO_COLOR=1").text;
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::size_t longest = 0;
  std::stringstream lines(plain);
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, line.size() - (line.ends_with('\r') ? 1 : 0));
  }
  EXPECT_LE(longest, 60u + 2u) << plain;  // … is one column and three bytes
  EXPECT_EQ(on_terminal("--color never ps -a").text.find('\x1b'), std::string::npos);
  EXPECT_EQ(on_terminal("ps -a", {}, 80, "TERM=dumb").text.find('\x1b'), std::string::npos);
  // Off a terminal: no colour and nothing cut off, unless colour is asked for.
  EXPECT_EQ(depot("ps -a").out.find('\x1b'), std::string::npos);
  EXPECT_NE(depot("ps -a").out.find(std::string(200, 'x')), std::string::npos);
  EXPECT_NE(run_shell("CLICOLOR_FORCE=1 " + words("ps -a")).out.find('\x1b'), std::string::npos);
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::ranges::count_if(
        line, [](char c) { return c != '\r' && (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    longest = std::max(longest, static_cast<std::size_t>(columns));
  }
  return longest;
}

TEST_F(CliTerminal, WideTablesAndHelpFitIntoNarrowTerminals) {
  waiting("a rather long name of an order");
  for (const char* const words : {"promises", "audit", "types", "help", "help approve"}) {
    for (const std::uint16_t columns : {std::uint16_t{50}, std::uint16_t{80}}) {
      const std::string text = on_terminal(words, {}, columns, "NO_COLOR=1").text;
      EXPECT_LE(longest_line(text), columns) << words << "\n" << text;
    }
  }
}

TEST_F(CliTerminal, CtrlCDetachesAndSaysHowToComeBack) {
  const std::string id = waiting("t1");
  const Seen seen = on_terminal("watch " + id, {{"Waits for promise approval#1", "\x03"}});
  EXPECT_EQ(seen.status, 130) << seen.text;
  EXPECT_NE(seen.text.find("the task goes on. To come back:"), std::string::npos) << seen.text;
  EXPECT_NE(depot("show " + id).out.find("running"), std::string::npos);
  const Seen waits = on_terminal("result --wait " + id, {{"approve", "\x03"}});
  EXPECT_EQ(waits.status, 130) << waits.text;
}

TEST_F(CliTerminal, WhatCannotBeUndoneIsAskedAbout) {
  const std::string id = started("naps");
  EXPECT_EQ(depot("kill " + id).status, 6) << "no terminal to ask on";
  const Seen no = on_terminal("kill " + id, {{"[y/N]", "n\n"}});
  EXPECT_EQ(no.status, 1);
  EXPECT_NE(no.text.find("Nothing was changed."), std::string::npos) << no.text;
  const Seen yes = on_terminal("kill " + id, {{"[y/N]", "y\n"}});
  EXPECT_EQ(yes.status, 0) << yes.text;
  EXPECT_EQ(depot("result " + id).status, 8);
}

TEST_F(CliTerminal, OneOfSeveralPromisesIsChosenByItsNumber) {
  const std::string id = started("two");
  ASSERT_TRUE(shows("show " + id, "seller#1"));
  const Seen wrong = on_terminal("approve " + id, {{"(1 to 2)?", "3\n"}});
  EXPECT_EQ(wrong.status, 1) << wrong.text;
  const Seen seen = on_terminal("approve " + id, {{"(1 to 2)?", "1\n"}});
  EXPECT_EQ(seen.status, 0) << seen.text;
  EXPECT_EQ(depot("approve " + id).status, 0) << "one is left";
  EXPECT_EQ(depot("result --wait " + id).status, 0);
}

// With a daemon that has one task: the first line is that task.
class CliTop : public CliTerminal {};

TEST_F(CliTop, TheWholeScreenShowsTasksAndApprovesThem) {
  const std::string id = waiting("top1");
  // Curses writes what differs from the line before, so that only new lines can be looked for.
  const Seen seen = on_terminal("top -d 50ms", {{"order", "a"}, {"y/n", "yq"}}, 120);
  EXPECT_EQ(seen.status, 0) << seen.text;
  EXPECT_NE(seen.text.find("depot 1.2.3"), std::string::npos);
  EXPECT_EQ(depot("result --wait " + id).out, "\"order top1 paid by payment-top1\"\n");
}

TEST_F(CliTop, AnAbsentDaemonIsASentenceAndNotAScreen) {
  const Seen seen = on_terminal("--socket /nowhere/x.sock top");
  EXPECT_EQ(seen.status, 3);
  EXPECT_EQ(seen.text.find("\x1b["), std::string::npos) << seen.text;
}

}  // namespace cli_terminal_test
}  // namespace tiffany::daemon_tests
