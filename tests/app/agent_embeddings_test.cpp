// A daemon whose notes are embedded by an endpoint, from a shell and over the API.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "app/agents_daemon.hpp"
#include "tiffany/agent/scripted_model.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/engine/run.hpp"

namespace tiffany::daemon_tests {
namespace agent_embeddings_test {

using agent::canvas_support::shell;
using agent::canvas_support::write_file;

// A scripted model in a process of its own, which ends with the test.
class ScriptedProcess {
 public:
  explicit ScriptedProcess(const std::string& script) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) serve(script, ends[1]);
    char room[64] = {};
    const auto size = read(ends[0], room, sizeof room);
    url_ = "http://127.0.0.1:" + std::string(room, size > 0 ? static_cast<std::size_t>(size) : 0);
    close(ends[0]);
    close(ends[1]);
  }
  ~ScriptedProcess() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  ScriptedProcess(const ScriptedProcess&) = delete;
  ScriptedProcess& operator=(const ScriptedProcess&) = delete;
  const std::string& url() const { return url_; }

 private:
  [[noreturn]] static void serve(const std::string& script, int told) {
    agent::ScriptedModel model(agent::Script::parse(script));
    const auto program = [&]() -> Task<void> {
      Listener listener = Listener::bind(Address::loopback(0));
      const std::string port = std::to_string(listener.local().port());
      if (write(told, port.data(), port.size()) < 0) std::_Exit(1);
      co_await model.serve(listener);
    };
    Scheduler scheduler;
    run_on(scheduler, program());
    std::_Exit(0);
  }
  pid_t process_ = -1;
  std::string url_;
};

// The secret must not reach the endpoint: there it would be a failure.
constexpr const char* kFaults =
    R"({"embeddings":[{"when":{"contains":"hunter22"},"fault":500},
        {"when":{"contains":"refuse me"},"fault":400},
        {"when":{"contains":"Later","model":"words"},"fault":500,"times":2}]})";

class AgentEmbeddings : public AgentsDaemonTest {
 protected:
  AgentEmbeddings() {
    shell("git init -q -b main " + at("repo") + " && cd " + at("repo") +
          " && git commit -q --allow-empty -m first");
  }
  void members(const std::string& more) const { agents("{" + more + "}"); }
  void embeddings(const std::string& model, const std::string& more = "") const {
    members(R"("memory":"memory.db","secrets":[{"name":"K","file":"key"}],"embeddings":{"url":")" +
            endpoint_.url() + R"(","model":")" + model + "\"" + more + "}");
  }
  // The transcript of an agent that remembers these.
  std::string remember(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& each : texts) {
      all += (all.empty() ? "" : ",") +
             (R"({"name":"remember","arguments":{"text":)" + to_json(each) + "}}");
    }
    write_file(at("script.json"),
               R"([{"reply":{"calls":[)" + all + R"(]}},{"reply":{"text":"Done"}}])");
    const CliSaid done =
        depot("agent Go. -o json --repo " + at("repo") + " --script " + at("script.json"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    return get(daemon_->socket(), "/tasks/" + member_of(done.out, "id") + "/transcript").body;
  }
  ScriptedProcess endpoint_{kFaults};
};

TEST_F(AgentEmbeddings, NotesGetVectorsLaterOnesTooAndAnotherModelBeginsAnew) {
  write_file(at("key"), "hunter22\n");
  embeddings("words");
  serve();
  ASSERT_TRUE(daemon_->running()) << daemon_->said();
  EXPECT_EQ(depot("memory embed").out, "0 notes embedded by words\n");
  const std::string said = remember(
      {"Tests need a display.", "The door is hunter22.", "Later it rains.", "Do not refuse me."});
  EXPECT_TRUE(has(said, "The door is ***.")) << said;
  std::size_t without = 0;
  for (std::size_t i = said.find("found by its words alone"); i != std::string::npos;
       i = said.find("found by its words alone", i + 1)) {
    ++without;
  }
  EXPECT_EQ(without, 2u) << said;
  // The last of them: only a vector has what has no word in common with it.
  const std::string found = get(daemon_->socket(), "/memory?query=hunter22%20unheard").body;
  EXPECT_FALSE(has(found, "without_vector")) << found;
  EXPECT_TRUE(has(get(daemon_->socket(), "/memory?query=Later").body, "it rains"));

  const CliSaid filled = depot("memory embed");
  EXPECT_EQ(filled.status, 1);
  EXPECT_EQ(filled.out, "1 notes embedded by words\n") << filled.err;
  EXPECT_TRUE(has(filled.err, "1 notes were refused") && has(filled.err, "answered 400"))
      << filled.err;
  const std::string again = depot("memory embed -o json").out;
  EXPECT_TRUE(has(again, R"("embedded":0,"refused":1,"left":1)")) << again;
  EXPECT_TRUE(has(depot("audit").out, "/memory/embed")) << depot("audit").out;

  embeddings("more-words", R"(,"dimensions":32,"deadline_s":5)");
  serve();
  ASSERT_TRUE(daemon_->running()) << daemon_->said();
  EXPECT_EQ(depot("memory embed").out, "3 notes embedded by more-words\n");

  const CliSaid token = depot("tokens create looks --role viewer");
  http::Request request("POST", "/api/v1/memory/embed");
  request.headers.set("authorization", "Bearer " + token.out.substr(0, token.out.find('\n')));
  EXPECT_EQ(ask(daemon_->tcp(), request).status, 403) << "a viewer looks";
  EXPECT_EQ(depot("memory embed extra").status, 2);
}

TEST_F(AgentEmbeddings, AnEndpointThatIsNotThereStopsNothing) {
  members(R"("memory":"memory.db","embeddings":{"url":"http://127.0.0.1:1/v1","model":"m"})");
  serve();
  ASSERT_TRUE(daemon_->running()) << daemon_->said();
  const std::string said = remember({"Tests need a display."});
  EXPECT_TRUE(has(said, "found by its words alone") && !has(said, "127.0.0.1:1")) << said;
  const CliSaid found = depot("memory recall display");
  EXPECT_TRUE(has(found.out, "Tests need a display.")) << found.out;
  EXPECT_TRUE(has(found.err, "found by words alone")) << found.err;
  const CliSaid none = depot("memory embed");
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(has(none.err, "127.0.0.1:1")) << none.err;
}

TEST_F(AgentEmbeddings, MistakesInTheFileAreNamed) {
  members(R"("embeddings":{"url":"http://127.0.0.1:1","model":"m"})");
  EXPECT_TRUE(has(refused(), "embeddings are for the memory, and the file names no `memory`"));
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& each :
       {Case{R"({"model":"m"})", "embeddings has no \"url\""},
        Case{R"({"url":"http://127.0.0.1:1"})", "embeddings has no \"model\""},
        Case{R"({"url":"http://x","model":"m","dimensions":5000})", "from 1 to 4096"},
        Case{R"({"url":"http://x","model":"m","protocol":"chat"})", "nobody knows"},
        Case{R"({"url":"http://x","model":"m","key":"sk-1234"})", "does not belong into"}}) {
    members(R"("memory":"memory.db","embeddings":)" + std::string(each.text));
    const std::string said = refused();
    EXPECT_TRUE(has(said, each.part)) << each.text << said;
    EXPECT_FALSE(has(said, "sk-1234")) << said;
  }
}

}  // namespace agent_embeddings_test
}  // namespace tiffany::daemon_tests
