// Skills, the memory and built-in tools of a real daemon, from a shell and over the API.
#include <filesystem>
#include <string>

#include "app/agents_daemon.hpp"

namespace tiffany::daemon_tests {
namespace cli_knowledge_test {

using agent::canvas_support::shell;
using agent::canvas_support::write_file;

constexpr const char* kUses =
    R"([{"reply":{"calls":[{"name":"skill","arguments":{"name":"release"}},
          {"name":"remember","arguments":{"text":"The tests need a display.","kind":"fact"}},
          {"name":"run","arguments":{"argv":["sh","-c","echo made > made.txt; cat main.c"]}},
          {"name":"git_status","arguments":{}}]}},
        {"reply":{"text":"Make it"}}])";

class CliKnowledge : public AgentsDaemonTest {
 protected:
  CliKnowledge() {
    write_file(at("skills/release/SKILL.md"),
               "---\nname: release\ndescription: How a release is made.\n---\nCount first.\n");
    write_file(at("skills/release/tools/tag.json"),
               R"({"name":"tag","about":"Tags.","argv":["true"],"input":{"type":"object"},)"
               R"("effect":"pure"})");
    agents(R"({"skills":["skills/release"],"memory":"memory.db","run":{"timeout_ms":60000},)"
           R"("delegate":true,)"
           R"("policy":{"rules":[{"tool":"run","ruling":"allow"}],"own_branch_is_free":true}})");
  }
};

TEST_F(CliKnowledge, ASkillIsAPromptOfMcpClients) {
  serve();
  ASSERT_TRUE(daemon_->running()) << daemon_->said();
  const std::string asks =
      R"('{"jsonrpc":"2.0","id":0,"method":"initialize",)"
      R"("params":{"protocolVersion":"2025-11-25"}}' )"
      R"('{"jsonrpc":"2.0","id":1,"method":"prompts/list"}' )"
      R"('{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"release"}}' )"
      R"('{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"release",)"
      R"("arguments":{"a":"b"}}}')";
  const std::string said = run_shell("printf '%s\\n' " + asks + " | " + DEPOT + " --socket " +
                                     data_.path() + "/tiffany.sock mcp")
                               .out;
  EXPECT_TRUE(has(said, R"({"name":"release","description":"How a release is made."}]})")) << said;
  EXPECT_TRUE(has(said, R"("messages":[{"role":"user","content":{"type":"text","text":)"
                        R"("Count first.)"))
      << said;
  EXPECT_TRUE(has(said, R"("id":3,"error":{"code":-32602)")) << said;
}

TEST_F(CliKnowledge, AnAgentReadsASkillRunsACommandAndRemembersAndPeopleSeeIt) {
  serve();
  ASSERT_TRUE(daemon_->running()) << daemon_->said();
  shell("git init -q -b main " + at("repo") + " && cd " + at("repo") +
        " && echo 'int main() {}' > main.c && git add . && git commit -qm first");
  write_file(at("uses.json"), kUses);
  const CliSaid done =
      depot("agent Go. -o json --repo " + at("repo") + " --script " + at("uses.json"));
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  const std::string id = member_of(done.out, "id");
  EXPECT_EQ(shell("cd " + at("repo") + " && git show tiffany/" + id + ":made.txt"), "made");
  const std::string transcript = get(daemon_->socket(), "/tasks/" + id + "/transcript").body;
  for (const char* const part : {"- release: How a release is made.", "Count first.",
                                 "int main() {}", "added made.txt +1 -0"}) {
    EXPECT_TRUE(has(transcript, part)) << part << transcript;
  }

  const CliSaid skills = depot("skills");
  EXPECT_TRUE(has(skills.out, "How a release is made.") && has(skills.out, "tag")) << skills.out;
  EXPECT_TRUE(has(get(daemon_->socket(), "/skills").body, "\"used\":1"));
  EXPECT_EQ(depot("skills -o name").out, "release\n");

  const std::string note = depot("memory ls -o name").out.substr(0, 32);
  EXPECT_TRUE(has(depot("memory recall why display").out, note));
  EXPECT_EQ(depot("memory recall nothing-like-it -o name").out, "");
  const CliSaid shown = depot("memory show " + note);
  EXPECT_TRUE(has(shown.out, "The tests need a display.") && has(shown.out, id)) << shown.out;
  EXPECT_EQ(depot("memory show 00").status, 4);
  EXPECT_EQ(get(daemon_->socket(), "/memory?limit=0").status, 400);
  EXPECT_EQ(get(daemon_->socket(), "/memory?depth=9").status, 400);

  const CliSaid token = depot("tokens create looks --role viewer");
  http::Request request("DELETE", "/api/v1/memory/" + note);
  request.headers.set("authorization", "Bearer " + token.out.substr(0, token.out.find('\n')));
  EXPECT_EQ(ask(daemon_->tcp(), request).status, 403) << "a viewer looks";
  EXPECT_EQ(depot("memory forget " + note).out, note + "  forgotten\n");
  EXPECT_EQ(depot("memory forget " + note).status, 4);
  EXPECT_EQ(depot("memory ls -o name").out, "");
  EXPECT_TRUE(has(depot("audit").out, "/memory/{note}  " + note)) << depot("audit").out;
}

TEST_F(CliKnowledge, ASkillThatIsNotTheOneThatIsPinnedKeepsTheDaemonFromStarting) {
  agents(R"({"skills":[{"path":"skills/release","pin":"00"}]})");
  const std::string said = refused();
  EXPECT_TRUE(has(said, "skills/release is not the one that is pinned")) << said;
  const std::size_t from = said.find("its digest is ") + 14;
  agents(R"({"skills":[{"path":"skills/release","pin":")" + said.substr(from, 64) + "\"}]}");
  serve();
  EXPECT_TRUE(daemon_->running()) << daemon_->said();
  EXPECT_EQ(depot("memory ls").status, 4) << "there is none";
}

TEST_F(CliKnowledge, MistakesInTheFileAreNamed) {
  for (const auto& [text, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"skills":["nowhere"]})", "nowhere is no directory"},
           {R"({"skills":["skills/release","skills/release"]})", "which another skill has"},
           {R"({"skills":[{"pin":"00"}]})", "skills[0] needs a path"},
           {R"({"run":{"sandbox":1}})", "run.sandbox must be a whole number from 2 to 3"},
           {R"({"run":{"network":true}})", "that nobody knows"},
           {R"({"run":"yes"})", "run must be an object"},
           {R"({"delegate":"yes"})", "delegate must be true or false"},
           {R"({"fetch":{}})", "fetch needs `hosts`"},
           {R"({"fetch":{"hosts":["http://x/"]}})", "is no host that can be fetched from"}}) {
    agents(text);
    EXPECT_TRUE(has(refused(), says)) << text << daemon_->said();
  }
}

}  // namespace cli_knowledge_test
}  // namespace tiffany::daemon_tests
