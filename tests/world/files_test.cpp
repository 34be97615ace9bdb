// Files, directories and pipes, on every World; and a log, which needs all of that.
#include <cerrno>
#include <csignal>

#include "tiffany/io/directory.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/resolve.hpp"
#include "tiffany/io/send_file.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/wait.hpp"
#include "tiffany/wal/log.hpp"
#include "world/every_world.hpp"

namespace tiffany {
namespace files_test {

using namespace std::chrono_literals;

class WorldFilesTest : public OnEveryWorld {};
TIFFANY_ON_EVERY_WORLD(WorldFilesTest);
class WorldPipes : public OnEveryWorld {};
TIFFANY_ON_EVERY_WORLD(WorldPipes);
class WorldThreads : public OnEveryWorld {};
TIFFANY_ON_EVERY_WORLD(WorldThreads);
class WorldLog : public OnEveryWorld {};
TIFFANY_ON_EVERY_WORLD(WorldLog);

TEST_P(WorldFilesTest, WhatIsWrittenAtAnOffsetIsReadThere) {
  run(
      [](std::string name) -> Task<void> {
        const File file = co_await open_file(name, FileMode::create);
        EXPECT_EQ(co_await file.write_at(4, "five"), 4u);
        EXPECT_EQ(co_await file.write_synced(0, "abcd"), 4u);
        EXPECT_EQ(file.size(), 8u);
        std::string room(16, ' ');
        EXPECT_EQ(co_await file.read_at(2, room), 6u);
        EXPECT_EQ(room.substr(0, 6), "cdfive");
        EXPECT_EQ(co_await file.read_at(8, room), 0u);
        co_await file.sync();
        co_await file.sync_data();
      },
      path("file"));
}

TEST_P(WorldFilesTest, AnAppendGoesToTheEnd) {
  run(
      [](std::string name) -> Task<void> {
        const File one = co_await open_file(name, FileMode::append);
        const File other = co_await open_file(name, FileMode::append);
        co_await one.append("a");
        co_await other.append("b");
        co_await one.append("c");
        EXPECT_EQ(co_await read_file(name), "abc");
      },
      path("file"));
}

TEST_P(WorldFilesTest, ModesOfOpeningDecideWhatMayBeThere) {
  run(
      [](std::string name) -> Task<void> {
        EXPECT_EQ(co_await error_of(open_file(name)), ENOENT);
        File made = co_await open_file(name, FileMode::create);
        co_await made.write_at(0, "old");
        EXPECT_EQ(co_await error_of(open_file(name, FileMode::create)), EEXIST);
        const File kept = co_await open_file(name, FileMode::write);
        EXPECT_EQ(kept.size(), 3u);
        const File emptied = co_await open_file(name, FileMode::truncate);
        EXPECT_EQ(kept.size(), 0u);
        const File read_only = co_await open_file(name);
        EXPECT_EQ(co_await error_of(read_only.write_at(0, "x")), EBADF);
        EXPECT_EQ(co_await error_of(open_file(name + "/below", FileMode::write)), ENOTDIR);
      },
      path("file"));
}

TEST_P(WorldFilesTest, RoomIsReservedAndCutOff) {
  run(
      [](std::string name) -> Task<void> {
        const File file = co_await open_file(name, FileMode::create);
        co_await file.write_at(0, "abc");
        co_await file.allocate(0, 4096);
        EXPECT_EQ(file.size(), 4096u);
        file.truncate(2);
        EXPECT_EQ(co_await read_file(name), "ab");
        file.truncate(4);
        EXPECT_EQ(co_await read_file(name), std::string("ab\0\0", 4));
      },
      path("file"));
}

TEST_P(WorldFilesTest, ARenameReplacesAndARemovedFileLivesWhileItIsOpen) {
  run(
      [](std::string one, std::string other) -> Task<void> {
        const File first = co_await open_file(one, FileMode::create);
        co_await first.write_at(0, "first");
        const File second = co_await open_file(other, FileMode::create);
        co_await second.write_at(0, "second");
        co_await rename_file(one, other);
        EXPECT_EQ(co_await read_file(other), "first");
        EXPECT_EQ(co_await error_of(open_file(one)), ENOENT);
        EXPECT_EQ(co_await error_of(rename_file(one, other)), ENOENT);
        co_await remove_file(other);
        EXPECT_EQ(co_await error_of(remove_file(other)), ENOENT);
        std::string room(8, ' ');
        EXPECT_EQ(co_await first.read_at(0, room), 5u);
      },
      path("one"), path("other"));
}

TEST_P(WorldFilesTest, ADirectoryListsItsEntriesInOrder) {
  run(
      [](std::string directory) -> Task<void> {
        WorldFiles& files = World::current().files();
        EXPECT_EQ(files.make_directory(directory.c_str()), 0);
        EXPECT_EQ(files.make_directory(directory.c_str()), -1);
        EXPECT_EQ(errno, EEXIST);
        EXPECT_EQ(files.make_directory((directory + "/missing/below").c_str()), -1);
        EXPECT_EQ(errno, ENOENT);
        EXPECT_EQ(files.make_directory((directory + "/c").c_str()), 0);
        const File b = co_await open_file(directory + "/b", FileMode::create);
        const File a = co_await open_file(directory + "/a", FileMode::create);
        std::string names;
        for (const DirectoryEntry& entry : co_await list_directory(directory)) {
          names += entry.path.substr(directory.size()) +
                   (entry.kind == EntryKind::directory ? "/ " : " ");
        }
        EXPECT_EQ(names, "/a /b /c/ ");
        EXPECT_EQ(co_await error_of(list_directory(directory + "/missing")), ENOENT);
        EXPECT_EQ(co_await error_of(list_directory(directory + "/a")), ENOTDIR);
        EXPECT_EQ(co_await error_of(remove_file(directory + "/c")), EISDIR);
        co_await sync_directory(directory);
      },
      path("directory"));
}

TEST_P(WorldFilesTest, ALockIsOfOneOpenFileUntilItIsClosed) {
  run(
      [](std::string name) -> Task<void> {
        WorldFiles& files = World::current().files();
        File one = co_await open_file(name, FileMode::write);
        const File other = co_await open_file(name, FileMode::write);
        EXPECT_EQ(files.lock(one.descriptor().fd()), 0);
        EXPECT_EQ(files.lock(one.descriptor().fd()), 0);
        EXPECT_EQ(files.lock(other.descriptor().fd()), -1);
        EXPECT_EQ(errno, EWOULDBLOCK);
        one.close();
        EXPECT_EQ(files.lock(other.descriptor().fd()), 0);
      },
      path("lock"));
}

TEST_P(WorldFilesTest, ANewNameDoesNotReplaceAnOldOne) {
  run(
      [](std::string one, std::string other) -> Task<void> {
        WorldFiles& files = World::current().files();
        const File a = co_await open_file(one, FileMode::create);
        const File b = co_await open_file(other, FileMode::create);
        EXPECT_EQ(files.rename_new(one.c_str(), other.c_str()), -1);
        EXPECT_EQ(errno, EEXIST);
        co_await remove_file(other);
        EXPECT_EQ(files.rename_new(one.c_str(), other.c_str()), 0);
        struct stat by_name{};
        struct stat by_number{};
        EXPECT_EQ(files.status(other.c_str(), by_name), 0);
        EXPECT_EQ(files.status(a.descriptor().fd(), by_number), 0);
        EXPECT_EQ(by_name.st_ino, by_number.st_ino);
      },
      path("one"), path("other"));
}

Task<void> send_whole(const Socket* to, const File* from, std::size_t size) {
  EXPECT_EQ(co_await send_file(*to, *from, 1, size), size - 1);
}
TEST_P(WorldFilesTest, AFileIsSentIntoASocket) {
  run(
      [](std::string name) -> Task<void> {
        const std::string text = long_text(400'000);
        const File file = co_await open_file(name, FileMode::create);
        co_await file.write_at(0, text);
        Ends ends = co_await connected();
        co_await scope([&](Scope& s) -> Task<void> {
          s.spawn(send_whole, &ends.client, &file, text.size());
          EXPECT_EQ(co_await read_exactly(&ends.server, text.size() - 1), text.substr(1));
        });
      },
      path("file"));
}

// ---- Pipes ----

TEST_P(WorldPipes, APipeCarriesBytesUntilItsWriteEndIsClosed) {
  run([]() -> Task<void> {
    Pipe pipe = make_pipe();
    co_await pipe.write_end.write("through");
    pipe.write_end.close();
    EXPECT_EQ(co_await read_all(&pipe.read_end), "through");
  });
}
TEST_P(WorldPipes, AWriteWithoutAReaderFails) {
  run([]() -> Task<void> {
    Pipe pipe = make_pipe();
    pipe.read_end.close();
    EXPECT_EQ(co_await error_of(pipe.write_end.write("x")), EPIPE);
  });
}
Task<void> fill(Pipe* pipe, const std::string* text) {
  co_await pipe->write_end.write(*text);
  pipe->write_end.close();
}
TEST_P(WorldPipes, AWriteThatIsLongerThanThePipeWaitsForTheReader) {
  run([]() -> Task<void> {
    Pipe pipe = make_pipe();
    const std::string text = long_text(500'000);
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(fill, &pipe, &text);
      EXPECT_EQ(co_await read_all(&pipe.read_end), text);
    });
  });
}
TEST_P(WorldPipes, ReadinessIsWaitedForAndCancelled) {
  run([]() -> Task<void> {
    Pipe pipe = make_pipe();
    const auto nothing = co_await within(1ms, readable(pipe.read_end.descriptor()));
    EXPECT_TRUE(nothing.timed_out());
    EXPECT_NE(co_await writable(pipe.write_end.descriptor()) & POLLOUT, 0);
    co_await pipe.write_end.write("x");
    EXPECT_NE(co_await readable(pipe.read_end.descriptor()) & POLLIN, 0);
  });
}
Task<void> pipe_life() {
  Pipe pipe = make_pipe();
  const std::string text = long_text(200'000);
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(fill, &pipe, &text);
    co_await read_all(&pipe.read_end);
  });
}
TEST_P(WorldPipes, ACancelAtAnyStepLeavesNothingInFlight) { cancel_at_every_step(pipe_life); }

TEST_P(WorldPipes, ASignalToThisProcessComesOutOfItsSignals) {
  run([]() -> Task<void> {
    Signals signals({SIGUSR1, SIGUSR2});
    World& world = World::current();
    EXPECT_EQ(world.processes().kill(world.process_id(), SIGUSR2), 0);
    EXPECT_EQ(co_await signals.next(), SIGUSR2);
    const auto nothing = co_await within(1ms, signals.next());
    EXPECT_TRUE(nothing.timed_out());
  });
}

// ---- Processes, which only the operating system has ----

TEST(WorldProcesses, ASignalThroughAHandleReachesNoOtherProcess) {
  WorldProcesses& processes = os_world().processes();
  char name[] = "cat";
  char* const words[] = {name, nullptr};
  WorldProcesses::Plan plan;
  plan.program = name;
  plan.words = words;
  plan.variables = processes.environment();
  int ends[2];
  ASSERT_EQ(os_world().files().pipe(ends), 0);
  plan.descriptors[0] = ends[0];  // so that it waits for input
  pid_t child = -1;
  ASSERT_EQ(processes.start(plan, child), 0);
  const int handle = processes.open_handle(child);
  ASSERT_GE(handle, 0);
  EXPECT_EQ(processes.send_signal(handle, 0), 0);
  EXPECT_EQ(processes.send_signal(handle, SIGTERM), 0);
  int code = 0;
  int signal = 0;
  EXPECT_EQ(processes.wait(child, code, signal), 0);
  EXPECT_EQ(signal, SIGTERM);
  EXPECT_EQ(processes.send_signal(handle, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  for (const int fd : {handle, ends[0], ends[1]}) os_world().files().close(fd);
}

// ---- Threads for blocking work, names of hosts ----

int twice(int value) { return 2 * value; }
int refuse(int) { throw std::runtime_error("refused"); }

TEST_P(WorldThreads, AFunctionGivesItsResultOrThrows) {
  run([]() -> Task<void> {
    EXPECT_EQ(co_await offload(twice, 21), 42);
    std::string what;
    try {
      co_await offload(refuse, 1);
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    EXPECT_EQ(what, "refused");
  });
}
Task<void> offload_life() { EXPECT_EQ(co_await offload(twice, 21), 42); }
TEST_P(WorldThreads, ACancelAtAnyStepLeavesNothingInFlight) { cancel_at_every_step(offload_life); }

TEST_P(WorldThreads, NamesOfHostsAreLookedUp) {
  run([]() -> Task<void> {
    const std::vector<Address> number = co_await resolve("127.0.0.1", 80);
    EXPECT_EQ(number, (std::vector<Address>{Address::parse("127.0.0.1:80")}));
    const std::vector<Address> name = co_await resolve("localhost", 80);
    EXPECT_FALSE(name.empty());
    const bool found = std::find(name.begin(), name.end(), number[0]) != name.end();
    EXPECT_TRUE(found);
  });
}

// ---- A log ----

Task<void> append_one(wal::LogOptions options, Uuid id, std::size_t before) {
  wal::LogIndex index;
  const std::shared_ptr<wal::Log> log = co_await wal::Log::open(std::move(options), index);
  wal::TaskLog& task = index.at(id);
  EXPECT_EQ(task.records.size(), before);
  wal::Synced written;
  const std::string text = id.text();
  const auto type = before == 0 ? wal::RecordType::Spawn : wal::RecordType::StepEnd;
  log->append(task, wal::Entry{type, text, "\"name\":\"one\""}, wal::Level::sync, &written);
  co_await written.event.wait();
  EXPECT_EQ(written.error, nullptr);
  co_await log->close();
}

TEST_P(WorldLog, RecordsAreFoundAgainInBothLayouts) {
  for (const wal::Layout layout : {wal::Layout::journal, wal::Layout::files}) {
    wal::LogOptions options(path(layout == wal::Layout::journal ? "journal" : "files"));
    options.layout = layout;
    options.disk = wal::system_disk();
    options.segment_size = 0;
    const Uuid id = *Uuid::parse("00000000-0000-4000-8000-000000000001");
    for (std::size_t before = 0; before < 3; ++before) run(append_one, options, id, before);
  }
}

}  // namespace files_test
}  // namespace tiffany
