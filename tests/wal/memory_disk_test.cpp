// D2: a disk in memory keeps what was synced, and nothing else.
#include "tiffany/wal/memory_disk.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::wal {
namespace memory_disk_test {

using namespace tiffany::test;

// What is in a file; nothing is not the same as no file.
std::string content(MemoryDisk& disk, const std::string& path) {
  return std::string(disk.read(path)->bytes());
}

template <class F>
void run_program(F program) {
  Scheduler scheduler(Options().virtual_time());
  run_on_scheduler(scheduler, program);
}

TEST(MemoryDisk, D2_WhatWasNotSyncedIsLostInACrash) {
  MemoryDisk disk;
  run_program([&]() -> Task<void> {
    const auto file = disk.open("a");
    co_await file->write(0, "abcd");
    co_await file->sync();
    co_await file->write(1, "XY");
    co_await file->write(2, "Z");
    co_await file->write(4, "efg");
    EXPECT_EQ(content(disk, "a"), "aXZdefg");
  });
  disk.crash();
  EXPECT_EQ(content(disk, "a"), "abcd");
}

TEST(MemoryDisk, D2_ANoteIsThereAtOnce) {
  MemoryDisk disk;
  disk.open("a")->note(2, "x");
  disk.crash();
  EXPECT_EQ(content(disk, "a"), std::string("\0\0x", 3));
}

TEST(MemoryDisk, D2_WhatADeadProcessDoesHasNoEffectAndNeverEnds) {
  MemoryDisk disk;
  Scheduler scheduler(Options().virtual_time());
  const auto file = disk.open("a");
  disk.crash();
  const auto writes = [&]() -> Task<void> { co_await file->write(0, "abcd"); };
  const auto syncs = [&]() -> Task<void> { co_await file->sync(); };
  const auto renames = [&]() -> Task<void> { co_await disk.rename("a", "c"); };
  const auto a = scheduler.spawn(std::cref(writes));
  const auto b = scheduler.spawn(std::cref(syncs));
  const auto c = scheduler.spawn(std::cref(renames));
  file->note(0, "x");
  disk.open("b")->note(0, "x");
  scheduler.step_until_idle();
  EXPECT_FALSE(a.done() || b.done() || c.done());
  EXPECT_EQ(content(disk, "a"), "");
  EXPECT_FALSE(disk.exists("b") || disk.exists("c"));
}

TEST(MemoryDisk, D2_TheProcessThatTakesTheLockAfterACrashIsAlive) {
  MemoryDisk disk;
  const auto old = disk.open("a");
  disk.crash();
  std::string holder;
  const auto lock = disk.lock("lock", "me", holder);
  disk.open("a")->note(0, "new");
  old->note(0, "old");
  EXPECT_EQ(content(disk, "a"), "new");
}

TEST(MemoryDisk, D2_ADiskThatFailsSyncsNothingUntilItIsMended) {
  MemoryDisk disk;
  run_program([&]() -> Task<void> {
    const auto file = disk.open("a");
    co_await file->write(0, "abcd");
    disk.fail();
    Errc code{};
    try {
      co_await file->sync();
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, Errc::io_failed);
    disk.mend();
    co_await file->sync();
  });
  disk.crash();
  EXPECT_EQ(content(disk, "a"), "abcd");
}

TEST(MemoryDisk, D2_FilesHaveNamesAndOneProcessTheLock) {
  MemoryDisk disk;
  run_program([&]() -> Task<void> {
    disk.open("d/a");
    disk.open("d/b");
    disk.open("e/c");
    EXPECT_EQ(disk.list("d"), (std::vector<std::string>{"a", "b"}));
    co_await disk.rename("d/a", "d/z");
    co_await disk.remove("d/b");
    EXPECT_EQ(disk.list("d"), (std::vector<std::string>{"z"}));
    Errc code{};
    try {
      co_await disk.rename("d/a", "d/y");
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, Errc::io_failed);
    EXPECT_THROW(disk.read("d/a"), Error);
  });
  std::string holder;
  auto lock = disk.lock("d/lock", "me", holder);
  EXPECT_NE(lock, nullptr);
  EXPECT_EQ(disk.lock("d/lock", "you", holder), nullptr);
  lock.reset();
  EXPECT_NE(disk.lock("d/lock", "you", holder), nullptr);
}

}  // namespace memory_disk_test
}  // namespace tiffany::wal
