// Files that a command leaves, and those that it must not be able to take out with them.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "exec/exec_world.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany {
namespace artifacts_test {

using exec::CommandResult;
using exec::CommandSpec;

const Uuid kId = ExecTest::id_of("leaves files");

class Artifacts : public ExecTest {
 protected:
  CommandSpec leaving(const std::string& script, std::vector<std::string> patterns) {
    std::filesystem::create_directories(at("work"));
    CommandSpec spec = shell(script);
    spec.directory = at("work");
    spec.artifacts = std::move(patterns);
    return spec;
  }
  static std::string names_of(const CommandResult& end) {
    std::string all;
    for (const exec::Artifact& each : end.artifacts) all += each.name + " ";
    return all;
  }
  std::string kept(const CommandResult& end) const {
    std::string all;
    for (std::size_t i = 0; i < end.artifacts.size(); ++i) {
      all += text_of(commands().artifact_path(kId, i)) + "|";
    }
    return all;
  }
};

TEST_F(Artifacts, FilesThatMatchAreKeptInTheOrderOfTheirNamesWithSizeAndDigest) {
  const CommandResult end =
      run(kId, leaving("mkdir -p dist/sub; printf b > dist/b.tar; printf aa > dist/a.tar; "
                       "printf c > dist/sub/c.tar; printf x > dist/x.txt; printf h > dist/.h.tar",
                       {"dist/*.tar", "dist/*/c.tar", "dist/a.tar"}));
  EXPECT_EQ(end.artifact_problem, "");
  EXPECT_EQ(names_of(end), "dist/a.tar dist/b.tar dist/sub/c.tar ");
  EXPECT_EQ(kept(end), "aa|b|c|");
  EXPECT_EQ(end.artifacts[0].size, 2u);
  EXPECT_EQ(end.artifacts[0].sha256, sha256_hex("aa"));
  EXPECT_EQ(commands().end_of(kId)->artifacts.size(), 3u);
}

TEST_F(Artifacts, WhatIsKeptStaysAsItWasWhenTheCommandEnded) {
  const CommandResult end = run(kId, leaving("printf old > a", {"a"}));
  put(at("work/a"), "new");
  EXPECT_EQ(kept(end), "old|");
}

TEST_F(Artifacts, AFileThatWasNamedAndIsNotThereIsAProblem) {
  const CommandResult end = run(kId, leaving("true", {"missing", "*.none"}));
  EXPECT_NE(end.artifact_problem.find("left no file \"missing\""), std::string::npos);
  EXPECT_NE(end.artifact_problem.find("left no file \"*.none\""), std::string::npos);
}

TEST_F(Artifacts, NoPathLeadsOutOfTheDirectory) {
  put(at("outside"), "secret");
  const CommandResult end =
      run(kId, leaving("mkdir d; ln -s .. up; ln -s ../outside link; ln -s /etc etc",
                       {"../outside", "d/../../outside", "/etc/passwd", "link", "up/outside",
                        "etc/passwd", "*/outside", "l*", "..*", "d//x", ""}));
  EXPECT_EQ(names_of(end), "");
  EXPECT_EQ(kept(end), "");
  EXPECT_NE(end.artifact_problem.find("\"link\" was not kept: is a symbolic link"),
            std::string::npos)
      << end.artifact_problem;
}

TEST_F(Artifacts, WhatIsNoPlainFileIsNotReadAndDoesNotHoldUpTheEnd) {
  const CommandResult end = run(kId, leaving("mkfifo pipe; mkdir dir; printf f > file", {"*"}));
  EXPECT_EQ(names_of(end), "file ");
  EXPECT_NE(end.artifact_problem.find("\"pipe\" is no plain file"), std::string::npos);
}

TEST_F(Artifacts, MoreBytesThanTheCapAreNotKeptAndTheOthersAre) {
  CommandSpec spec = leaving("head -c 2000 /dev/zero > big; printf s > small", {"big", "small"});
  spec.artifact_bytes = 1000;
  const CommandResult end = run(kId, spec);
  EXPECT_EQ(names_of(end), "small ");
  EXPECT_NE(end.artifact_problem.find("at most 1000 bytes"), std::string::npos);
}

TEST_F(Artifacts, NamesMayHaveAnythingThatAFileMayHave) {
  const CommandResult end = run(kId, leaving("printf 1 > 'a b\nc\"$(id)'", {"a*"}));
  EXPECT_EQ(names_of(end), "a b\nc\"$(id) ");
  EXPECT_EQ(kept(end), "1|");
}

TEST_F(Artifacts, ACommandThatFailedLeavesWhatItHas) {
  const CommandResult end = run(kId, leaving("printf log > log; exit 3", {"log", "never"}));
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(kept(end), "log|");
}

TEST_F(Artifacts, AreForgottenWithTheirCommand) {
  run(kId, leaving("printf a > a", {"a"}));
  program([&]() -> Task<void> {
    exec::Commands all = commands();
    co_await all.forget(kId);
  });
  EXPECT_FALSE(std::filesystem::exists(commands_at() + "/" + kId.text()));
}

}  // namespace artifacts_test
}  // namespace tiffany
