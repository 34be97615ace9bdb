// Commands that a model chooses, and ctags: real processes in a checkout and a sandbox.
#include "tiffany/agent/run_tool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "agent/repository.hpp"
#include "tiffany/agent/policy.hpp"
#include "tiffany/agent/symbols_tool.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::agent {
namespace run_tool_test {

using canvas_support::Repository;
using canvas_support::Scratch;
using canvas_support::thrown_by;

class RunToolTest : public testing::Test {
 protected:
  RunToolTest()
      : commands_(scratch_ / "commands", TIFFANY_RUN), workshop_(commands_, scratch_ / "work") {
    add_run_tool(tools_, workshop_);
    add_symbols_tool(tools_, workshop_);
    where_.task = Uuid::derived(Uuid(), "task");
    where_.repository = repository_.path();
    keep(Canvas::open(repository_.path(), "main"));
  }
  void keep(Canvas canvas) { where_.canvas = canvas.keep(where_.task.text()); }
  ToolAnswer call(const std::string& name, const std::string& arguments) {
    Tool& tool = *tools_.find(name);
    ToolAnswer answer;
    EXPECT_EQ(tool.mistake_in(arguments), "") << arguments;
    where_.key = "key" + std::to_string(++calls_);
    Scheduler scheduler(Options().clock(system_reactor()));
    const auto program = [&]() -> Task<void> { answer = co_await tool.run(where_, arguments); };
    scheduler.spawn(program);
    scheduler.run();
    return answer;
  }
  bool refuses(const std::string& name, const std::string& arguments) const {
    return !tools_.find(name)->mistake_in(arguments).empty();
  }

  Scratch scratch_;
  Repository repository_;
  exec::Commands commands_;
  Workshop workshop_;
  ToolSet tools_;
  ToolContext where_;
  int calls_ = 0;
};

TEST_F(RunToolTest, RunsTheWordsAsTheyAreInASandboxAndTakesBackWhatTheyChanged) {
  const std::string outside = scratch_ / "outside";
  const ToolAnswer words = call("run", R"({"argv":["printf","%s|","$HOME","a b; touch x","*"]})");
  EXPECT_EQ(words.text, "$HOME|a b; touch x|*|") << "no shell";
  EXPECT_EQ(words.level, 2);
  EXPECT_EQ(words.canvas, where_.canvas);
  const ToolAnswer made =
      call("run", R"({"argv":["sh","-c","echo new > made; echo x > )" + outside + R"("]})");
  EXPECT_TRUE(made.failed) << "outside";
  EXPECT_FALSE(std::filesystem::exists(outside));
  EXPECT_EQ(Canvas::reopen(repository_.path(), made.canvas).read("made").bytes, "new\n");
  EXPECT_EQ(repository_.git("status --short"), "") << "the working tree is as it was";
  const ToolAnswer network =
      call("run", R"({"argv":["bash","-c","exec 3<>/dev/tcp/127.0.0.1/9 || echo no network"]})");
  EXPECT_NE(network.text.find("no network"), std::string::npos) << network.text;
  EXPECT_EQ(network.text.find("refused"), std::string::npos) << "not even asked: " << network.text;
  const ToolAnswer link = call("run", R"({"argv":["sh","-c","echo x > y; ln -s /etc out"]})");
  EXPECT_TRUE(link.failed);
  EXPECT_NE(link.text.find("is a link to '/etc'"), std::string::npos) << "told: " << link.text;
  EXPECT_EQ(link.canvas, where_.canvas) << "all or nothing";
  const ToolAnswer none = call("run", R"({"argv":["no-such-program"]})");
  EXPECT_TRUE(none.failed);
  EXPECT_NE(none.text.find("no-such-program"), std::string::npos) << none.text;
}

TEST_F(RunToolTest, WordsThatNoCommandCanHaveAreRefusedBeforeAnybodyIsAsked) {
  for (const char* const bad :
       {R"({})", R"({"argv":[]})", R"({"argv":"ls"})", R"({"argv":[""]})", R"({"argv":["a",1]})",
        R"({"argv":["a\u0000b"]})", R"({"argv":["a"],"cwd":"/"})", R"([])", R"({"argv":null})"}) {
    EXPECT_TRUE(refuses("run", bad)) << bad;
  }
  EXPECT_TRUE(refuses("run", R"({"argv":["x",")" + std::string(200'000, 'a') + R"("]})"));
  EXPECT_FALSE(refuses("run", R"({"argv":["ls","-l"]})"));
}

TEST_F(RunToolTest, AsksUnlessAllowedAndNeverRunsBelowLevelTwo) {
  const ToolTraits& traits = tools_.find("run")->traits();
  EXPECT_EQ(decide(Policy(), "run", traits, Exposure(), false).ruling, Ruling::ask);
  Policy allows;
  allows.rules.push_back({"run", Ruling::allow});
  EXPECT_EQ(decide(allows, "run", traits, Exposure(), false).ruling, Ruling::allow);
  EXPECT_EQ(traits.level, 2);
  EXPECT_FALSE(traits.writes_outside);
  EXPECT_TRUE(traits.untrusted);
  ToolSet others;
  for (const int level : {0, 1, 4, -1}) {
    RunOptions options;
    options.sandbox = level;
    EXPECT_EQ(thrown_by([&] { add_run_tool(others, workshop_, options); }).code, Errc::bad_tool);
  }
  RunOptions pure;
  pure.effect = ToolEffect::pure;
  EXPECT_EQ(thrown_by([&] { add_run_tool(others, workshop_, pure); }).code, Errc::bad_tool);
  RunOptions up;
  up.reads = {"../secrets"};
  EXPECT_EQ(thrown_by([&] { add_run_tool(others, workshop_, up); }).code, Errc::bad_tool);
  RunOptions reads;
  reads.reads = {"/opt/toolchain"};
  add_run_tool(others, workshop_, reads);
  EXPECT_TRUE(others.find("run")->traits().reads_private);
  EXPECT_NE(others.find("run")->traits().pin, traits.pin) << "another tool, another approval";
}

TEST_F(RunToolTest, SymbolsAreFoundByNameByScopeAndByFile) {
  if (std::system("ctags --version 2>/dev/null | grep -q Universal") != 0) {
    GTEST_SKIP() << "no universal-ctags";
  }
  Canvas canvas = Canvas::open(repository_.path(), "main");
  canvas.write("a.cpp", "class Cart {\n int total(int n) { return n; }\n};\n");
  canvas.write("-rf.cpp", "class Till {\n int total() { return 1; }\n};\nint uses = 1;\n");
  canvas.write("b.py", "class Cart:\n    def total(self):\n        pass\n");
  // Options of the repository would make ctags do what it likes.
  canvas.write(".ctags.d/evil.ctags", "--exclude=a.cpp\n--regex-C++=/uses/total/f/\n");
  canvas.write(".ctags", "--exclude=a.cpp\n");
  keep(std::move(canvas));
  const ToolAnswer all = call("symbols", R"({"name":"total"})");
  EXPECT_FALSE(all.failed) << all.text;
  EXPECT_EQ(all.level, 2);
  EXPECT_EQ(all.text,
            "-rf.cpp:2: function Till::total()\na.cpp:2: function Cart::total(int n)\n"
            "b.py:2: member Cart::total(self)\nsrc/cart.cpp:1: variable total\n");
  EXPECT_EQ(call("symbols", R"({"name":"Cart::total","path":"a.cpp"})").text,
            "a.cpp:2: function Cart::total(int n)\n");
  EXPECT_EQ(call("symbols", R"({"name":"Cart.total","path":null})").text,
            "a.cpp:2: function Cart::total(int n)\nb.py:2: member Cart::total(self)\n");
  EXPECT_EQ(call("symbols", R"({"path":"./src"})").text,
            "src/cart.cpp:1: variable total\nsrc/cart.cpp:2: variable count\n"
            "src/cart.cpp:3: variable all\n");
  EXPECT_EQ(call("symbols", R"({"name":"nowhere_at_all"})").text,
            "No definition was found. `search` finds where a text is used.\n");
  EXPECT_TRUE(call("symbols", R"({"path":"no/such"})").failed);
  for (const char* const bad : {"{}", R"({"name":""})", R"({"name":"::"})", R"({"name":1})",
                                R"({"path":"."})", R"({"name":null,"path":null})"}) {
    EXPECT_TRUE(refuses("symbols", bad)) << bad;
  }
  where_.repository.clear();
  EXPECT_TRUE(call("symbols", R"({"name":"x"})").failed);
}

// Stands in for a machine without ctags, and for a ctags that says odd things.
class FakeCommands final : public exec::CommandRunner {
 public:
  Task<exec::CommandResult> run(Uuid, exec::CommandSpec spec) override {
    asked = std::move(spec);
    if (no_sandbox) throw Error(Errc::sandbox_missing, "This machine has no Landlock.");
    co_return end;
  }
  Task<void> stop(Uuid) override { co_return; }
  Task<std::string> read(Uuid, exec::CommandFile which, std::size_t) override {
    co_return which == exec::CommandFile::out ? out : "";
  }
  std::string path(const Uuid&, exec::CommandFile) const override { return ""; }
  bool no_sandbox = false;
  exec::CommandSpec asked;
  exec::CommandResult end;
  std::string out;
};

TEST_F(RunToolTest, AMachineWithoutTheSandboxIsASentenceForTheModelAndNothingIsRun) {
  FakeCommands fake;
  fake.no_sandbox = true;
  Workshop workshop(fake, scratch_ / "other");
  tools_ = ToolSet();
  add_run_tool(tools_, workshop);
  add_symbols_tool(tools_, workshop);
  for (const auto& [name, arguments] : std::initializer_list<std::pair<const char*, const char*>>{
           {"run", R"({"argv":["true"]})"}, {"symbols", R"({"name":"total"})"}}) {
    const ToolAnswer answer = call(name, arguments);
    EXPECT_TRUE(answer.failed);
    EXPECT_NE(answer.text.find("This machine has no Landlock."), std::string::npos) << answer.text;
    EXPECT_EQ(answer.level, 0);
    EXPECT_EQ(answer.canvas, where_.canvas);
  }
}

TEST_F(RunToolTest, WithoutCtagsItSaysSoAndWhatIsNoJsonIsNoDefinition) {
  FakeCommands fake;
  Workshop workshop(fake, scratch_ / "other");
  tools_ = ToolSet();
  add_symbols_tool(tools_, workshop);
  fake.end.end = exec::CommandEnd::not_started;
  const ToolAnswer missing = call("symbols", R"({"name":"total"})");
  EXPECT_TRUE(missing.failed);
  EXPECT_NE(missing.text.find("universal-ctags is not installed"), std::string::npos);
  EXPECT_EQ(fake.asked.argv.at(1), "--options=NONE");
  EXPECT_FALSE(fake.asked.sandbox->directory_writable);
  fake.end.end = exec::CommandEnd::exited;
  fake.out =
      "{\"name\": \"total\", \"path\": \"./a\", \"line\": 3, \"kind\": \"fu\\u0007nc\"}\n"
      "{\"name\": \"total\"}\nno json\n[1]\n{\"name\": 5, \"path\": [], \"line\": \"x\"}\n"
      "{\"name\": \"total\", \"path\": \"b\", \"line\": 1e99}\n{\"name\": \"tot";
  EXPECT_EQ(call("symbols", R"({"name":"total"})").text, "a:3: fu nc total\n");
  fake.out.clear();
  for (int i = 0; i < 5000; ++i) {
    fake.out += "{\"name\": \"total\", \"path\": \"f\", \"line\": " + std::to_string(i) +
                ", \"kind\": \"function\", \"signature\": \"" + std::string(500, 'x') + "\"}\n";
  }
  const std::string many = call("symbols", R"({"name":"total"})").text;
  EXPECT_LT(many.size(), 66'000U);
  EXPECT_NE(many.find("(there are more: give a path)"), std::string::npos);
}

}  // namespace run_tool_test
}  // namespace tiffany::agent
