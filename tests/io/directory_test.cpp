#include "tiffany/io/directory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace directory_test {

using test::what_of;

class DirectoryTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(DirectoryTest);

// a/, a/deep/, a/deep/leaf, a/one, b, loop -> ., socket
void fill(const TemporaryDirectory& directory) {
  std::filesystem::create_directories(directory / "a/deep");
  std::ofstream(directory / "a/one") << "1";
  std::ofstream(directory / "a/deep/leaf") << "2";
  std::ofstream(directory / "b") << "3";
  std::filesystem::create_symlink(".", directory / "loop");
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
}

char letter(EntryKind kind) { return "fdlo"[static_cast<int>(kind)]; }

Task<std::string> listed(std::string path, std::size_t most) {
  std::string all;
  for (const DirectoryEntry& entry : co_await list_directory(path, most)) {
    all += std::string(entry.name()) + ":" + letter(entry.kind) + " ";
  }
  co_return all;
}

TEST_P(DirectoryTest, AListingHasEveryEntryWithItsKindSortedByName) {
  const TemporaryDirectory directory;
  fill(directory);
  EXPECT_EQ(run(listed, directory.path(), std::size_t{10}).value(), "a:d b:f loop:l pipe:o ");
  EXPECT_EQ(run(listed, directory.path() + "/", std::size_t{10}).value(), "a:d b:f loop:l pipe:o ");
}

TEST_P(DirectoryTest, AListingHasABound) {
  const TemporaryDirectory directory;
  fill(directory);
  EXPECT_NE(what_of(run(listed, directory.path(), std::size_t{3}).error()).find("list_directory"),
            std::string::npos);
}

TEST_P(DirectoryTest, WhatIsNoDirectoryIsAnErrorThatNamesThePath) {
  const TemporaryDirectory directory;
  const std::string path = directory / "missing";
  EXPECT_NE(what_of(run(listed, path, std::size_t{3}).error()).find(path), std::string::npos);
}

Task<std::string> walked(std::string root, std::string skipped) {
  DirectoryWalk walk(root);
  std::string all;
  for (;;) {
    const std::optional<DirectoryEntry> entry = co_await walk.next();
    if (!entry) co_return all;
    all += std::string(walk.depth(), '>') + entry->path.substr(root.size() + 1) + " ";
    if (entry->name() == skipped) walk.skip();
  }
}

TEST_P(DirectoryTest, AWalkGoesDepthFirstAndFollowsNoLinks) {
  const TemporaryDirectory directory;
  fill(directory);
  EXPECT_EQ(run(walked, directory.path(), std::string()).value(),
            "a >a/deep >>a/deep/leaf >a/one b loop pipe ");
}

TEST_P(DirectoryTest, AWalkLeavesOutWhatIsSkipped) {
  const TemporaryDirectory directory;
  fill(directory);
  EXPECT_EQ(run(walked, directory.path(), std::string("deep")).value(),
            "a >a/deep >a/one b loop pipe ");
}

// The directory goes away between being seen and being entered.
Task<std::string> walked_while_it_changes(std::string root) {
  DirectoryWalk walk(root);
  const std::optional<DirectoryEntry> first = co_await walk.next();
  std::filesystem::remove_all(first->path);
  std::string all;
  for (;;) {
    const std::optional<DirectoryEntry> entry = co_await walk.next();
    if (!entry) co_return all;
    all += std::string(entry->name()) + " ";
  }
}

TEST_P(DirectoryTest, ADirectoryThatIsRemovedDuringAWalkCountsAsEmpty) {
  const TemporaryDirectory directory;
  fill(directory);
  EXPECT_EQ(run(walked_while_it_changes, directory.path()).value(), "b loop pipe ");
}

Task<std::string> walked_past_an_error(std::string root) {
  DirectoryWalk walk(root);
  std::string all;
  for (;;) {
    try {
      const std::optional<DirectoryEntry> entry = co_await walk.next();
      if (!entry) co_return all;
      all += std::string(entry->name()) + " ";
    } catch (const IoError&) {
      all += "(refused) ";
    }
  }
}

TEST_P(DirectoryTest, ADirectoryThatMayNotBeReadIsAnErrorAndTheWalkGoesOnBehindIt) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryDirectory directory;
  fill(directory);
  std::filesystem::permissions(directory / "a", std::filesystem::perms::none);
  EXPECT_EQ(run(walked_past_an_error, directory.path()).value(), "a (refused) b loop pipe ");
  std::filesystem::permissions(directory / "a", std::filesystem::perms::owner_all);
}

TEST_P(DirectoryTest, AWalkOfWhatIsNotThereIsAnErrorOnceAndThenTheEnd) {
  const TemporaryDirectory directory;
  EXPECT_EQ(run(walked_past_an_error, directory / "missing").value(), "(refused) ");
}

TEST_P(DirectoryTest, AWalkCanBeCancelledAtEveryStep) {
  const TemporaryDirectory directory;
  fill(directory);
  cancel_at_every_step(walked, directory.path(), std::string());
}

}  // namespace directory_test
}  // namespace tiffany
