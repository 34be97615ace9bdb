#include "tiffany/agent/plan_file.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tiffany/durable/failures.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::agent {
namespace plan_file_test {
namespace {

using namespace std::chrono_literals;

Reply ask(PlanFile& model, const Request& request, int attempt = 1, LiveText live = {}) {
  Scheduler scheduler;
  return run_on(scheduler, model.ask(request, Try("k", attempt), std::move(live)));
}

Request asked(std::vector<Message> messages) {
  Request request;
  request.messages = std::move(messages);
  return request;
}

// What parse() says of that text.
std::string mistake(std::string_view text) {
  try {
    Script::parse(text, "fix.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no mistake";
}

constexpr std::string_view kTwo = R"([
  {"reply": {"text": "I look.", "calls": [
    {"name": "read", "arguments": {"path": "a.c", "from": 1}}, {"name": "list"}]}},
  {"reply": {"text": "Done."}}])";

TEST(PlanFile, RepliesComeInTheirOrderByHowFarTheConversationHasCome) {
  PlanFile model(Script::parse(kTwo));
  Request request = asked({Message::system("Be brief."), Message::user("fix it")});
  std::string live;
  const Reply first = ask(model, request, 1, [&](std::string_view piece) { live += piece; });
  EXPECT_EQ(first.message.text, "I look.");
  EXPECT_EQ(live, "I look.");
  EXPECT_EQ(first.stop, Stop::tools);
  ASSERT_EQ(first.message.calls.size(), 2u);
  EXPECT_EQ(first.message.calls[0], (ToolCall{"call_1_1", "read", R"({"path":"a.c","from":1})"}));
  EXPECT_EQ(first.message.calls[1], (ToolCall{"call_1_2", "list", "{}"}));
  EXPECT_TRUE(first.usage.known);
  EXPECT_EQ(first.usage.input, 4);  // 15 bytes
  // The same question, as after a crash: the same reply.
  EXPECT_EQ(to_json(ask(model, request)), to_json(first));
  request.messages.push_back(first.message);
  request.messages.push_back(Message::tool("call_1_1", "int main"));
  const Reply second = ask(model, request);
  EXPECT_EQ(second.message.text, "Done.");
  EXPECT_EQ(second.stop, Stop::end);
  EXPECT_TRUE(second.message.tainted);  // it has read what a tool said
  EXPECT_FALSE(first.message.tainted);
}

TEST(PlanFile, AConditionThatHoldsAnswersAndUsesUpNothing) {
  PlanFile model(Script::parse(R"({"replies": [
    {"reply": {"text": "one"}},
    {"when": {"contains": "error:"}, "reply": {"text": "again"}},
    {"when": {"turn": 3, "model": "big"}, "reply": {"text": "three"}},
    {"reply": {"text": "two"}}],
    "otherwise": {"reply": {"text": "rest"}}})"));
  Request request = asked({Message::user("go")});
  std::vector<std::string> said;
  const auto next = [&](std::string answer) {
    const Reply reply = ask(model, request);
    said.push_back(reply.message.text);
    request.messages.push_back(reply.message);
    request.messages.push_back(Message::user(std::move(answer)));
  };
  next("error: it broke");
  next("well");
  next("well");
  next("well");
  EXPECT_EQ(said, (std::vector<std::string>{"one", "again", "two", "rest"}));
  request.messages.resize(4);  // turn 3
  request.model = "big";
  EXPECT_EQ(ask(model, request).message.text, "three");
}

TEST(PlanFile, AQuestionWithoutAReplyIsNotAskedAgain) {
  PlanFile model(Script::parse(R"([{"reply": {"text": "one"}}])", "fix.json"));
  const Request request =
      asked({Message::user("a"), Message::assistant("one"), Message::user("b")});
  try {
    ask(model, request);
    FAIL();
  } catch (const NotRetryable& error) {
    EXPECT_EQ(std::string(error.what()),
              "fix.json has no reply for turn 2: no `when` holds, and the 1 replies without a "
              "`when` are used up. Add one, or \"otherwise\".");
  }
}

TEST(PlanFile, FaultsAreThoseOfAnEndpointAndTheReplyComesBehindThem) {
  PlanFile patient(
      Script::parse(R"([{"fault": 429, "times": 2, "retry_after": 7, "reply": {"text": "now"}}])"));
  const Request request = asked({Message::user("go")});
  for (const int attempt : {1, 2}) {
    try {
      ask(patient, request, attempt);
      FAIL();
    } catch (const RetryAfter& error) {
      EXPECT_EQ(error.delay(), 7s);
    }
  }
  EXPECT_EQ(ask(patient, request, 3).message.text, "now");

  const auto code = [&](std::string_view fault) {
    PlanFile model(Script::parse("[{\"fault\":" + std::string(fault) +
                                 R"(,"reply":{"text":"t","calls":[{"name":"n"}]}}])"));
    try {
      ask(model, request);
    } catch (const Error& error) {
      return error.code();
    } catch (const NotRetryable&) {
      return Errc::bad_argument;
    } catch (const RetryAfter&) {
      return Errc::timed_out;
    }
    return Errc::deadlock;
  };
  EXPECT_EQ(code("500"), Errc::model_failed);
  EXPECT_EQ(code("401"), Errc::bad_argument);
  EXPECT_EQ(code("503"), Errc::timed_out);
  EXPECT_EQ(code("429,\"retry_after\":null"), Errc::model_failed);
  EXPECT_EQ(code("\"cut\""), Errc::model_failed);
  EXPECT_EQ(code("\"stall\",\"pause_ms\":0"), Errc::model_failed);
  EXPECT_EQ(code("\"bad_utf8\""), Errc::bad_reply);
  EXPECT_EQ(code("\"truncated_arguments\""), Errc::bad_reply);
  EXPECT_EQ(code("\"slow\",\"pause_ms\":0"), Errc::deadlock);  // none
}

TEST(PlanFile, AStallAndASlowReplyTakeTheTimeOfTheScheduler) {
  MemoryWorld world;
  Scheduler scheduler(Options().clock(world.reactor()));
  scheduler.spawn([]() -> Task<void> {
    PlanFile model(Script::parse(R"([{"fault": "stall", "reply": {"text": "x"}}])"));
    PlanFile slow(Script::parse(R"([{"fault": "slow", "reply": {"text": "one two three"}}])"));
    Request request;
    const Time start = now();
    const auto late = co_await within(10s, model.ask(request, Try("k"), LiveText()));
    EXPECT_TRUE(late.timed_out());
    EXPECT_EQ(now() - start, 10s);
    const Reply reply = co_await slow.ask(request, Try("k"), LiveText());
    EXPECT_EQ(reply.message.text, "one two three");
    EXPECT_EQ(now() - start, 10s + 150ms);
  });
  scheduler.run();
}

TEST(PlanFile, AScriptIsReadFromAFile) {
  MemoryWorld world;
  Scheduler scheduler(Options().clock(world.reactor()));
  scheduler.spawn([]() -> Task<void> {
    {
      File file = co_await open_file("fix.json", FileMode::create);
      co_await file.write_at(0, kTwo);
    }
    const Script script = co_await read_script("fix.json");
    EXPECT_EQ(script.size(), 2u);
    EXPECT_EQ(script.name(), "fix.json");
  });
  scheduler.run();
}

TEST(Script, MistakesAreSentencesWithTheirPlace) {
  EXPECT_EQ(mistake(R"([{"reply": {"text": "x"}}, {"when": {"contians": "x"}}])"),
            "fix.json: [1].when has a member \"contians\" that nobody knows. Known are: contains, "
            "turn, model.");
  EXPECT_EQ(mistake("[\n{\"reply\" 7}]").substr(0, 16), "fix.json, line 2");
  EXPECT_EQ(mistake("{}"), "fix.json: the whole has no \"replies\".");
  EXPECT_EQ(mistake("7"), "fix.json: the whole must be an object ({...}).");
  EXPECT_EQ(mistake(R"({"replies": [{}]})"),
            "fix.json: replies[0] has neither a reply nor a fault.");
  EXPECT_EQ(mistake(R"([{"reply": {"calls": [{"arguments": {}}]}}])"),
            "fix.json: [0].reply.calls[0] has no \"name\".");
  EXPECT_EQ(mistake(R"([{"reply": {"calls": [{"name": "n", "arguments": 7}]}}])"),
            "fix.json: [0].reply.calls[0].arguments must be an object ({...}), or a text that is "
            "given as it is.");
  EXPECT_EQ(mistake(R"([{"fault": 200}])"),
            "fix.json: [0].fault must be a whole number from 400 to 599.");
  EXPECT_EQ(mistake(R"([{"fault": "crash"}])"),
            "fix.json: [0].fault must be one of stall, cut, bad_utf8, truncated_arguments, slow; "
            "it is \"crash\".");
  EXPECT_EQ(mistake(R"([{"fault": "cut"}])"),
            "fix.json: [0] has a fault that is one of a reply, and no reply.");
  EXPECT_EQ(mistake(R"([{"fault": "truncated_arguments", "reply": {"text": "x"}}])"),
            "fix.json: [0] has the fault \"truncated_arguments\", and no call in its reply.");
  EXPECT_EQ(mistake(R"([{"reply": {}, "retry_after": 3}])"),
            "fix.json: [0] has \"retry_after\", which is for 429 and 503.");
  EXPECT_EQ(mistake(R"([{"reply": {}, "reply": {}}])"),
            "fix.json: [0] has the member \"reply\" twice.");
  EXPECT_EQ(mistake(R"({"replies": [], "otherwise": {"when": {}, "reply": {}}})"),
            "fix.json: otherwise has a `when`, but answers what is left.");
}

TEST(Script, PiecesOfATextAreTheTextAndCutNoCharacter) {
  std::string text = "a  b ";
  for (int i = 0; i < 50; ++i) text += "äöü€😀";
  std::string all;
  for (const std::string_view piece : pieces_of(text)) {
    EXPECT_FALSE(piece.empty());
    EXPECT_LE(piece.size(), 64u);
    EXPECT_NE(static_cast<unsigned char>(piece.front()) & 0xc0U, 0x80U);
    all += piece;
  }
  EXPECT_EQ(all, text);
  EXPECT_TRUE(pieces_of("").empty());
}

}  // namespace
}  // namespace plan_file_test
}  // namespace tiffany::agent
