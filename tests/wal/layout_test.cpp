// A directory that was written in one layout is not opened in the other, and what lies in a log's
// directory without being a file of the log is refused with a sentence.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tiffany/wal/memory_disk.hpp"
#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace layout_test {

Layout other(Layout layout) { return layout == Layout::journal ? Layout::files : Layout::journal; }
std::string name(Layout layout) { return layout == Layout::journal ? "journal" : "files"; }

class WalLayoutTest : public testing::TestWithParam<Layout> {
 protected:
  // What the call throws.
  static Error refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(Errc{}, "nothing was thrown");
  }
  static Error refusal_to_open(const std::shared_ptr<FaultDisk>& disk, const LogOptions& options) {
    Error found(Errc{}, "nothing was thrown");
    const std::exception_ptr error = Story::run(*disk, [&]() -> Task<void> {
      LogIndex index;
      co_await Log::open(options, index);
    });
    if (error != nullptr) found = refusal([&] { std::rethrow_exception(error); });
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(, WalLayoutTest, testing::Values(Layout::journal, Layout::files),
                         [](const testing::TestParamInfo<Layout>& layout) {
                           return name(layout.param);
                         });

TEST_P(WalLayoutTest, ADirectoryInTheOtherLayoutIsRefusedAndLeftAsItIs) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(GetParam());
  ASSERT_EQ(story.tell(disk), nullptr);
  const auto before = disk->contents();
  LogOptions options = story.options(disk);
  options.layout = other(GetParam());
  const Error error = refusal_to_open(disk, options);
  EXPECT_EQ(error.code(), Errc::log_layout) << error.what();
  const std::string sentence = error.what();
  EXPECT_NE(sentence.find("Layout::" + name(GetParam())), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("Layout::" + name(options.layout)), std::string::npos) << sentence;
  EXPECT_EQ(disk->contents(), before);
  EXPECT_EQ(refusal([&] { scan(*disk, kDirectory, options.layout); }).code(), Errc::log_layout);
  // It is still what it was.
  EXPECT_EQ(Found(*disk, story).after_crash(story), "");
}

TEST_P(WalLayoutTest, ALogWhoseSegmentsAreGoneIsNotAnEmptyLogOfTheOtherLayout) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(Layout::journal);
  ASSERT_EQ(story.tell(disk), nullptr);
  auto left = disk->contents();
  std::erase_if(left, [](const auto& file) { return file.first.ends_with(".journal"); });
  FaultDisk without(left);
  EXPECT_EQ(refusal([&] { scan(without, kDirectory, Layout::files); }).code(), Errc::log_layout);
  EXPECT_FALSE(scan(without, kDirectory, Layout::journal).damage.empty());
}

TEST(WalLayout, ALogIsNotMixedOfBothLayouts) {
  const auto disk = std::make_shared<FaultDisk>();
  Story story(Layout::journal);
  ASSERT_EQ(story.tell(disk), nullptr);
  disk->put("wal/" + task_id(9).text() + ".wal", "");
  for (const Layout layout : {Layout::journal, Layout::files}) {
    Errc code{};
    try {
      scan(*disk, kDirectory, layout);
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, Errc::log_layout);
  }
}

// ---- What is no file ----

class WalForeign : public testing::Test {
 protected:
  WalForeign() {
    std::string made = (std::filesystem::temp_directory_path() / "tiffany-wal-XXXXXX").string();
    directory_ = mkdtemp(made.data());
    disk_->make_directory(directory_);
  }
  ~WalForeign() override { std::filesystem::remove_all(directory_); }

  enum class Kind { fifo, socket, directory, unreadable, dangling };
  static constexpr Kind kAll[] = {Kind::fifo, Kind::socket, Kind::directory, Kind::unreadable,
                                  Kind::dangling};
  void put(Kind kind, const std::string& file) {
    const std::string path = directory_ + "/" + file;
    std::filesystem::remove_all(path);
    if (kind == Kind::fifo) {
      ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    } else if (kind == Kind::socket) {
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      ASSERT_LT(path.size(), sizeof address.sun_path);
      path.copy(address.sun_path, path.size());
      ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
      ::close(fd);
    } else if (kind == Kind::directory) {
      std::filesystem::create_directory(path);
    } else if (kind == Kind::dangling) {
      std::filesystem::create_symlink("nowhere", path);
    } else {
      ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0000));
    }
  }
  // The sentence of whatever is thrown; empty when nothing is.
  std::string opened(Layout layout) {
    std::string sentence;
    Scheduler scheduler(Options().virtual_time());
    auto handle = scheduler.spawn([&]() -> Task<void> {
      LogOptions options(directory_);
      options.layout = layout;
      options.segment_size = kSegment;
      LogIndex index;
      try {
        const std::shared_ptr<Log> log = co_await Log::open(options, index);
        for (const Damage& damage : index.damage) sentence += damage.text();
        co_await log->close();
      } catch (const Error& error) {
        sentence = error.what();
      }
    });
    scheduler.run();
    return sentence;
  }

  std::string directory_;
  std::unique_ptr<Disk> disk_ = system_disk();
};

TEST_F(WalForeign, WhatStandsWhereASegmentBelongsIsNamedAndNeverWaitedFor) {
  for (const Kind kind : kAll) {
    if (kind == Kind::unreadable && geteuid() == 0) continue;  // nothing is, to root
    for (const std::string file : {"00000001.journal", "base", "synced"}) {
      if (kind == Kind::dangling && file != "00000001.journal")
        continue;  // as if it were not there
      std::filesystem::remove_all(directory_);
      std::filesystem::create_directory(directory_);
      put(kind, file);
      const std::string sentence = opened(Layout::journal);
      EXPECT_NE(sentence.find(directory_ + "/" + file), std::string::npos)
          << static_cast<int>(kind) << " as " << file << ": " << sentence;
    }
  }
}

TEST_F(WalForeign, WhatStandsWhereTheNextSegmentBelongsIsNotWrittenInto) {
  for (const Kind kind : {Kind::fifo, Kind::socket, Kind::directory}) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    put(kind, "next");
    const std::string sentence = opened(Layout::journal);
    EXPECT_NE(sentence.find(directory_ + "/next"), std::string::npos)
        << static_cast<int>(kind) << ": " << sentence;
  }
}

TEST_F(WalForeign, OneFileOfATaskThatIsNoFileTouchesNoOtherTask) {
  for (const Kind kind : kAll) {
    if (kind == Kind::unreadable && geteuid() == 0) continue;
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    EXPECT_EQ(opened(Layout::files), "");
    const std::string file = task_id(1).text() + ".wal";
    put(kind, file);
    const std::string sentence = opened(Layout::files);
    EXPECT_NE(sentence.find(directory_ + "/" + file), std::string::npos)
        << static_cast<int>(kind) << ": " << sentence;
    const LogIndex index = scan(*disk_, directory_, Layout::files);
    ASSERT_NE(index.find(task_id(1)), nullptr);
    EXPECT_NE(index.find(task_id(1))->quarantine, "");
  }
}

TEST_F(WalForeign, ALockThatIsNoFileIsRefused) {
  for (const Kind kind : {Kind::fifo, Kind::socket, Kind::directory}) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    put(kind, "lock");
    const std::string sentence = opened(Layout::journal);
    EXPECT_NE(sentence.find(directory_ + "/lock"), std::string::npos)
        << static_cast<int>(kind) << ": " << sentence;
  }
}

}  // namespace layout_test
}  // namespace tiffany::wal::test
