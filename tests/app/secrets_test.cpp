// Twenty secrets of a plan, each in six forms, whose command prints all of them: looked for in
// everything that a daemon keeps, tells or answers, while the command runs and afterwards.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "app/cli_runner.hpp"
#include "app/secret_forms.hpp"

namespace tiffany::daemon_tests {
namespace secrets_test {

class Secrets : public DepotTest {};

TEST_F(Secrets, TwentyInSixFormsAreInNoFileEventDumpAnswerOrProcessList) {
  const TempDirectory elsewhere;
  const std::string place = elsewhere.path() + "/";
  std::string named;
  {
    std::ofstream forms(place + "forms");
    for (int i = 0; i < kSecrets; ++i) {
      const std::string key = "key" + std::to_string(i);
      std::ofstream(place + key) << secret_of(i) << "\n";
      named += (i == 0 ? "" : ", ") + ("K" + std::to_string(i)) + ": {file: " + place + key + "}";
      for (const std::string& form : forms_of(secret_of(i))) forms << "<" << form << ">\n";
    }
  }
  ASSERT_EQ(mkfifo((place + "gate").c_str(), 0600), 0);
  const std::string plan = directory_->path() + "/secrets.yaml";
  std::ofstream(plan) << "steps:\n - {name: ok, approve: 'go on?'}\n"
                      << " - {name: a, needs: [ok], outputs: [x], secrets: {" << named << "},\n"
                      << "    shell: true, run: 'cat " << place << "forms; cat " << place
                      << "forms >&2; echo \"x=$K0$K3\" >> \"$TIFFANY_OUTPUT\"; cat " << place
                      << "gate; exit 3'}\n";
  const CliSaid run = depot("run --detach " + plan);
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string id = run.out.substr(0, 36);

  // Events of every kind, from before the command begins to the end of the plan.
  std::string events;
  std::thread reader([&] {
    events = depot("watch " + id + " --kind agent,runtime,sched --through-approvals -o jsonl").out;
  });
  EXPECT_TRUE(shows("metrics --grep tiffany_pal_subscribers", "tiffany_pal_subscribers 1"));
  EXPECT_EQ(depot("approve " + id).status, 0);
  const auto look = [&](const std::string& when) {
    for (const char* const path : {"", "/records", "/plan", "/output?unit=a",
                                   "/output?unit=a&which=err", "/inspect", "/artifacts"}) {
      expect_none(get(daemon_->socket(), "/tasks/" + id + path).body, when + " " + path);
    }
    for (const char* const path : {"/tasks", "/dump", "/problems", "/steps", "/audit", "/settings",
                                   "/promises", "/plans", "/info"}) {
      const http::Response answer = get(daemon_->socket(), path);
      EXPECT_EQ(answer.status, 200) << path;
      expect_none(answer.body, when + " " + path);
    }
    expect_none(ask(daemon_->socket(), http::Request("GET", "/metrics")).body, when + " metrics");
  };
  const int gate =
      open((place + "gate").c_str(), O_WRONLY | O_CLOEXEC);  // when the command is there
  ASSERT_GE(gate, 0);
  look("while the command runs");
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    expect_none(content_of_file(process.path() / "cmdline"), process.path());
  }
  close(gate);
  reader.join();
  EXPECT_NE(events.find(id), std::string::npos);
  expect_none(events, "events");
  look("afterwards");
  EXPECT_NE(get(daemon_->socket(), "/tasks/" + id + "/output?unit=a").body.find("<***>"),
            std::string::npos)
      << "the output is there";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_->path())) {
    if (entry.is_regular_file()) expect_none(content_of_file(entry.path()), entry.path());
  }
}

}  // namespace secrets_test
}  // namespace tiffany::daemon_tests
