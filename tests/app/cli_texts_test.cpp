// Texts that are made of the table of commands: help, the manual, the page of the documentation.
#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_texts_test {

std::string tiffany_text(const std::string& arguments) {
  const CliSaid said = run_shell(std::string(TIFFANY_PROGRAM) + " " + arguments);
  EXPECT_EQ(said.status, 0) << said.err;
  return said.out;
}

TEST(CliTexts, ThePageOfTheDocumentationHasTheTableOfCommands) {
  const std::string page = content_of_file(TIFFANY_SOURCES "/docs/23-command-line.md");
  const std::string begin = "a test compares -->\n";
  const std::size_t from = page.find(begin);
  const std::size_t end = page.find("<!-- end -->");
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(from + begin.size(), end - from - begin.size()),
            tiffany_text("__reference"))
      << "Put what `tiffany __reference` prints between the two marks.";
}

TEST(CliTexts, EveryCommandHasHelpAndIsInTheManual) {
  const std::string help = tiffany_text("help");
  const std::string manual = tiffany_text("man");
  for (const char* each : {"start", "ps", "watch", "approve", "schedule create", "wal verify",
                           "serve", "doctor", "completion"}) {
    EXPECT_NE(help.find(std::string("\n  ") + each + " "), std::string::npos) << each;
    EXPECT_NE(manual.find(std::string(".SS ") + each), std::string::npos) << each;
    EXPECT_TRUE(tiffany_text(std::string("help ") + each)
                    .starts_with("usage: tiffany " + std::string(each)))
        << each;
  }
  EXPECT_EQ(help.find("__complete"), std::string::npos);
}

TEST(CliTexts, TheManualIsRoffThatManReads) {
  if (run_shell("command -v groff").status != 0) GTEST_SKIP() << "there is no groff";
  const CliSaid said = run_shell(std::string(TIFFANY_PROGRAM) + " man | groff -man -Tascii -ww -z");
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.err, "");
}

TEST(CliTexts, ConfigPrintsSettingsAndWhereEachIsFrom) {
  const CliSaid said =
      run_shell(std::string("TIFFANY_DRAIN=7s ") + TIFFANY_PROGRAM + " config --data=/nowhere/x");
  EXPECT_NE(said.out.find("now from: flag\ndata = /nowhere/x"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("now from: environment\ndrain = 7s"), std::string::npos) << said.out;
  EXPECT_EQ(run_shell(std::string(TIFFANY_PROGRAM) + " config --drain soon").status, 2);
  EXPECT_EQ(run_shell(std::string(TIFFANY_PROGRAM) + " serve --dance").status, 2);
}

TEST(CliTexts, CommandsOnClosedLogsAreInTheSameGrammar) {
  const CliSaid said = run_shell(std::string(TIFFANY_PROGRAM) + " wal verify --help");
  EXPECT_TRUE(said.out.starts_with("usage: tiffany wal verify DIR\n")) << said.out;
  EXPECT_EQ(run_shell(std::string(TIFFANY_PROGRAM) + " -q wal verify /nowhere").err,
            "tiffany: There is no directory /nowhere.\n");
}

}  // namespace cli_texts_test
}  // namespace tiffany::daemon_tests
