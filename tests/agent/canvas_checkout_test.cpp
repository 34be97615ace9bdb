#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agent/repository.hpp"
#include "tiffany/agent/canvas.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace canvas_checkout_test {

using namespace canvas_support;  // NOLINT(google-build-using-namespace)
using Paths = std::vector<std::string>;

class CanvasDirectory : public ::testing::Test {
 protected:
  CanvasDirectory() : canvas_(Canvas::open(repository_.path(), "main")) {}
  std::string at(const std::string& name) const { return repository_.beside("files/") + name; }
  void checkout() { canvas_.checkout(repository_.beside("files")); }
  TakenBack take_back() { return canvas_.take_back(repository_.beside("files")); }

  Repository repository_;
  Canvas canvas_;
};

TEST_F(CanvasDirectory, HasTheFilesOfTheCanvasAndNoGit) {
  canvas_.write("src/new.cpp", "new\r\n");
  checkout();
  auto wanted = everything_below(repository_.path());
  std::erase_if(wanted, [](const auto& each) { return each.first.starts_with(".git/"); });
  wanted.erase(".git");
  auto found = everything_below(repository_.beside("files"));
  EXPECT_NE(found["src/new.cpp"].find("new\r\n"), std::string::npos);
  found.erase("src/new.cpp");
  EXPECT_EQ(found, wanted);
  EXPECT_FALSE(take_back().any());
}

TEST_F(CanvasDirectory, IsMadeOrMustBeEmpty) {
  write_file(at("there"), "");
  EXPECT_TRUE(thrown_by([&] { checkout(); }).says("is not empty"));
  const Thrown thrown = thrown_by([&] { canvas_.checkout(repository_.beside("no/such/place")); });
  EXPECT_EQ(thrown.code, Errc::canvas_failed);
  EXPECT_TRUE(thrown.says("No such file")) << thrown.sentence;
  EXPECT_TRUE(thrown_by([&] {
                canvas_.take_back(repository_.beside("nowhere"));
              }).says("cannot be taken from"));
}

TEST_F(CanvasDirectory, OfABareRepositoryAndOfOneWithoutACommitWorksAsWell) {
  repository_.git("clone -q --bare . " + repository_.beside("bare.git"));
  Canvas bare = Canvas::open(repository_.beside("bare.git"), "main");
  bare.checkout(repository_.beside("of bare"));
  EXPECT_EQ(read_file(repository_.beside("of bare/README.md")), "# Shop\n");
  write_file(repository_.beside("of bare/more"), "more");
  EXPECT_EQ(bare.take_back(repository_.beside("of bare")).written, Paths{"more"});

  shell("git init -q " + repository_.beside("empty"));
  Canvas empty = Canvas::open(repository_.beside("empty"), "");
  empty.checkout(repository_.beside("of empty"));
  write_file(repository_.beside("of empty/first"), "first");
  EXPECT_EQ(empty.take_back(repository_.beside("of empty")).written, Paths{"first"});
  EXPECT_EQ(empty.files().size(), 1U);
}

// The configuration of the user would change line ends, here and back.
TEST_F(CanvasDirectory, ContentsAreByteForByteThoseOfTheTree) {
  repository_.git("config core.autocrlf true");
  repository_.git("config core.eol crlf");
  canvas_.write(".gitattributes", "*.txt text eol=crlf ident\n*.md filter=lfs\n");
  canvas_.write("crlf.txt", "a\r\nb\r\n$Id$\n");
  checkout();
  EXPECT_EQ(read_file(at("ten.txt")), canvas_.read("ten.txt").bytes);
  EXPECT_EQ(read_file(at("crlf.txt")), "a\r\nb\r\n$Id$\n");
  EXPECT_FALSE(take_back().any());
}

// As in a repository that was made on another system, or that somebody has prepared.
TEST_F(CanvasDirectory, TheConfigurationOfTheRepositoryChangesNothing) {
  repository_.git("config core.symlinks false");
  repository_.git("config core.filemode false");
  repository_.git("config core.ignorecase true");
  write_file(repository_.beside("elsewhere/README.md"), "elsewhere");
  repository_.git("config core.worktree " + repository_.beside("elsewhere"));
  write_file(repository_.beside("ignored"), "*.txt\n");
  repository_.git("config core.excludesFile " + repository_.beside("ignored"));
  canvas_ = Canvas::open(repository_.path(), "main");
  canvas_.write("readme.MD", "another file\n");
  checkout();
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("README.md")), "# Shop\n");
  write_file(at("new.txt"), "new");
  EXPECT_EQ(take_back().written, Paths{"new.txt"});
  std::filesystem::permissions(at("README.md"), std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(take_back().written, Paths{"README.md"});
}

TEST_F(CanvasDirectory, TakesBackWhatIsNewChangedRemovedAndExecutable) {
  checkout();
  write_file(at("src/cart.cpp"), "changed\n");
  write_file(at("deep/er/new.txt"), "new\n");
  std::filesystem::remove(at("logo.bin"));
  std::filesystem::permissions(at("README.md"), std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  std::filesystem::create_symlink("../README.md", at("src/readme"));
  // A file becomes a directory, and a directory a file.
  std::filesystem::remove(at("run.sh"));
  write_file(at("run.sh/inside"), "x");
  const TakenBack taken = take_back();
  EXPECT_EQ(taken.written,
            (Paths{"README.md", "deep/er/new.txt", "run.sh/inside", "src/cart.cpp", "src/readme"}));
  EXPECT_EQ(taken.removed, (Paths{"logo.bin", "run.sh"}));
  EXPECT_EQ(canvas_.read("src/cart.cpp").bytes, "changed\n");
  EXPECT_TRUE(canvas_.read("README.md").executable);
  EXPECT_FALSE(take_back().any());
  canvas_.keep("t");
  EXPECT_EQ(repository_.git("fsck --strict --no-dangling"), "");
}

// Each loose object would be synced by itself.
TEST_F(CanvasDirectory, ManyChangesAreOnePack) {
  checkout();
  const std::string before = repository_.git("count-objects");
  for (int i = 0; i < 100; ++i) write_file(at("many/" + std::to_string(i)), std::to_string(i / 2));
  EXPECT_EQ(take_back().written.size(), 100U);
  EXPECT_EQ(repository_.git("count-objects"), before);
  EXPECT_EQ(shell("ls " + repository_.path() + "/.git/objects/pack/*.pack | wc -l"), "1");
  EXPECT_EQ(canvas_.read("many/99").bytes, "49");
  const CanvasState state = canvas_.keep("t");
  EXPECT_EQ(Canvas::reopen(repository_.path(), state).read("many/0").bytes, "0");
  EXPECT_EQ(repository_.git("fsck --strict --no-dangling"), "");
  EXPECT_FALSE(take_back().any());
}

TEST_F(CanvasDirectory, LeavesWhatGitignoreNamesUnlessTheCanvasHasIt) {
  canvas_.write("kept.o", "tracked all the same");
  canvas_.write("build/tracked.txt", "tracked");
  checkout();
  write_file(at("kept.o"), "changed");
  write_file(at("new.o"), "object");
  write_file(at("src/deep.o"), "object");
  write_file(at("build/out.txt"), "generated");
  write_file(at("build/tracked.txt"), "changed");
  write_file(at("venv/.gitignore"), "*\n");
  write_file(at("venv/bin/python"), "generated");
  EXPECT_EQ(take_back().written, (Paths{"build/tracked.txt", "kept.o"}));
  EXPECT_FALSE(canvas_.has("new.o"));
}

TEST_F(CanvasDirectory, LeavesAGitDirectoryThatAProgramMade) {
  checkout();
  shell("cd " + at("") + " && git init -q . && mkdir sub && git init -q sub && touch sub/file");
  EXPECT_EQ(take_back().written, Paths{"sub/file"});
}

TEST_F(CanvasDirectory, RefusesWhatIsNoFileAndThenTakesNothing) {
  const std::string before = canvas_.tree();
  checkout();
  write_file(at("a_new_file"), "new");
  const auto refused = [&](const std::string& name, const std::string& why) {
    const Thrown thrown = thrown_by([&] { take_back(); });
    EXPECT_EQ(thrown.code, Errc::bad_argument) << name;
    EXPECT_TRUE(thrown.says(why)) << name << ": " << thrown.sentence;
    EXPECT_EQ(canvas_.tree(), before) << name;
    std::filesystem::remove_all(at(name));
  };
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  refused("pipe", "pipe is a socket, a pipe or a device");
  ASSERT_EQ(mkfifo(at("src/.gitignore").c_str(), 0600), 0);  // must not be waited for
  refused("src/.gitignore", "is no file");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, at("socket").c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  refused("socket", "is a socket");
  close(fd);
  for (const char* target :
       {"/etc/passwd", "../outside", "src/../..", "src/../../x", ".git/config"}) {
    std::filesystem::create_symlink(target, at("leads_out"));
    refused("leads_out", "leads out of the directory");
  }
  std::filesystem::create_symlink("../../x", at("src/up"));
  refused("src/up", "leads out of the directory");
  // Where a ".." behind a name leads depends on what the name is by then.
  std::filesystem::create_symlink("other/../x", at("src/sideways"));
  refused("src/sideways", "leads out of the directory");
  std::filesystem::create_symlink("README.md", at(".gitmodules"));
  refused(".gitmodules", "git does not take links of that name");
  write_file(at(".GIT/config"), "x");
  refused(".GIT", "may be taken for, .git");
  write_file(at("new\nline"), "x");
  refused("new\nline", "control character");
  write_file(at("b\xff"), "x");
  refused("b\xff", "not valid UTF-8");
  EXPECT_EQ(take_back().written, Paths{"a_new_file"});
}

TEST_F(CanvasDirectory, ALinkInThePlaceOfADirectoryIsNotFollowed) {
  checkout();
  write_file(repository_.beside("secret/cart.cpp"), "secret");
  std::filesystem::remove_all(at("src"));
  std::filesystem::create_symlink(repository_.beside("secret"), at("src"));
  EXPECT_TRUE(thrown_by([&] { take_back(); }).says("leads out"));
  std::filesystem::remove(at("src"));
  std::filesystem::create_directory(at("here"));
  write_file(at("here/cart.cpp"), "inside");
  std::filesystem::create_symlink("here", at("src"));
  EXPECT_EQ(take_back().written, (Paths{"here/cart.cpp", "src"}));
  EXPECT_TRUE(thrown_by([&] { canvas_.read("src"); }).says("a symbolic link to 'here'"));
}

TEST_F(CanvasDirectory, LinksOfTheTreeThatLeadOutAndSubmodulesAreLeftOutAndStay) {
  std::filesystem::create_symlink("/etc/passwd", repository_.path() + "/absolute");
  std::filesystem::create_symlink("..", repository_.path() + "/src/up");
  std::filesystem::create_symlink("../..", repository_.path() + "/src/out");
  repository_.git("add -A");
  repository_.git("update-index --add --cacheinfo 160000," + std::string(40, 'a') + ",lib");
  repository_.git("commit -qm links");
  canvas_ = Canvas::open(repository_.path(), "main");
  checkout();
  const auto found = everything_below(repository_.beside("files"));
  EXPECT_FALSE(found.contains("absolute"));
  EXPECT_FALSE(found.contains("src/out"));
  EXPECT_FALSE(found.contains("lib"));
  EXPECT_TRUE(found.contains("src/up"));
  EXPECT_FALSE(take_back().any());
  EXPECT_FALSE(canvas_.changed());
  write_file(at("lib/inside"), "x");
  EXPECT_TRUE(thrown_by([&] { take_back(); }).says("lib was left out"));
}

TEST_F(CanvasDirectory, IsBoundedInFilesAndBytes) {
  checkout();
  write_file(at("large"), std::string(3'000, 'x'));
  CanvasLimits limits;
  limits.file_bytes = 2'999;
  Canvas few = Canvas::open(repository_.path(), "main", limits);
  EXPECT_TRUE(thrown_by([&] {
                few.take_back(repository_.beside("files"));
              }).says("large has 3000 bytes, and at most 2999"));
  limits = CanvasLimits();
  limits.directory_bytes = 100;
  few = Canvas::open(repository_.path(), "main", limits);
  EXPECT_TRUE(thrown_by([&] {
                few.take_back(repository_.beside("files"));
              }).says("more than 100 bytes together"));
  limits.directory_bytes = 10;
  few = Canvas::open(repository_.path(), "main", limits);
  EXPECT_TRUE(thrown_by([&] {
                few.checkout(repository_.beside("other"));
              }).says("more than 10 bytes together"));
  limits = CanvasLimits();
  limits.changes = 3;
  few = Canvas::open(repository_.path(), "main", limits);
  for (int i = 0; i < 3; ++i) write_file(at("more" + std::to_string(i)), "");
  EXPECT_TRUE(thrown_by([&] {
                few.take_back(repository_.beside("files"));
              }).says("More than 3 files have changed"));
  limits = CanvasLimits();
  limits.files = 8;
  few = Canvas::open(repository_.path(), "main", limits);
  EXPECT_TRUE(thrown_by([&] { few.take_back(repository_.beside("files")); }).says("more than 8"));
}

TEST_F(CanvasDirectory, WhatFailsHalfwayThroughChangesNothing) {
  std::filesystem::create_symlink("/etc/passwd", repository_.path() + "/absolute");
  repository_.git("add -A");
  repository_.git("commit -qm link");
  CanvasLimits limits;
  limits.files = 8;  // seven that are checked out, and the link
  canvas_ = Canvas::open(repository_.path(), "main", limits);
  const std::string before = canvas_.tree();
  checkout();
  write_file(at("README.md"), "changed");
  write_file(at("z"), "one file too many");
  std::filesystem::remove(at("absolute"));
  EXPECT_TRUE(thrown_by([&] { take_back(); }).says("8 files, which is its limit"));
  EXPECT_EQ(canvas_.tree(), before);
}

// Whatever programs do to the files: afterwards the tree is the one that git makes of them.
TEST_F(CanvasDirectory, TakesBackWhatGitItselfWouldAdd) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Random random(seed, "directory");
    canvas_ = Canvas::open(repository_.path(), "main");
    const std::string directory = repository_.beside("seed" + std::to_string(seed));
    canvas_.checkout(directory);
    const std::vector<std::string> names = {"README.md", "src",  "src/cart.cpp", "x",     "x/y",
                                            "x/y/z",     "ab.o", "build/q",      "run.sh"};
    for (int i = 0; i < 30; ++i) {
      const std::filesystem::path path = directory + "/" + names[random.below(names.size())];
      std::error_code ignored;
      switch (random.below(4)) {
        case 0:
          std::filesystem::remove_all(path, ignored);
          break;
        case 1:
          std::filesystem::permissions(path, std::filesystem::perms::owner_exec,
                                       random.below(2) == 0 ? std::filesystem::perm_options::add
                                                            : std::filesystem::perm_options::remove,
                                       ignored);
          if (std::filesystem::is_directory(path, ignored)) {
            std::filesystem::permissions(path, std::filesystem::perms::owner_exec,
                                         std::filesystem::perm_options::add, ignored);
          }
          break;
        default:
          std::filesystem::create_directories(path.parent_path(), ignored);
          std::ofstream(path) << random.below(3);
      }
    }
    canvas_.take_back(directory);
    const std::string git = "GIT_INDEX_FILE=" + directory +
                            ".index git --git-dir=" + repository_.path() +
                            "/.git --work-tree=" + directory;
    EXPECT_EQ(shell(git + " read-tree HEAD && " + git + " add -A && " + git + " write-tree"),
              canvas_.tree())
        << "seed " << seed;
  }
}

}  // namespace canvas_checkout_test
}  // namespace tiffany::agent
