// A daemon whose MCP servers change their lists of tools: what has changed is shown, and an admin
// accepts it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "app/agents_daemon.hpp"

namespace tiffany::daemon_tests {
namespace cli_servers_test {

using agent::canvas_support::shell;
using agent::canvas_support::write_file;

// Speaks MCP, and offers what is in the file `tools` beside it.
constexpr const char* kServer = R"sh(cd "$(dirname "$0")"
say() { printf '%s\n' "$1"; }
while read -r line; do
  case $line in *notifications/*) continue ;; esac
  n=${line#*'"id":'}
  n=${n%%,*}
  case $line in
    *server/discover*) say '{"jsonrpc":"2.0","id":'$n',"error":{"code":-32601,"message":"no"}}' ;;
    *initialize*) say '{"jsonrpc":"2.0","id":'$n',"result":{"protocolVersion":"2025-11-25"}}' ;;
    *tools/list*) say '{"jsonrpc":"2.0","id":'$n',"result":{"tools":['"$(cat tools)"']}}' ;;
    *tools/call*)
      say '{"jsonrpc":"2.0","id":'$n',"result":{"content":[{"type":"text","text":"hello"}]}}'
      ;;
  esac
done
)sh";
constexpr const char* kGreet = R"({"name":"greet","description":"Greets.","inputSchema":{}})";
constexpr const char* kCalls =
    R"([{"reply":{"calls":[{"name":"shop__greet","arguments":{}}]}},{"reply":{"text":"Done"}}])";

class CliServers : public AgentsDaemonTest {
 protected:
  CliServers() {
    write_file(at("server.sh"), kServer);
    offers(kGreet);
    write_file(at("calls.json"), kCalls);
    server("");
  }
  void offers(const std::string& tools) const { write_file(at("tools"), tools); }
  void server(const std::string& more) const {
    agents(R"({"mcp":[{"name":"shop","command":["/bin/sh",")" + at("server.sh") +
           R"("],"traits":{"greet":{"ask":false,)"
           R"("writes_outside":false}})" +
           more + "}]}");
  }
  void serve() {
    AgentsDaemonTest::serve();
    ASSERT_TRUE(daemon_->running()) << daemon_->said();
  }
  // An agent that calls the tool once.
  CliSaid agent() const {
    shell("[ -d " + at("repo") + " ] || git init -q -b main " + at("repo"));
    return depot("agent Go. -o json --repo " + at("repo") + " --script " + at("calls.json"));
  }
};

TEST_F(CliServers, AListThatChangedIsShownAcceptedAndCountsWithoutARestart) {
  serve();
  const CliSaid listed = depot("servers ls");
  EXPECT_TRUE(has(listed.out, "shop")) << listed.out;
  EXPECT_TRUE(has(depot("servers show shop").out, "Nothing has changed."));
  const std::string before = member_of(depot("servers show shop -o json").out, "digest");

  offers(R"({"name":"greet","description":"Greets, and tells others.","inputSchema":{}},)"
         R"({"name":"pay","description":"Pays.","inputSchema":{"type":"object"}})");
  const CliSaid shown = depot("servers show shop");
  for (const char* const part :
       {"changed greet", "Greets.", "Greets, and tells others.", "added pay", "Pays."}) {
    EXPECT_TRUE(has(shown.out, part)) << part << shown.out;
  }
  EXPECT_EQ(agent().status, 6) << "somebody has to decide: the tool is another one by now";

  const CliSaid stale = depot("servers accept shop --digest " + before);
  EXPECT_EQ(stale.status, 1) << stale.out << stale.err;
  EXPECT_TRUE(has(stale.err, "by now. Look at it again.")) << stale.err;
  const CliSaid accepted = depot("servers accept shop -m 'read it'");
  EXPECT_EQ(accepted.status, 0) << accepted.err;
  EXPECT_TRUE(has(accepted.out, "added pay")) << "shown before it counts: " << accepted.out;
  EXPECT_TRUE(has(accepted.out, "shop  accepted")) << accepted.out;
  EXPECT_TRUE(has(depot("servers show shop").out, "Nothing has changed."));
  EXPECT_TRUE(has(depot("audit").out, "/servers/{server}/accept")) << depot("audit").out;

  // The new list is what agents have, and asks for nothing.
  const CliSaid done = agent();
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  const std::string id = member_of(done.out, "id");
  const std::string transcript = get(daemon_->socket(), "/tasks/" + id + "/transcript").body;
  EXPECT_TRUE(has(transcript, "hello")) << transcript;

  // It is what is kept.
  serve();
  EXPECT_TRUE(has(depot("servers show shop").out, "Nothing has changed."));
}

TEST_F(CliServers, WhatIsNotThereIsASentence) {
  serve();
  EXPECT_EQ(depot("servers show nobody").status, 4);
  EXPECT_EQ(depot("servers accept nobody").status, 4);
  offers("");
  const CliSaid removed = depot("servers show shop");
  EXPECT_TRUE(has(removed.out, "removed greet")) << removed.out;
  write_file(at("server.sh"), "exit 3\n");
  serve();
  const CliSaid gone = depot("servers show shop");
  EXPECT_NE(gone.status, 0);
  EXPECT_TRUE(has(gone.err, "The MCP server shop")) << gone.err;
}

TEST_F(CliServers, APinInTheFileIsChangedInTheFile) {
  serve();
  const std::string digest = member_of(depot("servers show shop -o json").out, "digest");
  server(",\"pin\":\"" + digest + "\"");
  serve();
  offers("");
  const CliSaid refused = depot("servers accept shop");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(has(refused.err, "has the pin " + digest)) << refused.err;
}

}  // namespace cli_servers_test
}  // namespace tiffany::daemon_tests
