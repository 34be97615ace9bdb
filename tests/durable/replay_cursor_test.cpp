// The cursor over the commands of a log, without a host.
#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "../../src/durable/replay.hpp"

namespace tiffany::detail {
namespace replay_cursor_test {

class ReplayCursor : public testing::Test {
 protected:
  static std::vector<Command> log(const std::vector<std::pair<std::string, std::string>>& all) {
    std::vector<Command> commands;
    for (const auto& [kind, id] : all) {
      commands.emplace_back();
      commands.back().kind = kind;
      commands.back().id = id;
      commands.back().seq = commands.size() + 1;
      commands.back().place = "a.cpp:1";
    }
    return commands;
  }
  Replay::Match match(const std::string& kind, const std::string& id, const std::string& hash = "",
                      const std::string& shape = "") {
    return replay.match(kind, id, hash, shape, std::source_location::current());
  }
  Replay replay;
};

TEST_F(ReplayCursor, CommandsAreThoseOfTheLogInTheirOrder) {
  replay.load(log({{"step", "a#1"}, {"timer", "timer#1"}}), false);
  EXPECT_EQ(match("step", "a#1").recorded->seq, 2U);
  EXPECT_EQ(replay.next()->id, "timer#1");
  EXPECT_EQ(match("timer", "timer#1").recorded->seq, 3U);
  EXPECT_EQ(replay.left_over(), nullptr);
  const Replay::Match more = match("step", "b#1");
  EXPECT_EQ(more.recorded, nullptr);
  EXPECT_TRUE(more.difference.empty());
  EXPECT_EQ(replay.compared(), 2U);
}

TEST_F(ReplayCursor, TheSameCodeMayNotMakeThemInAnotherOrder) {
  replay.load(log({{"step", "a#1"}, {"step", "b#1"}}), false);
  const Replay::Match found = match("step", "b#1");
  EXPECT_EQ(found.recorded, nullptr);
  EXPECT_NE(found.difference.find("The log says step \"a#1\" (record 2, from a.cpp:1), the code "
                                  "asks for step \"b#1\""),
            std::string::npos);
}

TEST_F(ReplayCursor, NewerCodeMayMakeThemInAnotherOrderButNothingNewBeforeAll) {
  replay.load(log({{"step", "a#1"}, {"step", "b#1"}}), true);
  EXPECT_EQ(match("step", "b#1").recorded->seq, 3U);
  EXPECT_FALSE(match("step", "c#1").difference.empty());
  EXPECT_EQ(match("step", "a#1").recorded->seq, 2U);
  EXPECT_TRUE(match("step", "c#1").difference.empty());
}

TEST_F(ReplayCursor, AVersionThatTheLogDoesNotHaveIsOlderThanTheChange) {
  replay.load(log({{"step", "a#1"}}), false);
  const Replay::Match found = match("version", "change#1");
  EXPECT_TRUE(found.older);
  EXPECT_TRUE(found.difference.empty());
  EXPECT_EQ(replay.left_over()->id, "a#1");
}

TEST_F(ReplayCursor, NewerCodeNeedNotAskForVersions) {
  replay.load(log({{"version", "change#1"}}), true);
  EXPECT_NE(replay.next(), nullptr);
  EXPECT_EQ(replay.left_over(), nullptr);
  replay.clear();
  EXPECT_TRUE(replay.empty());
}

TEST_F(ReplayCursor, OtherArgumentsAndOtherTypesAreDifferences) {
  std::vector<Command> commands = log({{"step", "a#1"}, {"promise", "p#1"}});
  commands[0].hash = "17";
  commands[1].shape = "string";
  replay.load(std::move(commands), false);
  EXPECT_NE(match("step", "a#1", "18").difference.find("with the arguments 18"), std::string::npos);
  EXPECT_NE(match("step", "a#1", "17").recorded, nullptr);
  EXPECT_NE(match("promise", "p#1", "", "integer").difference.find("one of the kind integer"),
            std::string::npos);
}

}  // namespace replay_cursor_test
}  // namespace tiffany::detail
