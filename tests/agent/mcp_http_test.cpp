// Services that speak MCP over HTTP: each message is a POST.
#include <gtest/gtest.h>

#include "agent/mcp_world.hpp"

namespace tiffany::agent {
namespace mcp_http_test {

using namespace std::chrono_literals;
using mcp_test::Outcome;
using mcp_test::outcome_of;
using mcp_test::Peer;
using mcp_test::text_result;
using model_test::answer_of;
using model_test::in_world;
using model_test::read_request;
using model_test::stream_of;

// Answers each POST by what it says.
class Service {
 public:
  Service() = default;
  Peer peer{};
  std::string session{};  // that the handshake begins, and every other message has to name
  bool streams = false;
  // The bytes of an answer instead of the peer's; none: as the peer says.
  std::function<std::string(const mcp::Said& asked)> instead{};
  std::vector<std::string> requests{};

  std::string answer(const std::string& request) {
    requests.push_back(request);
    const std::string body = request.substr(request.find("\r\n\r\n") + 4);
    const mcp::Said asked = mcp::read_said(body);
    if (instead) {
      std::string said = instead(asked);
      if (!said.empty()) return said;
    }
    const bool begins = asked.method == "initialize";
    if (!peer.modern && !begins) {
      if (asked.method == "server/discover") {
        return answer_of(400, "content-type: application/json\r\n",
                         R"({"jsonrpc":"2.0","error":{"code":-32000,"message":"no"},"id":null})");
      }
      if (!session.empty() && request.find("mcp-session-id: " + session) == std::string::npos) {
        return answer_of(404, "content-type: application/json\r\n",
                         R"({"jsonrpc":"2.0","error":{"code":-32001,"message":"no"},"id":null})");
      }
    }
    std::string said = peer.answer(body);
    if (said.empty()) return answer_of(202, "", "");
    if (streams) {
      std::string events = ": hello\n\ndata:\n\n";
      for (std::size_t at = 0; at < said.size();) {
        const std::size_t end = said.find('\n', at);
        events += "event: message\ndata: " + said.substr(at, end - at) + "\n\n";
        at = end + 1;
      }
      return stream_of(events);
    }
    if (begins) said.erase(0, said.find('\n') + 1);  // the notification before the answer
    const std::string id = begins && !session.empty() ? "mcp-session-id: " + session + "\r\n" : "";
    return answer_of(200, "content-type: application/json\r\n" + id, said);
  }
};

Task<void> serve_service(Service* service, Listener* listener) {
  for (;;) {
    Socket socket;
    try {
      socket = co_await listener->accept();
    } catch (const IoError&) {
      co_return;  // closed
    }
    try {
      const std::string request = co_await read_request(&socket);
      const std::string answer = service->answer(request);
      co_await socket.write(answer);
      socket.shutdown_write();
      std::array<char, 64> room;
      co_await socket.read(room);
    } catch (const IoError&) {
      continue;  // the client did not want all of it
    }
  }
}

void with_service(Service& service, const std::function<Task<void>(ToolSet&)>& code,
                  McpOptions options = McpOptions("peer"), std::uint64_t seed = 1) {
  const std::function<Task<void>()> all = [&]() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    options.url = "http://" + listener.local().text() + "/mcp";
    auto serving = spawn(serve_service, &service, &listener);
    auto server = std::make_shared<McpServer>(options);
    co_await server->learn();
    ToolSet tools;
    add_mcp_tools(tools, server);
    co_await code(tools);
    co_await sleep(1s);  // for what is told without waiting
    listener.close();
    co_await serving;
  };
  in_world(seed, all);
}
Outcome call_of(Service& service, McpOptions options = McpOptions("peer"), std::uint64_t seed = 1) {
  Outcome outcome;
  const std::function<Task<void>(ToolSet&)> code = [&](ToolSet& tools) -> Task<void> {
    outcome = co_await outcome_of(tools.find("peer__echo"), R"({"a":1})");
  };
  with_service(service, code, std::move(options), seed);
  return outcome;
}

TEST(McpHttp, ServicesOfBothErasAreAsked) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const bool modern : {false, true}) {
      for (const bool streams : {false, true}) {
        Service service;
        service.peer.modern = modern;
        service.streams = streams;
        const Outcome outcome = call_of(service, McpOptions("peer"), seed);
        EXPECT_EQ(outcome.answer.text, R"({"a":1})") << outcome.sentence;
        const std::string& call = service.requests.back();
        EXPECT_NE(call.find(modern ? "mcp-protocol-version: 2026-07-28"
                                   : "mcp-protocol-version: 2025-11-25"),
                  std::string::npos);
        EXPECT_EQ(call.find("mcp-name: echo") != std::string::npos, modern);
        EXPECT_NE(call.find("accept: application/json, text/event-stream"), std::string::npos);
      }
    }
  }
}

TEST(McpHttp, ASessionIsNamedAndBegunAnewWhenItIsForgotten) {
  Service service;
  service.session = "first";
  const std::function<Task<void>(ToolSet&)> code = [&](ToolSet& tools) -> Task<void> {
    Outcome outcome = co_await outcome_of(tools.find("peer__echo"), "{}");
    EXPECT_EQ(outcome.answer.text, "{}") << outcome.sentence;
    service.session = "second";
    outcome = co_await outcome_of(tools.find("peer__echo"), R"({"n":2})");
    EXPECT_EQ(outcome.answer.text, R"({"n":2})") << outcome.answer.text;
  };
  with_service(service, code);
  EXPECT_EQ(service.peer.calls, 2);
}

TEST(McpHttp, AnAnswerThatBreaksOffIsUnknown) {
  for (const std::string& body :
       {std::string(), std::string("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n"),
        std::string("data: {\"jsonrpc\":")}) {
    Service service;
    service.instead = [&](const mcp::Said& asked) -> std::string {
      return asked.method == "tools/call" ? stream_of(body) : "";
    };
    const Outcome outcome = call_of(service);
    EXPECT_EQ(outcome.kind, "step_unknown") << body;
    EXPECT_NE(outcome.sentence.find("ended its answer"), std::string::npos) << outcome.sentence;
  }
}

TEST(McpHttp, AnEventOrABodyThatIsTooLongEndsTheCall) {
  for (const bool streams : {true, false}) {
    Service service;
    service.instead = [&](const mcp::Said& asked) -> std::string {
      if (asked.method != "tools/call") return "";
      const std::string book = "data: " + std::string(70'000, 'x');
      return streams ? stream_of(book) : answer_of(200, "content-type: application/json\r\n", book);
    };
    McpOptions options("peer");
    options.most_bytes = 60'000;
    const Outcome outcome = call_of(service, options);
    EXPECT_EQ(outcome.kind, "step_unknown");
    EXPECT_NE(outcome.sentence.find("more than 60000 bytes"), std::string::npos)
        << outcome.sentence;
  }
}

TEST(McpHttp, WhatWasRefusedWasNotDoneAndWhatFailedMayHaveBeen) {
  const auto status = [](int number) {
    Service service;
    service.instead = [number](const mcp::Said& asked) -> std::string {
      if (asked.method != "tools/call") return "";
      return answer_of(number, "content-type: text/plain\r\n", "nothing here\x1b");
    };
    return call_of(service);
  };
  for (const int number : {400, 401, 403, 413, 429}) {
    const Outcome outcome = status(number);
    EXPECT_EQ(outcome.kind, "answer") << number;
    EXPECT_NE(outcome.answer.text.find("It answered " + std::to_string(number)), std::string::npos);
    EXPECT_NE(outcome.answer.text.find("The call was not made."), std::string::npos);
  }
  for (const int number : {200, 204, 302, 500, 502}) {
    EXPECT_EQ(status(number).kind, "step_unknown") << number;
  }
}

TEST(McpHttp, TheKeyIsSentAndIsInNoSentence) {
  ::setenv("TIFFANY_TEST_MCP_KEY", "sk-very-secret-key", 1);
  Service service;
  service.instead = [](const mcp::Said& asked) -> std::string {
    if (asked.method != "tools/call") return "";
    return answer_of(401, "content-type: text/plain\r\n", "bad key sk-very-secret-key");
  };
  McpOptions options("peer");
  options.key = KeySource::environment("TIFFANY_TEST_MCP_KEY");
  const Outcome outcome = call_of(service, options);
  EXPECT_NE(service.requests.back().find("authorization: Bearer sk-very-secret-key"),
            std::string::npos);
  EXPECT_NE(outcome.answer.text.find("bad key ***"), std::string::npos) << outcome.answer.text;
  EXPECT_EQ(outcome.answer.text.find("secret-key"), std::string::npos);
}

TEST(McpHttp, ProgressInAStreamIsASignOfLifeAndWhoGoesTellsTheService) {
  Service service;
  service.instead = [](const mcp::Said& asked) -> std::string {
    if (asked.method != "tools/call") return "";
    // Announces more than it says: the connection stays open, and nothing comes.
    return "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
  };
  const Outcome outcome = call_of(service);
  EXPECT_EQ(outcome.kind, "step_unknown");
  EXPECT_NE(service.requests.back().find("notifications/cancelled"), std::string::npos);
}

TEST(McpHttp, QuestionsOfTheServiceAreRefused) {
  Service service;
  service.streams = true;
  service.peer.before_answer = [](const std::string&) {
    return std::string(
        "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"elicitation/create\",\"params\":{}}\n");
  };
  EXPECT_EQ(call_of(service).answer.text, R"({"a":1})");
  EXPECT_TRUE(service.peer.was_told(R"("id":"p","result":{})"));
  EXPECT_TRUE(service.peer.was_told(R"("id":9,"error":{"code":-32601)"));
}

TEST(McpHttp, AServiceThatIsNotThereIsNamed) {
  std::string problem;
  const std::function<Task<void>()> all = [&]() -> Task<void> {
    McpOptions options("peer");
    options.url = "http://127.0.0.1:9/mcp";
    McpServer server(options);
    try {
      co_await server.learn();
    } catch (const Error& error) {
      problem = error.what();
    }
  };
  in_world(1, all);
  EXPECT_NE(problem.find("The MCP server peer (http://127.0.0.1:9/mcp): It cannot be asked"),
            std::string::npos)
      << problem;
}

}  // namespace mcp_http_test
}  // namespace tiffany::agent
