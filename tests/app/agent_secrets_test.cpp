// Twenty secrets of an agent's tools, each in six forms, which tools print and write, a model says,
// streams, calls tools by and remembers: looked for in everything that a daemon keeps or answers.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "agent/repository.hpp"
#include "app/cli_runner.hpp"
#include "app/secret_forms.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::daemon_tests {
namespace agent_secrets_test {

using agent::canvas_support::shell;
using agent::canvas_support::write_file;

std::string call_of(const std::string& tool, const std::string& arguments) {
  return "{\"name\":" + to_json(tool) + ",\"arguments\":" + arguments + "}";
}
std::string reply_of(const std::string& text, const std::string& calls) {
  return "{\"reply\":{\"text\":" + to_json(text) + ",\"calls\":[" + calls + "]}}";
}
std::string tool_of(const std::string& name, const std::string& script, const std::string& place,
                    const std::string& secrets) {
  return "{\"name\":\"" + name + "\",\"about\":\"Tells.\",\"argv\":[\"sh\",\"-c\"," +
         to_json(script) + "],\"input\":{\"type\":\"object\"},\"effect\":\"idempotent\"," +
         "\"ask\":false,\"reads\":[" + to_json(place) + "],\"writes\":[\".\"],\"secrets\":[" +
         secrets + "]}";
}

TEST(AgentSecrets, TwentyInSixFormsAreInNoFileEventTranscriptNoteOrAnswer) {
  const TempDirectory elsewhere;
  const TempDirectory data;
  const std::string place = elsewhere.path() + "/";
  std::string forms;
  std::string sources;
  std::string names;
  for (int i = 0; i < kSecrets; ++i) {
    const std::string number = std::to_string(i);
    write_file(place + "key" + number, secret_of(i) + "\n");
    sources +=
        (i == 0 ? "" : ",") + ("{\"name\":\"K" + number + "\",\"file\":\"key") + number + "\"}";
    names += (i == 0 ? "\"K" : ",\"K") + number + "\"";
    for (const std::string& form : forms_of(secret_of(i))) forms += "<" + form + ">\n";
  }
  write_file(place + "forms", forms);
  write_file(
      place + "tell.json",
      tool_of("tell", "cat " + place + "forms; cat " + place + "forms >&2; exit 3", place, names));
  write_file(place + "keep.json", tool_of("keep", "cp " + place + "forms kept", place, names));
  const std::string path = "{\"path\":" + to_json(secret_of(3)) + "}";
  write_file(place + "plan.json",
             "[" + reply_of("I say\n" + forms, call_of("tell", "{}")) + "," +
                 reply_of("", call_of(secret_of(1), "{}") + "," + call_of("read", path) + "," +
                                  call_of("read", "{\"wrong\":" + to_json(secret_of(2)) + "}")) +
                 "," +
                 reply_of("", call_of("remember", "{\"text\":" + to_json(forms) + "}") + "," +
                                  call_of("recall", "{\"text\":\"hunter3 of the plan\"}") + "," +
                                  call_of("keep", "{}")) +
                 "," + reply_of("Keep it\n\n" + forms, "") + "]");
  write_file(place + "models.json", R"({"models":[{"name":"plan","plan":"plan.json"}]})");
  write_file(place + "agents.json",
             "{\"models\":\"models.json\",\"tools\":[\"tell.json\",\"keep.json\"],\"memory\":" +
                 to_json(data.path() + "/memory.db") + ",\"secrets\":[" + sources + "]}");
  const std::string repo = place + "repo";
  shell("git init -q -b main " + repo + " && cd " + repo +
        " && echo x > a && git add . && git commit -qm first");

  DaemonProcess daemon(data.path(), {"--agents", place + "agents.json"}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const auto depot = [&](const std::string& words) {
    return run_shell(std::string(DEPOT) + " --socket " + data.path() + "/tiffany.sock " + words);
  };
  // Events of every kind, from the first on.
  std::string events;
  const CliSaid begun = depot("agent Go. --detach --turns 0 --repo " + repo);
  const std::string id = begun.out.substr(0, 36);
  ASSERT_EQ(id.size(), 36U) << begun.err;
  std::thread reader([&] {
    events = depot("watch " + id + " --kind agent,runtime,sched --through-approvals -o jsonl").out;
  });
  EXPECT_TRUE(eventually([&] {
    return depot("metrics --grep tiffany_pal_subscribers").out.find("subscribers 1") !=
           std::string::npos;
  }));
  EXPECT_EQ(depot("budget " + id + " --turns 10").status, 0);
  EXPECT_TRUE(eventually([&] {
    return depot("budget " + id).out.find("awaiting approval") != std::string::npos;
  })) << depot("show " + id).out;
  const auto look = [&](const std::string& when) {
    for (const char* const of : {"", "/records", "/transcript", "/inspect"}) {
      const http::Response answer = get(daemon.socket(), "/tasks/" + id + of);
      EXPECT_EQ(answer.status, 200) << of;
      expect_none(answer.body, when + " " + of);
    }
    for (const char* const of :
         {"/tasks", "/dump", "/problems", "/steps", "/audit", "/settings", "/promises", "/info",
          "/memory", "/memory?query=hunter3", "/skills"}) {
      const http::Response answer = get(daemon.socket(), of);
      EXPECT_EQ(answer.status, 200) << of;
      expect_none(answer.body, when + " " + of);
    }
    expect_none(ask(daemon.socket(), http::Request("GET", "/metrics")).body, when + " metrics");
  };
  look("while it waits");
  for (const char* const of : {"agent", "transcript"}) {
    const std::string body = get(daemon.socket(), "/tasks/" + id + "/query?name=" + of).body;
    EXPECT_NE(body.find("<***>"), std::string::npos) << "the patch, and what was said, is there";
    expect_none(body, of);
  }
  EXPECT_NE(get(daemon.socket(), "/memory").body.find("<***>"), std::string::npos);
  const CliSaid shown = depot("diff " + id);
  expect_none(shown.out + shown.err, "diff");
  const CliSaid approved = depot("approve " + id);
  EXPECT_EQ(approved.status, 0) << approved.err;
  expect_none(approved.out + approved.err, "approve");
  reader.join();
  EXPECT_NE(events.find("\"piece\""), std::string::npos) << "the reply was streamed";
  expect_none(events, "events");
  look("afterwards");
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  expect_none(daemon.said(), "what the daemon printed");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data.path())) {
    if (entry.is_regular_file()) expect_none(content_of_file(entry.path()), entry.path());
  }
}

}  // namespace agent_secrets_test
}  // namespace tiffany::daemon_tests
