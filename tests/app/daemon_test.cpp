// The daemon as its users, its operators and its attackers meet it: a real process.
#include "app/daemon_process.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <regex>
#include <utility>
#include <vector>

#include "tiffany/base/json_reader.hpp"

namespace tiffany::daemon_tests {
namespace daemon_test {

constexpr const char* kSmall = R"({"type":"order","arguments":[{"id":"a1","amount":5}]})";
constexpr const char* kLarge =
    R"({"type":"order","arguments":{"order":{"id":"big","amount":5000}}})";

// One daemon for all tests that leave it as it is.
class Daemon : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TempDirectory;
    daemon_ = new DaemonProcess(directory_->path());
    ASSERT_TRUE(daemon_->running()) << daemon_->said();
  }
  static void TearDownTestSuite() {
    delete daemon_;
    delete directory_;
  }
  static Address socket() { return daemon_->socket(); }
  static Address tcp() { return daemon_->tcp(); }
  static http::Request with_token(std::string method, const std::string& path,
                                  const std::string& token) {
    http::Request request(std::move(method), "/api/v1" + path);
    request.headers.set("authorization", "Bearer " + token);
    return request;
  }
  static std::string new_token(const std::string& name, const std::string& role) {
    const http::Response made =
        post(socket(), "/tokens", R"({"name":")" + name + R"(","role":")" + role + "\"}");
    EXPECT_EQ(made.status, 201) << made.body;
    return member_of(made.body, "token");
  }

  static TempDirectory* directory_;
  static DaemonProcess* daemon_;
};
TempDirectory* Daemon::directory_ = nullptr;
DaemonProcess* Daemon::daemon_ = nullptr;

// The answer, when it has that text in it; asked for at most half a minute.
std::string answer_with(const Address& to, const std::string& path, const std::string& text) {
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::string body;
  while (body.find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > due) {
      ADD_FAILURE() << path << " never had " << text << ": " << body;
      break;
    }
    body = get(to, path).body;
  }
  return body;
}

// Sends these bytes, and gives what comes until `until` is in it.
Task<void> hear(Address to, std::string bytes, std::string until, std::string* heard) {
  Socket socket = co_await connect(to);
  co_await socket.write(bytes);
  std::array<char, 4096> room;
  while (heard->find(until) == std::string::npos) {
    const std::size_t n = co_await socket.read(room);
    if (n == 0) co_return;
    heard->append(room.data(), n);
  }
}
std::string events_until(const Address& to, const std::string& path, const std::string& header,
                         const std::string& until) {
  std::string heard;
  EXPECT_EQ(run(hear(to, "GET /api/v1" + path + " HTTP/1.1\r\nHost: x\r\n" + header + "\r\n", until,
                     &heard)),
            0);
  return heard;
}

TEST_F(Daemon, ATaskIsStartedAndItsResultIsGiven) {
  const http::Response started = post(socket(), "/tasks", kLarge);
  ASSERT_EQ(started.status, 201) << started.body;
  const std::string id = member_of(started.body, "id");
  const std::string promises = answer_with(socket(), "/promises?limit=10000", id);
  const std::size_t own = promises.rfind('{', promises.find(id));
  const std::string promise = member_of(promises.substr(own), "id");
  EXPECT_EQ(post(socket(), "/promises/" + promise, R"({"value":false})").status, 200);
  const http::Response again = post(socket(), "/promises/" + promise, R"({"value":true})");
  EXPECT_EQ(again.status, 409) << "a promise is kept once: " << again.body;
  const http::Response ended = get(socket(), "/tasks/" + id + "/result?wait=30s");
  EXPECT_EQ(ended.status, 200);
  EXPECT_NE(ended.body.find("order big was not approved"), std::string::npos) << ended.body;
  const http::Response replayed = get(socket(), "/tasks/" + id + "/replay");
  EXPECT_NE(replayed.body.find(R"("agrees":true)"), std::string::npos) << replayed.body;
  // The log of the task, page by page.
  const http::Response first = get(socket(), "/tasks/" + id + "/records?limit=2");
  EXPECT_NE(first.body.find(R"("type":"Spawn")"), std::string::npos);
  EXPECT_NE(first.body.find(R"("next":2)"), std::string::npos) << first.body;
  const http::Response rest = get(socket(), "/tasks/" + id + "/records?after=2&limit=100");
  EXPECT_EQ(rest.body.find(R"("type":"Spawn")"), std::string::npos);
  EXPECT_NE(rest.body.find(R"("type":"TaskExit")"), std::string::npos) << rest.body;
}

TEST_F(Daemon, TheSameIdempotencyKeyIsTheSameTaskAndOtherArgumentsAreAConflict) {
  http::Request request("POST", "/api/v1/tasks");
  request.headers.set("idempotency-key", "order 17");
  request.body = kSmall;
  const std::string one = member_of(ask(socket(), request).body, "id");
  EXPECT_EQ(member_of(ask(socket(), request).body, "id"), one);
  request.body = kLarge;
  EXPECT_EQ(ask(socket(), request).status, 409);
}

TEST_F(Daemon, WhatIsNotUnderstoodIsRefusedWithASentence) {
  struct Case {
    const char* method;
    const char* path;
    std::string body;
    int status;
    const char* says;
  };
  const std::string nested(100'000, '[');
  const std::vector<Case> cases{
      {"POST", "/tasks", "{", 400, "not a JSON object"},
      {"POST", "/tasks", "[]", 400, "not a JSON object"},
      {"POST", "/tasks", "{}", 400, "needs a member \\\"type\\\""},
      {"POST", "/tasks", R"({"typ":"order"})", 400, "Known are: type"},
      {"POST", "/tasks", R"({"type":7})", 400, "must be a string"},
      {"POST", "/tasks", R"({"type":"nobody"})", 404, "nobody"},
      {"POST", "/tasks", R"({"type":"order","arguments":[]})", 400, ""},
      {"POST", "/tasks", R"({"type":"order","arguments":{}})", 400, "needs the argument"},
      {"POST", "/tasks", R"({"type":"order","arguments":{"x":1}})", 400, "no argument \\\"x\\\""},
      {"POST", "/tasks", R"({"type":"order","arguments":[1]})", 400, ""},
      {"POST", "/tasks", R"({"type":"order","arguments":)" + nested, 400, ""},
      {"POST", "/tasks", R"({"type":"order","priority":256})", 400, "up to 255"},
      {"POST", "/tasks", R"({"type":"order","timeout":"soon"})", 400, "no duration"},
      {"POST", "/tasks",
       R"({"type":"order","arguments":[{"id":"x","amount":1}],)"
       R"("id":"00000000-0000-0000-0000-000000000000"})",
       400, ""},
      {"GET", "/tasks?status=dancing", "", 400, "There is no status"},
      {"GET", "/tasks?limit=0", "", 400, "limit"},
      {"GET", "/tasks?limit=100000", "", 400, "limit"},
      {"GET", "/tasks?limit=-1", "", 400, "limit"},
      {"GET", "/tasks?after=garbage", "", 400, ""},
      {"GET", "/tasks?attribute=nocolon", "", 400, "name:value"},
      {"GET", "/tasks/zz", "", 404, "No task"},
      {"GET", "/tasks/00000000-0000-0000-0000-000000000000", "", 404, ""},
      {"GET", "/tasks/12345678-1234-1234-1234-123456789012", "", 404, ""},
      {"GET", "/tasks/12345678-1234-1234-1234-123456789012/records", "", 404, ""},
      {"GET", "/tasks/12345678-1234-1234-1234-123456789012/result", "", 404, ""},
      {"GET", "/tasks/12345678-1234-1234-1234-123456789012/inspect", "", 404, ""},
      {"POST", "/tasks/12345678-1234-1234-1234-123456789012/cancel", "", 404, ""},
      {"POST", "/promises/12345678-1234-1234-1234-123456789012", "{}", 404, ""},
      {"POST", "/promises/nothing", "{}", 400, "no UUID"},
      {"POST", "/promises/nothing", R"({"value":1,"error":"x"})", 400, ""},
      {"GET", "/schedules/none", "", 404, "none"},
      {"POST", "/schedules", R"({"name":"x","type":"nobody","every":"5s"})", 404, "no type"},
      {"POST", "/schedules", R"({"name":"x","type":"order","cron":"61 * * * *"})", 400, ""},
      {"POST", "/schedules", R"({"name":"x","type":"order","every":"1ms"})", 400, ""},
      {"POST", "/tokens", R"({"name":"x","role":"king"})", 400, "no role"},
      {"POST", "/tokens", R"({"name":"../x","role":"viewer"})", 400, "name of a token"},
      {"DELETE", "/tokens/none", "", 404, "no token"},
      {"POST", "/levels", R"({"levels":"loud"})", 400, ""},
      {"GET", "/dump?format=xml", "", 400, "text or json"},
      {"GET", "/pal?kind=all", "", 400, "agent, runtime or sched"},
      {"GET", "/pal?task=12", "", 400, "no whole UUID"},
      {"GET", "/nothing", "", 404, "openapi.json"},
      {"GET", "/../../etc/passwd", "", 404, ""},
      {"GET", "/tasks/%2e%2e%2f%2e%2e%2fetc", "", 404, ""},
      {"GET", "/tasks/%zz", "", 404, ""},
      {"PUT", "/tasks", "", 405, "takes GET, POST"},
      {"DELETE", "/info", "", 405, "takes GET"},
  };
  for (const Case& each : cases) {
    http::Request request(each.method, std::string("/api/v1") + each.path);
    request.body = each.body;
    const http::Response answer = ask(socket(), std::move(request));
    EXPECT_EQ(answer.status, each.status)
        << each.method << " " << each.path << " " << each.body.substr(0, 80) << answer.body;
    EXPECT_NE(answer.body.find(each.says), std::string::npos) << each.path << ": " << answer.body;
    EXPECT_EQ(answer.headers.find("content-type"), "application/problem+json") << each.path;
  }
  http::Request huge("POST", "/api/v1/tasks");
  huge.body = std::string(9 << 20, ' ');
  EXPECT_EQ(ask(socket(), std::move(huge)).status, 413);
  EXPECT_EQ(get(socket(), "/info").status, 200) << "the daemon is as it was";
}

TEST_F(Daemon, ANewlineInsideOfJsonAndTextThatIsNoUtf8AreHarmless) {
  const http::Response broken = post(socket(), "/tasks",
                                     "{\"type\":\n\"order\",\"arguments\":[\n{\"id\":\"a\",\n"
                                     "\"amount\":1}]}");
  EXPECT_EQ(broken.status, 201) << broken.body;
  const http::Response bad = post(
      socket(), "/tasks", "{\"type\":\"order\",\"arguments\":[{\"id\":\"\xff\",\"amount\":1}]}");
  EXPECT_EQ(bad.status, 400) << bad.body;
}

TEST_F(Daemon, TcpNeedsATokenAndRolesDecide) {
  EXPECT_EQ(get(tcp(), "/info").status, 401);
  EXPECT_EQ(ask(tcp(), with_token("GET", "/info", "tif_wrong")).status, 401);
  EXPECT_EQ(ask(tcp(), with_token("GET", "/info", daemon_->token())).status, 200);
  EXPECT_EQ(ask(tcp(), http::Request("GET", "/healthz")).status, 200);
  EXPECT_EQ(ask(tcp(), http::Request("GET", "/readyz")).status, 200);
  EXPECT_EQ(ask(tcp(), http::Request("GET", "/metrics")).status, 401);

  const std::string viewer = new_token("sees", "viewer");
  const std::string operates = new_token("does", "operator");
  EXPECT_EQ(ask(tcp(), with_token("GET", "/tasks", viewer)).status, 200);
  http::Request start = with_token("POST", "/tasks", viewer);
  start.body = kSmall;
  EXPECT_EQ(ask(tcp(), start).status, 403);
  start = with_token("POST", "/tasks", operates);
  start.body = kSmall;
  EXPECT_EQ(ask(tcp(), start).status, 201);
  EXPECT_EQ(ask(tcp(), with_token("GET", "/tokens", operates)).status, 403);
  EXPECT_EQ(ask(tcp(), with_token("POST", "/shutdown", operates)).status, 403);

  http::Request remove("DELETE", "/api/v1/tokens/sees");
  EXPECT_EQ(ask(socket(), std::move(remove)).status, 200);
  EXPECT_EQ(ask(tcp(), with_token("GET", "/tasks", viewer)).status, 401);
}

TEST_F(Daemon, NoFileAndNoAnswerHasATokenInIt) {
  const std::string token = new_token("secret", "viewer");
  for (const char* name : {"tokens.json", "audit.jsonl"}) {
    EXPECT_EQ(daemon_->file(name).find(token), std::string::npos) << name;
  }
  for (const char* path : {"/tokens", "/audit", "/settings", "/dump?format=text"}) {
    EXPECT_EQ(get(socket(), path).body.find(token), std::string::npos) << path;
  }
  struct stat found{};
  ASSERT_EQ(stat((directory_->path() + "/tokens.json").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((directory_->path() + "/tiffany.sock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(Daemon, AnotherHostAndAnotherOriginAreRefused) {
  http::Request rebound = with_token("GET", "/info", daemon_->token());
  rebound.headers.set("host", "evil.example");
  EXPECT_EQ(ask(tcp(), rebound).status, 403);
  http::Request foreign = with_token("POST", "/tasks", daemon_->token());
  foreign.headers.set("origin", "http://evil.example");
  foreign.body = kSmall;
  EXPECT_EQ(ask(tcp(), foreign).status, 403);
  http::Request own = with_token("GET", "/info", daemon_->token());
  own.headers.set("origin", "http://" + tcp().text());
  EXPECT_EQ(ask(tcp(), own).status, 200);
}

TEST_F(Daemon, EveryChangeIsInTheAuditWithWhoAndWhy) {
  const std::string id = member_of(post(socket(), "/tasks", kLarge).body, "id");
  EXPECT_EQ(post(socket(), "/tasks/" + id + "/cancel", R"({"reason":"not any more"})").status, 200);
  const std::string lines = get(socket(), "/audit?limit=1").body;
  EXPECT_NE(lines.find("/tasks/{task}/cancel"), std::string::npos) << lines;
  EXPECT_NE(lines.find("not any more"), std::string::npos);
  EXPECT_NE(lines.find(id), std::string::npos);
  EXPECT_NE(lines.find("uid:" + std::to_string(geteuid())), std::string::npos);
  EXPECT_EQ(lines.find("Spawn"), std::string::npos);
}

// {method, path} of the document that the daemon serves.
std::vector<std::pair<std::string, std::string>> calls_in(const std::string& document) {
  std::vector<std::pair<std::string, std::string>> all;
  JsonReader in(document);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name != "paths") {
      in.raw();
      continue;
    }
    in.begin_object();
    for (std::string path; in.next_member(path);) {
      in.begin_object();
      for (std::string method; in.next_member(method); in.raw()) {
        std::transform(method.begin(), method.end(), method.begin(),
                       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        all.emplace_back(method, path);
      }
    }
  }
  return all;
}

// What a route says to a body that is no JSON, and about names that nobody has; a router that does
// not know the route says other things. Streams have no end, and refuse a task that is none.
TEST_F(Daemon, EveryRouteOfTheDocumentIsThere) {
  const std::string document = get(socket(), "/openapi.json").body;
  EXPECT_NE(document.find(R"("openapi":"3.1.0")"), std::string::npos);
  const auto calls = calls_in(document);
  EXPECT_GT(calls.size(), 40U);
  for (const auto& [method, pattern] : calls) {
    const std::string path = std::regex_replace(pattern, std::regex(R"(\{\w+\})"), "nobody");
    http::Request request(method, path + (method == "GET" ? "?task=nobody&seconds=0" : ""));
    if (method == "POST") request.body = "[";
    const http::Response answer = ask(socket(), std::move(request));
    EXPECT_EQ(answer.body.find("There is no " + path), std::string::npos) << answer.body;
    EXPECT_EQ(answer.body.find(path + " takes "), std::string::npos) << answer.body;
  }
  // So a call that the document does not have is told from those that it has.
  const http::Response unknown = ask(socket(), http::Request("GET", "/api/v1/nobody"));
  EXPECT_NE(unknown.body.find("There is no /api/v1/nobody"), std::string::npos) << unknown.body;
  const http::Response other = ask(socket(), http::Request("PATCH", "/api/v1/tasks"));
  EXPECT_NE(other.body.find("/api/v1/tasks takes "), std::string::npos) << other.body;
}

// Its works beside all others, as the dump and the dashboard show them.
TEST_F(Daemon, SystemTasksAreUnderOneSupervisorAtPriorityZero) {
  const std::string dump = get(socket(), "/dump?format=text").body;
  for (const char* name : {"\"system\"", "\"events of durable tasks\"", "\"signals\""}) {
    const std::size_t at = dump.find(name);
    ASSERT_NE(at, std::string::npos) << name << "\n" << dump;
    const std::size_t priority = dump.find("priority ", at);
    ASSERT_NE(priority, std::string::npos);
    EXPECT_EQ(dump.substr(priority, 11), "priority 0,") << name << "\n" << dump;
  }
}

TEST_F(Daemon, TasksAreFoundByWhatTheirStartSaid) {
  const http::Response started =
      post(socket(), "/tasks",
           R"({"type":"order","arguments":[{"id":"k","amount":9000}],"key":"ann","priority":3,)"
           R"("timeout":"1h","attributes":{"customer":"Ada","items":3}})");
  ASSERT_EQ(started.status, 201) << started.body;
  EXPECT_NE(started.body.find(R"("attributes":{"customer":"Ada","items":3})"), std::string::npos)
      << started.body;
  const std::string id = member_of(started.body, "id");
  for (const char* query : {"?key=ann", "?attribute=customer:Ada", "?attribute=items:3",
                            "?type=order&status=running&key=ann&attribute=customer:Ada"}) {
    EXPECT_EQ(member_of(get(socket(), std::string("/tasks") + query).body, "id"), id) << query;
  }
  for (const char* query :
       {"?key=bob", "?attribute=customer:Bob", "?type=other", "?status=failed&key=ann"}) {
    EXPECT_EQ(member_of(get(socket(), std::string("/tasks") + query).body, "id"), "") << query;
  }
  EXPECT_EQ(post(socket(), "/tasks/" + id + "/kill", "{}").status, 200);
}

TEST_F(Daemon, StepsOfTheNewestTasksAreCountedByTypeAndName) {
  EXPECT_EQ(post(socket(), "/tasks", kSmall).status, 201);
  const std::string found = answer_with(socket(), "/steps?type=order&limit=1", R"("open":0)");
  EXPECT_NE(found.find(R"("tasks":1,"steps":[{"type":"order","step":"charge","count":1,)"
                       R"("failed":0,"attempts":1,"open":0)"),
            std::string::npos)
      << found;
  EXPECT_EQ(get(socket(), "/steps?type=nobody").body, "{\"tasks\":0,\"steps\":[]}\n");
  EXPECT_EQ(get(socket(), "/steps?limit=0").status, 400);
}

TEST_F(Daemon, ATraceOfTheProcessIsRecordedWhileItIsAskedFor) {
  const http::Response trace = get(socket(), "/trace?seconds=0");
  ASSERT_EQ(trace.status, 200) << trace.body;
  EXPECT_NE(trace.body.find(R"("traceEvents":[)"), std::string::npos) << trace.body.substr(0, 80);
  EXPECT_EQ(get(socket(), "/trace?seconds=61").status, 400);
}

TEST_F(Daemon, APlanRunsAsksAndEnds) {
  const std::string text =
      R"({"text":"name: p\nsteps:\n - {name: a, run: [echo, 'he said: ${{ params.who }}']}\n)"
      R"( - {name: ok, needs: [a], approve: 'go on?'}\n)"
      R"( - {name: b, needs: [ok], run: [\"true\"]}\n)"
      R"(params: {who: {default: ann}}\n")";
  const http::Response checked = post(socket(), "/plans/check", text + "}");
  EXPECT_NE(checked.body.find(R"("good":true)"), std::string::npos) << checked.body;
  EXPECT_EQ(post(socket(), "/plans/run", text + R"(,"params":{"nobody":1}})").status, 400);
  EXPECT_EQ(post(socket(), "/plans/run", R"({"text":"steps: 5"})").status, 422);
  const http::Response started =
      post(socket(), "/plans/run", text + R"(,"params":{"who":"$(reboot); bob"}})");
  ASSERT_EQ(started.status, 201) << started.body;
  const std::string id = member_of(started.body, "id");
  const std::string state = answer_with(socket(), "/tasks/" + id + "/plan", "awaiting approval");
  EXPECT_EQ(get(socket(), "/tasks/" + id + "/output?unit=a").body, "he said: $(reboot); bob\n");
  const std::string decide = "/tasks/" + id + "/decide";
  const std::string asks = state.substr(state.rfind('{', state.find("awaiting approval")));
  const std::string digest = member_of(asks, "digest");
  EXPECT_EQ(post(socket(), decide, R"({"approved":true,"digest":"another"})").status, 409);
  EXPECT_EQ(post(socket(), decide, R"({"approved":true})").status, 400);
  EXPECT_EQ(post(socket(), decide, R"({"digest":")" + digest + "\"}").status, 400);
  EXPECT_EQ(post(socket(), decide, R"({"approved":"true","digest":")" + digest + "\"}").status,
            400);
  const std::string promise = "/promises/" + member_of(asks, "promise");
  EXPECT_EQ(post(socket(), promise, R"({"value":{"approved":true,"by":"token:alice"}})").status,
            400)
      << "nobody answers in the name of somebody else";
  EXPECT_EQ(post(socket(), promise, R"({"value":null})").status, 400);
  EXPECT_EQ(post(socket(), decide, R"({"approved":true,"digest":")" + digest + "\"}").status, 200);
  const std::string end = get(socket(), "/tasks/" + id + "/result?wait=30s").body;
  EXPECT_EQ(member_of(end, "status"), "completed") << end;
  EXPECT_EQ(get(socket(), "/tasks/" + id + "/plan").status, 200);
  const std::string order = member_of(post(socket(), "/tasks", kSmall).body, "id");
  EXPECT_EQ(get(socket(), "/tasks/" + order + "/plan").status, 404);
}

TEST_F(Daemon, AStreamHasNoHeadAlone) {
  EXPECT_EQ(ask(socket(), http::Request("HEAD", "/api/v1/pal")).status, 405);
}

TEST_F(Daemon, EventsGoOnAfterTheLastOneThatWasSeen) {
  const std::string id = member_of(post(socket(), "/tasks", kLarge).body, "id");
  const std::string path = "/pal?task=" + id;
  const std::string first = events_until(socket(), path, "", "AwaitingUserApproval");
  EXPECT_NE(first.find("text/event-stream"), std::string::npos);
  EXPECT_NE(first.find("event: snapshot"), std::string::npos);
  // The place behind the first event, as a browser says it.
  const std::string all = events_until(socket(), "/pal", "Last-Event-ID: 1-0\r\n", "snapshot");
  EXPECT_NE(all.find("event: snapshot"), std::string::npos) << "an id of another life";
  post(socket(), "/tasks/" + id + "/cancel", "{}");
  const std::size_t at = first.rfind("id: ");
  const std::string last = first.substr(at + 4, first.find('\n', at) - at - 4);
  const std::string rest =
      events_until(socket(), path, "Last-Event-ID: " + last + "\r\n", "\"Completed\"");
  EXPECT_EQ(rest.find("snapshot"), std::string::npos) << rest;
  EXPECT_NE(rest.find("cancelled"), std::string::npos) << rest;
}

TEST_F(Daemon, TheSameEventsComeOverAWebSocketToWhoeverHasAToken) {
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  EXPECT_NE(events_until(socket(), "/pal/ws", upgrade, "snapshot").find(" 101 "),
            std::string::npos);
  const auto over_tcp = [&](const std::string& protocols, const char* until) {
    std::string heard;
    const std::string request = "GET /api/v1/pal/ws HTTP/1.1\r\nHost: " + tcp().text() + "\r\n" +
                                upgrade + protocols + "\r\n";
    EXPECT_EQ(run(hear(tcp(), request, until, &heard)), 0);
    return heard;
  };
  EXPECT_NE(over_tcp("Sec-WebSocket-Protocol: pal, bearer." + daemon_->token() + "\r\n", "counts")
                .find("sec-websocket-protocol: pal\r\n"),
            std::string::npos);
  EXPECT_NE(over_tcp("", "unauthenticated").find(" 401 "), std::string::npos);
  // Nothing that a client could say here is long: the head of a frame of 5,000 bytes is enough.
  std::string refused;
  const std::string frame("\x82\xfe\x13\x88mask", 8);
  EXPECT_EQ(
      run(hear(socket(), "GET /api/v1/pal/ws HTTP/1.1\r\nHost: x\r\n" + upgrade + "\r\n" + frame,
               "too long", &refused)),
      0);
  EXPECT_NE(refused.find("\x03\xf1"
                         "a message that is too long"),
            std::string::npos);
}

// ---- Daemons of their own ----

TEST(DaemonLife, AKilledDaemonGoesOnWhereItWas) {
  const TempDirectory directory;
  std::string id;
  {
    DaemonProcess daemon(directory.path());
    ASSERT_TRUE(daemon.running()) << daemon.said();
    id = member_of(post(daemon.socket(), "/tasks", kLarge).body, "id");
    EXPECT_EQ(daemon.end(SIGKILL), -SIGKILL);
  }
  DaemonProcess daemon(directory.path());
  ASSERT_TRUE(daemon.running()) << daemon.said();
  EXPECT_NE(daemon.said().find("resumed 1"), std::string::npos) << daemon.said();
  EXPECT_EQ(member_of(get(daemon.socket(), "/tasks/" + id.substr(0, 8)).body, "id"), id);
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  EXPECT_NE(daemon.said().find("1 tasks go on at the next start"), std::string::npos)
      << daemon.said();
}

TEST(DaemonLife, AClientThatLeavesAStreamIsNoFailureOfTheDaemon) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path());
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  events_until(daemon.socket(), "/pal/ws", upgrade, "snapshot");
  events_until(daemon.socket(), "/pal", "", "snapshot");
  http::Request metrics("GET", "/metrics");
  while (ask(daemon.socket(), metrics).body.find("tiffany_pal_subscribers 0") ==
         std::string::npos) {
  }
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  EXPECT_EQ(daemon.said().find("nobody looked at the error"), std::string::npos) << daemon.said();
}

TEST(DaemonLife, ASecondDaemonOnTheSameDataIsToldWhoseTheyAre) {
  const TempDirectory directory;
  DaemonProcess first(directory.path());
  ASSERT_TRUE(first.running()) << first.said();
  DaemonProcess second(directory.path());
  EXPECT_FALSE(second.running());
  EXPECT_NE(second.wait(), 0);
  EXPECT_NE(second.said().find("tiffany.sock"), std::string::npos) << second.said();
  EXPECT_EQ(get(first.socket(), "/info").status, 200);
}

TEST(DaemonLife, ItDoesNotListenBeyondLoopbackWithoutTls) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path(), {"--listen", "0.0.0.0:0"});
  EXPECT_FALSE(daemon.running());
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_NE(daemon.said().find("without TLS"), std::string::npos) << daemon.said();
}

TEST(DaemonLife, SettingsThatAreNotUnderstoodAreRefusedWithFileAndLine) {
  const TempDirectory directory;
  std::ofstream(directory.path() + "/tiffany.conf") << "# ours\nlog = info\ncolour = red\n";
  DaemonProcess daemon(directory.path());
  EXPECT_FALSE(daemon.running());
  EXPECT_EQ(daemon.wait(), 2);
  EXPECT_NE(daemon.said().find("tiffany.conf:3: there is no setting \"colour\""), std::string::npos)
      << daemon.said();
}

TEST(DaemonLife, DamagedTokensAreSaidAndNotForgotten) {
  const TempDirectory directory;
  std::ofstream(directory.path() + "/tokens.json") << "[{";
  DaemonProcess daemon(directory.path());
  EXPECT_FALSE(daemon.running());
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_NE(daemon.said().find("tokens.json cannot be read"), std::string::npos) << daemon.said();
}

TEST(DaemonLife, TokensThatCannotBeReadAreNotNoTokens) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.path() + "/tokens.json");
  DaemonProcess daemon(directory.path());
  EXPECT_FALSE(daemon.running());
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_NE(daemon.said().find("tokens.json"), std::string::npos) << daemon.said();
  EXPECT_EQ(daemon.token(), "") << "a first token was made";
}

TEST(DaemonLife, ADirectoryOfSomebodyElseIsLeftAsItIs) {
  const TempDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  DaemonProcess daemon(directory.path());
  EXPECT_FALSE(daemon.running());
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_NE(daemon.said().find("chmod 700"), std::string::npos) << daemon.said();
  struct stat found{};
  ASSERT_EQ(stat(directory.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0755U);
}

TEST(DaemonLife, LinesOfTheAuditThatWereCutOrJoinedAreLeftOut) {
  const TempDirectory directory;
  std::ofstream(directory.path() + "/audit.jsonl")
      << R"({"time":1,"actor":"a","role":"admin","action":"x","target":"","reason":"",)"
      << "\"status\":200}\n"
      << R"({"time":2,"actor":"b{"time":3,"actor":"c"})";
  DaemonProcess daemon(directory.path());
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::string reason(100'000, 'r');
  EXPECT_EQ(post(daemon.socket(), "/compact", R"({"reason":")" + reason + "\"}").status, 200);
  const std::string lines = get(daemon.socket(), "/audit").body;
  EXPECT_NE(lines.find(R"("actor":"a")"), std::string::npos) << lines.substr(0, 300);
  EXPECT_EQ(lines.find(R"("actor":"c")"), std::string::npos) << lines.substr(0, 300);
  EXPECT_NE(lines.find("compact"), std::string::npos);
  EXPECT_LT(lines.size(), 5000U) << "a reason is cut";
}

TEST(DaemonLife, AClientCanEndIt) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path());
  ASSERT_TRUE(daemon.running()) << daemon.said();
  EXPECT_EQ(post(daemon.socket(), "/shutdown", R"({"reason":"for the night"})").status, 202);
  EXPECT_EQ(daemon.wait(), 0);
  EXPECT_NE(daemon.said().find("for the night"), std::string::npos) << daemon.said();
}

}  // namespace daemon_test
}  // namespace tiffany::daemon_tests
