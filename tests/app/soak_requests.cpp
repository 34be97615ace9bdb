// For `./dev soak requests [seconds] [seed] [kind]`: a daemon with AddressSanitizer, and requests
// that are almost right. It must answer to the end, lose no connection slot, and end in good order
// without a word of the sanitizer. Kinds: heads of HTTP, frames of a WebSocket, files of plans,
// JSON of the API, messages of MCP; or all of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/daemon_process.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::daemon_tests {
namespace {

using namespace std::chrono_literals;

std::string with_body(const std::string& line, const std::string& body,
                      const std::string& more = "") {
  const bool whole = line.find(" HTTP/1.1\r\n") != std::string::npos;
  return line + (whole ? "\r\n" : " HTTP/1.1\r\n") + "Host: x\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A request: `fixed` is sent as it is, `text` is changed before. A body says its length anew.
struct Seed {
  std::string fixed;
  std::string text;
  bool body = false;
};

std::string json_string(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

std::vector<Seed> heads() {
  const std::string order = R"({"type":"order","arguments":[{"id":"a","amount":5}]})";
  std::vector<Seed> all;
  for (const std::string& text : {
           std::string("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
           std::string("GET /api/v1/tasks?limit=5&status=running HTTP/1.1\r\nHost: x\r\n\r\n"),
           std::string("GET /api/v1/tasks/00000000-0000-4000-8000-000000000000/records HTTP/1.1\r\n"
                       "Host: x\r\n\r\n"),
           std::string(
               "GET /api/v1/pal?kind=agent HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 1-2\r\n\r\n"),
           std::string("GET /api/v1/dump HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"),
           std::string("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, close\r\n\r\n"),
           std::string("OPTIONS /api/v1/tasks HTTP/1.0\r\nOrigin: http://x\r\n\r\n"),
           with_body("POST /api/v1/tasks", order),
           with_body("POST /api/v1/tasks", order, "Idempotency-Key: k\r\nExpect: 100-continue\r\n"),
           std::string(
               "POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
               "10\r\n{\"type\":\"order\",\r\n0\r\nTrailer: x\r\n\r\n"),
       }) {
    all.push_back({"", text});
  }
  return all;
}

std::vector<Seed> sockets() {
  const std::string upgrade =
      "GET /api/v1/pal/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  const std::string mask("\x01\x02\x03\x04", 4);
  const std::string text = std::string("\x81\x85", 2) + mask + "igohn";
  const std::string part = std::string("\x01\x83", 2) + mask + "abc";
  const std::string rest = std::string("\x80\x82", 2) + mask + "de";
  const std::string ping = std::string("\x89\x84", 2) + mask + "ping";
  const std::string end = std::string("\x88\x82", 2) + mask + "\x02\xea";
  const std::string longer = std::string("\x82\xfe\x01\x00", 4) + mask + std::string(256, 'x');
  const std::string huge = std::string("\x82\xff\x00\x00\x00\x01\x00\x00\x00\x00", 10) + mask;
  return {{upgrade, text + ping + end}, {upgrade, part + ping + rest + end},
          {upgrade, longer + end},      {upgrade, huge},
          {upgrade, end + text},        {"", upgrade + text}};
}

std::vector<Seed> plans() {
  std::vector<Seed> all;
  for (const char* const text : {
           "steps: [{name: a, run: [\"true\"]}, {name: b, needs: [a], run: [\"true\"]}]\n",
           "name: x\nparams: {n: {type: integer, default: 3}, who: {default: ann}}\n"
           "steps:\n - {name: a, run: [echo, '${{ params.who }}'], env: {A: b}, timeout: 5s}\n"
           " - {name: b, needs: [a], approve: 'go on?', if: '${{ params.n > 2 }}'}\n",
           "defaults: {retries: {times: 3, delay: 1s, factor: 2, jitter: 0.1}}\n"
           "steps:\n - {name: a, shell: true, run: 'echo x', outputs: [x], foreach: [1, 2, 3]}\n"
           "on_failure: {run: [\"false\"]}\nfinally: {run: [\"true\"]}\n",
           "concurrency: 2\nschedule: {cron: '0 9 * * 1-5', zone: UTC, catch_up: 2}\n"
           "steps: &s\n - {name: a, plan: other.yaml, lock: door, artifacts: [dist/*]}\n"
           " - {name: b, run: [cat, /dev/null], secrets: {K: {env: HOME}}, directory: /tmp}\n",
           R"({"steps":[{"name":"a","run":["true"]},{"name":"b","needs":["a"],"run":["true"]}]})",
       }) {
    all.push_back({"POST /api/v1/plans/check", text, true});
  }
  return all;
}

std::vector<Seed> bodies() {
  const std::string none = "/00000000-0000-4000-8000-000000000000";
  std::vector<Seed> all{
      {"POST /api/v1/tasks", R"({"type":"order","arguments":[{"id":"a","amount":5}],"key":"k"})",
       true},
      {"POST /api/v1/tasks",
       R"({"type":"order","arguments":{"order":{"id":"a\u00e9","amount":5e0}},)"
       R"("attributes":{"a":[1,2.5,null,true]},"priority":3,"id":"x"})",
       true},
      {"POST /api/v1/schedules",
       R"({"name":"n","type":"order","cron":"* * * * *","arguments":[],"zone":"UTC"})", true},
      {"POST /api/v1/tokens", R"({"name":"n","role":"viewer"})", true},
      {"POST /api/v1/levels", R"({"levels":"error"})", true},
  };
  for (const char* const call : {"cancel", "signal", "update", "retry", "fork", "pause"}) {
    all.push_back({"POST /api/v1/tasks" + none + "/" + call,
                   R"({"name":"news","value":{"a":[1,"b"]},"from":"charge#1","reason":"r"})",
                   true});
  }
  all.push_back({"POST /api/v1/promises" + none, R"({"value":1,"reason":"r"})", true});
  return all;
}

// In both eras: of one the headers say the version, of the other the message does too.
std::vector<Seed> messages() {
  std::vector<Seed> all;
  const auto add = [&](const std::string& method, const std::string& params,
                       const std::string& name = "") {
    const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)";
    const std::string head =
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n";
    all.push_back({head + "MCP-Protocol-Version: 2025-11-25", begin + params + "}}", true});
    all.push_back(
        {head + "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method +
             (name.empty() ? "" : "\r\nMcp-Name: " + name),
         begin + params + (params.empty() ? "" : ",") +
             R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7,)"
             R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{},)"
             R"("extensions":{"io.modelcontextprotocol/tasks":{}}}}}})",
         true});
  };
  add("initialize", R"("protocolVersion":"2025-11-25","capabilities":{},)"
                    R"("clientInfo":{"name":"x","version":"1"})");
  for (const char* const method : {"ping", "tools/list", "server/discover", "prompts/list",
                                   "resources/list", "resources/templates/list"}) {
    add(method, R"("cursor":"MTA=")");
  }
  const std::string none = "00000000-0000-4000-8000-000000000000";
  add("tools/call", R"("name":"submit","arguments":{"type":"order","arguments":[{"id":"a"}]})",
      "submit");
  add("tools/call", R"("name":"wait","arguments":{"task":")" + none + R"(","seconds":1})", "wait");
  add("tools/call", R"("name":"order","arguments":{"order":{"id":"a","amount":5}})", "order");
  for (const char* const method : {"tasks/get", "tasks/cancel", "tasks/result", "tasks/update"}) {
    add(method, R"("taskId":")" + none + R"(","inputResponses":{"a":{"action":"accept"}})", none);
  }
  add("resources/read", R"("uri":"tiffany://tasks/)" + none + "\"", "tiffany://tasks/" + none);
  add("resources/subscribe", R"("uri":"tiffany://tasks/)" + none + "\"");
  add("prompts/get", R"("name":"release","arguments":{"a":"b"})", "release");
  add("completion/complete", R"("ref":{"type":"ref/resource","uri":"tiffany://tasks/{id}"},)"
                             R"("argument":{"name":"id","value":"0"})");
  add("notifications/cancelled", R"("requestId":1,"reason":"r")");
  return all;
}

std::vector<Seed> seeds_of(std::string_view kind) {
  std::vector<Seed> all;
  const auto add = [&](std::string_view name, const std::vector<Seed>& more) {
    if (kind == name || kind == "all") all.insert(all.end(), more.begin(), more.end());
  };
  add("head", heads());
  add("websocket", sockets());
  add("plan", plans());
  add("json", bodies());
  add("mcp", messages());
  return all;
}

std::string mutated(const std::vector<Seed>& seeds, Random& random) {
  const Seed& seed = seeds[random.below(seeds.size())];
  std::string text = seed.text;
  if (random.below(4) == 0) text += seeds[random.below(seeds.size())].text;
  const std::uint64_t changes = random.below(6);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(7)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, random.below(8) + 1);
        break;
      case 2:
        text.insert(at, std::string(random.below(300) + 1, static_cast<char>(random.below(256))));
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, std::array<const char*, 6>{"\r\n", "\"},{[", "\n - ", ": ", "\\u0000",
                                                   "${{ "}[random.below(6)]);
        break;
      default:
        text.insert(at, std::to_string(random.next()));
        break;
    }
  }
  if (!seed.body) return seed.fixed + text;
  const bool plan = seed.fixed.ends_with("/check");
  return with_body(seed.fixed, plan ? "{\"text\":" + json_string(text) + "}" : text);
}

// Sends it in pieces, reads a little, and goes.
Task<void> one(Address to, std::string text, std::uint64_t seed) {
  Random random(seed);
  try {
    Socket socket = co_await connect(to);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t piece = std::min<std::size_t>(text.size() - at, random.below(200) + 1);
      co_await socket.write(std::string_view(text).substr(at, piece));
      at += piece;
    }
    if (random.below(3) == 0) co_return;  // without looking at the answer
    if (random.below(2) == 0) socket.shutdown_write();
    std::array<char, 4096> room;
    co_await within(20ms, socket.read(room));
  } catch (const Error&) {
    // refused, reset: the daemon's right
  }
}

Task<void> many(Address to, const std::vector<Seed>* seeds, Random* random, std::uint64_t* count,
                std::chrono::steady_clock::time_point until) {
  while (std::chrono::steady_clock::now() < until) {
    co_await scope([&](Scope& all) -> Task<void> {
      for (int i = 0; i < 32; ++i) all.spawn(one, to, mutated(*seeds, *random), random->next());
      co_return;
    });
    *count += 32;
  }
}

int soak(int seconds, std::uint64_t seed, std::string_view kind) {
  const std::vector<Seed> seeds = seeds_of(kind);
  if (seeds.empty()) {
    std::printf("There is no kind \"%.*s\": say head, websocket, plan, json, mcp or all.\n",
                static_cast<int>(kind.size()), kind.data());
    return 2;
  }
  const TempDirectory directory;
  DaemonProcess daemon(directory.path(), {"--log", "error"});
  if (!daemon.running()) {
    std::printf("the daemon did not start: %s\n", daemon.said().c_str());
    return 1;
  }
  Random random(seed);
  std::uint64_t count = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  // Nobody must keep the daemon from saying something.
  std::thread listener([&] { daemon.says("\x01"); });
  const int ran = run(many(daemon.socket(), &seeds, &random, &count, until));
  const int alive = get(daemon.socket(), "/info").status;
  kill(daemon.pid(), SIGTERM);
  listener.join();
  const int status = daemon.wait();
  const bool clean = daemon.said().find("Sanitizer") == std::string::npos;
  std::printf(
      "%llu requests (%.*s) with seed %llu: the daemon answers %d, ends with %d, "
      "sanitizer %s\n",
      static_cast<unsigned long long>(count), static_cast<int>(kind.size()), kind.data(),
      static_cast<unsigned long long>(seed), alive, status, clean ? "silent" : "not silent");
  const bool good = ran == 0 && alive == 200 && status == 0 && clean;
  if (!good) std::printf("%s\n", daemon.said().c_str());
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tiffany::daemon_tests

int main(int count, char** arguments) {
  const int seconds = count > 1 ? std::atoi(arguments[1]) : 600;
  const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  return tiffany::daemon_tests::soak(seconds, seed, count > 3 ? arguments[3] : "all");
}
