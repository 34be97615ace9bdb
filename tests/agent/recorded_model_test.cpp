#include "tiffany/agent/recorded_model.hpp"

#include <gtest/gtest.h>

#include "tiffany/tiffany.hpp"

namespace tiffany::agent {
namespace recorded_model_test {
namespace {

Request conversation(int turns) {
  Request request;
  request.model = "m";
  request.tools.push_back({"read", "Reads.", R"({"type": "object"})"});
  request.messages.push_back(Message::user("go"));
  for (int i = 1; i <= turns; ++i) {
    request.messages.push_back(Message::assistant("turn " + std::to_string(i)));
    request.messages.push_back(Message::tool("c", "answer " + std::to_string(i)));
  }
  return request;
}

RecordedModel recorded() {
  std::vector<RecordedQuestion> all;
  for (int i = 0; i < 3; ++i) {
    Reply reply;
    reply.message = Message::assistant("turn " + std::to_string(i + 1));
    all.emplace_back(conversation(i), reply);
  }
  return RecordedModel(std::move(all));
}

// The text of the reply, or what is wrong.
std::string said(const Request& request) {
  RecordedModel model = recorded();
  Scheduler scheduler;
  try {
    return run_on(scheduler, model.ask(request, Try("k"), LiveText())).message.text;
  } catch (const NotRecorded& error) {
    return std::to_string(error.message()) + " " + error.what();
  }
}

TEST(RecordedModel, AnswersWhatWasAnswered) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(said(conversation(i)), "turn " + std::to_string(i + 1));
  }
  Request request = conversation(1);
  for (Message& message : request.messages) message.tainted = !message.tainted;
  request.most_output = 7;
  request.tools[0].schema = R"({"type":"object"})";
  EXPECT_EQ(said(request), "turn 2");
}

TEST(RecordedModel, NamesTheFirstMessageThatDiffers) {
  Request request = conversation(2);
  request.messages[2].text = "another";
  EXPECT_EQ(said(request),
            "2 This question is not recorded. Message 3 is tool \"another\", and was tool "
            "\"answer 1\".");
  EXPECT_EQ(said(conversation(3)),
            "5 This question is not recorded. Message 6 is assistant \"turn 3\", and the record "
            "ends before it.");
  request = conversation(2);
  request.model = "other";
  EXPECT_EQ(said(request),
            "5 This question is not recorded. Its messages are, but of the model \"m\" and not of "
            "\"other\".");
  request = conversation(1);
  request.tools.clear();
  EXPECT_EQ(said(request),
            "3 This question is not recorded. Its messages are, but with other tools, or another "
            "schema of the reply.");
  request = conversation(1);
  request.messages.pop_back();
  EXPECT_EQ(said(request),
            "2 This question is not recorded. Message 3 is missing, and was tool \"answer 1\".");
}

TEST(RecordedModel, TheDigestOfAQuestionIsTheSameEverywhere) {
  EXPECT_EQ(digest_of(conversation(1)),
            "5aa9ee71e8c89be5f0c00b7a36f9dac0bd5b92c886bc0f54600002ad4331d5b0");
}

}  // namespace
}  // namespace recorded_model_test
}  // namespace tiffany::agent
