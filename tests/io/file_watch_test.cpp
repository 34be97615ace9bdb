#include "tiffany/io/file_watch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace file_watch_test {

using test::Trace;
using test::what_of;

class FileWatchTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(FileWatchTest);

const char* name_of(FileChange change) {
  switch (change) {
    case FileChange::created:
      return "created";
    case FileChange::modified:
      return "modified";
    case FileChange::written:
      return "written";
    case FileChange::attributes:
      return "attributes";
    case FileChange::removed:
      return "removed";
    case FileChange::lost:
      return "lost";
  }
  return "?";
}

std::string text_of(const FileEvent& event) {
  return std::string(name_of(event.what)) + " " +
         event.path.substr(event.path.empty() ? 0 : event.path.rfind('/') + 1);
}

Task<void> hears(FileWatch* watch, std::size_t count, Trace* trace) {
  for (std::size_t i = 0; i < count; ++i) {
    const FileEvent event = co_await watch->next();
    trace->push_back(text_of(event));
  }
}

Task<void> changes(std::string path, std::string other) {
  co_await yield();
  {
    std::ofstream(path) << "text";
  }
  co_await sleep(std::chrono::milliseconds(1));  // it is heard of while somebody waits
  std::filesystem::rename(path, other);
  std::filesystem::permissions(other, std::filesystem::perms::owner_read);
  std::filesystem::remove(other);
}

TEST_P(FileWatchTest, WhatHappensInADirectoryIsHeardInItsOrder) {
  const TemporaryDirectory directory;
  Trace trace;
  Scheduler scheduler(options());
  FileWatch watch;
  watch.add(directory.path());
  scheduler.spawn(hears, &watch, std::size_t{7}, &trace);
  scheduler.spawn(changes, directory / "file", directory / "other");
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"created file", "modified file", "written file", "removed file",
                          "created other", "attributes other", "removed other"}));
}

TEST_P(FileWatchTest, AFileThatIsWatchedByItselfIsNotWatchedAnyMoreWhenItIsGone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  std::ofstream(path) << "text";
  Trace trace;
  Scheduler scheduler(options());
  FileWatch watch;
  watch.add(path);
  std::filesystem::rename(path, directory / "other");
  std::ofstream(directory / "other") << "more";
  std::ofstream(path) << "again";
  watch.add(path);
  {
    std::ofstream(path, std::ios::app) << "and again";
  }
  scheduler.spawn(hears, &watch, std::size_t{3}, &trace);
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"removed file", "modified file", "written file"}));
}

TEST_P(FileWatchTest, WhatWasRemovedFromTheWatchIsNotHeardOf) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "a");
  std::filesystem::create_directory(directory / "b");
  Trace trace;
  Scheduler scheduler(options());
  FileWatch watch;
  watch.add(directory / "a");
  watch.add(directory / "b");
  watch.remove(directory / "a");
  std::filesystem::create_directory(directory / "a/not");
  std::filesystem::create_directory(directory / "b/heard");
  scheduler.spawn(hears, &watch, std::size_t{1}, &trace);
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"created heard"}));
}

TEST_P(FileWatchTest, SeveralTasksGetTheChangesInTheOrderTheyCame) {
  const TemporaryDirectory directory;
  Trace trace;
  Scheduler scheduler(options());
  FileWatch watch;
  watch.add(directory.path());
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directory(directory / name);
  for (int i = 0; i < 3; ++i) scheduler.spawn(hears, &watch, std::size_t{1}, &trace);
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"created a", "created b", "created c"}));
}

Task<std::string> hears_after_a_timeout(std::string directory) {
  FileWatch watch;
  watch.add(directory);
  const auto nothing = co_await within(std::chrono::milliseconds(1), watch.next());
  EXPECT_TRUE(nothing.timed_out());
  std::filesystem::create_directory(directory + "/later");
  const FileEvent event = co_await watch.next();
  co_return text_of(event);
}

TEST_P(FileWatchTest, NoChangeIsLostToACancel) {
  const TemporaryDirectory directory;
  EXPECT_EQ(run(hears_after_a_timeout, directory.path()).value(), "created later");
}

Task<void> watches(std::string path) {
  FileWatch watch;
  watch.add(path);
  co_return;
}

TEST_P(FileWatchTest, WhatIsNotThereCannotBeWatched) {
  const std::string sentence = what_of(run(watches, std::string("/no/such/file")).error());
  EXPECT_NE(sentence.find("watch on /no/such/file failed"), std::string::npos) << sentence;
}

}  // namespace file_watch_test
}  // namespace tiffany
