#include "tiffany/agent/scripted_model.hpp"

#include "model_world.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/serve/http_client.hpp"

namespace tiffany::agent {
namespace model_test {
namespace {

constexpr std::string_view kShortScript = R"([
  {"when": {"contains": "parts"}, "reply": {"text": "both parts"}},
  {"when": {"contains": "twice"}, "fault": 500, "times": 2, "reply": {"text": "third"}},
  {"reply": {"text": "Hi ä.", "calls": [{"name": "n", "arguments": {"a": "0123456789"}}],
   "usage": {"input": 5, "cached": 2, "output": 3}}}])";

Task<http::Response> post(std::string url, std::string path, std::string body) {
  http::Request request("POST", std::move(path));
  request.body = std::move(body);
  const std::size_t port = url.find_last_of(':');
  const int number = std::stoi(url.substr(port + 1));
  co_return co_await http::fetch(Address::loopback(static_cast<std::uint16_t>(number)),
                                 std::move(request));
}

// What is answered to that body, under several seeds the same.
http::Response answer_to(const std::string& path, const std::string& body) {
  http::Response answer;
  std::string before;
  const Client client = [&](std::string url) -> Task<void> {
    answer = co_await post(url, path, body);
    EXPECT_TRUE(before.empty() || before == answer.body);
    before = answer.body;
  };
  with_script(kShortScript, client, 3);
  return answer;
}

const std::string kAsk = R"({"model":"m","messages":[{"role":"user","content":"go"}],"input":"go")";

TEST(ScriptedModel, AStreamOfChatHasTheseBytes) {
  const std::string begin =
      R"(data: {"id":"chatcmpl-?","object":"chat.completion.chunk","created":1700000001,)"
      R"("model":"m","choices":[{"index":0,"delta":{)";
  const std::string end = R"(},"logprobs":null,"finish_reason":null}]})";
  std::string expected;
  for (const char* delta :
       {R"("role":"assistant","content":"")", R"("content":"Hi ")", R"("content":"ä.")",
        R"("tool_calls":[{"index":0,"id":"call_1_1","type":"function","function":{"name":"n",)"
        R"("arguments":""}}])",
        R"("tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"012345"}}])",
        R"("tool_calls":[{"index":0,"function":{"arguments":"6789\"}"}}])"}) {
    expected += begin + delta + end + "\n\n";
  }
  expected += begin + R"(},"logprobs":null,"finish_reason":"tool_calls"}]})" + "\n\n";
  expected += R"(data: {"id":"chatcmpl-?","object":"chat.completion.chunk","created":1700000001,)"
              R"("model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,)"
              R"("total_tokens":8,"prompt_tokens_details":{"cached_tokens":2}}})"
              "\n\ndata: [DONE]\n\n";
  const http::Response answer = answer_to(
      "/v1/chat/completions", kAsk + R"(,"stream":true,"stream_options":{"include_usage":true}})");
  std::string body = answer.body;
  const std::string id = body.substr(body.find("chatcmpl-") + 9, 16);
  for (std::size_t at = 0; (at = body.find(id, at)) != std::string::npos;)
    body.replace(at, 16, "?");
  EXPECT_EQ(body, expected);
  EXPECT_EQ(answer.headers.find("content-type").value_or(""), "text/event-stream; charset=utf-8");
}

// The same everywhere, and from one version to the next unless somebody decides otherwise.
TEST(ScriptedModel, OtherAnswersHaveTheseDigests) {
  EXPECT_EQ(sha256_hex(answer_to("/v1/chat/completions", kAsk + "}").body).substr(0, 16),
            "017e1041aed35724");
  EXPECT_EQ(sha256_hex(answer_to("/v1/responses", kAsk + "}").body).substr(0, 16),
            "e70b9ab2481e0fa1");
  const http::Response stream = answer_to("/v1/responses", kAsk + R"(,"stream":true})");
  EXPECT_EQ(sha256_hex(stream.body).substr(0, 16), "65bc75999419a924");
}

TEST(ScriptedModel, TextsInPartsAreRead) {
  const std::string chat =
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"par"},)"
      R"({"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"ts"}]}]})";
  EXPECT_NE(answer_to("/openai/chat/completions", chat).body.find("both parts"), std::string::npos);
  const std::string responses =
      R"({"input":[{"role":"user","content":[{"type":"input_text","text":"parts"}]}]})";
  EXPECT_NE(answer_to("/v1/responses", responses).body.find("both parts"), std::string::npos);
}

TEST(ScriptedModel, AttemptsAreCountedForEachQuestion) {
  const Client client = [](std::string url) -> Task<void> {
    for (const char* other : {"twice", "twice again"}) {
      const std::string body =
          R"({"messages":[{"role":"user","content":")" + std::string(other) + R"("}]})";
      for (const int status : {500, 500, 200, 200}) {
        const http::Response answer = co_await post(url, "/v1/chat/completions", body);
        EXPECT_EQ(answer.status, status);
      }
    }
  };
  with_script(kShortScript, client, 1);
}

TEST(ScriptedModel, WhatIsNoQuestionIsRefusedInTheWayOfEndpoints) {
  for (const char* bad : {"", "7", "{", "{\"messages\":\"\xff\"}", "[]"}) {
    const http::Response answer = answer_to("/v1/chat/completions", bad);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_TRUE(answer.body.starts_with(R"({"error":{"message":")")) << answer.body;
  }
  const http::Response over =
      answer_to("/v1/chat/completions",
                R"({"messages":[{"role":"user"},{"role":"assistant"},{"role":"user"}]})");
  EXPECT_EQ(over.status, 400);
  EXPECT_NE(over.body.find("script.json has no reply for turn 2"), std::string::npos) << over.body;
  EXPECT_EQ(answer_to("/v1/embeddings", "{}").status, 400);
  EXPECT_EQ(answer_to("/v1/images", "{}").status, 404);
  EXPECT_EQ(answer_to("/v1/models", "{}").status, 404);  // a GET
  // What is made up has no effect.
  EXPECT_EQ(answer_to("/v1/chat/completions",
                      R"({"messages":[7,null,{"role":7,"content":{}}],"stream":"yes","tools":7})")
                .status,
            200);
}

}  // namespace
}  // namespace model_test
}  // namespace tiffany::agent
