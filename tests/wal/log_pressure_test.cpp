// Back-pressure between the log and the scheduler: a slow disk holds the tasks that take work in.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/pressure.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/memory_disk.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::wal {
namespace log_pressure_test {

using namespace std::chrono_literals;

// A disk in memory whose writes take a second of virtual time, or fail.
class SlowDisk final : public Disk {
 public:
  std::vector<std::string> list(const std::string& directory) override {
    return disk_.list(directory);
  }
  void make_directory(const std::string& path) override { disk_.make_directory(path); }
  std::unique_ptr<DiskFile> open(const std::string& path) override {
    return std::make_unique<File>(*this, disk_.open(path));
  }
  std::unique_ptr<DiskContent> read(const std::string& path) override { return disk_.read(path); }
  bool exists(const std::string& path) override { return disk_.exists(path); }
  Task<void> rename(std::string from, std::string to) override {
    return disk_.rename(std::move(from), std::move(to));
  }
  Task<void> remove(std::string path) override { return disk_.remove(std::move(path)); }
  Task<void> sync_directory(std::string path) override {
    return disk_.sync_directory(std::move(path));
  }
  std::unique_ptr<DiskLock> lock(const std::string& path, const std::string& about,
                                 std::string& holder) override {
    return disk_.lock(path, about, holder);
  }
  bool slow = false;
  bool broken = false;

 private:
  class File final : public DiskFile {
   public:
    File(SlowDisk& disk, std::unique_ptr<DiskFile> file) : disk_(disk), file_(std::move(file)) {}
    Task<void> write(std::uint64_t at, std::string_view bytes) override {
      if (disk_.slow) co_await sleep(1s);
      if (disk_.broken) throw IoError(EIO, "write", "a slow disk");
      co_await file_->write(at, bytes);
    }
    Task<void> sync() override { return file_->sync(); }
    void note(std::uint64_t at, std::string_view bytes) noexcept override {
      file_->note(at, bytes);
    }

   private:
    SlowDisk& disk_;
    std::unique_ptr<DiskFile> file_;
  };
  MemoryDisk disk_;
};

struct Program {
  std::shared_ptr<SlowDisk> disk = std::make_shared<SlowDisk>();
  Pressure gate{1'000, 4'000};
  std::shared_ptr<Log> log{};
  LogIndex index{};
  int taken = 0;
  int ticks = 0;
  std::size_t highest = 0;
  std::size_t held_at_once = 0;
};

// Takes work in: each byte that comes is a record.
Task<void> takes_in(Program* program, ByteStream* from) {
  TaskLog& task = program->index.at(Uuid::derived(Uuid(), "task"));
  std::array<char, 1> room;
  const std::string id = task.id.text();
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return;
    program->log->append(task, Entry{RecordType::StepEnd, id, "\"value\":\"x\""}, Level::sync);
    ++program->taken;
    program->highest = std::max(program->highest, program->gate.level());
  }
}

Task<void> ticks(Program* program) {
  for (;;) {
    co_await sleep(100ms);
    ++program->ticks;
    program->held_at_once = std::max(program->held_at_once, program->gate.waiting());
  }
}

TEST(LogPressure, T15_ASlowDiskHoldsTasksThatTakeWorkInAndNoOthers) {
  MemoryWorld world;
  Scheduler scheduler(Options().clock(world.reactor()));
  Program program;
  scheduler.spawn(
      [](Program* of) -> Task<void> {
        LogOptions options("wal");
        options.disk = of->disk;
        options.pressure = &of->gate;
        of->log = co_await Log::open(std::move(options), of->index);
        EXPECT_EQ(of->gate.level(), 0u) << "what was written is not counted";
        of->disk->slow = true;
        Pipe pipe = make_pipe();
        pipe.read_end.hold_at(of->gate);
        auto ticker = spawn(ticks, of).daemon();
        auto reader = spawn(takes_in, of, &pipe.read_end);
        const std::string much(200, 'x');
        co_await pipe.write_end.write(much);
        pipe.write_end.close();
        co_await reader;
        co_await of->log->flush();
        EXPECT_EQ(of->gate.level(), 0u);
        co_await of->log->close();
      },
      &program);
  scheduler.run();
  EXPECT_EQ(program.taken, 200);
  EXPECT_GE(program.gate.closings(), 2u);
  EXPECT_EQ(program.held_at_once, 1u) << "the reader was held";
  EXPECT_LT(program.highest, 5'000u) << "no more than the high mark and a record";
  const auto seconds = scheduler.now().time_since_epoch() / 1s;
  EXPECT_GE(seconds, 2);
  EXPECT_GE(program.ticks, 9 * seconds) << "the ticker went on all the time";
}

TEST(LogPressure, T15_ALogThatIsSealedHoldsNobody) {
  MemoryWorld world;
  Scheduler scheduler(Options().clock(world.reactor()).log_to([](const LogLine&) {}));
  Program program;
  bool passed = false;
  scheduler.spawn(
      [](Program* of, bool* through) -> Task<void> {
        LogOptions options("wal");
        options.disk = of->disk;
        options.pressure = &of->gate;
        of->log = co_await Log::open(std::move(options), of->index);
        TaskLog& task = of->index.at(Uuid::derived(Uuid(), "task"));
        const std::string id = task.id.text();
        of->disk->slow = of->disk->broken = true;
        while (!of->gate.closed()) {
          of->log->append(task, Entry{RecordType::StepEnd, id, "\"value\":\"x\""}, Level::sync);
        }
        co_await of->gate.pass();
        *through = true;
        EXPECT_TRUE(of->log->sealed());
      },
      &program, &passed);
  scheduler.run();
  EXPECT_TRUE(passed);
}

}  // namespace log_pressure_test
}  // namespace tiffany::wal
