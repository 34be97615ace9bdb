#include "tiffany/io/file.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pipe.hpp"

namespace tiffany {
namespace file_test {

using test::what_of;

class FileTest : public OnEveryReactor {
 protected:
  static std::string content(const std::string& path) {
    std::stringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  TemporaryDirectory directory_;
};
TIFFANY_ON_EVERY_REACTOR(FileTest);

Task<std::string> writes_and_reads(std::string path) {
  const File file = co_await open_file(path, FileMode::create);
  co_await file.write_at(0, "hello world");
  co_await file.write_at(6, "there");
  co_await file.sync_data();
  co_await file.sync();
  std::array<char, 64> room;
  const std::size_t n = co_await file.read_at(2, room);
  EXPECT_EQ(file.size(), 11u);
  co_return std::string(room.data(), n);
}

TEST_P(FileTest, T8_WhatIsWrittenAtAnOffsetIsReadThere) {
  EXPECT_EQ(run(writes_and_reads, directory_ / "a").value(), "llo there");
}

TEST_P(FileTest, T8_FilesCanBeWrittenAndReadWithACancelAtEveryStep) {
  int number = 0;
  cancel_at_every_step(
      [](std::string at, int* count) -> Task<void> {
        co_await writes_and_reads(at + std::to_string(++*count));
      },
      directory_ / "a", &number);
}

Task<void> appends(std::string path) {
  const File file = co_await open_file(path, FileMode::append);
  co_await file.append("one ");
  co_await file.append("two");
}

TEST_P(FileTest, T8_AppendsGoToTheEnd) {
  EXPECT_TRUE(run(appends, directory_ / "a").ok());
  EXPECT_TRUE(run(appends, directory_ / "a").ok());
  EXPECT_EQ(content(directory_ / "a"), "one twoone two");
}

Task<void> replaces(std::string directory, std::string name) {
  const std::string path = directory + "/" + name;
  {
    const File file = co_await open_file(path + ".new", FileMode::create);
    co_await file.allocate(0, 8192);
    co_await file.write_at(0, "new");
    file.truncate(3);
    co_await file.sync();
  }
  co_await rename_file(path + ".new", path);
  co_await sync_directory(directory);
  co_await remove_file(directory + "/old");
}

TEST_P(FileTest, T8_AFileIsReplacedByRenamingAndItsDirectorySynced) {
  std::ofstream(directory_ / "a") << "before";
  std::ofstream(directory_ / "old") << "old";
  const auto outcome = run(replaces, directory_.path(), std::string("a"));
  EXPECT_TRUE(outcome.ok()) << what_of(outcome.error());
  EXPECT_EQ(content(directory_ / "a"), "new");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "old"));
}

TEST_P(FileTest, T8_AFileThatIsNotThereIsAnErrorWithItsPath) {
  const std::string path = directory_ / "nothing";
  const auto outcome = run(writes_and_reads, path + "/a");
  EXPECT_EQ(what_of(outcome.error()),
            "open on " + path + "/a failed: No such file or directory (errno 2).");
}

TEST_P(FileTest, T8_AWholeFileIsReadAndOneThatIsTooLongIsAnError) {
  const std::string text(200'000, 'x');
  std::ofstream(directory_ / "a") << text;
  EXPECT_EQ(run(read_file, directory_ / "a", text.size()).value(), text);
  EXPECT_TRUE(run(read_file, directory_ / "a", text.size() - 1).failed());
  EXPECT_NE(
      run(read_file, std::string("/proc/self/status"), std::size_t{100'000}).value().find("Name:"),
      std::string::npos);
}

Task<std::size_t> fills(std::string path) {
  const File file = co_await open_file(path, FileMode::create);
  const std::string block(65536, 'x');
  std::size_t written = 0;
  for (;;) {
    try {
      written += co_await file.write_at(written, block);
    } catch (const IoError& error) {
      EXPECT_EQ(error.number(), ENOSPC);
      EXPECT_NE(std::string(error.what()).find("Make room on the disk"), std::string::npos);
      co_return written;
    }
  }
}

TEST_P(FileTest, T8_AFullDiskIsAnErrorAndWhatWasWrittenBeforeIsThere) {
  const std::string small = directory_ / "small";
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  }
  const std::size_t written = run(fills, small + "/a").value();
  EXPECT_GE(written, 900'000u);
  EXPECT_GE(std::filesystem::file_size(small + "/a"), written);
  umount(small.c_str());
}

Task<void> writes(ByteStream to, std::string what) { co_await to.write(what); }

Task<std::string> through_a_pipe(std::string text) {
  Pipe pipe = make_pipe();
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(writes, std::move(pipe.write_end), text);
    std::string all;
    std::array<char, 1000> room;
    for (;;) {
      const std::size_t n = co_await pipe.read_end.read(room);
      if (n == 0) co_return all;
      all.append(room.data(), n);
    }
  });
}

TEST_P(FileTest, T8_WhatGoesIntoAPipeComesOutOfIt) {
  const std::string text(300'000, 'p');
  EXPECT_EQ(run(through_a_pipe, text).value(), text);
}

TEST_P(FileTest, T8_APipeCanBeCancelledAtEveryStep) {
  cancel_at_every_step(through_a_pipe, std::string(200'000, 'p'));
}

Task<void> writes_to_nobody() {
  Pipe pipe = make_pipe();
  pipe.read_end.close();
  co_await pipe.write_end.write("x");
}

TEST_P(FileTest, T8_AWriteToAPipeThatNobodyReadsIsAnErrorAndNoSignal) {
  EXPECT_NE(what_of(run(writes_to_nobody).error()).find("Broken pipe"), std::string::npos);
}

}  // namespace file_test
}  // namespace tiffany
