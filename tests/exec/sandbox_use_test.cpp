// What works in a sandbox, what is refused before a command begins, and how commands end in one.
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "exec/exec_world.hpp"

namespace tiffany {
namespace sandbox_use_test {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;
using exec::Sandbox;
using exec::SandboxProbe;

class InSandbox : public ExecTest, public testing::WithParamInterface<int> {
 public:
  InSandbox() { std::filesystem::create_directories(at("inside")); }

  static SandboxProbe probe() {
    exec::Commands all("", TIFFANY_RUN);
    SandboxProbe found;
    program([&]() -> Task<void> { found = co_await all.probe_sandbox(); });
    return found;
  }
  CommandSpec script(int level, const std::string& text) const {
    CommandSpec spec = shell(text);
    spec.directory = at("inside");
    spec.synced = false;
    spec.grace_ms = 200;
    spec.sandbox = Sandbox(level);
    if (level >= 2) return spec;
    for (const char* const name : {"TMPDIR", "HOME"}) {  // not those of whoever runs the tests
      std::filesystem::create_directories(at("own"));
      spec.environment.emplace_back(name, at("own"));
    }
    return spec;
  }
  CommandResult run_script(int level, const std::string& text) const {
    return run(kId, script(level, text));
  }
  std::string out() const { return text_of(file_of(kId, "out")); }
  std::string err() const { return text_of(file_of(kId, "err")); }

  // The code of the refusal, and its sentence.
  std::pair<Errc, std::string> refusal_of(const CommandSpec& spec) const {
    try {
      run(kId, spec);
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {Errc::task_cancelled, "it was not refused"};
  }
  bool has_begun() const { return std::filesystem::exists(file_of(kId, "supervisor")); }

  const Uuid kId = id_of("a command");
};

class AtLevel : public InSandbox {
 protected:
  void SetUp() override {
    static const int highest = probe().level;
    if (highest < GetParam()) GTEST_SKIP() << "this machine does not give it";
  }
};
INSTANTIATE_TEST_SUITE_P(Sandbox, AtLevel, testing::Values(1, 2, 3),
                         [](const testing::TestParamInfo<int>& level) {
                           return "Level" + std::to_string(level.param);
                         });

TEST_P(AtLevel, WhatACommandDoesInItsDirectoryWorks) {
  const CommandResult end = run_script(GetParam(), R"sh(set -e
    echo one > a; chmod 750 a; test -x a; cp -p a b; mkdir d e; mv b d/b; mv d/b e/; ln -s a l
    ln a h; touch -d @86400 a; test "$(stat -c %Y h)" = 86400; chown "$(id -u)" a; rm -r d e l
    mktemp > /dev/null; echo two > "$TMPDIR/x"; mkdir -p "$HOME/y/z"; echo z > "$HOME/y/z/z"
    echo x | cat > /dev/null; head -c 4 /dev/urandom > r; (sleep 0; exit 3) || echo child $?
    echo key=value > "$TIFFANY_OUTPUT"; nproc > /dev/null; ls -l > /dev/null)sh");
  EXPECT_EQ(end.text(), "exit code 0") << err();
  EXPECT_EQ(end.sandbox_level, GetParam());
  EXPECT_EQ(out(), "child 3\n");
  EXPECT_EQ(text_of(file_of(kId, "outputs")), "key=value\n");
}

TEST_P(AtLevel, NothingStaysInThePrivateDirectory) {
  if (GetParam() < 2) return;  // it has none
  const CommandResult end = run_script(
      GetParam(),
      "mkdir -p \"$HOME/a/b/c\"; echo > \"$HOME/a/b/x\"; chmod 0 \"$HOME/a/b/c\"; echo $HOME");
  EXPECT_TRUE(end.ok()) << err();
  EXPECT_EQ(out(), file_of(kId, "tmp") + "\n");
  EXPECT_FALSE(std::filesystem::exists(file_of(kId, "tmp/a")));
  EXPECT_FALSE(std::filesystem::exists(file_of(kId, "removed.1")));
}

TEST_P(AtLevel, TheEndOfACommandIsSaidAsWithoutASandbox) {
  EXPECT_EQ(run(id_of("code"), script(GetParam(), "exit 7")).text(), "exit code 7");
  EXPECT_EQ(run(id_of("signal"), script(GetParam(), "kill -11 $$")).text(), "killed by signal 11");
  CommandSpec missing = script(GetParam(), "");
  missing.argv = {"no-such-program"};
  missing.environment.emplace_back("PATH", "/usr/bin:/bin");  // that of root may be closed
  const CommandResult end = run(id_of("missing"), missing);
  EXPECT_EQ(end.end, CommandEnd::not_started);
  EXPECT_NE(end.why.find("No program of that name"), std::string::npos) << end.why;
}

TEST_P(AtLevel, ACommandThatIsStoppedHasItsGrace) {
  const Fifo begun(at("inside/begun"));
  const CommandSpec spec = script(
      GetParam(), "trap 'echo bye; exit 0' TERM; echo > begun; while :; do sleep 0.01; done");
  CommandResult end;
  program([&]() -> Task<void> {
    exec::Commands all = commands();
    auto running = spawn([&]() -> Task<CommandResult> { return all.run(kId, spec); });
    co_await offload([&] { return begun.line(); });
    co_await all.stop(kId);
    end = co_await running;
  });
  EXPECT_EQ(end.end, CommandEnd::stopped);
  EXPECT_EQ(out(), "bye\n");
}

TEST_P(AtLevel, WhatACommandLeavesBehindIsKilled) {
  CommandSpec spec = script(GetParam(),
                            "(trap '' TERM HUP; exec setsid sleep 1000) & "
                            "(setsid sh -c 'while :; do sleep 1000; done' &) ; exit 5");
  spec.environment = {{"A_MARK_OF", at("")}};
  EXPECT_EQ(run(kId, spec).code, 5);
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    EXPECT_EQ(text_of(each.path().string() + "/environ").find("A_MARK_OF=" + at("")),
              std::string::npos)
        << each.path();
  }
}

TEST_P(AtLevel, AProcessThatHeardNothingIsKilledAfterItsTime) {
  CommandSpec spec = script(GetParam(), "trap '' TERM; while :; do sleep 1; done");
  spec.timeout_ms = 50;
  spec.grace_ms = 20;
  EXPECT_EQ(run(kId, spec).end, CommandEnd::timed_out);
}

TEST_P(AtLevel, NoDescriptorIsInheritedThatTheProgramLeftOpen) {
  const std::string list = "ls /proc/$$/fd/9 2> /dev/null || echo closed";
  const auto begin = [&](const Uuid& id, const CommandSpec& spec) {
    put(at("spec"), to_json(spec));
    const std::string call = std::string(TIFFANY_RUN) + " begin " + commands_at() + "/" +
                             id.text() + " < " + at("spec") + " 9< /dev/zero";
    EXPECT_EQ(std::system(call.c_str()), 0);
    run(id, spec);
    return text_of(file_of(id, "out"));
  };
  CommandSpec without = script(0, list);
  EXPECT_NE(begin(id_of("without"), without), "closed\n");
  EXPECT_EQ(begin(kId, script(GetParam(), list)), "closed\n");
}

using Refused = InSandbox;

TEST_F(Refused, ALevelThatTheMachineCannotGiveBeforeTheCommandBegins) {
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  setenv("PATH", "/nowhere", 1);
  const auto [code, sentence] = refusal_of(script(3, "touch begun"));
  EXPECT_EQ(code, Errc::sandbox_missing);
  EXPECT_NE(sentence.find("install bubblewrap"), std::string::npos) << sentence;
  EXPECT_FALSE(has_begun());
  EXPECT_FALSE(std::filesystem::exists(at("inside/begun")));
  // The same without a forker: the path of its socket is too long.
  const std::string deep = at(std::string(120, 'd'));
  exec::Commands all(deep, TIFFANY_RUN);
  try {
    program([&]() -> Task<void> {
      static_cast<void>(co_await all.run(kId, script(3, "touch begun")));
    });
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::sandbox_missing) << error.what();
  }
  setenv("PATH", before.c_str(), 1);
  // It may begin where it can be given.
  if (probe().level >= 3) {
    EXPECT_TRUE(run(kId, script(3, "touch begun")).ok());
  }
}

TEST_F(Refused, ABwrapThatCannotMakeItsNamespacesIsNamedWithWhatItSays) {
  put(at("bin/bwrap"), "#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n");
  std::filesystem::permissions(at("bin/bwrap"), std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  setenv("PATH", at("bin").c_str(), 1);
  const auto [code, sentence] = refusal_of(script(3, "true"));
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(code, Errc::sandbox_missing);
  EXPECT_NE(sentence.find("No permissions to create new namespace"), std::string::npos) << sentence;
}

TEST_F(Refused, ASandboxThatMakesNoSense) {
  EXPECT_EQ(refusal_of(script(4, "true")).first, Errc::bad_argument);
  EXPECT_EQ(refusal_of(script(-1, "true")).first, Errc::bad_argument);
  CommandSpec spec = script(2, "true");
  spec.directory = "";
  EXPECT_EQ(refusal_of(spec).first, Errc::bad_argument);
  spec.directory = "/";
  EXPECT_EQ(refusal_of(spec).first, Errc::bad_argument);
  spec = script(2, "true");
  spec.sandbox->read = {""};
  EXPECT_EQ(refusal_of(spec).first, Errc::bad_argument);
}

TEST_F(Refused, APathThatIsNotThereAndOneThatHasTheRecordsOfCommands) {
  CommandSpec spec = script(2, "true");
  spec.sandbox->read = {"nowhere"};
  const auto [code, sentence] = refusal_of(spec);
  EXPECT_EQ(code, Errc::command_failed);
  EXPECT_NE(sentence.find(at("inside/nowhere")), std::string::npos) << sentence;
  for (const std::string& path : {std::string("/"), at(""), commands_at()}) {
    spec = script(2, "true");
    spec.sandbox->write = {path};
    const auto [other, reason] = refusal_of(spec);
    EXPECT_EQ(other, Errc::command_failed) << path;
    EXPECT_NE(reason.find("records of commands"), std::string::npos) << reason;
  }
  std::filesystem::create_symlink(at(""), at("inside/link"));
  spec.sandbox->write = {"link"};
  EXPECT_EQ(refusal_of(spec).first, Errc::command_failed);
}

TEST_F(Refused, AnotherSandboxUnderTheSameId) {
  EXPECT_TRUE(run_script(1, "true").ok());
  EXPECT_EQ(refusal_of(script(0, "true")).first, Errc::command_conflict);
}

class AtLevelTwo : public InSandbox {
  void SetUp() override {
    if (probe().level < 2) GTEST_SKIP() << "this machine does not give it";
  }
};

TEST_F(AtLevelTwo, PathsThatAreNamedMayBeReadOrWritten) {
  put(at("shelf/book"), "words\n");
  put(at("desk/paper"), "");
  CommandSpec spec = script(2,
                            "cat ../shelf/book && echo more > ../desk/paper && "
                            "! touch ../shelf/new 2> /dev/null && ! touch here 2> /dev/null");
  spec.sandbox->read = {at("shelf")};
  spec.sandbox->write = {"../desk"};
  spec.sandbox->directory_writable = false;
  EXPECT_EQ(run(kId, spec).text(), "exit code 0") << err();
  EXPECT_EQ(out(), "words\n");
  EXPECT_EQ(text_of(at("desk/paper")), "more\n");
}

// A shell does not go on behind a program that it may not start.
TEST_F(AtLevelTwo, ThePathHasOnlyDirectoriesThatTheCommandCanRead) {
  const std::string before = std::getenv("PATH");
  std::filesystem::create_directories(at("hidden"));
  std::filesystem::copy("/bin/false", at("hidden/true"));
  setenv("PATH", (at("hidden") + ":/usr/bin:/bin:/root/bin").c_str(), 1);
  CommandSpec spec = script(2, "sh -c 'echo $PATH; /usr/bin/env true'");
  EXPECT_EQ(run(kId, spec).text(), "exit code 0") << err();
  EXPECT_EQ(out(), "/usr/bin:/bin\n");
  spec.environment = {{"PATH", "/usr/bin:/mine"}};  // is taken as it is
  EXPECT_TRUE(run(id_of("given"), spec).ok());
  EXPECT_EQ(text_of(file_of(id_of("given"), "out")), "/usr/bin:/mine\n");
  setenv("PATH", before.c_str(), 1);
}

// A question to the supervisor would end with EINTR, and a shell says "Cannot fork".
TEST_F(AtLevelTwo, NoForkIsInterruptedByTheEndOfAChild) {
  const CommandResult end = run_script(
      2, "trap : CHLD; i=0; while [ $i -lt 60 ]; do true & i=$((i+1)); done; wait; echo all");
  EXPECT_EQ(end.text(), "exit code 0") << err();
}

TEST_F(AtLevelTwo, AProgramOutsideOfTheSandboxIsNotStartedAndTheReasonIsSaid) {
  std::filesystem::create_directories(at("programs"));
  std::filesystem::copy("/bin/true", at("programs/mine"));
  CommandSpec spec = script(2, "");
  spec.argv = {at("programs/mine")};
  const CommandResult end = run(kId, spec);
  EXPECT_EQ(end.end, CommandEnd::not_started);
  EXPECT_NE(end.why.find("Sandbox::read"), std::string::npos) << end.why;
}

TEST_F(AtLevelTwo, ACommandMaySignalItsOwnProcessesOnAnOlderKernel) {
  setenv("TIFFANY_TEST_LANDLOCK_ABI", "5", 1);
  const CommandResult end = run_script(
      2, "sleep 1000 & kill $! && { wait $!; [ $? = 143 ]; } && ! kill -0 1 && renice 3 $$");
  unsetenv("TIFFANY_TEST_LANDLOCK_ABI");
  EXPECT_EQ(end.text(), "exit code 0") << err();
}

TEST(SandboxText, ASpecAndAnEndOfAnOlderProgramHaveNoSandbox) {
  std::string text = to_json(CommandSpec({"true"}));
  text.replace(text.find(R"(,"sandbox":null)"), 15, "");
  EXPECT_EQ(from_json<CommandSpec>(text).sandbox_level(), 0);
  text = to_json(CommandResult());
  text.replace(text.find(R"(,"sandbox_level":0)"), 18, "");
  EXPECT_EQ(from_json<CommandResult>(text).sandbox_level, 0);
  const auto short_one = from_json<Sandbox>(R"({"level":3})");
  EXPECT_TRUE(short_one.directory_writable);
  EXPECT_FALSE(short_one.network);
}

}  // namespace sandbox_use_test
}  // namespace tiffany
