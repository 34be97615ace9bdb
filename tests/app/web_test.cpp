// The dashboard as the daemon serves it, and what its views ask of the list of tasks.
#include "app/daemon_process.hpp"

#include <fstream>

namespace tiffany::daemon_tests {
namespace web_test {

class Web : public ::testing::Test {
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
  static http::Response file(const std::string& path, const std::string& method = "GET") {
    return ask(daemon_->tcp(), http::Request(method, path));
  }
  static std::string start(const std::string& more) {
    const std::string body = R"({"type":"order","arguments":[{"id":"w","amount":5000}])" + more;
    const http::Response made = post(daemon_->socket(), "/tasks", body + "}");
    EXPECT_EQ(made.status, 201) << made.body;
    return member_of(made.body, "id");
  }
  static std::size_t found(const std::string& query) {
    const http::Response page = get(daemon_->socket(), "/tasks?" + query);
    EXPECT_EQ(page.status, 200) << page.body;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = page.body.find(R"("id":)", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  }
  static std::string header(const http::Response& response, std::string_view name) {
    return std::string(response.headers.find(name).value_or(""));
  }

  static TempDirectory* directory_;
  static DaemonProcess* daemon_;
};
TempDirectory* Web::directory_ = nullptr;
DaemonProcess* Web::daemon_ = nullptr;

TEST_F(Web, ThePageAndItsFilesNeedNoTokenAndHaveStrictHeaders) {
  const http::Response page = file("/");
  ASSERT_EQ(page.status, 200) << page.body;
  EXPECT_EQ(header(page, "content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(header(page, "cache-control"), "no-cache");
  EXPECT_EQ(header(page, "x-content-type-options"), "nosniff");
  const std::string policy = header(page, "content-security-policy");
  EXPECT_EQ(policy.find("default-src 'self';"), 0u) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
  EXPECT_EQ(page.body.find("://"), std::string::npos) << "all that the page loads is its own";
  const std::size_t at = page.body.find("/assets/main-");
  ASSERT_NE(at, std::string::npos) << page.body;
  const http::Response script = file(page.body.substr(at, page.body.find('"', at) - at));
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(header(script, "content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(header(script, "cache-control"), "public, max-age=31536000, immutable");
  EXPECT_GT(script.body.size(), 50'000u);
  EXPECT_EQ(file("/", "POST").status, 405);
  http::Request other("GET", "/");
  other.headers.set("host", "evil.example");
  EXPECT_EQ(ask(daemon_->tcp(), other).status, 403) << "a name that was made to point here";
}

TEST_F(Web, APathThatIsNoFileOfTheDashboardIsRefused) {
  for (const char* path : {"/assets/", "/assets/none.js", "/assets/../tokens.json", "/assets/.html",
                           "/assets/%2e%2e/tokens.json", "/assets/x/../main.js", "/assets/a\\b.js",
                           "/index.html", "/assets/admin.token"}) {
    EXPECT_EQ(file(path).status, 404) << path;
  }
}

TEST_F(Web, ADirectoryCanBeServedInsteadAndNothingBesideIt) {
  const TempDirectory data;
  const TempDirectory files;
  std::ofstream(files.path() + "/app.js") << "new";
  std::ofstream(files.path() + "/secret.txt") << "secret";
  const DaemonProcess daemon(data.path(), {"--web-root", files.path()});
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const http::Response absent = ask(daemon.tcp(), http::Request("GET", "/"));
  EXPECT_EQ(absent.status, 404);
  EXPECT_NE(absent.body.find("web_root"), std::string::npos) << absent.body;
  std::ofstream(files.path() + "/index.html") << "page";
  EXPECT_EQ(ask(daemon.tcp(), http::Request("GET", "/")).body, "page");
  EXPECT_EQ(ask(daemon.tcp(), http::Request("GET", "/assets/app.js")).body, "new");
  EXPECT_EQ(ask(daemon.tcp(), http::Request("GET", "/assets/secret.txt")).status, 404);
  EXPECT_EQ(ask(daemon.tcp(), http::Request("GET", "/assets/../secret.js")).status, 404);
}

TEST_F(Web, TasksAreFoundByWhatTheirStartSaidNewestFirst) {
  const std::string first = start(R"(,"key":"k1","attributes":{"customer":"Ada","vip":true})");
  const std::string second = start(R"(,"key":"k2","attributes":{"customer":"Ada"})");
  EXPECT_EQ(found("type=order"), 2u);
  EXPECT_EQ(found("type=other"), 0u);
  EXPECT_EQ(found("key=k1&type=order"), 1u);
  EXPECT_EQ(found("attribute=customer:Ada"), 2u);
  EXPECT_EQ(found("attribute=vip:true"), 1u);
  EXPECT_EQ(found("parent=" + first), 0u);
  const std::string newest = get(daemon_->socket(), "/tasks?order=newest&limit=1").body;
  EXPECT_EQ(member_of(newest, "id"), second) << newest;
  const std::string older = "/tasks?order=newest&limit=1&after=" + member_of(newest, "next");
  EXPECT_EQ(member_of(get(daemon_->socket(), older).body, "id"), first);
  EXPECT_EQ(get(daemon_->socket(), "/tasks?order=up").status, 400);
  EXPECT_EQ(get(daemon_->socket(), "/tasks?parent=x").status, 400);
  EXPECT_NE(get(daemon_->socket(), "/tasks/" + first).body.find(R"("records":)"),
            std::string::npos);
}

}  // namespace web_test
}  // namespace tiffany::daemon_tests
