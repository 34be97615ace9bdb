// Merging the changes of a canvas onto what a branch has become, with conflicts and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "agent/repository.hpp"
#include "tiffany/agent/canvas.hpp"
#include "tiffany/agent/commit.hpp"
#include "tiffany/agent/file_tools.hpp"
#include "tiffany/agent/repositories.hpp"

namespace tiffany::agent {
namespace merge_test {

using namespace canvas_support;

// Paths and what is said of them, a line each.
std::string told(const Merge& merge) {
  std::string all;
  for (const MergeConflict& each : merge.conflicts) all += each.path + ": " + each.text + "\n";
  return all;
}
std::string unresolved(const Canvas& canvas) {
  std::string all;
  for (const std::string& each : canvas.unresolved()) all += each + " ";
  return all;
}

TEST(AgentMerge, ACleanMergeIsANewTreeOnANewBase) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("ten.txt", "9\n", "nine\n");
  const CanvasState before = canvas.keep("task");
  const std::string tip = repository.commit_file("ten.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  EXPECT_TRUE(canvas.merge_onto(tip).clean());
  const CanvasState after = canvas.keep("task");
  EXPECT_EQ(after.base, tip);
  EXPECT_NE(after.tree, before.tree);
  EXPECT_EQ(canvas.read("ten.txt").bytes, "one\n2\n3\n4\n5\n6\n7\n8\nnine\n10\n");
  EXPECT_EQ(canvas.files().size(), 1U);
}

TEST(AgentMerge, TextsThatBothChangedHaveMarkersUntilSomebodyMendsThem) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("ten.txt", "5\n", "of the canvas\n");
  canvas.edit("ten.txt", "9\n", "nine\n");
  canvas.write("other.txt", "also changed\n");
  const std::string tip =
      repository.commit_file("ten.txt", "one\n2\n3\n4\nof the branch\n6\n7\n8\n9\n10\n");
  const std::string id = tip.substr(0, 12);
  const Merge merge = canvas.merge_onto(tip);
  EXPECT_EQ(told(merge),
            "ten.txt: Both have changed it. 1 place is between markers in the file.\n");
  EXPECT_EQ(canvas.base(), tip);
  EXPECT_EQ(canvas.read("other.txt").bytes, "also changed\n");
  EXPECT_EQ(canvas.read("ten.txt").bytes,
            "one\n2\n3\n4\n<<<<<<< branch " + id + "\nof the branch\n||||||| base " + id +
                "\n5\n=======\nof the canvas\n>>>>>>> canvas " + id + "\n6\n7\n8\nnine\n10\n");
  EXPECT_EQ(unresolved(canvas), "ten.txt ");

  // Each marker is looked for, wherever the file went; it is the canvas that says so, and no state.
  canvas.edit("ten.txt", "<<<<<<< branch " + id + "\n", "");
  canvas.edit("ten.txt", "||||||| base " + id + "\n5\n", "");
  canvas.rename("ten.txt", "eleven.txt");
  const Canvas again = Canvas::reopen(repository.path(), canvas.keep("task"));
  EXPECT_EQ(unresolved(again), "eleven.txt ");
  canvas.edit("eleven.txt", "=======\nof the canvas\n>>>>>>> canvas " + id + "\n", "of both\n");
  EXPECT_EQ(unresolved(canvas), "");
}

TEST(AgentMerge, FilesWithMarkersOfOthersAreNobodysConflict) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("ten.txt", "5\n", "mine\n");
  const std::string tip = repository.commit_file("ten.txt", "1\n2\n3\n4\ntheirs\n6\n");
  const std::string id = tip.substr(0, 12);
  EXPECT_FALSE(canvas.merge_onto(tip).clean());
  canvas.write("ten.txt", "1\n");
  canvas.write("about-git.md",
               "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n>>>>>>> canvas 000000000000\nx <<<<<<< "
               "branch " +
                   id + "\n<<<<<<< branch " + id + "0\n");
  canvas.write("notes~canvas", "");
  canvas.write("notes~canvas.000000000000", "");
  EXPECT_EQ(unresolved(canvas), "");
  canvas.write("crlf.txt", "a\r\n<<<<<<< branch " + id + "\r\n");
  EXPECT_EQ(unresolved(canvas), "crlf.txt ");
}

TEST(AgentMerge, WhatOneSideRemovedStandsBesideItsNameAndIsRenamedOrRemoved) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write("README.md", "# Mine\n");
  canvas.remove("run.sh");
  write_file(repository.path() + "/run.sh", "#!/bin/sh\nexit 7\n");
  std::filesystem::remove(repository.path() + "/README.md");
  const std::string tip = repository.commit_file("more.txt", "");
  const std::string id = tip.substr(0, 12);
  EXPECT_EQ(told(canvas.merge_onto(tip)),
            "README.md: The branch has removed or renamed it. What you have is README.md~canvas." +
                id +
                ". Rename what is right to its name, and remove what is not.\n"
                "run.sh: What the branch has is run.sh~branch." +
                id +
                ". You have removed or renamed it. Rename what is right to its name, and remove "
                "what is not.\n");
  EXPECT_FALSE(canvas.has("README.md"));
  EXPECT_FALSE(canvas.has("run.sh"));
  EXPECT_EQ(unresolved(canvas), "README.md~canvas." + id + " run.sh~branch." + id + " ");
  run_file_tool(canvas, "remove", R"({"path":"README.md~canvas.)" + id + "\"}");
  EXPECT_EQ(
      run_file_tool(canvas, "rename", R"({"from":"run.sh~branch.)" + id + R"(","to":"run.sh"})"),
      "run.sh~branch." + id + " is run.sh now.");
  EXPECT_EQ(unresolved(canvas), "");
  EXPECT_EQ(canvas.read("run.sh").bytes, "#!/bin/sh\nexit 7\n");
  EXPECT_TRUE(canvas.read("run.sh").executable);
  EXPECT_FALSE(canvas.changed()) << "it is what the branch has";
}

TEST(AgentMerge, BinaryFilesLinksAndTypesAreChosenAndNotMerged) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write("logo.bin", std::string("\x89PNG\0mine", 9));
  const std::string files = repository.beside("files");
  canvas.checkout(files);
  std::filesystem::remove(files + "/link");
  std::filesystem::create_symlink("run.sh", files + "/link");
  canvas.take_back(files);
  write_file(repository.path() + "/logo.bin", std::string("\x89PNG\0theirs", 11));
  std::filesystem::remove(repository.path() + "/link");
  const std::string tip = repository.commit_file("link", "no link any more\n");
  const std::string id = tip.substr(0, 12);
  const Merge merge = canvas.merge_onto(tip);
  EXPECT_EQ(merge.conflicts.size(), 2U) << told(merge);
  EXPECT_EQ(unresolved(canvas), "link~branch." + id + " link~canvas." + id + " logo.bin~branch." +
                                    id + " logo.bin~canvas." + id + " ");
  canvas.remove("logo.bin~branch." + id);
  canvas.rename("logo.bin~canvas." + id, "logo.bin");
  canvas.remove("link~branch." + id);
  EXPECT_TRUE(thrown_by([&] {
                canvas.rename("link~canvas." + id, "src/link");
              }).says("stays in its directory"));
  canvas.rename("link~canvas." + id, "link");
  EXPECT_EQ(unresolved(canvas), "");
  EXPECT_EQ(canvas.read("logo.bin").bytes, std::string("\x89PNG\0mine", 9));
  EXPECT_TRUE(thrown_by([&] { canvas.read("link"); }).says("symbolic link to 'run.sh'"));
}

TEST(AgentMerge, AFileAndADirectoryOfOneNameAreBothThere) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write("new", "a file\n");
  const std::string tip = repository.commit_file("new/inside", "a directory\n");
  EXPECT_FALSE(canvas.merge_onto(tip).clean());
  EXPECT_EQ(unresolved(canvas), "new~canvas." + tip.substr(0, 12) + " ");
  EXPECT_EQ(canvas.read("new/inside").bytes, "a directory\n");
}

TEST(AgentMerge, AFileThatBothRenamedOrOneRenamedAndOneRemovedIsNotLost) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.rename("ten.txt", "mine.txt");
  canvas.remove("src/cart.cpp");
  repository.git("mv ten.txt theirs.txt");
  repository.git("mv src/cart.cpp src/basket.cpp");
  const std::string tip = repository.commit_file("more.txt", "");
  const std::string id = tip.substr(0, 12);
  const Merge merge = canvas.merge_onto(tip);
  EXPECT_EQ(unresolved(canvas), "mine.txt~canvas." + id + " src/basket.cpp~branch." + id +
                                    " theirs.txt~branch." + id + " ");
  EXPECT_NE(told(merge).find("It was ten.txt before."), std::string::npos) << told(merge);
  EXPECT_NE(told(merge).find("It was src/cart.cpp before."), std::string::npos) << told(merge);
}

TEST(AgentMerge, ARenamedFileTakesTheChangesOfTheOtherSide) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.rename("ten.txt", "mine.txt");
  const std::string tip = repository.commit_file("ten.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  EXPECT_TRUE(canvas.merge_onto(tip).clean());
  EXPECT_FALSE(canvas.has("ten.txt"));
  EXPECT_EQ(canvas.read("mine.txt").bytes.substr(0, 4), "one\n");
}

TEST(AgentMerge, ModesAreMergedWithTheTexts) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.write("ten.txt", "mine\n", true);
  canvas.write("made.sh", "#!/bin/sh\nmine\n", true);
  write_file(repository.path() + "/made.sh", "#!/bin/sh\ntheirs\n");
  const std::string tip = repository.commit_file("ten.txt", "theirs\n");
  EXPECT_EQ(canvas.merge_onto(tip).conflicts.size(), 2U);
  EXPECT_EQ(unresolved(canvas), "made.sh ten.txt ");
  EXPECT_TRUE(canvas.read("ten.txt").executable);
  EXPECT_TRUE(canvas.read("made.sh").executable) << "made on both sides, by one as a program";
}

TEST(AgentMerge, WhatTheAttributesKeepFromBeingMergedAsTextIsChosen) {
  const Repository repository;
  repository.commit_file(".gitattributes", "ten.txt -merge\n");
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("ten.txt", "9\n", "nine\n");
  const std::string tip = repository.commit_file("ten.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  EXPECT_FALSE(canvas.merge_onto(tip).clean()) << "as text it would fit";
  const std::string id = tip.substr(0, 12);
  EXPECT_EQ(unresolved(canvas), "ten.txt~branch." + id + " ten.txt~canvas." + id + " ");
}

// Tools read and write at most 4 MiB: nobody could take the markers out again.
TEST(AgentMerge, AFileOfTenMegabytesIsChosenAndNotMarked) {
  const Repository repository;
  std::string text;
  while (text.size() < (std::size_t{10} << 20)) text += std::to_string(text.size()) + "\n";
  repository.commit_file("large.txt", "first\n" + text);
  CanvasLimits more;
  more.file_bytes = std::size_t{16} << 20;
  Canvas larger = Canvas::open(repository.path(), "main", more);
  larger.write("large.txt", "mine\n" + text);
  Canvas canvas = Canvas::reopen(repository.path(), larger.keep("task"));
  const std::string tip = repository.commit_file("large.txt", "theirs\n" + text);
  EXPECT_FALSE(canvas.merge_onto(tip).clean());
  const std::string id = tip.substr(0, 12);
  EXPECT_EQ(unresolved(canvas), "large.txt~branch." + id + " large.txt~canvas." + id + " ");
  canvas.remove("large.txt~branch." + id);
  canvas.rename("large.txt~canvas." + id, "large.txt");
  EXPECT_EQ(unresolved(canvas), "");
}

TEST(AgentMerge, TheSameMergeAgainIsTheSameCanvas) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  canvas.edit("ten.txt", "5\n", "mine\n");
  canvas.remove("run.sh");
  const CanvasState before = canvas.keep("task");
  write_file(repository.path() + "/run.sh", "#!/bin/sh\nexit 7\n");
  const std::string tip = repository.commit_file("ten.txt", "1\n2\n3\n4\ntheirs\n6\n");
  canvas.merge_onto(tip);
  const CanvasState first = canvas.keep("task");
  Canvas again = Canvas::reopen(repository.path(), before);
  again.merge_onto(tip);
  EXPECT_EQ(again.keep("task"), first) << "a crash before the record";
  EXPECT_EQ(Canvas::kept(repository.path(), "task"), first);
  repository.git("fsck --strict");
}

TEST(AgentMerge, OfACanvasWithoutABaseWithTheFirstCommitOfSomebodyElse) {
  const Scratch scratch;
  shell("git init -q -b main " + (scratch / "empty"));
  Canvas canvas = Canvas::open(scratch / "empty", "");
  canvas.write("a", "mine");
  write_file((scratch / "empty") + "/b", "theirs");
  shell("cd " + (scratch / "empty") + " && git add -A && git commit -qm b");
  EXPECT_TRUE(canvas.merge_onto(*tip_of(scratch / "empty", "refs/heads/main")).clean());
  EXPECT_TRUE(canvas.has("a"));
  EXPECT_TRUE(canvas.has("b"));
  EXPECT_EQ(canvas.files().size(), 1U);
}

}  // namespace merge_test
}  // namespace tiffany::agent
