// /mcp of a real daemon: clients of both eras, and those who are none.
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/mcp_requests.hpp"

namespace tiffany::daemon_tests {
namespace mcp_http_test {

using namespace mcp_http;

class McpHttp : public McpHttpTest {};

TEST_F(McpHttp, TheHandshakeEraNeedsNoSession) {
  const http::Response hello =
      post_message(request_of("initialize", R"("protocolVersion":"2025-06-18","capabilities":{},)"
                                            R"("clientInfo":{"name":"test","version":"1"})"));
  EXPECT_EQ(hello.status, 200);
  EXPECT_EQ(hello.headers.find("content-type"), "application/json");
  EXPECT_FALSE(hello.headers.has("mcp-session-id"));
  EXPECT_TRUE(has(hello.body,
                  R"("protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{})"))
      << hello.body;
  const Headers version{{"mcp-protocol-version", "2025-06-18"}};
  const http::Response told =
      post_message(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", version);
  EXPECT_EQ(told.status, 202);
  EXPECT_EQ(told.body, "");
  EXPECT_EQ(post_message(R"({"jsonrpc":"2.0","id":7,"result":{}})", version).status, 202);
  EXPECT_EQ(post_message(request_of("ping", "", "\"p\""), version).body,
            R"({"jsonrpc":"2.0","id":"p","result":{}})");
  const http::Response started = post_message(
      request_of("tools/call",
                 R"("name":"submit","arguments":{"type":"greet","arguments":["Ada",1]})"),
      version);
  EXPECT_TRUE(has(started.body, R"("isError":false)")) << started.body;
  EXPECT_FALSE(has(started.body, "resultType"));
  // A method that is none is an answer like others; only the other era says it in the status, too.
  const http::Response none = post_message(request_of("resources/subscribe", ""), version);
  EXPECT_EQ(none.status, 200);
  EXPECT_TRUE(has(none.body, R"("code":-32601)")) << none.body;
  // Without the header it is the version that did not know it, and had batches.
  const http::Response batch =
      post_message("[" + request_of("ping", "") + "," + request_of("initialize", "", "2") + ",7," +
                   R"({"jsonrpc":"2.0","method":"notifications/x"}])");
  EXPECT_TRUE(batch.body.starts_with(R"([{"jsonrpc":"2.0","id":1,"result":{}},)")) << batch.body;
  EXPECT_TRUE(has(batch.body, R"("id":2,"error":{"code":-32600)")) << batch.body;
  EXPECT_TRUE(has(post_message("[" + request_of("ping", R"("_meta":{"a":1,"a":2})") + "]").body,
                  R"([{"jsonrpc":"2.0","id":1,"error":{"code":-32602)"));
  EXPECT_EQ(post_message("[" + request_of("ping", "") + "]", version).status, 400);
  EXPECT_EQ(post_message(R"([{"jsonrpc":"2.0","method":"notifications/x"}])").status, 202);
}

TEST_F(McpHttp, TheEraWithoutAHandshakeSaysWhatItIsInHeadersAndBody) {
  const http::Response found = modern("server/discover", "");
  EXPECT_EQ(found.status, 200);
  EXPECT_TRUE(has(found.body, R"("supportedVersions":["2026-07-28"])")) << found.body;
  EXPECT_TRUE(has(modern("tools/list", "").body, R"("name":"submit")"));
  const Headers version{{"mcp-protocol-version", "2026-07-28"}};
  const auto refused = [&](const std::string& body, const Headers& headers, const std::string& code,
                           int status = 400) {
    const http::Response answer = post_message(body, headers);
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_TRUE(has(answer.body, "\"code\":" + code)) << answer.body;
    EXPECT_TRUE(has(answer.body, "\"id\":1")) << answer.body;
  };
  const std::string list = request_of("tools/list", meta_of("{}"));
  const std::string get =
      request_of("tools/call", R"("name":"get","arguments":{},)" + meta_of("{}"));
  refused(list, {{"mcp-method", "tools/list"}}, "-32020");
  refused(list, version, "-32020");
  refused(list, {version[0], {"mcp-method", "Tools/List"}}, "-32020");
  refused(list, {{"mcp-protocol-version", "2025-11-25"}, {"mcp-method", "tools/list"}}, "-32020");
  refused(get, {version[0], {"mcp-method", "tools/call"}}, "-32020");
  refused(get, {version[0], {"mcp-method", "tools/call"}, {"mcp-name", "submit"}}, "-32020");
  refused(get, {version[0], {"mcp-method", "tools/call"}, {"mcp-name", "=?base64?!?="}}, "-32020");
  EXPECT_EQ(
      post_message(
          get, {version[0], {"mcp-method", "tools/call"}, {"mcp-name", "=?base64?Z2V0?="}})  // get
          .status,
      200);
  refused(request_of("tools/list", ""), {version[0], {"mcp-method", "tools/list"}}, "-32602");
  refused(request_of("tools/list", meta_of("7")), {version[0], {"mcp-method", "tools/list"}},
          "-32602");
  refused(request_of("tools/list", meta_of("{}", "2099-01-01")),
          {{"mcp-protocol-version", "2099-01-01"}, {"mcp-method", "tools/list"}}, "-32022");
  refused(request_of("tools/list", ""), {{"mcp-protocol-version", "2019-01-01"}}, "-32022");
  refused(request_of("ping", meta_of("{}")), {version[0], {"mcp-method", "ping"}}, "-32601", 404);
  refused(request_of("initialize", meta_of("{}")), {version[0], {"mcp-method", "initialize"}},
          "-32601", 404);
  refused(request_of("tasks/get", R"("taskId":"x",)" + meta_of("{}")),
          {version[0], {"mcp-method", "tasks/get"}, {"mcp-name", "x"}}, "-32021");
  EXPECT_TRUE(has(call("rm", "{}"), "-32602"));
}

TEST_F(McpHttp, WhatIsNoMessageIsRefused) {
  const std::string ping = request_of("ping", "");
  for (const char* const method : {"GET", "DELETE", "PUT"}) {
    http::Request request = message("", {});
    request.method = method;
    const http::Response answer = send(request);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.headers.find("allow"), "POST");
  }
  EXPECT_EQ(post_message(ping, {{"content-type", "text/plain"}}).status, 415);
  EXPECT_EQ(post_message(ping, {{"content-type", "application/json; charset=utf-8"}}).status, 200);
  EXPECT_EQ(post_message(ping, {{"accept", "text/event-stream"}}).status, 406);
  EXPECT_EQ(post_message(ping, {{"accept", "*/*"}}).status, 200);
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  for (const auto& [body, code] : std::vector<std::pair<std::string, std::string>>{
           {"", "-32700"},
           {"hello", "-32700"},
           {"\xff\xfe", "-32700"},
           {request_of("ping", "\"x\":" + deep), "-32700"},
           {"7", "-32600"},
           {"[]", "-32600"},
           {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":")" + std::string(300, 'x') + R"(","method":"ping"})",
            "-32600"},
           {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", "-32602"},
           {request_of("ping", R"("_meta":{"a":1,"a":2})"), "-32602"}}) {
    const http::Response answer = post_message(body);
    EXPECT_EQ(answer.status, 400) << body.substr(0, 80);
    EXPECT_TRUE(has(answer.body, code)) << body.substr(0, 80) << "\n" << answer.body;
  }
  EXPECT_EQ(post_message(request_of("ping", "", "1152921504606846976")).body,
            R"({"jsonrpc":"2.0","id":1152921504606846976,"result":{}})");
  EXPECT_EQ(post_message(request_of("ping", R"("_meta":{"progressToken":{"odd":[]}})")).status,
            200);
  EXPECT_EQ(post_message(std::string((std::size_t{8} << 20) + 1, 'x')).status, 413);
}

TEST_F(McpHttp, OnlyWhoMayAskIsAnswered) {
  const std::string ping = request_of("ping", "");
  EXPECT_EQ(post_message(ping, {{"authorization", ""}}).status, 401);
  EXPECT_EQ(post_message(ping, {{"authorization", "Bearer nobody"}}).status, 401);
  EXPECT_EQ(post_message(ping, {{"origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(post_message(ping, {{"host", "evil.example"}}).status, 403);
  const std::string own = "127.0.0.1:" + std::to_string(daemon_->port());
  EXPECT_EQ(post_message(ping, {{"origin", "http://" + own}}).status, 200);
  // A viewer looks, and starts nothing.
  const Headers viewer{{"authorization", "Bearer " + token_of("viewer")}};
  const std::string id = started("greet Ada 1");
  EXPECT_TRUE(has(call("get", R"({"task":")" + id + "\"}", "{}", viewer), R"("isError":false)"));
  const std::string submit = R"({"type":"greet","arguments":["Eve",1],"key":"viewer-greets"})";
  for (const char* const capabilities : {"{}", kTasks}) {
    const std::string said = call("submit", submit, capabilities, viewer);
    EXPECT_TRUE(has(said, "\"isError\":true") && has(said, "and this needs operator")) << said;
  }
  EXPECT_TRUE(has(call("cancel", R"({"task":")" + id + "\"}", "{}", viewer), "needs operator"));
  const std::string asks = waiting("viewer");
  const http::Response cancels =
      modern("tasks/cancel", R"("taskId":")" + asks + "\"", asks, kTasks, viewer);
  EXPECT_TRUE(has(cancels.body, "-32603") && has(cancels.body, "needs operator")) << cancels.body;
  // An operator does, by name.
  const std::string token = token_of("operator");
  EXPECT_TRUE(has(call("submit", submit, "{}", {{"authorization", "Bearer " + token}}),
                  R"("isError":false)"));
  EXPECT_TRUE(has(get(daemon_->socket(), "/audit?limit=5").body, "mcp-operator"));
  // And over the unix socket it is the user of the daemon.
  http::Response local;
  EXPECT_EQ(run(ask(daemon_->socket(), message(ping, {{"authorization", ""}}), &local)), 0);
  EXPECT_EQ(local.status, 200);
}

TEST_F(McpHttp, ATaskIsFollowedToItsEndAndItsIdOutlivesTheConnection) {
  const std::string handle = call("submit", R"({"type":"listens"})", kTasks);
  EXPECT_TRUE(has(handle, R"("resultType":"task")")) << handle;
  const std::string id = member_of(handle, "taskId");
  EXPECT_TRUE(has(about("get", id), R"("status":"working")"));
  EXPECT_EQ(depot("signal " + id + " word '\"hi\"'").status, 0);
  const std::string ended = call("wait", R"({"task":")" + id + "\"}");
  EXPECT_TRUE(has(ended, R"("result":"hi")")) << ended;
  EXPECT_TRUE(has(about("get", id), R"("status":"completed")"));
  EXPECT_TRUE(has(about("get", "00000000-0000-4000-8000-000000000000"), "-32602"));
  const std::string other = waiting("mcp-http");
  EXPECT_TRUE(has(about("get", other, "", kTasksAndForms), R"("status":"working")"))
      << "nobody answers for a person where the setting does not say so";
  EXPECT_TRUE(has(call("approve", "{}"), "There is no tool"));
  EXPECT_TRUE(has(about("cancel", other), R"("resultType":"complete")"));
  EXPECT_TRUE(has(call("wait", R"({"task":")" + other + "\"}"), R"("status":"cancelled")"));
}

TEST_F(McpHttp, AToolOfTheProgramGivesAResultOrAHandle) {
  EXPECT_TRUE(has(modern("tools/list", "").body,
                  R"("name":"greet","description":"Greets somebody","inputSchema":{"type":)"
                  R"("object","properties":{"who":{"type":"string"},"times":)"));
  const std::string plain = call("greet", R"({"who":"Ada","times":1})");
  EXPECT_TRUE(has(plain, R"("content":[{"type":"text","text":"hello Ada "}])")) << plain;
  const std::string handle = call("greet", R"({"who":"Ada","times":1})", kTasks);
  EXPECT_TRUE(has(handle, R"("resultType":"task")")) << handle;
  const std::string id = member_of(handle, "taskId");
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_TRUE(has(about("get", id), R"("content":[{"type":"text","text":"hello Ada "}])"));
  for (const char* const wrong :
       {"{}", R"({"who":"x","times":"y"})", R"({"who":"mallory","times":1})",
        R"({"who":"x","times":1,"evil":1})"}) {
    const std::string said = call("greet", wrong);
    EXPECT_TRUE(has(said, "\"isError\":true")) << said;
  }
}

// Sends these bytes, leaves, and is not heard of again.
Task<void> leave(Address to, std::string bytes) {
  Socket socket = co_await connect(to);
  co_await socket.write(bytes);
}

TEST_F(McpHttp, AClientThatLeavesWhileItWaitsTakesNothingWithIt) {
  const std::string id = started("listens");
  const std::string body =
      request_of("tools/call", R"("name":"wait","arguments":{"task":")" + id + "\"}");
  const std::string head =
      "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
      "application/json\r\ncontent-length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(leave(daemon_->socket(), head + body)), 0);
  EXPECT_EQ(depot("signal " + id + " word '\"hi\"'").status, 0);
  EXPECT_TRUE(has(depot("result --wait " + id).out, "hi"));
}

TEST_F(McpHttp, AThousandMessagesBehindOneAnotherAreAnsweredInTheirOrder) {
  constexpr int kMessages = 1000;
  std::string bytes;
  for (int i = 0; i < kMessages; ++i) {
    // Two eras on one connection, which has none.
    const bool old = i % 2 == 0;
    const std::string method = old ? "ping" : "server/discover";
    const std::string body = request_of(method, old ? "" : meta_of("{}"), std::to_string(i));
    bytes += "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
             (old ? std::string()
                  : "mcp-protocol-version: 2026-07-28\r\nmcp-method: " + method + "\r\n") +
             (i + 1 == kMessages ? "connection: close\r\n" : "") +
             "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  std::string heard;
  EXPECT_EQ(run(hear_all(daemon_->socket(), bytes, &heard)), 0);
  std::size_t at = 0;
  for (int i = 0; i < kMessages; ++i) {
    at = heard.find("\"id\":" + std::to_string(i) + ",\"result\"", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

// A daemon where clients may answer for a person.
TEST(McpHttpApprovals, WhatATaskAsksAPersonIsAskedOfTheClient) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path(), {"--mcp-approve", "yes"}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const auto about = [&](const std::string& method, const std::string& task,
                         const std::string& more, const char* capabilities = kTasksAndForms) {
    http::Request request("POST", "/mcp");
    request.headers.set("host", "localhost");
    request.headers.set("content-type", "application/json");
    request.headers.set("mcp-protocol-version", "2026-07-28");
    request.headers.set("mcp-method", "tasks/" + method);
    request.headers.set("mcp-name", task);
    request.body = request_of("tasks/" + method,
                              R"("taskId":")" + task + "\"" + more + "," + meta_of(capabilities));
    http::Response answer;
    EXPECT_EQ(run(ask(daemon.socket(), std::move(request), &answer)), 0);
    return answer.body;
  };
  const auto ordered = [&] {
    return member_of(post(daemon.socket(), "/tasks",
                          R"({"type":"order","arguments":[{"id":"a","amount":5000}]})")
                         .body,
                     "id");
  };
  const auto asked = [&](const std::string& id) {
    std::string said;
    EXPECT_TRUE(eventually([&] {
      said = about("get", id, "");
      return has(said, R"("status":"input_required")");
    })) << said;
    EXPECT_TRUE(has(said, R"("method":"elicitation/create")")) << said;
    return said.substr(said.find("inputRequests\":{\"") + 17, 36);
  };
  const auto answered = [&](const std::string& id, const std::string& promise,
                            const std::string& answer, const char* capabilities = kTasksAndForms) {
    return about("update", id, R"(,"inputResponses":{")" + promise + "\":" + answer + "}",
                 capabilities);
  };
  const std::string id = ordered();
  const std::string promise = asked(id);
  EXPECT_TRUE(has(about("get", id, "", kTasks), R"("status":"working")"))
      << "a client without forms cannot ask";
  for (const char* const wrong : {"7", "{}", R"({"action":"accept"})",
                                  R"({"action":"accept","content":{"confirm":"yes"}})"}) {
    EXPECT_TRUE(has(answered(id, promise, wrong), "-32602")) << wrong;
  }
  EXPECT_TRUE(has(answered(id, promise, R"({"a":1},"x":{"a":1,"a":2})"), "-32602"));
  EXPECT_TRUE(has(answered(id, promise, R"({"a":1,"a":2})"), "-32602"))
      << "two readers, two answers";
  EXPECT_TRUE(has(answered(id, promise, R"({"action":"cancel"})"), "complete"));
  const std::string yes = R"({"action":"accept","content":{"confirm":true}})";
  EXPECT_TRUE(has(answered(id, promise, yes, kTasks), "complete"));
  EXPECT_TRUE(has(answered(id, "00000000-0000-4000-8000-000000000000", yes), "complete"));
  const std::string other = ordered();
  EXPECT_EQ(asked(other).size(), promise.size());
  EXPECT_TRUE(has(answered(other, promise, yes), "complete")) << "the question of another task";
  EXPECT_EQ(asked(id), promise) << "nobody has answered yet";
  EXPECT_TRUE(has(answered(id, promise, yes), "complete"));
  EXPECT_TRUE(has(get(daemon.socket(), "/tasks/" + id + "/result?wait=30s").body, "paid by"));
  EXPECT_TRUE(has(answered(other, asked(other), R"({"action":"decline"})"), "complete"));
  EXPECT_TRUE(
      has(get(daemon.socket(), "/tasks/" + other + "/result?wait=30s").body, "was not approved"));
}

}  // namespace mcp_http_test
}  // namespace tiffany::daemon_tests
