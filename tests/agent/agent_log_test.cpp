// The log of an agent, byte for byte: the same on every compiler, and the same tomorrow. Lines of
// our sources, and with them checksums, are left out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "agent/agent_world.hpp"

namespace tiffany::agent::agent_log_test {

using namespace std::chrono_literals;

class AgentLog : public testing::Test, public AgentWorld {
 protected:
  // Tools, one that is not there, a rejection, a secret, a branch that moves, an approval.
  std::string log_of_a_run() {
    services.secrets.add("hunter22");
    read->says = "password=hunter22, caf\u00e9";
    model.replies = {calls("read"),
                     calls("fly"),
                     calls("write", R"({"a":[1,"\u00e9\n"]})"),
                     Message::assistant("Change it"),
                     calls("once"),
                     Message::assistant("Change it otherwise")};
    std::string log;
    test.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start(kAgentType, change_something());
      const AgentView first = co_await until(&host, id, "awaiting approval");
      co_await answer(&host, *first.question, Verdict::reject, "not like this");
      co_await sleep(1s);
      const AgentView second = co_await until(&host, id, "awaiting approval");
      repositories.tip = "moved";
      co_await answer(&host, *second.question, Verdict::approve);
      co_await sleep(1s);
      const AgentView third = co_await until(&host, id, "awaiting approval");
      co_await answer(&host, *third.question, Verdict::approve);
      static_cast<void>(co_await host.result<Summary>(id));
      for (const std::string& line : host.records(id, 0, 1000)) log += line;
    });
    return std::regex_replace(log, std::regex(R"re(,"(loc|crc)":"[^"]*")re"), "");
  }
};

TEST_F(AgentLog, IsTheSameOnEveryCompilerByteForByte) {
  const std::string log = log_of_a_run();
  std::ostringstream golden;
  golden << std::ifstream(TIFFANY_SOURCES "/tests/agent/agent_log.golden").rdbuf();
  if (const char* const to = std::getenv("TIFFANY_GOLDEN")) std::ofstream(to) << log;
  EXPECT_EQ(log, golden.str()) << "with TIFFANY_GOLDEN=<file> this writes the log as it is now";
}

}  // namespace tiffany::agent::agent_log_test
