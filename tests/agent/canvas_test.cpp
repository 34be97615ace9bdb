#include "tiffany/agent/canvas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "agent/repository.hpp"
#include "tiffany/agent/canvas_thread.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace canvas_test {

using namespace canvas_support;  // NOLINT(google-build-using-namespace)

std::vector<std::string> paths_of(const CanvasListing& listing) {
  std::vector<std::string> paths;
  for (const CanvasEntry& entry : listing.entries) paths.push_back(entry.path);
  return paths;
}

TEST(Canvas, ReadsTheFilesOfItsBase) {
  const Repository repository;
  const Canvas canvas = Canvas::open(repository.path(), "main");
  EXPECT_EQ(canvas.base(), repository.head());
  EXPECT_EQ(canvas.read("README.md").bytes, "# Shop\n");
  EXPECT_FALSE(canvas.read("README.md").executable);
  EXPECT_TRUE(canvas.read("run.sh").executable);
  EXPECT_TRUE(canvas.read("logo.bin").binary);
  EXPECT_FALSE(canvas.changed());
  EXPECT_EQ(canvas.diff().text, "");
  EXPECT_TRUE(canvas.files().empty());
}

TEST(Canvas, IsOpenedByBranchTagCommitAndHead) {
  const Repository repository;
  const std::string first = repository.head();
  repository.git("tag -am t v1");
  const std::string second = repository.commit_file("new.txt", "new");
  EXPECT_EQ(Canvas::open(repository.path(), "v1").base(), first);
  EXPECT_EQ(Canvas::open(repository.path(), first).base(), first);
  EXPECT_EQ(Canvas::open(repository.path(), "refs/heads/main").base(), second);
  EXPECT_EQ(Canvas::open(repository.path(), "").base(), second);
  repository.git("checkout -q --detach " + first);
  EXPECT_EQ(Canvas::open(repository.path(), "").base(), first);
  const Thrown none = thrown_by([&] { Canvas::open(repository.path(), "nobody"); });
  EXPECT_EQ(none.code, Errc::bad_argument);
  EXPECT_TRUE(none.says("no branch, tag or commit 'nobody'")) << none.sentence;
  EXPECT_EQ(thrown_by([&] { Canvas::open(repository.path(), std::string(40, 'a')); }).code,
            Errc::canvas_failed);
  EXPECT_EQ(thrown_by([&] { Canvas::open(repository.path(), "main~1:../x"); }).code,
            Errc::bad_argument);
}

TEST(Canvas, ListsADirectoryAndWhatAPatternMatches) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write("src/deep/a.cpp", "");
  canvas.write("src-old", "");
  EXPECT_EQ(paths_of(canvas.list("")),
            (std::vector<std::string>{".gitignore", "README.md", "link", "logo.bin", "run.sh",
                                      "src", "src-old", "ten.txt"}));
  EXPECT_EQ(paths_of(canvas.list("src")), (std::vector<std::string>{"src/cart.cpp", "src/deep"}));
  EXPECT_EQ(paths_of(canvas.list("", "*.cpp")),
            (std::vector<std::string>{"src/cart.cpp", "src/deep/a.cpp"}));
  EXPECT_EQ(paths_of(canvas.list("", "src/*.cpp")), (std::vector<std::string>{"src/cart.cpp"}));
  EXPECT_EQ(paths_of(canvas.list("", "src/**/*.cpp")),
            (std::vector<std::string>{"src/cart.cpp", "src/deep/a.cpp"}));
  EXPECT_EQ(paths_of(canvas.list("src", "deep/?.cpp")),
            (std::vector<std::string>{"src/deep/a.cpp"}));
  EXPECT_TRUE(canvas.list("", "", 2).cut);
  EXPECT_EQ(canvas.list("", "link").entries.at(0).kind, CanvasKind::link);
  EXPECT_TRUE(thrown_by([&] { canvas.list("nowhere"); }).says("no directory nowhere"));
  EXPECT_TRUE(thrown_by([&] { canvas.list("run.sh"); }).says("run.sh is no directory"));
}

// A pattern that makes a naive matcher take years.
TEST(Canvas, APatternTakesNoLongerThanItsLengthTimesThatOfThePath) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write(std::string(200, 'a'), "");
  std::string stars;
  for (int i = 0; i < 100; ++i) stars += "*a";
  EXPECT_TRUE(canvas.list("", stars + "b").entries.empty());
  std::string deep;
  for (int i = 0; i < 60; ++i) deep += "**/a/";
  EXPECT_TRUE(canvas.list("", deep + "b").entries.empty());
}

TEST(Canvas, WritesRemovesAndRenames) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write("docs/new.md", "new\n");
  canvas.write("run.sh", "#!/bin/sh\nexit 1\n");
  EXPECT_TRUE(canvas.read("run.sh").executable);
  canvas.write("run.sh", "#!/bin/sh\n", false);
  EXPECT_FALSE(canvas.read("run.sh").executable);
  canvas.remove("logo.bin");
  canvas.rename("ten.txt", "numbers/ten.txt");
  EXPECT_FALSE(canvas.has("logo.bin"));
  EXPECT_FALSE(canvas.has("ten.txt"));
  EXPECT_EQ(canvas.read("numbers/ten.txt").bytes.size(), 21U);
  EXPECT_TRUE(canvas.changed());
  // A file in the place of its own directory, and the other way round.
  canvas.rename("numbers/ten.txt", "numbers");
  canvas.rename("numbers", "numbers/again/ten.txt");
  EXPECT_TRUE(canvas.has("numbers/again/ten.txt"));

  EXPECT_TRUE(thrown_by([&] { canvas.remove("logo.bin"); }).says("no file logo.bin"));
  EXPECT_TRUE(thrown_by([&] { canvas.remove("src"); }).says("src is a directory"));
  EXPECT_TRUE(thrown_by([&] { canvas.rename("README.md", "run.sh"); }).says("is there already"));
  EXPECT_TRUE(thrown_by([&] { canvas.rename("README.md", "src"); }).says("is a directory"));
  EXPECT_TRUE(thrown_by([&] { canvas.rename("README.md", "run.sh/x"); }).says("no directory"));
  EXPECT_TRUE(canvas.has("README.md"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("src", "x"); }).says("is a directory"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("run.sh/x", "x"); }).says("run.sh is no directory"));
  EXPECT_TRUE(canvas.has("src/cart.cpp"));
}

TEST(Canvas, AnEditNeedsItsTextExactlyOnce) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("src/cart.cpp", "int count = 0;", "int count = 1;");
  EXPECT_EQ(canvas.read("src/cart.cpp").bytes,
            "int total = 0;\nint count = 1;\nint all = total;\n");
  const Thrown none = thrown_by([&] { canvas.edit("src/cart.cpp", "int count = 0;", "x"); });
  EXPECT_EQ(none.code, Errc::canvas_conflict);
  EXPECT_TRUE(none.says("is 0 times in src/cart.cpp")) << none.sentence;
  const Thrown twice = thrown_by([&] { canvas.edit("src/cart.cpp", "total", "x"); });
  EXPECT_EQ(twice.code, Errc::canvas_conflict);
  EXPECT_TRUE(twice.says("is 2 times in src/cart.cpp (lines 1, 3)")) << twice.sentence;
  canvas.write("a", "aaa");
  EXPECT_TRUE(thrown_by([&] { canvas.edit("a", "aa", "b"); }).says("is 2 times"));
  EXPECT_TRUE(thrown_by([&] { canvas.edit("a", "", "b"); }).says("is empty"));
  EXPECT_TRUE(thrown_by([&] { canvas.edit("logo.bin", "P", "b"); }).says("binary"));
  canvas.edit("a", "aaa", "");
  EXPECT_EQ(canvas.read("a").bytes, "");
}

TEST(Canvas, RefusesPathsThatLeadOutOrMayBeTakenForGit) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  const std::string before = canvas.tree();
  for (const std::string& path : {std::string(),
                                  std::string("/etc/passwd"),
                                  std::string("../x"),
                                  std::string("a/../../x"),
                                  std::string(".."),
                                  std::string("."),
                                  std::string("a//b"),
                                  std::string("a/"),
                                  std::string("a/./b"),
                                  std::string(".git/config"),
                                  std::string(".GIT/config"),
                                  std::string("a/.Git/hooks/pre-commit"),
                                  std::string(".git"),
                                  std::string(".git "),
                                  std::string(".git./x"),
                                  std::string(".git. . /x"),
                                  std::string("git~1/x"),
                                  std::string("GIT~1"),
                                  std::string(".git::$INDEX_ALLOCATION/x"),
                                  std::string(".git:stream"),
                                  std::string(".g\u200cit/config"),
                                  std::string("\ufeff.git/config"),
                                  std::string(".gi\u202at"),
                                  std::string(".git\u206f"),
                                  std::string("a\\..\\b"),
                                  std::string(".git\\config"),
                                  std::string("a\nb"),
                                  std::string("a\0b", 3),
                                  std::string("\x7f"),
                                  std::string("\xff"),
                                  std::string("a\xc0\xae"),
                                  std::string(256, 'x'),
                                  std::string(1'100, '/'),
                                  "a/" + std::string(2'000, 'b')}) {
    const auto refused = [&](const auto& call) {
      const Thrown thrown = thrown_by(call);
      EXPECT_EQ(thrown.code, Errc::bad_argument) << path;
      EXPECT_TRUE(thrown.says("The path '")) << path << thrown.sentence;
      EXPECT_EQ(thrown.sentence.find('\n'), std::string::npos);
    };
    refused([&] { canvas.write(path, "x"); });
    refused([&] { canvas.read(path); });
    refused([&] { canvas.remove(path); });
    refused([&] { canvas.rename("README.md", path); });
    refused([&] { canvas.edit(path, "a", "b"); });
    EXPECT_FALSE(canvas.has(path));
  }
  EXPECT_EQ(canvas.tree(), before);
  for (const char* path : {".gitignore2", ".github/x", "git", "a.git/x", "...", "a b",
                           "\u00e4/\u20ac", "-rf", "~", "CON", ".gitx"}) {
    canvas.write(path, "x");
    EXPECT_EQ(canvas.read(path).bytes, "x");
  }
}

TEST(Canvas, LinksAreNotFollowedAndSubmodulesNotEntered) {
  const Repository repository;
  repository.git("update-index --add --cacheinfo 160000," + std::string(40, 'a') + ",lib");
  repository.git("commit -qm submodule");
  Canvas canvas = Canvas::open(repository.path(), "main");
  EXPECT_TRUE(thrown_by([&] { canvas.read("link"); }).says("a symbolic link to 'README.md'"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("link", "x"); }).says("not written through"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("link/x", "x"); }).says("link is no directory"));
  EXPECT_TRUE(thrown_by([&] { canvas.rename("link", "src/b"); }).says("stays"));
  EXPECT_TRUE(thrown_by([&] { canvas.read("lib"); }).says("submodule"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("lib", "x"); }).says("submodule"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("lib/x", "x"); }).says("no directory"));
  EXPECT_TRUE(thrown_by([&] { canvas.remove("lib"); }).says("stays"));
  canvas.remove("link");
  EXPECT_EQ(canvas.files().size(), 1U);
  EXPECT_EQ(repository.git("ls-tree " + canvas.tree() + " lib").substr(0, 6), "160000");
}

TEST(Canvas, SizesAreBounded) {
  const Repository repository;
  CanvasLimits limits;
  limits.file_bytes = 20;
  Canvas canvas = Canvas::open(repository.path(), "main", limits);
  EXPECT_TRUE(thrown_by([&] { canvas.read("ten.txt"); }).says("has 21 bytes, and at most 20"));
  EXPECT_TRUE(thrown_by([&] { canvas.write("x", std::string(21, 'x')); }).says("at most 20"));
  canvas.write("x", std::string(20, 'x'));
  EXPECT_TRUE(thrown_by([&] {
                canvas.edit("x", std::string(20, 'x'), std::string(21, 'y'));
              }).says("at most 20"));
  limits.files = 7;
  Canvas full = Canvas::open(repository.path(), "main", limits);
  EXPECT_TRUE(thrown_by([&] { full.write("one_more", ""); }).says("7 files, which is its limit"));
  limits.files = 6;
  EXPECT_TRUE(thrown_by([&] {
                Canvas::open(repository.path(), "main", limits);
              }).says("more than 6 files"));
}

// A tree of 10^10 files in a few hundred bytes.
TEST(Canvas, ATreeThatHasItselfOverAndOverIsRefused) {
  const Repository repository;
  std::string kind = "100644 blob";
  std::string id = repository.git("rev-parse HEAD:README.md");
  for (int level = 0; level < 10; ++level) {
    std::string lines;
    for (int i = 0; i < 10; ++i) {
      lines += kind + " " + id + "\\t" + std::to_string(i) + "\\n";
    }
    id = shell("printf '" + lines + "' | git -C " + repository.path() + " mktree");
    kind = "040000 tree";
  }
  const std::string commit = repository.git("commit-tree -m bomb " + id);
  EXPECT_TRUE(
      thrown_by([&] { Canvas::open(repository.path(), commit); }).says("more than 200000 files"));
}

TEST(Canvas, OpensAgainFromTwoIdsAndFromItsRef) {
  const Repository repository;
  CanvasState state;
  {
    Canvas canvas = Canvas::open(repository.path(), "main");
    canvas.write("a/new", "kept", true);
    canvas.remove("logo.bin");
    state = canvas.keep("task-1");
    EXPECT_EQ(state.base, repository.head());
    EXPECT_EQ(state.tree, canvas.tree());
    EXPECT_EQ(canvas.keep("task-1"), state);
  }
  EXPECT_EQ(from_json<CanvasState>(to_json(state)), state);
  EXPECT_EQ(Canvas::kept(repository.path(), "task-1"), state);
  EXPECT_EQ(Canvas::kept(repository.path(), "task-2"), std::nullopt);
  repository.commit_file("later.txt", "later");
  repository.git("gc -q --prune=now");
  Canvas again = Canvas::reopen(repository.path(), state);
  EXPECT_EQ(again.base(), state.base);
  EXPECT_EQ(again.tree(), state.tree);
  EXPECT_EQ(again.read("a/new").bytes, "kept");
  EXPECT_EQ(again.files().size(), 2U);
  Canvas::forget(repository.path(), "task-1");
  Canvas::forget(repository.path(), "task-1");
  EXPECT_EQ(Canvas::kept(repository.path(), "task-1"), std::nullopt);
  for (const char* task : {"", "a/b", "..", "a..b", "x.lock", "a b", "~"}) {
    EXPECT_EQ(thrown_by([&] { again.keep(task); }).code, Errc::bad_argument) << task;
  }
}

TEST(Canvas, NothingOfTheUserIsTouched) {
  const Repository repository;
  write_file(repository.path() + "/README.md", "half a sentence");  // not committed
  write_file(repository.path() + "/notes.txt", "untracked");
  repository.git("add README.md");
  const auto before = everything_below(repository.path());
  {
    Canvas canvas = Canvas::open(repository.path(), "main");
    canvas.write("README.md", "of the agent");
    canvas.write("notes.txt", "of the agent");
    canvas.remove("run.sh");
    canvas.keep("task");
    canvas.diff();
    canvas.files();
    canvas.checkout(repository.beside("files"));
    write_file(repository.beside("files") + "/src/more.cpp", "int more;\n");
    canvas.take_back(repository.beside("files"));
    canvas.keep("task");
  }
  auto after = everything_below(repository.path());
  EXPECT_EQ(after.erase(".git/refs/tiffany"), 1U);
  EXPECT_EQ(after.erase(".git/refs/tiffany/task"), 1U);
  EXPECT_EQ(after.erase(".git/refs/tiffany/task/canvas"), 1U);
  std::erase_if(after, [&](const auto& each) {
    return each.first.starts_with(".git/objects/") && !before.contains(each.first);
  });
  EXPECT_TRUE(after == before);
}

TEST(Canvas, TheDiffIsOneThatGitApplies) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("src/cart.cpp", "int count = 0;\n", "int count = 7;\nint more = 8;\n");
  canvas.write("ten.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten, and no line end");
  canvas.write("run.sh", "#!/bin/sh\n", false);
  canvas.write("new/\u00e4 file.txt", "new\n");
  canvas.rename("README.md", "READ ME.md");
  const CanvasDiff diff = canvas.diff();
  EXPECT_FALSE(diff.cut);
  EXPECT_NE(diff.text.find("\n-int count = 0;\n+int count = 7;\n+int more = 8;\n"),
            std::string::npos)
      << diff.text;
  EXPECT_NE(diff.text.find("rename from README.md\n"), std::string::npos) << diff.text;
  write_file(repository.beside("patch"), diff.text);
  const std::string index =
      "GIT_INDEX_FILE=" + repository.beside("index") + " git -C " + repository.path();
  EXPECT_EQ(shell(index + " read-tree HEAD && " + index + " apply --cached " +
                  repository.beside("patch") + " && " + index + " write-tree"),
            canvas.tree());

  std::map<std::string, std::string> files;
  for (const ChangedFile& file : canvas.files()) {
    files[file.path] = std::string(name_of(file.change)) + " +" + std::to_string(file.added) +
                       " -" + std::to_string(file.removed) + (file.mode_changed ? " mode" : "") +
                       (file.binary ? " binary" : "") + file.old_path;
  }
  EXPECT_EQ(files, (std::map<std::string, std::string>{{"READ ME.md", "renamed +0 -0README.md"},
                                                       {"new/\u00e4 file.txt", "added +1 -0"},
                                                       {"run.sh", "changed +0 -0 mode"},
                                                       {"src/cart.cpp", "changed +2 -1"},
                                                       {"ten.txt", "changed +1 -1"}}));
}

TEST(Canvas, ALongDiffIsCutAndSaysSo) {
  const Repository repository;
  CanvasLimits limits;
  limits.diff_bytes = 1'000;
  Canvas canvas = Canvas::open(repository.path(), "main", limits);
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "line " + std::to_string(i) + "\n";
  canvas.write("many", many);
  canvas.write("logo.bin", std::string("\0\1\2", 3));
  const CanvasDiff diff = canvas.diff();
  EXPECT_TRUE(diff.cut);
  EXPECT_LT(diff.text.size(), 1'200U);
  EXPECT_NE(diff.text.find("... the diff is cut here"), std::string::npos);
  EXPECT_EQ(canvas.files().at(1).added, 1'000U);
  EXPECT_TRUE(canvas.files().at(0).binary);
}

// Random calls on a canvas and on a map; what they refuse and what they hold must be the same.
TEST(Canvas, DoesWhatAMapOfPathsWouldDo) {
  const Repository repository;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Random random(seed, "canvas");
    Canvas canvas = Canvas::open(repository.path(), "main");
    std::map<std::string, std::string> model;
    canvas.visit("", [&](const std::string& path) {
      model[path] = canvas.read(path).bytes;
      return true;
    });
    model["link"] = "";
    const auto any_path = [&] {
      std::string path(1, static_cast<char>('a' + random.below(3)));
      while (random.below(2) == 0)
        path += std::string("/") + static_cast<char>('a' + random.below(2));
      return path;
    };
    const auto collides = [&](const std::string& path) {
      return std::any_of(model.begin(), model.end(), [&](const auto& each) {
        return path.starts_with(each.first + "/") || each.first.starts_with(path + "/");
      });
    };
    for (int i = 0; i < 60; ++i) {
      const std::string path = any_path();
      const std::string other = any_path();
      const std::string text(random.below(4), static_cast<char>('x' + random.below(2)));
      switch (random.below(4)) {
        case 0:
          EXPECT_EQ(thrown_by([&] { canvas.write(path, text); }).sentence.empty(), !collides(path));
          if (!collides(path)) model[path] = text;
          break;
        case 1:
          EXPECT_EQ(thrown_by([&] { canvas.remove(path); }).sentence.empty(),
                    model.erase(path) == 1);
          break;
        case 2: {
          const bool there = model.contains(path) && model[path].find("x") != std::string::npos &&
                             model[path].find("x") == model[path].rfind("x");
          EXPECT_EQ(thrown_by([&] { canvas.edit(path, "x", "yy"); }).sentence.empty(), there);
          if (there) model[path].replace(model[path].find("x"), 1, "yy");
          break;
        }
        default: {
          bool fine = model.contains(path) && !model.contains(other);
          if (fine) {
            const std::string moved = model[path];
            model.erase(path);
            fine = !collides(other);
            model[fine ? other : path] = moved;
          }
          // A name below the file itself is free once the file is taken away.
          EXPECT_EQ(thrown_by([&] { canvas.rename(path, other); }).sentence.empty(), fine)
              << path << " to " << other << ", seed " << seed;
          break;
        }
      }
    }
    model.erase("link");
    std::map<std::string, std::string> found;
    canvas.visit("", [&](const std::string& path) {
      found[path] = canvas.read(path).bytes;
      return true;
    });
    EXPECT_EQ(found, model) << "seed " << seed;
    const CanvasState state = canvas.keep("seed" + std::to_string(seed));
    EXPECT_EQ(Canvas::reopen(repository.path(), state).tree(), state.tree);
  }
  EXPECT_EQ(repository.git("fsck --strict --no-dangling --full"), "");
}

Task<void> use_from_tasks(CanvasThread canvas, std::string* out) {
  const auto write = [](Canvas& it) { it.write("a", "of a task"); };
  co_await canvas.use(write);
  const auto read = [](Canvas& it) { return it.read("a").bytes; };
  *out = co_await canvas.use(read);
  const auto wrong = [](Canvas& it) { it.remove("nothing"); };
  try {
    co_await canvas.use(wrong);
  } catch (const Error& error) {
    *out += std::string(", ") + error.what();
  }
}

TEST(Canvas, TasksUseItOnAThread) {
  const Repository repository;
  std::string text;
  run(use_from_tasks(CanvasThread(Canvas::open(repository.path(), "main")), &text));
  EXPECT_EQ(text, "of a task, There is no file nothing.");
}

}  // namespace canvas_test
}  // namespace tiffany::agent
