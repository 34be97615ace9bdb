// Resources, prompts and completion of MCP, over stdio and HTTP.
#include <string>
#include <vector>

#include "app/mcp_app_tools.hpp"
#include "app/mcp_process.hpp"
#include "app/mcp_requests.hpp"
#include "app/uri_template.hpp"
#include "tiffany/app/content.hpp"

namespace tiffany::daemon_tests {
namespace mcp_resources_test {

using mcp::has;

std::string asks(const std::string& method, const std::string& params) {
  return mcp_http::request_of(method, params);
}

class McpResources : public mcp::McpTest {
 protected:
  std::string read(const std::string& uri) {
    return server_.ask(asks("resources/read", R"("uri":")" + uri + "\""));
  }
};

TEST_F(McpResources, ATaskIsReadAtItsAddressWithItsLog) {
  shake_hands();
  const std::string id = submitted(R"({"type":"greet","arguments":["Ada",1]})");
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  const std::string task = read("tiffany://tasks/" + id);
  EXPECT_TRUE(has(task, R"("contents":[{"uri":"tiffany://tasks/)" + id +
                            R"(","mimeType":"application/json","text":"{\"id\":\")"))
      << task;
  EXPECT_TRUE(has(task, R"(\"result\":\"hello Ada \")")) << task;
  EXPECT_FALSE(has(task, "ttlMs")) << "of the other era";
  const std::string log = read("tiffany://tasks/" + id + "/log");
  EXPECT_TRUE(has(log, R"(\"type\":\"Spawn\")")) << log;
}

TEST_F(McpResources, WhatIsNotThereIsRefusedWithItsAddress) {
  shake_hands();
  const std::string greets = submitted(R"({"type":"greet","arguments":["Ada",1]})");
  const std::string nobody = "tiffany://tasks/00000000-0000-4000-8000-000000000000";
  for (const std::string& uri :
       {nobody, nobody + "/log", "tiffany://tasks/" + greets.substr(0, 8),
        std::string("tiffany://tasks/"), "tiffany://tasks/" + greets + "/",
        "tiffany://tasks/" + greets + "/plan", "tiffany://tasks/" + greets + "/transcript",
        "tiffany://tasks/" + greets + "/artifacts/x", "tiffany://tasks/" + greets + "/diff",
        "tiffany://tasks/" + greets + "/..%2f..%2ftypes", std::string("tiffany://tasks/..%2ftypes"),
        std::string("depot://nowhere"), std::string("file:///etc/hostname"),
        std::string("depot://shelves/"), std::string("x")}) {
    const std::string said = read(uri);
    EXPECT_TRUE(has(said, R"("code":-32002)")) << uri << "\n" << said;
    EXPECT_TRUE(has(said, R"("data":{"uri":")" + uri + "\"}")) << uri << "\n" << said;
  }
  EXPECT_TRUE(has(server_.ask(asks("resources/read", "")), "-32602"));
  EXPECT_TRUE(has(server_.ask(asks("resources/read", R"("uri":7)")), "-32602"));
  EXPECT_TRUE(has(read("a://" + std::string(5000, 'x')), "of at most 4096 bytes"));
  // The other era has another number for it.
  EXPECT_TRUE(has(
      server_.ask(asks("resources/read", R"("uri":"depot://nowhere",)" + mcp_http::meta_of("{}"))),
      R"("code":-32602)"));
}

TEST_F(McpResources, AListHasWhatTheProgramShowsAndTheNewestTasksPageByPage) {
  shake_hands();
  std::string last;
  for (int i = 0; i < 51; ++i) last = submitted(R"({"type":"greet","arguments":["Ada",1]})");
  const std::string first = server_.ask(asks("resources/list", ""));
  EXPECT_TRUE(has(first, R"("resources":[{"uri":"depot://stock","name":"depot://stock",)"))
      << first.substr(0, 300);
  EXPECT_TRUE(has(first, "tiffany://tasks/" + last));
  EXPECT_FALSE(has(first, "{shelf}")) << "templates are listed elsewhere";
  const std::string cursor = member_of(first, "nextCursor");
  ASSERT_FALSE(cursor.empty()) << first;
  const std::string second = server_.ask(asks("resources/list", R"("cursor":")" + cursor + "\""));
  EXPECT_TRUE(has(second, "tiffany://tasks/")) << second;
  EXPECT_FALSE(has(second, last)) << "no task is on two pages";
  EXPECT_FALSE(has(second, "depot://stock"));
  EXPECT_TRUE(has(server_.ask(asks("resources/list", R"("cursor":"no&such=1")")), "\"error\""));
  const std::string templates = server_.ask(asks("resources/templates/list", ""));
  EXPECT_TRUE(has(templates, R"("uriTemplate":"tiffany://tasks/{task}/diff")")) << templates;
  EXPECT_TRUE(has(templates, R"("uriTemplate":"depot://shelves/{shelf}")")) << templates;
}

TEST_F(McpResources, AProgramShowsTextsAndBytesAtItsAddresses) {
  shake_hands();
  EXPECT_TRUE(
      has(read("depot://stock"),
          R"("contents":[{"uri":"depot://stock","mimeType":"text/plain","text":"7 boxes"}])"))
      << read("depot://stock");
  EXPECT_TRUE(has(read("depot://shelves/a%20b"),
                  R"("mimeType":"application/octet-stream","blob":"AGEgYg==")"))
      << read("depot://shelves/a%20b");
  const std::string refused = read("depot://shelves/none");
  EXPECT_TRUE(has(refused, "There is no such shelf.")) << refused;
}

TEST_F(McpResources, AFileAndTheOutputOfAPlanAreRead) {
  shake_hands();
  const std::string id = submitted(
      R"({"plan":"name: files\nsteps:\n  - name: make\n    directory: )" + directory_->path() +
      R"(\n    shell: true\n    run: echo made; printf one > a.txt; printf '\\0' > b.bin\n)"
      R"(    artifacts: [a.txt, b.bin]\n"})");
  ASSERT_EQ(depot("result --wait " + id).status, 0) << depot("show " + id).out;
  const std::string task = "tiffany://tasks/" + id;
  EXPECT_TRUE(has(read(task + "/plan"), R"(\"state\":\"done\")")) << read(task + "/plan");
  EXPECT_TRUE(has(read(task + "/output/make"), R"("text":"made\n")"))
      << read(task + "/output/make");
  EXPECT_TRUE(has(read(task + "/artifacts"), "a.txt")) << read(task + "/artifacts");
  EXPECT_TRUE(has(read(task + "/artifacts/a.txt"), R"("text":"one")"));
  EXPECT_TRUE(has(read(task + "/artifacts/b.bin"), R"("blob":"AA==")"));
  const auto completed = [&](const std::string& uri, const std::string& name,
                             const std::string& value) {
    return server_.ask(asks("completion/complete",
                            R"("ref":{"type":"ref/resource","uri":"tiffany://tasks/{task}/)" + uri +
                                R"("},"argument":{"name":")" + name + R"(","value":")" + value +
                                R"("},"context":{"arguments":{"task":")" + id + "\"}}"));
  };
  EXPECT_TRUE(has(completed("plan", "task", id.substr(0, 6)), R"("values":[")" + id + "\"]"));
  EXPECT_TRUE(has(completed("diff", "task", id.substr(0, 6)), R"("values":[])")) << "no agent";
  EXPECT_TRUE(has(completed("output/{unit}", "unit", "m"), R"("values":["make"])"));
  EXPECT_TRUE(has(completed("artifacts/{name}", "name", "b"), R"("values":["b.bin"])"));
}

TEST_F(McpResources, AClientIsToldThatATaskHasChangedUntilItUnsubscribes) {
  EXPECT_TRUE(has(server_.ask(mcp::initialize("2025-11-25")), R"("resources":{"subscribe":true})"));
  const std::string id = submitted(R"({"type":"listens"})");
  const std::string other = submitted(R"({"type":"listens"})");
  const auto uri = [](const std::string& task) {
    return R"("uri":"tiffany://tasks/)" + task + "\"";
  };
  const auto subscribes = [&](const std::string& to) {
    return server_.ask(asks("resources/subscribe", to));
  };
  const std::string done = R"({"jsonrpc":"2.0","id":1,"result":{}})";
  ASSERT_TRUE(shows("show " + id, "word") && shows("show " + other, "word"));
  EXPECT_EQ(subscribes(uri(id)), done);
  EXPECT_EQ(subscribes(uri(id)), done) << "again is nothing more";
  EXPECT_EQ(subscribes(uri(other)), done);
  EXPECT_EQ(subscribes(R"("uri":"depot://stock")"), done);
  EXPECT_EQ(server_.ask(asks("resources/unsubscribe", uri(other))), done);
  EXPECT_TRUE(has(subscribes(R"("uri":"depot://nowhere")"), "-32002"));
  EXPECT_EQ(depot("signal " + other + " word '\"hi\"'").status, 0);
  EXPECT_EQ(depot("signal " + id + " word '\"hi\"'").status, 0);
  EXPECT_EQ(
      server_.next(),
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{)" + uri(id) + "}}");
  for (int i = 0; i < 62; ++i) {
    EXPECT_EQ(subscribes(R"("uri":"depot://shelves/)" + std::to_string(i) + "\""), done);
  }
  EXPECT_TRUE(has(subscribes(R"("uri":"depot://shelves/more")"), R"("code":-32000)"));
  EXPECT_EQ(server_.end(), 0) << "the end of the input ends the looks";
}

TEST_F(McpResources, PromptsAreListedMadeAndCompleted) {
  shake_hands();
  EXPECT_EQ(server_.ask(asks("prompts/list", "")),
            R"({"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"explain","description":)"
            R"("Explains an order.","arguments":[{"name":"order","description":"its number",)"
            R"("required":true},{"name":"tone","description":"how","required":false}]}]}})");
  const auto got = [&](const std::string& params) {
    return server_.ask(asks("prompts/get", params));
  };
  EXPECT_EQ(got(R"("name":"explain","arguments":{"order":"a7"})"),
            R"({"jsonrpc":"2.0","id":1,"result":{"description":"Explains an order.","messages":)"
            R"([{"role":"user","content":{"type":"text","text":"Explain order a7."}}]}})");
  for (const auto& [params, why] : std::vector<std::pair<std::string, std::string>>{
           {R"("name":"explain")", "needs the argument"},
           {R"("name":"explain","arguments":{"order":7})", "whose members are strings"},
           {R"("name":"explain","arguments":{"order":"a","evil":"b"})", "has no argument"},
           {R"("name":"explain","arguments":[])", "whose members are strings"},
           {R"("name":"explain","arguments":{"order":"none"})", "There is no such order."},
           {R"("name":"nobody")", "There is no prompt"},
           {R"("name":"../tasks")", "There is no prompt"},
           {"", "has a string name"}}) {
    const std::string said = got(params);
    EXPECT_TRUE(has(said, "-32602") && has(said, why)) << params << "\n" << said;
  }
  const auto completed = [&](const std::string& argument, const std::string& value) {
    return server_.ask(asks("completion/complete",
                            R"("ref":{"type":"ref/prompt","name":"explain"},"argument":{"name":")" +
                                argument + R"(","value":")" + value + "\"}"));
  };
  EXPECT_TRUE(has(completed("tone", "fr"),
                  R"("completion":{"values":["friendly"],"total":1,"hasMore":false})"))
      << completed("tone", "fr");
  EXPECT_TRUE(has(completed("order", ""), R"("values":[])"));
  for (const char* const wrong :
       {"", R"("ref":{"type":"ref/prompt"})", R"("ref":7,"argument":{"name":"x"})",
        R"("ref":{"type":"x"},"argument":{"name":"x"})"}) {
    EXPECT_TRUE(has(server_.ask(asks("completion/complete", wrong)), "-32602")) << wrong;
  }
}

TEST_F(McpResources, WithoutADaemonListsAreShortAndReadsSaySo) {
  mcp::McpProcess alone(directory_->path() + "/nobody.sock");
  alone.ask(mcp::initialize("2025-11-25"));
  EXPECT_TRUE(has(alone.ask(asks("prompts/list", "")), "explain"));
  EXPECT_TRUE(has(alone.ask(asks("resources/list", "")), "depot://stock"));
  const std::string said = alone.ask(asks("resources/read", R"("uri":"depot://stock")"));
  EXPECT_TRUE(has(said, "-32603") && has(said, "No daemon answers at unix:")) << said;
}

// ---- Over HTTP ----

class McpHttpResources : public mcp_http::McpHttpTest {};

TEST_F(McpHttpResources, ResultsOfTheEraWithoutAHandshakeSayHowLongTheyAreFresh) {
  const std::string id = started("greet Ada 1");
  const std::string uri = "tiffany://tasks/" + id;
  const std::string read = modern("resources/read", R"("uri":")" + uri + "\"", uri).body;
  EXPECT_TRUE(has(read, R"("ttlMs":1000,"cacheScope":"private")")) << read;
  EXPECT_TRUE(has(modern("resources/list", "").body, R"("cacheScope":"private")"));
  EXPECT_TRUE(has(modern("resources/templates/list", "").body, R"("cacheScope":"public")"));
  EXPECT_TRUE(has(modern("prompts/list", "").body, R"("ttlMs":60000,"cacheScope":"private")"));
  EXPECT_EQ(modern("resources/read", R"("uri":")" + uri + "\"", "another").status, 400)
      << "what is read is in the header Mcp-Name";
  // Nobody could be told: subscriptions need a session.
  EXPECT_EQ(modern("resources/subscribe", R"("uri":")" + uri + "\"", uri).status, 404);
  EXPECT_FALSE(has(modern("server/discover", "").body, "subscribe"));
}

TEST_F(McpHttpResources, AViewerReadsAndWhoIsNobodyDoesNot) {
  const std::string uri = "tiffany://tasks/" + started("greet Ada 1");
  const mcp_http::Headers viewer{{"authorization", "Bearer " + token_of("viewer")}};
  EXPECT_TRUE(
      has(modern("resources/read", R"("uri":")" + uri + "\"", uri, "{}", viewer).body, "contents"));
  EXPECT_TRUE(has(modern("prompts/get", R"("name":"explain","arguments":{"order":"1"})", "explain",
                         "{}", viewer)
                      .body,
                  "Explain order 1."));
  EXPECT_EQ(modern("resources/read", R"("uri":")" + uri + "\"", uri, "{}",
                   {{"authorization", "Bearer x"}})
                .status,
            401);
}

// ---- Without a daemon ----

TEST(McpUris, ANameIsOnePartBetweenSlashes) {
  const auto matched = [](const char* pattern, const char* uri) {
    std::string text;
    const auto found = app::match_uri(pattern, uri);
    if (!found) return std::string("no");
    for (const auto& [name, value] : *found) text += name + "=" + value + ";";
    return text;
  };
  EXPECT_EQ(matched("a://b/{c}/d/{e}", "a://b/1/d/x%2Fy"), "c=1;e=x/y;");
  EXPECT_EQ(matched("a://b", "a://b"), "");
  for (const char* const other : {"a://b/", "a://b/1/d", "a://b//d/2", "a://b/1/d/2/3",
                                  "a://b/1/D/2", "a://b/%/d/2", "a://b/%ff/d/2", "", "/"}) {
    EXPECT_EQ(matched("a://b/{c}/d/{e}", other), "no") << other;
  }
  EXPECT_EQ(app::wrong_with_uri("a://b/{c}"), "");
  for (const char* const wrong :
       {"", "b", "://b", "a://b/{c}d", "a://{c}/{c}", "a://b/{}", "a://}"}) {
    EXPECT_NE(app::wrong_with_uri(wrong), "") << wrong;
  }
}

TEST(McpContents, AreReadBackAsTheyWereWritten) {
  const Contents all{"text",
                     Content("<p>", "text/html"),
                     Content::image("\xff\0", "image/png"),
                     Content::audio("", "audio/wav"),
                     Content::resource("a://b", "words"),
                     Content::file("a://c", std::string("\0\1", 2), "application/zip")};
  EXPECT_EQ(from_json<Contents>(to_json(all)), all) << to_json(all);
  EXPECT_EQ(to_json(Contents(Content::file("a://c", "x", "a/b"))),
            R"([{"type":"resource","resource":{"uri":"a://c","mimeType":"a/b","blob":"eA=="}}])");
  for (const char* const wrong :
       {"7", "[7]", R"([{"type":"video"}])", "[{}]", R"([{"type":"image","data":"!"}])"}) {
    EXPECT_THROW(from_json<Contents>(wrong), Error) << wrong;
  }
}

Durable<Contents> chart(Flow&) { co_return Contents("x"); }
Durable<std::string> plain(Flow&, std::string) { co_return "x"; }

TEST(McpContents, AreTheResultOfAToolAndNotAText) {
  App app("a");
  app.durable("chart", 1, chart).tool("chart", "Draws");
  app.durable("plain", 1, plain, {"region"}).tool("plain", "Says");
  const auto result = [&](const std::string& type, const std::string& gave) {
    return app::app_tool_result(
        app, app::Json::parse(R"({"id":"1","type":")" + type +
                              R"(","status":"completed","result":)" + gave + "}"));
  };
  const std::string image = R"([{"type":"image","data":"eA==","mimeType":"image/png"}])";
  EXPECT_EQ(result("chart", image),
            R"("content":)" + image +
                R"(,"structuredContent":{"id":"1","type":"chart","status":"completed"},)"
                R"("isError":false)");
  EXPECT_TRUE(result("plain", image).starts_with(R"("content":[{"type":"text","text":"[{)"));
  EXPECT_TRUE(has(result("chart", "[\"" + std::string(5 << 20, 'x') + "\"]"), R"("isError":true)"));
}

TEST(McpSchemas, OfAnAuthorAreShownAsTheyAreAndHeadersAreLookedAt) {
  App app("a");
  app.durable("plain", 1, plain, {"region"}).tool("plain", "Says");
  const std::string schema =
      R"({"type":"object","$defs":{"r":{}},"properties":{"region":{"type":"string",)"
      R"("x-mcp-header":"Region"}}})";
  app.tool_schema("plain", schema);
  EXPECT_EQ(app::input_of_app_tool(app, app.tools().front()), schema);
  ASSERT_EQ(app.tools().front().headers.size(), 1U);
  EXPECT_EQ(app.tools().front().headers.front().second, "Region");
  EXPECT_THROW(app.tool_schema("nobody", schema), Error);
  for (const char* const wrong :
       {"", "7", R"({"type":"array"})",
        R"({"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}})",
        R"({"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}})",
        R"({"type":"object","properties":{"a":{"type":"number","x-mcp-header":"a"}}})",
        R"({"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a"},)"
        R"("b":{"type":"string","x-mcp-header":"A"}}})"}) {
    EXPECT_THROW(app.tool_schema("plain", wrong), Error) << wrong;
  }
  EXPECT_THROW(app.prompt("", "", [](const App::Texts&) { return "x"; }), Error);
  EXPECT_THROW(app.resource("tiffany://x", "", [](const App::Texts&) { return "x"; }), Error);
  app.resource("a://b", "", [](const App::Texts&) { return "x"; });
  EXPECT_THROW(app.resource("a://b", "", [](const App::Texts&) { return "x"; }), Error);
}

// A daemon whose tool wants an argument in a header, too.
TEST(McpHttpHeaders, AnArgumentInAHeaderSaysWhatTheMessageSays) {
  const TempDirectory directory;
  setenv("DEPOT_HEADERS", "1", 1);
  DaemonProcess daemon(directory.path(), {}, DEPOT);
  unsetenv("DEPOT_HEADERS");
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const auto greeted = [&](const std::string& arguments, const mcp_http::Headers& more) {
    http::Request request("POST", "/mcp");
    request.headers.set("host", "localhost");
    request.headers.set("content-type", "application/json");
    request.headers.set("mcp-protocol-version", "2026-07-28");
    request.headers.set("mcp-method", "tools/call");
    request.headers.set("mcp-name", "greet");
    for (const auto& [name, value] : more) request.headers.set(name, value);
    request.body = asks(
        "tools/call", R"("name":"greet","arguments":)" + arguments + "," + mcp_http::meta_of("{}"));
    http::Response answer;
    EXPECT_EQ(run(mcp_http::ask(daemon.socket(), std::move(request), &answer)), 0);
    return std::to_string(answer.status) + " " + answer.body;
  };
  const std::string ada = R"({"who":"Ada","times":1})";
  const std::string good = greeted(ada, {{"Mcp-Param-Who", "Ada"}, {"mcp-param-times", "1"}});
  EXPECT_TRUE(has(good, "200 ") && has(good, "hello Ada")) << good;
  EXPECT_TRUE(has(greeted(ada, {{"mcp-param-who", "=?base64?QWRh?="}, {"mcp-param-times", "1"}}),
                  "hello Ada"));
  for (const mcp_http::Headers& wrong :
       {mcp_http::Headers{}, mcp_http::Headers{{"mcp-param-who", "Ada"}},
        mcp_http::Headers{{"mcp-param-who", "Eve"}, {"mcp-param-times", "1"}},
        mcp_http::Headers{{"mcp-param-who", "Ada"}, {"mcp-param-times", "2"}},
        mcp_http::Headers{{"mcp-param-who", "=?base64?QWR?="}, {"mcp-param-times", "1"}}}) {
    const std::string said = greeted(ada, wrong);
    EXPECT_TRUE(has(said, "400 ") && has(said, "-32020")) << said;
  }
  const std::string absent =
      greeted(R"({"times":1})", {{"mcp-param-who", "Ada"}, {"mcp-param-times", "1"}});
  EXPECT_TRUE(has(absent, "400 ") && has(absent, "-32020")) << absent;
}

}  // namespace mcp_resources_test
}  // namespace tiffany::daemon_tests
