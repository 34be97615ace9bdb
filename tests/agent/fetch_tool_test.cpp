// The tool `fetch`, against servers in memory and names that lie.
#include "tiffany/agent/fetch_tool.hpp"

#include <array>

#include "agent/repository.hpp"
#include "model_world.hpp"
#include "tiffany/agent/policy.hpp"

namespace tiffany::agent {
namespace fetch_tool_test {

using canvas_support::thrown_by;
using model_test::answer_of;
using namespace std::chrono_literals;

struct FetchServer {
  std::string answer{};
  std::string request{};  // the last
  int requests = 0;
  bool silent = false;
};
Task<void> serve_fetches(FetchServer* server, Listener* listener) {
  for (;;) {
    Socket socket;
    try {
      socket = co_await listener->accept();
    } catch (const IoError&) {
      co_return;  // closed
    }
    ++server->requests;
    server->request.clear();
    std::array<char, 4096> room;
    try {
      while (server->request.find("\r\n\r\n") == std::string::npos) {
        const std::size_t came = co_await socket.read(room);
        if (came == 0) break;
        server->request.append(room.data(), came);
      }
      if (!server->silent) {
        co_await socket.write(server->answer);
        socket.shutdown_write();
      }
      while (co_await socket.read(room) > 0) continue;
    } catch (const IoError&) {
      continue;  // the client did not want all of it
    }
  }
}

class FetchToolTest : public testing::Test {
 protected:
  // What a fetch of `url` comes to; PORT in it, and in the hosts, is that of the server.
  ToolAnswer fetch(std::string url, FetchOptions options) {
    ToolAnswer answer;
    const std::function<Task<void>()> code = [&]() -> Task<void> {
      Listener listener = Listener::bind(Address::loopback(0));
      const std::string port = std::to_string(listener.local().port());
      const auto filled = [&](std::string text) {
        const std::size_t at = text.find("PORT");
        return at == std::string::npos ? text : text.replace(at, 4, port);
      };
      for (std::string& each : options.hosts) each = filled(each);
      auto serving = spawn(serve_fetches, &server_, &listener);
      ToolSet tools;
      add_fetch_tool(tools, options);
      Tool* const tool = tools.find("fetch");
      const std::string arguments = "{\"url\":" + to_json(filled(url)) + "}";
      const std::string mistake = tool->mistake_in(arguments);
      if (mistake.empty()) {
        answer = co_await tool->run(ToolContext(), arguments);
      } else {
        answer.text = "mistake: " + mistake;
        answer.failed = true;
      }
      listener.close();
      co_await serving;
    };
    model_test::in_world(1, code);
    return answer;
  }
  ToolAnswer fetch(const std::string& url) {
    FetchOptions options;
    options.hosts = {"127.0.0.1:PORT"};
    return fetch(url, options);
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  FetchServer server_;
};

const std::string kText = "content-type: text/plain; charset=utf-8\r\n";

TEST_F(FetchToolTest, GivesTheTextAndAsksForNothingButIt) {
  server_.answer = answer_of(200, kText, "hello\n");
  const ToolAnswer answer = fetch("http://127.0.0.1:PORT/a%20b?q=1&r=2#part");
  EXPECT_EQ(answer.text, "hello\n");
  EXPECT_FALSE(answer.failed);
  EXPECT_TRUE(server_.request.starts_with("GET /a%20b?q=1&r=2 HTTP/1.1\r\n")) << server_.request;
  EXPECT_FALSE(has(server_.request, "cookie"));
  EXPECT_EQ(fetch("http://127.0.0.1:PORT?q=1").text, "hello\n");
  EXPECT_TRUE(server_.request.starts_with("GET /?q=1 HTTP")) << server_.request;
}

TEST_F(FetchToolTest, RedirectsAreToldAndNotFollowed) {
  server_.answer = answer_of(302, "location: http://127.0.0.1:1/elsewhere\r\n", "");
  const ToolAnswer answer = fetch("http://127.0.0.1:PORT/");
  EXPECT_EQ(server_.requests, 1);
  EXPECT_TRUE(has(answer.text, "redirects (302) to http://127.0.0.1:1/")) << answer.text;
}

TEST_F(FetchToolTest, OnlyTextIsReadAndOnlySoMuchOfIt) {
  server_.answer = answer_of(200, "content-type: image/png\r\n", "\x89PNG");
  EXPECT_TRUE(has(fetch("http://127.0.0.1:PORT/").text, "no plain text"));
  server_.answer = answer_of(200, kText + "content-encoding: gzip\r\n", "x");
  EXPECT_TRUE(fetch("http://127.0.0.1:PORT/").failed) << "may be a bomb";
  server_.answer = answer_of(200, "", "x");
  EXPECT_TRUE(fetch("http://127.0.0.1:PORT/").failed) << "nobody says what it is";
  server_.answer = answer_of(200, "content-type: application/problem+json\r\n", "{}");
  EXPECT_EQ(fetch("http://127.0.0.1:PORT/").text, "{}");
  server_.answer = answer_of(200, kText, std::string(300'000, 'x'));
  const ToolAnswer large = fetch("http://127.0.0.1:PORT/");
  EXPECT_LT(large.text.size(), 50'000U);
  EXPECT_TRUE(has(large.text, "(there is more, which was not read)"));
  std::string chinese;
  while (chinese.size() < 300'000) chinese += "\u4e2d";
  server_.answer = answer_of(200, kText, chinese);
  const std::string read = fetch("http://127.0.0.1:PORT/").text;
  EXPECT_GT(read.size(), 49'000U) << "text without a blank is text, too";
  EXPECT_TRUE(read.starts_with("\u4e2d\u4e2d"));
  EXPECT_TRUE(has(read, "\u4e2d\n(there is more, which was not read)"));
  server_.answer = answer_of(404, kText, "not here");
  const ToolAnswer missing = fetch("http://127.0.0.1:PORT/");
  EXPECT_EQ(missing.text, "The server answered 404.\nnot here");
  EXPECT_TRUE(missing.failed);
}

TEST_F(FetchToolTest, AServerThatIsSlowOrBrokenIsASentenceForTheModel) {
  server_.silent = true;
  EXPECT_TRUE(has(fetch("http://127.0.0.1:PORT/").text, "did not answer within 30"));
  server_.silent = false;
  for (const char* const broken : {"", "HTTP/1.1 200", "no http at all\r\n\r\n",
                                   "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
                                   "content-length: 10\r\n\r\nhalf"}) {
    server_.answer = broken;
    const ToolAnswer answer = fetch("http://127.0.0.1:PORT/");
    EXPECT_TRUE(answer.failed) << broken;
    EXPECT_TRUE(has(answer.text, "could not be fetched")) << answer.text;
  }
  FetchOptions closed;
  closed.hosts = {"127.0.0.1:1"};
  EXPECT_TRUE(fetch("http://127.0.0.1:1/", closed).failed);
}

TEST_F(FetchToolTest, AHostThatIsNotNamedIsRefusedBeforeAnybodyIsAsked) {
  server_.answer = answer_of(200, kText, "x");
  for (const char* const other : {"http://127.0.0.1/",
                                  "http://127.0.0.2:PORT/",
                                  "http://localhost:PORT/",
                                  "http://127.0.0.1.example.org:PORT/",
                                  "http://0x7f000001:PORT/",
                                  "http://2130706433:PORT/",
                                  "http://[::ffff:127.0.0.1]:PORT/",
                                  "http://evil.example@127.0.0.1:PORT/",
                                  "http://127.0.0.1:PORT@evil.example/",
                                  "ftp://127.0.0.1:PORT/",
                                  "file:///tmp/x",
                                  "http:/127.0.0.1:PORT/",
                                  "//127.0.0.1:PORT/",
                                  "127.0.0.1:PORT",
                                  "http://",
                                  "http://127.0.0.1:PORT/a b",
                                  "http://127.0.0.1:PORT/\r\nx: y",
                                  "http://127.0.0.1:PORT/\u00e9",
                                  "http://127.0.0.1:PORT\\@evil.example/",
                                  "http://127.0.0.1:99999/",
                                  "unix:/tmp/x"}) {
    const ToolAnswer answer = fetch(other);
    EXPECT_TRUE(answer.text.starts_with("mistake: ")) << other << " " << answer.text;
  }
  EXPECT_EQ(server_.requests, 0);
}

TEST_F(FetchToolTest, ANameThatLeadsIntoANetworkOfTheOperatorIsRefused) {
  server_.answer = answer_of(200, kText, "inside");
  for (const char* const where :
       {"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1",
        "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1"}) {
    FetchOptions options;
    options.hosts = {"docs.example.org"};
    options.look_up = [=](const std::string&, std::uint16_t port) {
      return std::vector<Address>{Address::ip("93.184.216.34", port), Address::ip(where, port)};
    };
    const ToolAnswer answer = fetch("http://docs.example.org/", options);
    EXPECT_TRUE(has(answer.text, "no address of the public internet")) << where << answer.text;
  }
  EXPECT_EQ(server_.requests, 0);
  for (const char* const open : {"93.184.216.34", "8.8.8.8", "2606:4700::1111", "172.32.0.1"}) {
    EXPECT_TRUE(is_public(Address::ip(open, 80))) << open;
  }
  EXPECT_FALSE(is_public(Address::unix_path("/tmp/x")));
  FetchOptions named;
  named.hosts = {"DOCS.example.org:PORT"};
  named.look_up = [](const std::string&, std::uint16_t port) {
    return std::vector<Address>{Address::loopback(port)};
  };
  EXPECT_EQ(fetch("http://docs.EXAMPLE.org:PORT/", named).text, "inside");
  EXPECT_TRUE(has(fetch("http://docs.example.org/", named).text, "none that may be asked"))
      << "another port";
}

TEST_F(FetchToolTest, IsAnOutsideWriteOfTextThatOthersWrote) {
  FetchOptions options;
  ToolSet tools;
  EXPECT_EQ(thrown_by([&] { add_fetch_tool(tools, options); }).code, Errc::bad_tool);
  for (const char* const bad : {"", "http://x", "x/y", "a b", "*", "x:0", "u@x", "x:99999"}) {
    options.hosts = {bad};
    EXPECT_EQ(thrown_by([&] { add_fetch_tool(tools, options); }).code, Errc::bad_tool) << bad;
  }
  options.hosts = {"docs.example.org"};
  add_fetch_tool(tools, options);
  const ToolTraits& traits = tools.find("fetch")->traits();
  EXPECT_TRUE(traits.writes_outside && traits.untrusted && traits.ask);
  Policy allows;
  allows.rules.push_back({"*", Ruling::allow});
  Exposure met;
  EXPECT_EQ(decide(allows, "fetch", traits, met, false).ruling, Ruling::allow);
  met.saw_private = true;
  EXPECT_EQ(decide(allows, "fetch", traits, met, false).ruling, Ruling::ask)
      << "it could tell what is private";
}

}  // namespace fetch_tool_test
}  // namespace tiffany::agent
