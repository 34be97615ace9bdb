// Twenty secrets of a plan, each in six forms, whose command prints all of them: looked for in
// everything that a daemon keeps, tells or answers, while the command runs and afterwards.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/cli_runner.hpp"
#include "tiffany/base/base64.hpp"

namespace tiffany::daemon_tests {
namespace secrets_test {

constexpr int kSecrets = 20;

class Secrets : public DepotTest {};

// Letters, signs that each form writes in another way, and characters of several bytes.
std::string secret_of(int number) {
  static const std::vector<std::string> signs{"", " ?>", "\"\\", "%+/", "\xc3\xa9~&"};
  const std::string digits = std::to_string(number);
  return "hunter" + digits + signs[static_cast<std::size_t>(number) % signs.size()] +
         "of-the-plan" + digits;
}

std::string hexed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}
std::string percented(std::string_view text) {
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    const std::string hex = hexed(std::string_view(&c, 1));
    if (plain || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      for (const char digit : hex) out += static_cast<char>(std::toupper(digit));
    }
  }
  return out;
}
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}
std::string url_base64(std::string text) {
  text = to_base64(text);
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text.substr(0, text.find('='));
}
// Of base64 without its end, which depends on what follows.
std::vector<std::string> forms_of(const std::string& secret) {
  const std::string encoded = to_base64(secret);
  return {secret,
          encoded.substr(0, encoded.find('=')),
          url_base64(secret),
          hexed(secret),
          percented(secret),
          escaped(secret)};
}

std::vector<std::string> all_forms() {
  std::vector<std::string> all;
  for (int i = 0; i < kSecrets; ++i) {
    for (std::string& form : forms_of(secret_of(i))) all.push_back(std::move(form));
  }
  return all;
}

void expect_none(const std::string& text, const std::string& where) {
  static const std::vector<std::string> forms = all_forms();
  ASSERT_EQ(forms.size(), std::size_t{6 * kSecrets});
  for (const std::string& form : forms) {
    EXPECT_EQ(text.find(form), std::string::npos) << where << " has " << form;
  }
}

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
