// Programs as servers of tools, on the real system: a script of the shell that speaks MCP.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "agent/mcp_world.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::agent {
namespace mcp_program_test {

using namespace std::chrono_literals;
using mcp_test::Outcome;
using mcp_test::outcome_of;

// `call` is what it does when it is called.
std::string script_of(const std::string& call) {
  return R"(tool='{"name":"run","inputSchema":{}}'
say() { printf '%s\n' "$1"; }
text() { say '{"jsonrpc":"2.0","id":'$n',"result":{"content":[{"type":"text","text":"'"$1"'"}]}}'; }
while read -r line; do
  case $line in
    *notifications/*) continue ;;
  esac
  n=${line#*'"id":'}
  n=${n%%,*}
  case $line in
    *server/discover*) say '{"jsonrpc":"2.0","id":'$n',"error":{"code":-32601,"message":"no"}}' ;;
    *initialize*) say '{"jsonrpc":"2.0","id":'$n',"result":{"protocolVersion":"2025-11-25"}}' ;;
    *tools/list*) say '{"jsonrpc":"2.0","id":'$n',"result":{"tools":['"$tool"']}}' ;;
    *tools/call*) )" +
         call + R"( ;;
  esac
done)";
}

McpOptions program(const std::string& call) {
  McpOptions options("sh");
  options.command = {"/bin/sh", "-c", script_of(call)};
  return options;
}

void in_the_system(const std::function<Task<void>()>& code) {
  Scheduler scheduler;
  scheduler.spawn([](const std::function<Task<void>()>* what) -> Task<void> { co_await (*what)(); },
                  &code);
  scheduler.run();
}
std::vector<Outcome> calls_of(const McpOptions& options, int count) {
  std::vector<Outcome> all;
  const std::function<Task<void>()> code = [&]() -> Task<void> {
    auto server = std::make_shared<McpServer>(options);
    co_await server->learn();
    ToolSet tools;
    add_mcp_tools(tools, server);
    for (int i = 0; i < count; ++i) {
      Outcome outcome = co_await outcome_of(tools.find("sh__run"), "{}");
      all.push_back(std::move(outcome));
    }
    co_await server->close();
  };
  in_the_system(code);
  return all;
}

TEST(McpProgram, ItHasACleanEnvironmentWithWhatTheOperatorGives) {
  ::setenv("TIFFANY_TEST_LEAK", "leaked", 1);
  ::setenv("TIFFANY_TEST_SECRET", "s3cret-value", 1);
  McpOptions options = program(R"(text "$GIVEN ${TIFFANY_TEST_LEAK:-none} ${#TOKEN} $PWD")");
  options.environment = {{"GIVEN", "given"}};
  options.secrets = {exec::Secret::from_variable("TOKEN", "TIFFANY_TEST_SECRET")};
  options.directory = "/";
  const std::vector<Outcome> all = calls_of(options, 1);
  EXPECT_EQ(all[0].answer.text, "given none 12 /") << all[0].sentence;
}

TEST(McpProgram, OneThatDiesInACallIsUnknownSaysItsLastWordsAndIsStartedAgain) {
  ::setenv("TIFFANY_TEST_SECRET", "s3cret-value", 1);
  McpOptions options = program(R"(if [ -e "$MARK" ]; then text again; else
    : >"$MARK"; echo "I die with $TOKEN" >&2; kill -9 $$; fi)");
  const std::string mark = testing::TempDir() + "mcp_mark_" + std::to_string(::getpid());
  options.environment = {{"MARK", mark}};
  options.secrets = {exec::Secret::from_variable("TOKEN", "TIFFANY_TEST_SECRET")};
  const std::vector<Outcome> all = calls_of(options, 2);
  ::unlink(mark.c_str());
  EXPECT_EQ(all[0].kind, "step_unknown");
  EXPECT_NE(all[0].sentence.find("killed by signal 9"), std::string::npos) << all[0].sentence;
  EXPECT_NE(all[0].sentence.find("I die with ***"), std::string::npos) << all[0].sentence;
  EXPECT_EQ(all[1].answer.text, "again") << all[1].sentence;
}

TEST(McpProgram, ItsChildrenEndWithIt) {
  const std::string place = testing::TempDir() + "mcp_child_" + std::to_string(::getpid());
  McpOptions options = program(R"(sleep 1000 & echo $! >"$PLACE"; text begun)");
  options.environment = {{"PLACE", place}};
  const std::vector<Outcome> all = calls_of(options, 1);
  EXPECT_EQ(all[0].answer.text, "begun");
  std::FILE* const file = std::fopen(place.c_str(), "r");
  ASSERT_NE(file, nullptr);
  int child = 0;
  ASSERT_EQ(std::fscanf(file, "%d", &child), 1);
  std::fclose(file);
  ::unlink(place.c_str());
  // Ended before we look, or readable when it has: it was killed, and dies when it dies.
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return;
  pollfd waited{handle, POLLIN, 0};
  EXPECT_EQ(::poll(&waited, 1, 10'000), 1);
  ::close(handle);
}

TEST(McpProgram, OneThatEndsAtOnceOrIsNotThereIsNamed) {
  const auto problem_of = [](std::vector<std::string> words) {
    std::string problem;
    const std::function<Task<void>()> code = [&]() -> Task<void> {
      McpOptions options("sh");
      options.command = words;
      McpServer server(options);
      try {
        co_await server.learn();
      } catch (const Error& error) {
        problem = error.what();
      }
    };
    in_the_system(code);
    return problem;
  };
  EXPECT_NE(problem_of({"/nowhere/server"}).find("There is no such file"), std::string::npos);
  const std::string ended = problem_of({"/bin/sh", "-c", "echo usage: me >&2; exit 3"});
  EXPECT_NE(ended.find("exit code 3"), std::string::npos) << ended;
  EXPECT_NE(ended.find("usage: me"), std::string::npos) << ended;
  const std::string prose = problem_of({"/bin/sh", "-c", "echo Hello, I am a server; sleep 100"});
  EXPECT_NE(prose.find("no message of JSON-RPC"), std::string::npos) << prose;
}

}  // namespace mcp_program_test
}  // namespace tiffany::agent
