// The disk of the machine under a log: what is in the directory may change, or be no file at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany::wal::test {
namespace system_disk_test {

class WalSystemDiskTest : public testing::Test {
 protected:
  WalSystemDiskTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-disk-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    path_ = directory_ + "/file";
  }
  ~WalSystemDiskTest() override { std::filesystem::remove_all(directory_); }

  // In a process of its own, which is killed by a signal when the content was mapped.
  [[noreturn]] void cut_behind_a_reader() const {
    const auto disk = system_disk();
    const auto content = disk->read(path_);
    if (truncate(path_.c_str(), 0) != 0) _exit(2);
    std::size_t sum = 0;
    for (const char byte : content->bytes()) sum += byte == 'a' ? 1u : 0u;
    _exit(sum == 100'000 ? 0 : 1);
  }
  [[noreturn]] void read_a_fifo() const {
    alarm(10);
    try {
      system_disk()->read(path_);
    } catch (const Error& e) {
      const std::string sentence = e.what();
      _exit(e.code() == Errc::not_a_log && sentence.find("FIFO") != std::string::npos ? 0 : 1);
    }
    _exit(2);
  }

  std::string directory_;
  std::string path_;
};

TEST_F(WalSystemDiskTest, D2_WhatWasReadIsThereWhenTheFileIsCutBehindTheReader) {
  std::ofstream(path_) << std::string(100'000, 'a');
  EXPECT_EXIT(cut_behind_a_reader(), testing::ExitedWithCode(0), "");
}

TEST_F(WalSystemDiskTest, D2_AFifoInPlaceOfAFileIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EXIT(read_a_fifo(), testing::ExitedWithCode(0), "");
}

TEST_F(WalSystemDiskTest, D2_AnEmptyFileAndAPartOfAFileAreRead) {
  std::ofstream(path_) << "abcdef";
  const auto disk = system_disk();
  EXPECT_EQ(disk->size(path_), 6u);
  EXPECT_EQ(disk->read_part(path_, 2, 3), "cde");
  EXPECT_EQ(disk->read_part(path_, 4, 100), "ef");
  EXPECT_EQ(disk->read_part(path_, 60, 100), "");
  std::ofstream(directory_ + "/empty").flush();
  EXPECT_EQ(disk->read(directory_ + "/empty")->bytes(), "");
}

}  // namespace system_disk_test
}  // namespace tiffany::wal::test
