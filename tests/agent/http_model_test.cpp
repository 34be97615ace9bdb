#include "tiffany/agent/http_model.hpp"

#include "model_world.hpp"

namespace tiffany::agent {
namespace model_test {
namespace {

constexpr std::string_view kScript = R"({"replies": [
  {"reply": {"text": "I look at “both” files.", "calls": [
    {"name": "read", "arguments": {"path": "a.c", "note": "ä\n"}},
    {"name": "list", "id": "mine", "arguments": {}}],
    "usage": {"input": 120, "cached": 20, "output": 9}}},
  {"reply": {"text": "Done."}}]})";

Request question() {
  Request request;
  request.messages.push_back(Message::system("Be brief."));
  request.messages.push_back(Message::user("fix it"));
  return request;
}

void expect_two_turns(Protocol protocol, bool streamed) {
  const Client client = [=](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m");
    endpoint.name = "local";
    endpoint.protocol = protocol;
    endpoint.streamed = streamed;
    HttpModel model(endpoint);
    Request request = question();
    std::string live;
    const LiveText tell = [&](std::string_view piece) { live += piece; };
    const Reply first = co_await model.ask(request, Try("k"), tell);
    EXPECT_EQ(first.message.text, "I look at “both” files.");
    EXPECT_EQ(live, streamed ? first.message.text : "");
    EXPECT_EQ(first.stop, Stop::tools);
    EXPECT_EQ(first.model, "local");
    EXPECT_EQ(to_json(first.usage), R"({"input":120,"cached":20,"output":9,"known":true})");
    EXPECT_EQ(first.message.calls.size(), 2u);
    EXPECT_EQ(first.message.calls.front(),
              (ToolCall{"call_1_1", "read", R"({"path":"a.c","note":"ä\n"})"}));
    EXPECT_EQ(first.message.calls.back(), (ToolCall{"mine", "list", "{}"}));
    EXPECT_FALSE(first.message.tainted);
    request.messages.push_back(first.message);
    request.messages.push_back(Message::tool("call_1_1", "int main"));
    request.messages.push_back(Message::tool("mine", "a.c"));
    const Reply second = co_await model.ask(request, Try("l"), LiveText());
    EXPECT_EQ(second.message.text, "Done.");
    EXPECT_EQ(second.stop, Stop::end);
    EXPECT_TRUE(second.message.tainted);
    EXPECT_TRUE(second.usage.known);
  };
  with_script(kScript, client);
}

TEST(HttpModel, AsksInChatCompletionsAsAStream) { expect_two_turns(Protocol::chat, true); }
TEST(HttpModel, AsksInResponsesAsAStream) { expect_two_turns(Protocol::responses, true); }
TEST(HttpModel, AsksWithoutAStreamInBothProtocols) {
  expect_two_turns(Protocol::chat, false);
  expect_two_turns(Protocol::responses, false);
}

TEST(HttpModel, EachFaultOfAScriptIsWhatAStepNeedsToKnowAndTheNextAttemptIsAnswered) {
  struct Case {
    std::string_view fault;
    std::string_view kind;
    std::string_view part;
  };
  const std::vector<Case> cases = {
      {"429,\"retry_after\":7", "again", "429 (Too Many Requests): script.json has the fault 429"},
      {"503,\"retry_after\":null", "model_failed", "answered 503"},
      {"500", "model_failed", "answered 500"},
      {"400", "never", "answered 400"},
      {"\"stall\"", "model_failed", "said nothing for 60 s in the middle of its reply"},
      {"\"cut\"", "model_failed", "The endpoint m"},
      {"\"bad_utf8\"", "bad_reply", "The endpoint m"},
      {"\"truncated_arguments\"", "bad_reply", "The arguments for the tool n are not valid"},
      {"\"slow\"", "reply", ""},
  };
  for (const Case& each : cases) {
    for (const Protocol protocol : {Protocol::chat, Protocol::responses}) {
      SCOPED_TRACE(std::string(each.fault) + (protocol == Protocol::chat ? " chat" : " responses"));
      const std::string script = "[{\"fault\":" + std::string(each.fault) +
                                 R"(,"reply":{"text":"one two","calls":[{"name":"n",)"
                                 R"("arguments":{"a":"long enough for several pieces"}}]}}])";
      const Client client = [&](std::string url) -> Task<void> {
        Endpoint endpoint(url, "m");
        endpoint.protocol = protocol;
        HttpModel model(endpoint);
        const Result first = co_await result_of(&model, question());
        EXPECT_EQ(first.kind, each.kind) << first.sentence;
        EXPECT_NE(first.sentence.find(each.part), std::string::npos) << first.sentence;
        EXPECT_EQ(first.delay, first.kind == "again" ? Duration(7s) : Duration::zero());
        const Result second = co_await result_of(&model, question());
        EXPECT_EQ(second.kind, "reply") << second.sentence;
        EXPECT_EQ(second.reply.message.text, "one two");
      };
      with_script(script, client, 2);
    }
  }
}

TEST(HttpModel, ARequestOfChatHasTheseBytes) {
  RawServer raw;
  raw.answer = stream_of("data: [DONE]\n\n");
  const Client client = [&](std::string url) -> Task<void> {
    Endpoint endpoint(url, "big");
    HttpModel model(endpoint);
    Request request = question();
    request.messages.push_back(Message::assistant("", {{"c1", "read", R"({"p":1})"}}));
    request.messages.push_back(Message::tool("c1", "x\"\\\n\x01"));
    request.tools.push_back({"read", "Reads.", R"({ "type": "object" })"});
    request.output_schema = R"({"type": "object"})";
    request.most_output = 77;
    (void)co_await result_of(&model, request);
  };
  with_raw(raw, client);
  ASSERT_EQ(raw.requests.size(), 1u);
  const std::string& all = raw.requests[0];
  const std::size_t host = all.find("host: ");
  EXPECT_EQ(all.substr(0, host), "POST /v1/chat/completions HTTP/1.1\r\n");
  const std::size_t behind = all.find("\r\n", host) + 2;
  EXPECT_EQ(
      all.substr(behind),
      "user-agent: tiffany\r\naccept: text/event-stream\r\naccept-encoding: identity\r\n"
      "content-type: application/json\r\nidempotency-key: 2c70e12b7a0646f92279f427c7b38e73\r\n"
      "content-length: 591\r\nconnection: close\r\n\r\n"
      R"({"model":"big","messages":[{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":"fix it"},{"role":"assistant","content":null,"tool_calls":)"
      R"([{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"p\":1}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"x\"\\\n\u0001"}],"tools":[{"type":)"
      R"("function","function":{"name":"read","description":"Reads.","parameters":)"
      R"({"type":"object"}}}],"max_tokens":77,"response_format":{"type":"json_schema",)"
      R"("json_schema":{"name":"reply","schema":{"type":"object"},"strict":true}},"stream":true,)"
      R"("stream_options":{"include_usage":true}})");
}

TEST(HttpModel, ARequestOfResponsesHasTheseBytes) {
  RawServer raw;
  raw.answer = stream_of("");
  const Client client = [&](std::string url) -> Task<void> {
    Endpoint endpoint(url, "big");
    endpoint.protocol = Protocol::responses;
    HttpModel model(endpoint);
    Request request = question();
    request.messages.push_back(Message::assistant("I look.", {{"c1", "read", R"({"p":1})"}}));
    request.messages.push_back(Message::tool("c1", "ok"));
    request.tools.push_back({"read", "Reads.", ""});
    request.output_schema = R"({"type": "object"})";
    (void)co_await result_of(&model, request);
  };
  with_raw(raw, client);
  ASSERT_EQ(raw.requests.size(), 1u);
  const std::string& all = raw.requests[0];
  EXPECT_TRUE(all.starts_with("POST /v1/responses HTTP/1.1\r\n"));
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4),
            R"({"model":"big","input":[{"type":"message","role":"system","content":"Be brief."},)"
            R"({"type":"message","role":"user","content":"fix it"},{"type":"message","role":)"
            R"("assistant","content":"I look."},{"type":"function_call","call_id":"c1","name":)"
            R"("read","arguments":"{\"p\":1}"},{"type":"function_call_output","call_id":"c1",)"
            R"("output":"ok"}],"tools":[{"type":"function","name":"read","description":"Reads.",)"
            R"("parameters":{"type":"object","properties":{}},"strict":false}],)"
            R"("max_output_tokens":8192,"text":{"format":{"type":"json_schema","name":"reply",)"
            R"("schema":{"type":"object"},"strict":true}},"store":false,"stream":true})");
}

TEST(HttpModel, AKeyIsReadWhenItIsNeededAndIsInNoSentence) {
  RawServer raw;
  raw.answer = answer_of(401, "content-type: application/json\r\n",
                         R"({"error":{"message":"Incorrect key sk-secret-1 given","code":"bad"}})");
  const Client client = [&](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m");
    endpoint.key = KeySource::file("key");
    HttpModel model(endpoint);
    const Result missing = co_await result_of(&model, question());
    EXPECT_EQ(missing.kind, "never");
    EXPECT_NE(missing.sentence.find("The API key cannot be read"), std::string::npos);
    {
      File file = co_await open_file("key", FileMode::create);
      co_await file.write_at(0, std::string_view("sk-secret-1\n"));
    }
    const Result refused = co_await result_of(&model, question());
    EXPECT_EQ(refused.kind, "never");
    EXPECT_NE(refused.sentence.find("answered 401 (Unauthorized): Incorrect key *** given (bad)"),
              std::string::npos)
        << refused.sentence;
    {
      File file = co_await open_file("key", FileMode::truncate);
      co_await file.write_at(0, std::string_view("sk-1\r\nx-evil: 1"));
    }
    const Result evil = co_await result_of(&model, question());
    EXPECT_EQ(evil.kind, "never");
    EXPECT_EQ(evil.sentence.find("sk-1"), std::string::npos);
  };
  with_raw(raw, client);
  ASSERT_EQ(raw.requests.size(), 1u);
  EXPECT_NE(raw.requests[0].find("authorization: Bearer sk-secret-1\r\n"), std::string::npos);
}

TEST(HttpModel, AKeyThatTheEndpointRepeatsIsNotInTheReply) {
  RawServer raw;
  raw.answer = stream_of(
      "data: {\"choices\":[{\"delta\":{\"content\":\"key sk-sec\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"ret-1 ok\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: [DONE]\n\n");
  const Client client = [&](std::string url) -> Task<void> {
    ::setenv("TIFFANY_TEST_MODEL_KEY", "sk-secret-1", 1);
    Endpoint endpoint(url, "m");
    endpoint.key = KeySource::environment("TIFFANY_TEST_MODEL_KEY");
    endpoint.key_header = "api-key";
    HttpModel model(endpoint);
    std::string live;
    const LiveText tell = [&](std::string_view piece) { live += piece; };
    const Result result = co_await result_of(&model, question(), tell);
    EXPECT_EQ(result.reply.message.text, "key *** ok");
    EXPECT_EQ(live, "key *** ok");
    ::unsetenv("TIFFANY_TEST_MODEL_KEY");
    const Result gone = co_await result_of(&model, question());
    EXPECT_EQ(gone.sentence,
              "There is no API key in the environment variable TIFFANY_TEST_MODEL_KEY.");
  };
  with_raw(raw, client);
  ASSERT_EQ(raw.requests.size(), 1u);
  EXPECT_NE(raw.requests[0].find("\r\napi-key: sk-secret-1\r\n"), std::string::npos);
}

TEST(HttpModel, ItTakesOnlySoLong) {
  const Client client = [](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m");
    endpoint.idle = 5s;
    HttpModel model(endpoint);
    Time before = now();
    const Result idle = co_await result_of(&model, question());
    EXPECT_NE(idle.sentence.find("said nothing for 5 s"), std::string::npos) << idle.sentence;
    EXPECT_EQ(now() - before, 5s);
    endpoint.idle = 60s;
    endpoint.deadline = 20s;
    HttpModel bounded(endpoint);
    before = now();
    const Result late = co_await result_of(&bounded, question());
    EXPECT_NE(late.sentence.find("did not end its reply within 20 s"), std::string::npos)
        << late.sentence;
    EXPECT_EQ(now() - before, 20s);
  };
  with_script(R"([{"fault": "stall"}])", client, 3);
}

TEST(HttpModel, AnEndpointThatIsNotThereOrSaysNothingIsAFailureOfTheModel) {
  in_world(1, []() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    Endpoint endpoint(url_of(listener.local()), "m");
    HttpModel model(endpoint);
    const Time before = now();
    const Result silent = co_await result_of(&model, question());
    EXPECT_EQ(silent.kind, "model_failed");
    EXPECT_NE(silent.sentence.find("did not begin to answer within 120 s"), std::string::npos)
        << silent.sentence;
    EXPECT_EQ(now() - before, 120s);
    listener.close();
    const Result gone = co_await result_of(&model, question());
    EXPECT_EQ(gone.kind, "model_failed");
    EXPECT_NE(gone.sentence.find("could not be asked"), std::string::npos) << gone.sentence;
  });
}

TEST(HttpModel, ACancelClosesTheConnection) {
  const Client client = [](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m");
    HttpModel model(endpoint);
    Task<Result> asking = result_of(&model, question());
    const auto done = co_await within(1s, std::move(asking));
    EXPECT_TRUE(done.timed_out());
  };
  // In the end no descriptor is open, which in_world() looks at.
  with_script(R"([{"fault": "slow", "pause_ms": 400, "reply": {"text": "a b c d e f"}}])", client);
}

TEST(HttpModel, OverARealSocketToo) {
  Scheduler scheduler(Options().clock(system_reactor()));
  run_on(scheduler, []() -> Task<void> {
    ScriptedModel scripted(Script::parse(kScript));
    Listener listener = Listener::bind(Address::loopback(0));
    Endpoint endpoint(url_of(listener.local()), "m");
    auto serving = spawn(serve_script, &scripted, &listener);
    for (const Protocol protocol : {Protocol::chat, Protocol::responses}) {
      endpoint.protocol = protocol;
      HttpModel model(endpoint);
      const Reply reply = co_await model.ask(question(), Try("k"), LiveText());
      EXPECT_EQ(reply.message.calls.size(), 2u);
    }
    scripted.stop();
    co_await serving;
  }());
}

TEST(HttpModel, AUrlThatIsNoneIsFoundBeforeTheFirstQuestion) {
  const auto refused = [](const std::string& url) {
    try {
      HttpModel model(Endpoint(url, "m"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* good : {"http://h", "http://h:1/", "http://[::1]:80/x/v4", "https://a.b/v1"}) {
    EXPECT_EQ(refused(good), "") << good;
  }
  for (const char* bad :
       {"", "h", "ftp://h", "http://", "http:///v1", "http://h:0", "http://h:99999", "http://h:8x",
        "http://h h", "http://h\r\nx: y", "http://h?k=1", "http://h#f", "http://[::1",
        "http://h/\x01", "http://hä"}) {
    EXPECT_NE(refused(bad), "") << bad;
  }
  const std::string leaked = refused("http://user:hunter22@h");
  EXPECT_NE(leaked, "");
  EXPECT_EQ(leaked.find("hunter22"), std::string::npos) << leaked;
}

}  // namespace
}  // namespace model_test
}  // namespace tiffany::agent
