// What an endpoint, or whoever sits between, may send: none of it is a crash, a reply that is not
// whole, or an error without a sentence.
#include <cstdlib>

#include "model_world.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace model_test {
namespace {

std::string chunk_of(std::string_view choice) {
  return "data: {\"choices\":[" + std::string(choice) + "]}\n\n";
}
std::string calls_of(std::string_view calls) {
  return chunk_of("{\"delta\":{\"tool_calls\":[" + std::string(calls) + "]}}");
}
const std::string kEnd = chunk_of(R"({"delta":{},"finish_reason":"stop"})") + "data: [DONE]\n\n";

// What a stream of chat comes to.
Result chat(const std::string& events) { return ask_raw(stream_of(events)); }

void expect_refused(const Result& result, std::string_view kind, std::string_view part) {
  EXPECT_EQ(result.kind, kind) << result.sentence;
  EXPECT_NE(result.sentence.find(part), std::string::npos) << result.sentence;
  EXPECT_LT(result.sentence.size(), 1000u);
  for (const char c : result.sentence) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << c;
}

// The whole answer of a scripted model, as it is on the wire.
std::string answer_on_the_wire(Protocol protocol) {
  std::string whole;
  const Client client = [&](std::string url) -> Task<void> {
    const std::size_t port = url.find_last_of(':');
    Socket socket = co_await connect(
        Address::loopback(static_cast<std::uint16_t>(std::stoi(url.substr(port + 1)))));
    const std::string body = R"({"model":"m","stream":true,"messages":[],"input":"x",)"
                             R"("stream_options":{"include_usage":true}})";
    co_await socket.write(std::string("POST /v1/") +
                          (protocol == Protocol::chat ? "chat/completions" : "responses") +
                          " HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
    std::array<char, 4096> room;
    while (const std::size_t came = co_await socket.read(room)) whole.append(room.data(), came);
  };
  with_script(R"([{"reply":{"text":"hi ä","calls":[{"name":"n","arguments":{"a":1}}]}}])", client,
              1);
  return whole;
}

TEST(HttpModelAttack, AnAnswerThatEndsAtAnyByteIsNoReply) {
  for (const Protocol protocol : {Protocol::chat, Protocol::responses}) {
    const std::string whole = answer_on_the_wire(protocol);
    EXPECT_EQ(ask_raw(whole, protocol).kind, "reply");
    std::size_t replies = 0;
    // Each byte of the head and of the end, and some between.
    for (std::size_t size = 0; size < whole.size(); ++size) {
      if (size > 20 && size + 40 < whole.size() && size % 151 != 0) continue;
      const Result result = ask_raw(whole.substr(0, size), protocol, size);
      if (result.kind == "reply") {  // only the end of the chunks is missing
        ++replies;
        EXPECT_EQ(result.reply.message.calls.size(), 1u);
        EXPECT_GE(size + 16, whole.size());
      } else {
        EXPECT_EQ(result.kind, "model_failed") << size << result.sentence;
      }
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_LT(replies, 10u);
  }
}

// TIFFANY_MODEL_MUTATIONS=100000 for more of them.
TEST(HttpModelAttack, AnAnswerWithChangedBytesIsAReplyOrAnErrorWithASentence) {
  const char* const more = std::getenv("TIFFANY_MODEL_MUTATIONS");
  const int count = more != nullptr ? std::atoi(more) : 60;
  for (const Protocol protocol : {Protocol::chat, Protocol::responses}) {
    const std::string whole = answer_on_the_wire(protocol);
    const std::size_t head = whole.find("\r\n\r\n") + 4;
    for (int i = 0; i < count; ++i) {
      Random random(static_cast<std::uint64_t>(i));
      std::string changed = whole;
      for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
        const std::size_t at = random.below(4) == 0 ? random.below(changed.size())
                                                    : head + random.below(changed.size() - head);
        switch (random.below(4)) {
          case 0:
            changed[at] = static_cast<char>(random.below(256));
            break;
          case 1:
            changed.erase(at, 1 + random.below(20));
            break;
          case 2:
            changed.insert(at, changed.substr(at, random.below(60)));
            break;
          default:
            changed[at] = "{}[],:\"\\0\n"[random.below(10)];
            break;
        }
      }
      const Result result = ask_raw(changed, protocol, static_cast<std::uint64_t>(i));
      if (result.kind == "reply") {
        for (const ToolCall& call : result.reply.message.calls) {
          EXPECT_EQ(call.arguments.front(), '{') << call.arguments;
        }
      } else {
        EXPECT_TRUE(result.sentence.starts_with("The endpoint m (")) << result.sentence;
        for (const char c : result.sentence) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
      }
      if (::testing::Test::HasFailure()) FAIL() << i << "\n" << changed;
    }
  }
}

TEST(HttpModelAttack, CallsThatAreInterleavedArePutTogetherAndBrokenOnesRefused) {
  Result result =
      chat(calls_of(R"({"index":1,"id":"b","function":{"name":"two","arguments":"{\"x\""}},)"
                    R"({"index":0,"id":"a","function":{"name":"one","arguments":""}})") +
           calls_of(R"({"index":0,"function":{"arguments":"{\"y\":2}"}},)"
                    R"({"index":1,"function":{"arguments":":1}"}})") +
           kEnd);
  ASSERT_EQ(result.reply.message.calls.size(), 2u) << result.sentence;
  EXPECT_EQ(result.reply.message.calls[0], (ToolCall{"a", "one", R"({"y":2})"}));
  EXPECT_EQ(result.reply.message.calls[1], (ToolCall{"b", "two", R"({"x":1})"}));
  EXPECT_EQ(result.reply.stop, Stop::tools);

  // Without ids and without an index, as some endpoints do.
  result = chat(calls_of(R"({"function":{"name":"one"}})") +
                calls_of(R"({"function":{"name":"two","arguments":"{}"}})") + kEnd);
  ASSERT_EQ(result.reply.message.calls.size(), 2u) << result.sentence;
  EXPECT_EQ(result.reply.message.calls[0], (ToolCall{"call_1_1", "one", "{}"}));
  EXPECT_EQ(result.reply.message.calls[1], (ToolCall{"call_1_2", "two", "{}"}));

  expect_refused(chat(calls_of(R"({"index":0,"id":"a"})") + kEnd), "bad_reply", "has no name");
  expect_refused(chat(calls_of(R"({"index":0,"id":"a","function":{"name":"n"}})") +
                      calls_of(R"({"index":1,"id":"a","function":{"name":"n"}})") + kEnd),
                 "bad_reply", "have the id a");
  expect_refused(chat(calls_of(R"({"index":0,"id":"a","function":{"name":"n"}})") +
                      calls_of(R"({"index":0,"id":"b","function":{"name":"n"}})") + kEnd),
                 "bad_reply", "changed its id");
  for (const char* bad :
       {"7", "[]", "{", "{}{}", "\\\"x\\\"", "{\\\"a\\\":\\\"\\\\ud800\\\"}", "{\\\"a\\\":01}"}) {
    expect_refused(chat(calls_of(R"({"index":0,"id":"a","function":{"name":"n","arguments":")" +
                                 std::string(bad) + R"("}})") +
                        kEnd),
                   "bad_reply", "The arguments for the tool n are not valid");
  }
  expect_refused(
      chat(calls_of(R"({"index":0,"id":"a","function":{"name":"n","arguments":"{\"a\":"}})") +
           chunk_of(R"({"delta":{},"finish_reason":"length"})") + "data: [DONE]\n\n"),
      "bad_reply", "raise most_output");
  std::string many;
  for (int i = 0; i < 200; ++i) many += calls_of("{\"index\":" + std::to_string(i * 1000) + "}");
  expect_refused(chat(many + kEnd), "bad_reply", "more than 128 calls");
}

TEST(HttpModelAttack, WhatIsNoTextOrNoJsonIsRefused) {
  expect_refused(chat("data: {\n\n"), "bad_reply", "The endpoint m");
  expect_refused(chat("data: 7\n\n"), "bad_reply", "an object was expected");
  expect_refused(chat(chunk_of("{\"delta\":{\"content\":\"\xff\"}}") + kEnd), "bad_reply", "byte");
  expect_refused(chat(chunk_of(R"({"delta":{"content":"\ud83d"}})") + kEnd), "bad_reply", "byte");
  expect_refused(chat("data: " + std::string(100'000, '[') + "\n\n"), "bad_reply", "");
  expect_refused(chat(chunk_of("{\"x\":" + std::string(5000, '[') + std::string(5000, ']') + "}")),
                 "bad_reply", "brackets deep");
  expect_refused(chat("data: [DONE]\n\n"), "bad_reply", "why it ended");
  expect_refused(chat(kEnd.substr(0, kEnd.find("data: [DONE]"))), "model_failed", "[DONE]");
  // A NUL, and a pair of surrogates, are characters like others.
  const Result result = chat(chunk_of(R"({"delta":{"content":"a\u0000\ud83d\ude00"}})") + kEnd);
  EXPECT_EQ(result.reply.message.text, std::string("a\0😀", 6)) << result.sentence;
}

TEST(HttpModelAttack, StreamsOfOtherKindsAndUnknownEventsAreRead) {
  const Result result =
      chat("\xef\xbb\xbf: hello\r\nevent: x\rid: 7\r\ndata:" +
           std::string(R"({"choices":[{"index":0,"delta":{"content":"a"}}]})") + "\r\n\r\n" +
           "retry: 5\n\ndata\n\n"  // an event with an empty line of data
           "unknown: {\n\n");
  // An empty event is no JSON.
  expect_refused(result, "bad_reply", "The endpoint m");
  const Result split =
      chat("data: {\"choices\":[{\"delta\":\rdata: {\"content\":\"a\"}\r\n" +
           std::string("data:,\"finish_reason\":\"stop\"}]}\r\r") + ": comment\n\n" +
           chunk_of(R"({"index":1,"delta":{"content":"no"}})") +
           "data: {\"made_up\":[1,{}],\"choices\":null}\n\ndata: [DONE]\n\n" + "data: {behind\n\n");
  EXPECT_EQ(split.reply.message.text, "a") << split.sentence;
  const Result unknown = ask_raw(
      stream_of(
          "event: response.made_up\ndata: {\"type\":\"response.made_up\",\"x\":[]}\n\n"
          "data: {\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\"},"
          "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}]},"
          "\"type\":\"response.completed\"}\n\n"),
      Protocol::responses);
  EXPECT_EQ(unknown.reply.message.text, "hi") << unknown.sentence;
}

TEST(HttpModelAttack, UsageThatIsNoneIsNotKnown) {
  const auto usage = [](std::string_view json) {
    return chat(chunk_of(R"({"delta":{"content":"a"},"finish_reason":"stop"})") +
                "data: {\"choices\":[],\"usage\":" + std::string(json) + "}\n\ndata: [DONE]\n\n")
        .reply.usage;
  };
  EXPECT_TRUE(usage(R"({"prompt_tokens":1,"completion_tokens":2})").known);
  EXPECT_EQ(usage(R"({"prompt_tokens":9007199254740993,"completion_tokens":2})").input,
            9007199254740993);
  for (const char* bad : {"null", "7", "{}", R"({"prompt_tokens":-1,"completion_tokens":2})",
                          R"({"prompt_tokens":1.5,"completion_tokens":2})",
                          R"({"prompt_tokens":99999999999999999999,"completion_tokens":2})",
                          R"({"prompt_tokens":"1","completion_tokens":2})"}) {
    EXPECT_FALSE(usage(bad).known) << bad;
  }
  const Usage odd = usage(R"({"prompt_tokens":1,"completion_tokens":2,)"
                          R"("prompt_tokens_details":{"cached_tokens":50}})");
  EXPECT_EQ(odd.cached, 0);
}

TEST(HttpModelAttack, EndlessAndHugeAnswersAreBounded) {
  const auto bounded = [](std::string answer) {
    RawServer raw;
    raw.answer = std::move(answer);
    Result result;
    const Client client = [&](std::string url) -> Task<void> {
      Endpoint endpoint(url, "m");
      endpoint.most_bytes = 10'000;
      HttpModel model(endpoint);
      result = co_await result_of(&model, Request());
    };
    with_raw(raw, client);
    return result;
  };
  const std::string head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
  std::string comments;
  for (int i = 0; i < 10'000; ++i) comments += ": still there\n\n";
  expect_refused(bounded(head + comments), "bad_reply", "more than the 10000 bytes");
  expect_refused(bounded(head + "data: " + std::string(50'000, 'x')), "bad_reply", "10000 bytes");
  expect_refused(bounded("HTTP/1.1 200 OK\r\nx: " + std::string(50'000, 'x')), "model_failed",
                 "longer than it may be");
}

TEST(HttpModelAttack, AnswersThatAreNoRepliesSayWhatIsWrong) {
  const std::string json = "content-type: application/json\r\n";
  const std::string html = "content-type: text/html\r\n";
  expect_refused(ask_raw(answer_of(200, html, "<html>")), "bad_reply", "\"text/html\"");
  expect_refused(ask_raw(answer_of(200, "", "x")), "bad_reply", "content type \"\"");
  expect_refused(ask_raw(answer_of(200, json + "content-encoding: gzip\r\n", "x")), "bad_reply",
                 "content encoding gzip");
  expect_refused(ask_raw(answer_of(302, "location: http://evil/\x01\r\n", "")), "model_failed", "");
  expect_refused(ask_raw(answer_of(302, "location: http://evil/\r\n", "")), "never",
                 "redirects to http://evil/. Redirects are not followed");
  expect_refused(ask_raw(answer_of(204, "", "")), "bad_reply", "answered 204");
  expect_refused(ask_raw(answer_of(404, html, "no\nsuch\x1b[2Jpage")), "never",
                 R"(answered 404 (Not Found): no\nsuch\u001b[2Jpage)");
  expect_refused(ask_raw(answer_of(422, json, R"({"detail":"too odd"})")), "never", "too odd");
  expect_refused(ask_raw(answer_of(
                     400, json, "{\"error\":{\"message\":\"" + std::string(50'000, 'x') + "\"}}")),
                 "never", "xxx...");
  expect_refused(
      ask_raw(answer_of(429, json, R"({"error":{"message":"Pay","code":"insufficient_quota"}})")),
      "never", "Pay (insufficient_quota)");
  expect_refused(ask_raw("HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n3\r\nbad\r\n"),
                 "model_failed", "answered 500 (Internal Server Error): bad ...");
  expect_refused(
      ask_raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 X\r\ncontent-length: 2\r\n\r\nno"),
      "never", "answered 401");
  expect_refused(ask_raw("SSH-2.0-OpenSSH\r\n\r\n"), "model_failed", "no HTTP/1.1 message");
  expect_refused(chat("data: {\"error\":{\"message\":\"overloaded\",\"code\":\"busy\"}}\n\n"),
                 "model_failed", "The endpoint says in its reply: overloaded (busy)");
  const std::vector<std::string> events = {
      R"({"type":"error","code":"x","message":"overloaded"})",
      R"({"type":"response.failed","response":{"status":"failed",)"
      R"("error":{"message":"overloaded"}}})",
  };
  for (const std::string& event : events) {
    expect_refused(ask_raw(stream_of("data: " + event + "\n\n"), Protocol::responses),
                   "model_failed", "overloaded");
  }
}

TEST(HttpModelAttack, TheTimeToWaitIsReadInEachOfItsForms) {
  const auto delay = [](std::string_view headers) {
    const Result result = ask_raw(answer_of(429, headers, ""));
    return result.kind == "again" ? result.delay : Duration(-1s);
  };
  EXPECT_EQ(delay("retry-after: 7\r\n"), 7s);
  EXPECT_EQ(delay("retry-after-ms: 250\r\nretry-after: 7\r\n"), 250ms);
  EXPECT_EQ(delay("date: Tue, 17 Nov 2026 09:30:00 GMT\r\n"
                  "retry-after: Tue, 17 Nov 2026 09:30:30 GMT\r\n"),
            30s);
  EXPECT_EQ(delay("date: Tue, 17 Nov 2026 09:30:00 GMT\r\n"
                  "retry-after: Tue, 17 Nov 2026 09:29:30 GMT\r\n"),
            0s);
  // Without a date of its own: by the clock of the wall, which begins with 2020 here.
  EXPECT_EQ(delay("retry-after: Wed, 01 Jan 2020 00:01:00 GMT\r\n"), 60s);
  EXPECT_EQ(delay("retry-after: 99999999999999\r\n"), 24h);
  for (const char* bad : {"", "retry-after: -1\r\n", "retry-after: soon\r\n",
                          "retry-after: Tue, 32 Nov 2026 09:30:00 GMT\r\n", "retry-after: 1e9\r\n",
                          "retry-after: 99999999999999999999999\r\n"}) {
    EXPECT_EQ(delay(bad), -1s) << bad;
  }
}

TEST(HttpModelAttack, NamesOfModelsAreOnlyText) {
  RawServer raw;
  raw.answer = answer_of(500, "", "");
  const Client client = [&](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m\r\nx-evil: 1\r\n\r\n\"}");
    HttpModel model(endpoint);
    Request request;
    request.messages.push_back(Message::user(std::string("\xff\0", 2)));
    const Result result = co_await result_of(&model, request);
    EXPECT_EQ(result.kind, "model_failed");
    EXPECT_EQ(result.sentence.find('\n'), std::string::npos);
    Endpoint evil(url, "m");
    evil.key_header = "a\r\nx-evil";
    EXPECT_THROW(HttpModel made(evil), Error);
    request.tools.push_back({"t", "", "no schema"});
    const Result schema = co_await result_of(&model, request);
    EXPECT_EQ(schema.kind, "never");
  };
  with_raw(raw, client);
  ASSERT_EQ(raw.requests.size(), 1u);
  EXPECT_EQ(raw.requests[0].find("\r\nx-evil"), std::string::npos);
  EXPECT_NE(raw.requests[0].find(R"("content":"\ufffd\u0000")") +
                raw.requests[0].find("\"content\":\"\xef\xbf\xbd\\u0000\""),
            2 * std::string::npos);
}

}  // namespace
}  // namespace model_test
}  // namespace tiffany::agent
