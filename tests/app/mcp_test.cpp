// `mcp`: clients of both eras on the standard streams of a real process, and a real daemon.
#include <string>
#include <vector>

#include "app/mcp_process.hpp"

namespace tiffany::daemon_tests {
namespace mcp_test {

using namespace mcp;

class Mcp : public McpTest {};

TEST_F(Mcp, TheHandshakeEraIsAnsweredByteForByte) {
  EXPECT_EQ(server_.ask(initialize("2025-06-18")),
            R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":)"
            R"({"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{}},)"
            R"("serverInfo":{"name":"depot","version":"1.2.3"},"instructions":)"
            R"("Long work as durable tasks: submit starts one and gives its id, wait and get look )"
            R"(at it, also after this server, the client or the machine was restarted. Keep the )"
            R"(id."}})");
  server_.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":"p","method":"ping"})"),
            R"({"jsonrpc":"2.0","id":"p","result":{}})");
  const std::string tools = server_.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_TRUE(
      tools.starts_with(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"submit","title":)"))
      << tools;
  EXPECT_TRUE(has(tools, R"("annotations":{"readOnlyHint":true,"destructiveHint":false,)"));
  EXPECT_FALSE(has(tools, "\"approve\"")) << "a client may answer for its human";
  EXPECT_FALSE(has(tools, "resultType"));
  const std::string started = without_ids(
      server_.ask(tool_call("2", "submit", R"({"type":"greet","arguments":["Ada",1]})")));
  EXPECT_TRUE(has(started, R"("structuredContent":{"id":"<id>","type":"greet","version":1,)"))
      << started;
  EXPECT_EQ(server_.end(), 0);
}

TEST_F(Mcp, EveryVersionWithAHandshakeIsSpokenAndAnotherGetsTheNewestOfThem) {
  for (const char* const version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    shake_hands(version);
  }
  EXPECT_TRUE(has(server_.ask(initialize("2019-01-01")), R"("protocolVersion":"2025-11-25")"));
}

TEST_F(Mcp, TheEraWithoutAHandshakeIsAnsweredByteForByte) {
  const std::string meta = kMeta;
  EXPECT_EQ(
      server_.ask(R"({"jsonrpc":"2.0","id":"d","method":"server/discover","params":{)" + meta +
                  "}}"),
      R"({"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":)"
      R"(["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{},)"
      R"("extensions":{"io.modelcontextprotocol/tasks":{}}},"instructions":"Long work as durable )"
      R"(tasks: submit starts one and gives its id, wait and get look at it, also after this )"
      R"(server, )"
      R"(the client or the machine was restarted. Keep the id.","ttlMs":3600000,"cacheScope":)"
      R"("public","_meta":{"io.modelcontextprotocol/serverInfo":)"
      R"({"name":"depot","version":"1.2.3"}}}})");
  const std::string tools =
      server_.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{)" + meta + "}}");
  EXPECT_TRUE(tools.starts_with(R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",)"));
  EXPECT_TRUE(has(tools, R"("ttlMs":3600000,"cacheScope":"public")"));
  const std::string started = server_.ask(
      tool_call("2", "submit", R"({"type":"greet","arguments":{"who":"Ada","times":1}})", meta));
  EXPECT_TRUE(has(started, R"("result":{"resultType":"complete","content":[{"type":"text",)"))
      << started;
  EXPECT_TRUE(has(started, R"("isError":false,"_meta":{"io.modelcontextprotocol/serverInfo":)"));
  const std::string id = member_of(started.substr(started.find("structuredContent")), "id");
  const std::string ended = server_.ask(tool_call("3", "wait", R"({"task":")" + id + "\"}", meta));
  EXPECT_TRUE(has(ended, R"("result":"hello Ada ")")) << ended;
}

TEST_F(Mcp, AClientThatKnowsTasksGetsAHandleWhoseIdIsThatOfTheTask) {
  const std::string meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                           R"("io.modelcontextprotocol/clientCapabilities":)"
                           R"({"extensions":{"io.modelcontextprotocol/tasks":{}}}})";
  const auto about = [&](const std::string& method, const std::string& id) {
    return server_.ask(R"({"jsonrpc":"2.0","id":1,"method":"tasks/)" + method +
                       R"(","params":{"taskId":")" + id + "\"," + meta + "}}");
  };
  const std::string handle = server_.ask(tool_call("1", "submit", R"({"type":"listens"})", meta));
  EXPECT_TRUE(without_ids(handle).starts_with(
      R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"<id>","status":)"
      R"("working","createdAt":"<time>")"))
      << handle;
  EXPECT_TRUE(has(handle, R"("ttlMs":null,"pollIntervalMs":1000,"_meta":)")) << handle;
  const std::string id = member_of(handle, "taskId");
  const std::string works = about("get", id);
  EXPECT_TRUE(has(works, R"("resultType":"complete")") && has(works, R"("status":"working")"))
      << works;
  EXPECT_TRUE(has(about("update", id), R"("result":{"resultType":"complete","_meta")"));
  EXPECT_EQ(depot("signal " + id + " word '\"hi\"'").status, 0);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  const std::string done = about("get", id);
  EXPECT_TRUE(has(done, R"("status":"completed")") && has(done, R"("isError":false)")) << done;
  EXPECT_TRUE(has(done, R"("result":{"resultType":"complete","content":)"))
      << "it is the result of the call, which has a type of its own\n"
      << done;
  EXPECT_TRUE(has(about("cancel", id), R"("result":{"resultType":"complete","_meta")"));

  const std::string failing = member_of(
      server_.ask(tool_call("1", "submit", R"({"type":"fails","arguments":["why"]})", meta)),
      "taskId");
  EXPECT_EQ(depot("result --wait " + failing).status, 1);
  const std::string failed = about("get", failing);
  EXPECT_TRUE(has(failed, R"("status":"completed")") && has(failed, R"("isError":true)"))
      << "failed is for errors of the protocol\n"
      << failed;
  const std::string mistaken =
      member_of(server_.ask(tool_call("1", "submit", R"({"type":"errs"})", meta)), "taskId");
  EXPECT_EQ(depot("result --wait " + mistaken).status, 9);
  const std::string mistake = about("get", mistaken);
  EXPECT_TRUE(has(mistake, R"("status":"failed")") && has(mistake, R"("error":{"code":-32603,)"))
      << "a mistake of the program is one\n"
      << mistake;
  const std::string asking = waiting("mcp");
  EXPECT_TRUE(
      has(about("get", asking), R"("statusMessage":"Waits for promise approval#1: a person says)"))
      << about("get", asking);
  EXPECT_TRUE(has(about("cancel", asking), R"("resultType":"complete")"));
  EXPECT_EQ(depot("result --wait " + asking).status, 8);
  EXPECT_TRUE(has(about("get", asking), R"("status":"cancelled")"));
  EXPECT_TRUE(has(about("get", "00000000-0000-4000-8000-000000000000"), "-32602"));
  EXPECT_TRUE(has(about("cancel", "x"), "-32602"));
  const std::string wrong = server_.ask(tool_call("1", "submit", "{}", meta));
  EXPECT_TRUE(has(wrong, R"("resultType":"complete")") && has(wrong, R"("isError":true)"));
  const std::string undeclared = server_.ask(
      R"({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{)" + std::string(kMeta) + "}}");
  EXPECT_TRUE(has(undeclared, R"("code":-32021)")) << undeclared;
  EXPECT_TRUE(has(undeclared, R"("requiredCapabilities":{"extensions":)")) << undeclared;
}

TEST_F(Mcp, AVersionThatNobodySaidOrKnowsIsRefused) {
  EXPECT_TRUE(has(refusal(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"),
                  "-32602 Nothing says which version of MCP this is"));
  EXPECT_TRUE(has(server_.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                              R"({"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}})"),
                  R"("data":{"supported":["2026-07-28"],"requested":"2099-01-01"})"));
  EXPECT_TRUE(has(refusal(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                          R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"),
                  "-32602 params._meta has an object"));
  EXPECT_TRUE(has(
      refusal(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{)" + std::string(kMeta) + "}}"),
      "-32601"))
      << "this version has no ping";
}

TEST_F(Mcp, WhatIsNoRequestIsRefusedAndTheConnectionGoesOn) {
  shake_hands();
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":)";
  for (const auto& [line, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"hello", "-32700 The message is no JSON text"},
           {std::string("{\"a\0\":1}", 8), "-32700"},
           {"\xff\xfe", "-32700"},
           {begin + "\"ping\",\"x\":\"\xc3\"}", "-32700"},
           {begin + "\"ping\",\"params\":{\"x\":" + deep + "}}", "-32700"},
           {begin + "\"ping\"", "-32700"},
           {"1", "-32600 A message is a JSON object."},
           {"{}", "-32600"},
           {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":1})", "-32600"},
           {begin + "7}", "-32600"},
           {begin + "\"ping\",\"method\":\"tools/list\"}", "-32600"},
           {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":true,"method":"ping"})", "-32600"},
           {R"({"jsonrpc":"2.0","id":")" + std::string(300, 'x') + R"(","method":"ping"})",
            "-32600"},
           {begin + "\"logging/setLevel\"}", "-32601 There is no method"},
           {begin + "\"ping\",\"params\":[]}", "-32602"},
           {begin + "\"tools/list\",\"params\":{\"cursor\":\"x\"}}", "-32602"},
           {begin + R"("tools/list","params":{"_meta":{"a":1,"a":2}}})", "-32602"},
           {begin + R"("tools/list","params":{"_meta":{)"
                    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                    R"("io.modelcontextprotocol/clientCapabilities":{"a":1,"a":2}}}})",
            "-32602"},
           {tool_call("1", "get", R"({"task":"a","task":"b"})") + "}", "-32700"},
           {tool_call("1", "rm", "{}"), "-32602 There is no tool"},
           {tool_call("1", "approve", "{}"), "-32602 There is no tool"},
           {tool_call("1", "get", "[]"), "-32602"},
           {"[]", "-32600"},
           {"[" + begin + "\"ping\"}]", "-32600 Batches are of the versions"}}) {
    const std::string said = refusal(line);
    EXPECT_TRUE(has(said, wanted)) << line.substr(0, 200) << "\n" << said;
  }
  server_.send("");
  server_.send(R"({"jsonrpc":"2.0","id":9,"result":{}})");
  server_.send(R"({"jsonrpc":"2.0","method":"notifications/nobody/knows"})");
  server_.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}})");
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":-5,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":-5,"result":{}})");
}

TEST_F(Mcp, AMessageThatIsTooLongIsSkippedAndTheNextOneIsAnswered) {
  shake_hands();
  constexpr std::size_t kTooLong = (std::size_t{8} << 20) + 100;
  const std::string said = refusal(std::string(kTooLong, 'x'));
  EXPECT_TRUE(has(said, "-32600 A message has at most 8388608 bytes")) << said;
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":"next","method":"ping"})"),
            R"({"jsonrpc":"2.0","id":"next","result":{}})");
}

TEST_F(Mcp, ABatchOfAVersionThatHasThemIsAnsweredAsOne) {
  shake_hands("2025-03-26");
  const std::string said = server_.ask(
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},)"
      R"({"jsonrpc":"2.0","id":2,"method":"nothing"},7,)" +
      initialize("2025-03-26") + "," + tool_call("3", "get", R"({"task":"x"})") + "]");
  EXPECT_TRUE(said.starts_with(R"([{"jsonrpc":"2.0","id":1,"result":{}},)")) << said;
  EXPECT_TRUE(has(said, R"("id":2,"error":{"code":-32601)")) << said;
  EXPECT_TRUE(has(said, R"({"jsonrpc":"2.0","error":{"code":-32600)")) << said;
  EXPECT_TRUE(has(said, "initialize is no part of a batch")) << said;
  EXPECT_TRUE(has(said, R"("id":3,"result":)")) << said;
  EXPECT_TRUE(said.ends_with("]"));
  server_.send(R"([{"jsonrpc":"2.0","method":"notifications/x"}])");
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":4,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":4,"result":{}})");
}

TEST_F(Mcp, TheSameKeyIsTheSameTask) {
  shake_hands();
  const std::string once = submitted(R"({"type":"greet","arguments":["Bo",1],"key":"mcp-once"})");
  EXPECT_EQ(submitted(R"({"type":"greet","arguments":["Bo",1],"key":"mcp-once"})"), once);
}

TEST_F(Mcp, ATaskIsFollowedByItsLogAndCancelled) {
  shake_hands();
  const std::string id = submitted(R"({"type":"naps"})");
  const std::string task = R"({"task":")" + id + "\"";
  ASSERT_TRUE(eventually(
      [&] { return has(server_.ask(tool_call("1", "get", task + "}")), R"("waits":[{"kind":)"); }));
  EXPECT_TRUE(
      has(server_.ask(tool_call("2", "wait", task + R"(,"seconds":0})")), R"("status":"running")"));
  const std::string first = server_.ask(tool_call("3", "events", task + R"(,"limit":1})"));
  EXPECT_TRUE(has(first, R"("type":"Spawn")")) << first;
  EXPECT_TRUE(has(first, R"("next":)")) << first;
  EXPECT_TRUE(has(server_.ask(tool_call("4", "cancel", task + R"(,"reason":"enough"})")),
                  R"("isError":false)"));
  EXPECT_TRUE(has(server_.ask(tool_call("5", "wait", task + "}")), R"("status":"cancelled")"));
}

TEST_F(Mcp, AWaitHoldsNothingUpAndItsCancelIsNotThatOfTheTask) {
  shake_hands();
  const std::string id = submitted(R"({"type":"listens"})");
  const std::string wait = R"({"task":")" + id + "\"}";
  server_.send(tool_call("7", "wait", wait));
  EXPECT_TRUE(has(refusal(tool_call("7", "wait", wait)),
                  "-32600 The id 7 is of a request that is not answered yet."));
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":8,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":8,"result":{}})");
  server_.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  server_.send(tool_call("7", "wait", wait));
  EXPECT_EQ(depot("signal " + id + " word '\"hi\"'").status, 0);
  const std::string said = server_.next();
  EXPECT_TRUE(has(said, R"("id":7,"result")") && has(said, R"("result":"hi")")) << said;
  EXPECT_EQ(server_.ask(R"({"jsonrpc":"2.0","id":9,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":9,"result":{}})")
      << "the cancelled one is not answered";
}

TEST_F(Mcp, AtMostSixtyFourCallsAreUnderWay) {
  shake_hands();
  const std::string wait = R"({"task":")" + submitted(R"({"type":"naps"})") + "\"}";
  for (int i = 0; i < 64; ++i) server_.send(tool_call(std::to_string(i), "wait", wait));
  EXPECT_TRUE(has(refusal(tool_call("64", "wait", wait)), "-32000 At most 64 calls"));
  EXPECT_EQ(server_.end(), 0) << "waits are given up at the end of the input";
  EXPECT_EQ(server_.next(), "");
}

TEST_F(Mcp, WhatFailsIsAResultThatTheModelReads) {
  shake_hands();
  const std::string nobody = R"({"task":"00000000-0000-4000-8000-000000000000"})";
  for (const auto& [tool, arguments, wanted] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"get", "{}", "The arguments of get do not fit"},
           {"get", R"({"task":"1"})", "is no id of a task"},
           {"get", R"({"task":"x/../../types"})", "is no id of a task"},
           {"get", nobody, "There is no task"},
           {"wait", R"({"task":"x","seconds":3600})", "The arguments of wait do not fit"},
           {"events", nobody, "No durable task has the id"},
           {"submit", "{}", "Say one of type, instruction and plan."},
           {"submit", R"({"type":"a","plan":"b"})", "Say one of"},
           {"submit", R"({"type":"greet","repository":"/x"})", "goes with instruction"},
           {"submit", R"({"type":"nobody"})", "nobody"},
           {"submit", R"({"type":"greet","arguments":["mallory",1]})", "Mallory is not served"},
           {"submit", R"({"instruction":"x","repository":"."})", "the absolute path"},
           {"submit", R"({"plan":"steps: 7"})", "steps"},
           {"submit", R"({"type":"greet","evil":1})", "The arguments of submit do not fit"}}) {
    const std::string said = server_.ask(tool_call("1", tool, arguments));
    EXPECT_TRUE(has(said, "\"isError\":true") && has(said, wanted)) << arguments << "\n" << said;
  }
}

TEST_F(Mcp, AClientApprovesOnlyWhereItIsAllowedToAndByTheDigest) {
  McpProcess allowed(socket(), {"--approve"});
  allowed.ask(initialize("2025-11-25"));
  EXPECT_TRUE(has(allowed.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"),
                  "\"name\":\"approve\""));
  const std::string plan =
      R"({"plan":"name: ask\nsteps:\n  - name: ok\n    approve: Is it good?\n"})";
  const std::string started = allowed.ask(tool_call("2", "submit", plan));
  ASSERT_TRUE(has(started, "\"isError\":false")) << started;
  const std::string id = member_of(started.substr(started.find("structuredContent")), "id");
  const std::string task = R"({"task":")" + id + "\"";
  std::string digest;
  ASSERT_TRUE(eventually([&] {
    const std::string view = allowed.ask(tool_call("3", "get", task + "}"));
    digest = member_of(view.substr(view.find("structuredContent")), "digest");
    return !digest.empty();
  }));
  const std::string wrong =
      allowed.ask(tool_call("4", "approve", task + R"(,"digest":"00","approved":true})"));
  EXPECT_TRUE(has(wrong, "\"isError\":true")) << wrong;
  const std::string right = allowed.ask(
      tool_call("5", "approve", task + R"(,"digest":")" + digest + R"(","approved":true})"));
  EXPECT_TRUE(has(right, "\"isError\":false")) << right;
  EXPECT_TRUE(has(allowed.ask(tool_call("6", "wait", task + "}")), R"("status":"completed")"));
}

TEST_F(Mcp, ADaemonThatIsNotThereIsASentenceAndTheServerGoesOn) {
  McpProcess alone(directory_->path() + "/nobody.sock");
  alone.ask(initialize("2025-11-25"));
  const std::string said = alone.ask(tool_call("1", "submit", R"({"type":"greet"})"));
  EXPECT_TRUE(has(said, "\"isError\":true")) << said;
  EXPECT_TRUE(has(said, "No daemon answers at unix:")) << said;
  EXPECT_TRUE(has(alone.ask(R"({"jsonrpc":"2.0","id":2,"method":"ping"})"), "\"result\":{}"));
}

TEST_F(Mcp, AReaderThatGoesEndsTheServer) {
  shake_hands();
  server_.stop_reading();
  server_.send(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_EQ(server_.end(true), 0);
}

}  // namespace mcp_test
}  // namespace tiffany::daemon_tests
