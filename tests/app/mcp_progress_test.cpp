// notifications/progress: how far a task is, for a client that waits for it.
#include "app/mcp_progress.hpp"

#include <string>
#include <utility>
#include <vector>

#include "app/mcp_process.hpp"
#include "app/mcp_requests.hpp"
#include "tiffany/test/test_scheduler.hpp"

namespace tiffany::daemon_tests {
namespace mcp_progress_test {

using namespace std::chrono_literals;
using mcp::has;

// A daemon whose task is what the test says.
class FakeDoor final : public app::McpDoor {
 public:
  Task<app::Json> get(std::string path, Duration) override {
    if (path.find("/plan") != std::string::npos) co_return app::Json::parse(view);
    const std::size_t wait = path.find("?wait=");
    if (wait != std::string::npos) {
      EXPECT_TRUE(path.ends_with("ms")) << path;
      co_await sleep(std::chrono::milliseconds(std::stoi(path.substr(wait + 6))));
    }
    ++asked;
    co_return app::Json::parse(task);
  }
  Task<app::Json> post(std::string, std::string) override { co_return app::Json(); }
  Task<std::string> bytes(std::string) override { co_return ""; }
  const App& app() const noexcept override { return app_; }
  std::string command(const std::string& words) const override { return "fake " + words; }
  std::string task = R"({"id":"1","type":"x","status":"running","records":2})";
  std::string view;
  int asked = 0;

 private:
  App app_{"fake"};
};

class Heard final : public app::McpListener {
 public:
  Task<void> tell(std::string notification) override {
    all.push_back(std::move(notification));
    co_return;
  }
  std::vector<std::string> all;
};

// The params of the n-th notification behind its token.
std::string told(const Heard& heard, std::size_t n) {
  if (n >= heard.all.size()) return "(nothing)";
  const std::string begin =
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t",)";
  EXPECT_TRUE(heard.all[n].starts_with(begin)) << heard.all[n];
  return heard.all[n].substr(begin.size());
}

Task<std::string> wait_for(app::McpProgress* progress, int seconds) {
  const app::Json task = co_await progress->wait("1", seconds);
  co_return task["status"].text();
}

class McpProgressTest : public ::testing::Test {
 protected:
  test::TestScheduler test_;
  FakeDoor door_;
  Heard heard_;
  app::McpProgress progress_{door_, &heard_, "\"t\""};
};

TEST_F(McpProgressTest, ATaskThatGoesOnIsToldOfAndTheNumberGrows) {
  auto waited = test_.spawn(wait_for, &progress_, 45);
  test_.advance(1s);
  EXPECT_EQ(told(heard_, 0), R"("progress":2,"message":"running, 2 records in its log"}})");
  EXPECT_EQ(heard_.all.size(), 1U) << "nothing has happened since";
  door_.task = R"({"id":"1","type":"x","status":"running","records":5})";
  test_.advance(1s);
  EXPECT_EQ(told(heard_, 1), R"("progress":5,"message":"running, 5 records in its log"}})");
  door_.task = R"({"id":"1","type":"x","status":"completed","records":6,"result":7})";
  test_.advance(1s);
  EXPECT_EQ(told(heard_, 2), R"("progress":6,"message":"completed"}})");
  EXPECT_EQ(test_.result(waited), "completed");
}

TEST_F(McpProgressTest, ATaskThatStandsStillIsToldOfEveryFiveSeconds) {
  auto waited = test_.spawn(wait_for, &progress_, 45);
  test_.advance(16s);
  ASSERT_EQ(heard_.all.size(), 4U);
  EXPECT_TRUE(told(heard_, 1).starts_with(R"("progress":2.01,)")) << heard_.all[1];
  EXPECT_TRUE(told(heard_, 3).starts_with(R"("progress":2.03,)")) << heard_.all[3];
  test_.advance(30s);
  EXPECT_EQ(test_.result(waited), "running") << "it is waited for no longer than was said";
  EXPECT_LT(door_.asked, 120) << "twice a second";
}

TEST_F(McpProgressTest, OfAPlanTheStepsThatHaveEndedAreTold) {
  door_.task = R"({"id":"1","type":"tiffany.plan","status":"running","records":2})";
  door_.view =
      R"({"units":[{"state":"done"},{"state":"failed"},{"state":"running"},{"state":"waiting"}]})";
  auto waited = test_.spawn(wait_for, &progress_, 45);
  test_.advance(1s);
  EXPECT_EQ(told(heard_, 0), R"("progress":2,"total":4,"message":"2 of 4 steps have ended"}})");
  // A loop of the plan has begun anew: the number does not go back.
  door_.task = R"({"id":"1","type":"tiffany.plan","status":"running","records":3})";
  door_.view = R"({"units":[{"state":"done"},{"state":"running"},{"state":"running"}]})";
  test_.advance(1s);
  EXPECT_EQ(heard_.all.size(), 1U);
  door_.task = R"({"id":"1","type":"tiffany.plan","status":"failed","records":4})";
  test_.advance(1s);
  EXPECT_EQ(test_.result(waited), "failed");
  EXPECT_EQ(heard_.all.size(), 1U) << "a plan that failed is not at its last step";
}

TEST_F(McpProgressTest, WhatAPersonHasToDoIsTold) {
  door_.task = R"({"id":"1","type":"x","status":"running","records":2,)"
               R"("waits":[{"kind":"promise","name":"approval#1"}]})";
  auto waited = test_.spawn(wait_for, &progress_, 45);
  test_.advance(1s);
  EXPECT_TRUE(has(told(heard_, 0), "Waits for promise approval#1: a person says `fake approve 1`"))
      << told(heard_, 0);
}

TEST_F(McpProgressTest, ATaskThatHasEndedNeedsNoNotification) {
  door_.task = R"({"id":"1","type":"x","status":"completed","records":3})";
  auto waited = test_.spawn(wait_for, &progress_, 45);
  test_.advance(1s);
  EXPECT_EQ(test_.result(waited), "completed");
  EXPECT_EQ(heard_.all.size(), 0U);
}

// ---- Over stdio ----

constexpr const char* kToken = R"("_meta":{"progressToken":"t"})";

class McpStdioProgress : public mcp::McpTest {
 protected:
  static std::string wait_call(const std::string& id, const std::string& task) {
    return mcp::tool_call(id, "wait", R"({"task":")" + task + "\"}", kToken);
  }
};

TEST_F(McpStdioProgress, AWaitTellsBeforeItsAnswerAndNothingBehindIt) {
  shake_hands();
  const std::string id = submitted(R"({"type":"listens"})");
  server_.send(wait_call("7", id));
  const std::string first = server_.next();
  EXPECT_TRUE(first.starts_with(
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t",)"))
      << first;
  EXPECT_EQ(depot("signal " + id + " word '\"hi\"'").status, 0);
  std::string said = server_.next();
  for (int i = 0; i < 10 && has(said, "notifications/progress"); ++i) said = server_.next();
  EXPECT_TRUE(has(said, R"("id":7,"result")") && has(said, R"("result":"hi")")) << said;
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":8,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":8,"result":{}})");
}

TEST_F(McpStdioProgress, ACancelledWaitTellsNoMoreAndTheTaskGoesOn) {
  shake_hands();
  const std::string id = submitted(R"({"type":"listens"})");
  server_.send(wait_call("7", id));
  EXPECT_TRUE(has(server_.next(), "notifications/progress"));
  server_.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":8,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":8,"result":{}})");
  EXPECT_TRUE(has(server_.ask(mcp::tool_call("9", "get", R"({"task":")" + id + "\"}")),
                  R"("status":"running")"));
}

TEST_F(McpStdioProgress, SixtyFourWaitsOfAClientThatReadsNothingEndWithItsInput) {
  shake_hands();
  const std::string id = submitted(R"({"type":"naps"})");
  for (int i = 0; i < 64; ++i) server_.send(wait_call(std::to_string(i), id));
  EXPECT_EQ(server_.end(), 0);
}

TEST_F(McpStdioProgress, WhatIsNoTokenIsNotUsed) {
  shake_hands();
  const std::string task = R"({"task":")" + submitted(R"({"type":"naps"})") + R"(","seconds":1})";
  const std::string tokens[] = {"{}", "null", "\"" + std::string(300, 'x') + "\""};
  for (const std::string& token : tokens) {
    const std::string id = std::to_string(&token - tokens);
    server_.send(mcp::tool_call(id, "wait", task, R"("_meta":{"progressToken":)" + token + "}"));
  }
  for (int i = 0; i < 3; ++i) {
    const std::string said = server_.next();
    EXPECT_TRUE(has(said, "\"result\"")) << said;
  }
}

// ---- Over HTTP ----

class McpHttpProgress : public mcp_http::McpHttpTest {
 protected:
  // A POST over the unix socket, of the handshake era, whose answer is read to its end.
  static std::string posted(const std::string& body, const std::string& accept,
                            const std::string& more = "") {
    return "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: " +
           accept + "\r\n" + more +
           "connection: close\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }
  static std::string wait_body(const std::string& task, const std::string& seconds,
                               const std::string& meta = kToken) {
    return mcp_http::request_of("tools/call", R"("name":"wait","arguments":{"task":")" + task +
                                                  R"(","seconds":)" + seconds + "}," + meta);
  }
};

constexpr const char* kBoth = "application/json, text/event-stream";

TEST_F(McpHttpProgress, AnAnswerWithProgressIsAStreamOfEventsInBothEras) {
  const std::string id = started("naps");
  std::string old_era;
  EXPECT_EQ(run(mcp_http::hear_all(daemon_->socket(), posted(wait_body(id, "1"), kBoth), &old_era)),
            0);
  std::string meta = mcp_http::meta_of("{}");
  meta.insert(meta.size() - 1, R"(,"progressToken":7)");
  std::string new_era;
  const std::string headers =
      "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: wait\r\n";
  EXPECT_EQ(run(mcp_http::hear_all(daemon_->socket(),
                                   posted(wait_body(id, "1", meta), kBoth, headers), &new_era)),
            0);
  for (const std::string& heard : {old_era, new_era}) {
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 200")) << heard;
    EXPECT_TRUE(has(heard, "content-type: text/event-stream\r\n")) << heard;
    const std::size_t progress = heard.find(
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
        "\"notifications/progress\"");
    const std::size_t result = heard.find("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,");
    EXPECT_NE(progress, std::string::npos) << heard;
    EXPECT_NE(result, std::string::npos) << heard;
    EXPECT_LT(progress, result);
  }
  EXPECT_TRUE(has(new_era, R"("progressToken":7)") && has(new_era, "resultType")) << new_era;
}

Task<void> hear_three(Address to, std::string a, std::string b, std::string c, std::string* heard) {
  co_await gather(mcp_http::hear_all(to, std::move(a), heard),
                  mcp_http::hear_all(to, std::move(b), heard + 1),
                  mcp_http::hear_all(to, std::move(c), heard + 2));
}

TEST_F(McpHttpProgress, WithoutATokenOrAReaderOfEventsTheAnswerIsJson) {
  const std::string id = started("naps");
  const std::pair<std::string, std::string> asked[] = {{wait_body(id, "1"), "application/json"},
                                                       {wait_body(id, "1", R"("x":1)"), kBoth},
                                                       {"[" + wait_body(id, "1") + "]", kBoth}};
  std::string heard[3];
  EXPECT_EQ(run(hear_three(daemon_->socket(), posted(asked[0].first, asked[0].second),
                           posted(asked[1].first, asked[1].second),
                           posted(asked[2].first, asked[2].second), heard)),
            0);
  for (const std::string& each : heard) {
    EXPECT_TRUE(has(each, "content-type: application/json\r\n")) << each;
    EXPECT_FALSE(has(each, "notifications/progress")) << each;
    EXPECT_TRUE(has(each, R"("status":"running")")) << each;
  }
}

Task<void> read_until(Socket* socket, std::string what, std::string* heard) {
  std::array<char, 65536> room;
  while (heard->find(what) == std::string::npos) {
    const std::size_t n = co_await socket->read(room);
    if (n == 0) co_return;
    heard->append(room.data(), n);
  }
}

Task<void> shut_down_while_waiting(Address to, std::string bytes, std::string* heard) {
  Socket socket = co_await connect(to);
  co_await socket.write(bytes);
  co_await read_until(&socket, "notifications/progress", heard);
  http::Request end("POST", "/api/v1/shutdown");
  end.headers.set("host", "localhost");
  end.body = "{}";
  const http::Response answer = co_await http::fetch(to, std::move(end));
  EXPECT_EQ(answer.status, 202) << answer.body;
  co_await read_until(&socket, "(the end)", heard);
}

TEST(McpHttpProgressEnd, ADaemonThatEndsTellsThoseWhoWaitAndEndsTheirStreams) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path(), {}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::string id =
      member_of(post(daemon.socket(), "/tasks", R"({"type":"naps"})").body, "id");
  const std::string body = mcp_http::request_of(
      "tools/call", R"("name":"wait","arguments":{"task":")" + id + "\"}," + kToken);
  std::string heard;
  EXPECT_EQ(run(shut_down_while_waiting(
                daemon.socket(),
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                "accept: text/event-stream, application/json\r\ncontent-length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body,
                &heard)),
            0);
  EXPECT_TRUE(has(heard, R"("id":1,"result")") && has(heard, R"("isError":true)")) << heard;
  EXPECT_TRUE(heard.ends_with("0\r\n\r\n")) << heard;
}

}  // namespace mcp_progress_test
}  // namespace tiffany::daemon_tests
