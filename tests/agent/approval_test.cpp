#include "tiffany/agent/approval.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace approval_test {

using std::chrono::seconds;

Action some_action() {
  Action action;
  action.task = "0192d1a0-0000-7000-8000-000000000001";
  action.tool = "run";
  action.pin = std::string(64, 'a');
  action.arguments = R"({"argv":["make","test"],"timeout":1.50})";
  action.level = 2;
  action.base = std::string(40, 'b');
  action.tree = std::string(40, 'c');
  return action;
}

Answer yes_to(const Action& action) {
  Answer answer;
  answer.digest = digest(action);
  answer.verdict = Verdict::approve;
  answer.who = "uid 1000";
  return answer;
}

const WallTime kNow{seconds(1'800'000'000)};
const WallTime kLater = kNow + seconds(60);

std::string refusal(const Action& action, const Answer& answer, WallTime now = kNow,
                    WallTime expiry = kLater, const std::vector<Action>& earlier = {}) {
  try {
    check_answer(action, answer, now, expiry, earlier);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::approval_refused);
    return error.what();
  }
  return {};
}

TEST(Approval, TheDigestIsThatOfTheCanonicalText) {
  const Action action = some_action();
  EXPECT_EQ(canonical_text(action),
            R"({"arguments":{"argv":["make","test"],"timeout":1.5},"base":")" +
                std::string(40, 'b') + R"(","level":2,"pin":")" + std::string(64, 'a') +
                R"(","task":"0192d1a0-0000-7000-8000-000000000001","tool":"run","tree":")" +
                std::string(40, 'c') + R"("})");
  EXPECT_EQ(digest(action), sha256_hex(canonical_text(action)));
  EXPECT_EQ(digest(action).size(), 64U);
  EXPECT_EQ(from_json<Action>(to_json(action)), action);
}

TEST(Approval, ArgumentsThatAreEqualHaveOneDigestHoweverTheyAreWritten) {
  Action other = some_action();
  other.arguments = "{ \"timeout\" : 15e-1,\n \"argv\": [\"\\u006dake\", \"test\"] }";
  EXPECT_EQ(digest(other), digest(some_action()));
  EXPECT_EQ(differences(other, some_action()), "");
}

TEST(Approval, EachMemberCounts) {
  std::set<std::string> digests{digest(some_action())};
  const auto differs = [&](const Action& other, const std::string& name) {
    EXPECT_TRUE(digests.insert(digest(other)).second) << name;
    EXPECT_EQ(differences(some_action(), other), name);
  };
  Action other = some_action();
  other.task.back() = '2';
  differs(other, "task");
  other = some_action();
  other.tool = "write";
  differs(other, "tool");
  other = some_action();
  other.pin.back() = 'b';
  differs(other, "pin");
  other = some_action();
  other.arguments = R"({"argv":["make","test "],"timeout":1.50})";
  differs(other, "arguments");
  other = some_action();
  other.level = 1;
  differs(other, "level");
  other = some_action();
  other.base.back() = 'd';
  differs(other, "base");
  other = some_action();
  other.tree.back() = 'd';
  differs(other, "tree");
}

// What one member ends with cannot be moved into the next.
TEST(Approval, MembersDoNotRunIntoOneAnother) {
  Action one = some_action();
  one.tool = "a\",\"tree\":\"x";
  one.tree = "";
  Action two = some_action();
  two.tool = "a";
  two.tree = "x";
  EXPECT_NE(digest(one), digest(two));
}

TEST(Approval, ArgumentsThatTwoProgramsMayReadDifferentlyAreRefused) {
  for (const char* arguments : {R"({"path":"a","path":"b"})", R"({"amount":9007199254740993})", "{",
                                "", "{} 1", "{\"a\":\"\xff\"}"}) {
    Action action = some_action();
    action.arguments = arguments;
    try {
      digest(action);
      ADD_FAILURE() << arguments;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::bad_tool);
    }
  }
  Action action = some_action();
  action.tool = "r\xff";
  EXPECT_THROW(digest(action), Error);
}

TEST(Approval, AnAnswerWithTheDigestCounts) {
  EXPECT_EQ(refusal(some_action(), yes_to(some_action())), "");
  Answer no = yes_to(some_action());
  no.verdict = Verdict::reject;
  EXPECT_EQ(refusal(some_action(), no), "");
}

TEST(Approval, AnAnswerForWhatWasShownBeforeIsRefusedAndSaysWhatChanged) {
  const Action shown = some_action();
  Action moved = shown;
  moved.base = std::string(40, 'd');
  moved.tree = std::string(40, 'e');
  EXPECT_NE(refusal(moved, yes_to(shown), kNow, kLater, {shown}).find("base, tree is different"),
            std::string::npos);
  Action changed = shown;
  changed.arguments = R"({"argv":["rm","-r","/"],"timeout":1.5})";
  EXPECT_NE(
      refusal(changed, yes_to(shown), kNow, kLater, {moved, shown}).find("arguments is different"),
      std::string::npos);
  Action other = shown;
  other.task.back() = '9';
  EXPECT_NE(refusal(other, yes_to(shown), kNow, kLater, {shown}).find("task is different"),
            std::string::npos);
  EXPECT_NE(refusal(other, yes_to(shown)).find("nobody was asked that here"), std::string::npos);
}

TEST(Approval, ARejectionHasToFitAsWell) {
  Answer no = yes_to(some_action());
  no.verdict = Verdict::reject;
  no.digest.front() = no.digest.front() == '0' ? '1' : '0';
  EXPECT_NE(refusal(some_action(), no), "");
}

TEST(Approval, ALateAnswerIsRefused) {
  EXPECT_NE(refusal(some_action(), yes_to(some_action()), kLater, kLater).find("ended at 2027-"),
            std::string::npos);
  EXPECT_EQ(
      refusal(some_action(), yes_to(some_action()), kLater - std::chrono::microseconds(1), kLater),
      "");
}

TEST(Approval, AnAnswerOfNobodyIsRefused) {
  Answer answer = yes_to(some_action());
  answer.who.clear();
  EXPECT_NE(refusal(some_action(), answer).find("names nobody"), std::string::npos);
}

TEST(Approval, PiecesOfADigestOtherLettersAndTextsAreRefused) {
  for (const std::string& wrong :
       {std::string(), digest(some_action()).substr(0, 12), "\x1b[2J" + digest(some_action()),
        digest(some_action()) + "0", std::string(64, 'A')}) {
    Answer answer = yes_to(some_action());
    answer.digest = wrong;
    const std::string sentence = refusal(some_action(), answer);
    EXPECT_NE(sentence, "") << wrong;
    EXPECT_EQ(sentence.find('\x1b'), std::string::npos);
  }
}

TEST(Approval, AnswersAreReadByNameAndWithoutAVerdictNot) {
  Answer answer = yes_to(some_action());
  answer.scope = AnswerScope::rule;
  answer.comment = "fine";
  EXPECT_EQ(from_json<Answer>(to_json(answer)), answer);
  const Answer short_one = from_json<Answer>(R"({"digest":"00","verdict":"approve"})");
  EXPECT_EQ(short_one.scope, AnswerScope::once);
  EXPECT_EQ(short_one.who, "");
  EXPECT_THROW(from_json<Answer>(R"({"digest":"00"})"), Error);
  EXPECT_THROW(from_json<Answer>(R"({"digest":"00","verdict":"yes"})"), Error);
  EXPECT_THROW(from_json<Answer>(R"({"digest":"00","verdict":"approve","scope":"all"})"), Error);
}

}  // namespace approval_test
}  // namespace tiffany::agent
