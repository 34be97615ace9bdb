// Commands that do odd things to their own directory, and directories that are not as they should
// be.
#include <sys/file.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "exec/exec_world.hpp"

namespace tiffany {
namespace trouble_test {

using exec::CommandEnd;
using exec::CommandFile;
using exec::CommandResult;
using exec::CommandSpec;
using exec::SupervisorMark;

const Uuid kId = ExecTest::id_of("a command");

const CommandSpec kTrue({"true"});

// Whether a process waits for the lock of the open file.
bool somebody_waits_for(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0) return true;
  const std::string inode = ":" + std::to_string(status.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("->") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

class Trouble : public ExecTest {
 protected:
  std::optional<Errc> code_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& error) {
      said = error.what();
      return error.code();
    }
    return std::nullopt;
  }
  std::optional<Errc> read_code(const Uuid& id) {
    exec::Commands all = commands();
    return code_of([&] {
      program([&]() -> Task<void> { co_await all.read(id, CommandFile::outputs, 1000); });
    });
  }
  std::size_t sweep() {
    exec::Commands all = commands();
    std::size_t count = 0;
    program([&]() -> Task<void> {
      std::set<Uuid> keep;
      count = co_await all.sweep(std::move(keep));
    });
    return count;
  }
  // Directories of commands.
  int left() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(commands_at())) {
      if (entry.is_directory()) ++count;
    }
    return count;
  }
  SupervisorMark own_mark() const {
    SupervisorMark mark;
    mark.pid = getpid();
    const std::string stat = text_of("/proc/self/stat");
    std::size_t at = stat.rfind(')');
    for (int i = 2; i < 22; ++i) at = stat.find(' ', at + 1);
    mark.started = std::stoull(stat.substr(at + 1));
    mark.boot = text_of("/proc/sys/kernel/random/boot_id").substr(0, 36);
    return mark;
  }
  std::string said;
};

TEST_F(Trouble, OutputsThatAreNoFileAreRefusedAndNobodyWaitsForThem) {
  for (const char* const make : {"mkfifo \"$TIFFANY_OUTPUT\"", "mkdir \"$TIFFANY_OUTPUT\"",
                                 "ln -s /etc/passwd \"$TIFFANY_OUTPUT\""}) {
    const Uuid id = id_of(make);
    EXPECT_TRUE(run(id, shell(make)).ok());
    EXPECT_TRUE(read_code(id).has_value()) << make;
    EXPECT_NE(said.find("outputs"), std::string::npos) << said;
  }
}

TEST_F(Trouble, ASecretInAFifoIsRefusedAndNobodyWaitsForIt) {
  const Fifo never(at("key"));
  CommandSpec spec({"true"});
  spec.secrets.push_back(exec::Secret::from_file("KEY", never.path()));
  EXPECT_EQ(code_of([&] { run(kId, spec); }), Errc::command_failed);
  EXPECT_NE(said.find("is no file"), std::string::npos) << said;
}

TEST_F(Trouble, ASecretBehindALinkIsRead) {
  put(at("real"), "s3cret");
  symlink(at("real").c_str(), at("link").c_str());
  CommandSpec spec = shell("test \"$KEY\" = s3cret");
  spec.secrets.push_back(exec::Secret::from_file("KEY", at("link")));
  EXPECT_TRUE(run(kId, spec).ok());
}

TEST_F(Trouble, AllThatWasAskedForIsReadOfALargeOutput) {
  CommandSpec spec = shell("head -c 3000000 /dev/zero | tr '\\0' x");
  spec.output_bytes = 4'000'000;
  EXPECT_TRUE(run(kId, spec).ok());
  exec::Commands all = commands();
  program([&]() -> Task<void> {
    EXPECT_EQ((co_await all.read(kId, CommandFile::out, 4'000'000)).size(), 3'000'000u);
    EXPECT_EQ((co_await all.read(kId, CommandFile::out, 2'500'000)).size(), 2'500'000u);
  });
}

// ---- Whether it has begun ----

TEST_F(Trouble, WithoutTheProgramOfSupervisorsACommandHasNotBegunAndThatIsSaid) {
  exec::Commands all(commands_at(), at("no-such-tiffany-run"));
  const auto begin = [&] { program([&]() -> Task<void> { co_await all.run(kId, kTrue); }); };
  EXPECT_EQ(code_of(begin), Errc::command_failed);
}

TEST_F(Trouble, ARefusalOfACommandThatHasBegunIsNotSaidToBeOneThatHasNot) {
  SupervisorMark old = own_mark();
  old.started = 1;
  put(file_of(kId, "supervisor"), to_json(old));
  put(file_of(kId, "spec.json"), to_json(kTrue));
  std::filesystem::create_directory(file_of(kId, "exit.json.new"));
  EXPECT_EQ(code_of([&] { run(kId, kTrue); }), Errc::io_failed);
  EXPECT_NE(said.find("has begun"), std::string::npos) << said;
}

// ---- Who is waited for ----

TEST_F(Trouble, AProcessOfAnEarlierStartOfTheMachineIsNotWaitedFor) {
  SupervisorMark old = own_mark();  // the same number, begun at the same tick
  old.boot = "00000000-0000-0000-0000-000000000000";
  put(file_of(kId, "supervisor"), to_json(old));
  put(file_of(kId, "spec.json"), to_json(kTrue));
  EXPECT_EQ(run(kId, kTrue).end, CommandEnd::unknown);
}

TEST_F(Trouble, AttachingToACommandThatIsJustBeginningWaitsForItsLock) {
  put(at("runner"),
      "#!/bin/sh\necho called >> \"" + at("calls") + "\"\nexec " TIFFANY_RUN " \"$@\"\n");
  std::filesystem::permissions(at("runner"), std::filesystem::perms::owner_all);
  put(file_of(kId, "lock"), "");
  const int lock = open(file_of(kId, "lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  exec::Commands all(commands_at(), at("runner"));
  program([&]() -> Task<void> {
    auto running = spawn(&exec::Commands::run, &all, kId, kTrue);
    co_await sleep(std::chrono::milliseconds(100));  // the time in which it could call again
    close(lock);
    EXPECT_TRUE((co_await running).ok());
  });
  EXPECT_EQ(text_of(at("calls")), "called\n");
}

// ---- Directories that nobody needs any more ----

TEST_F(Trouble, ASweepRemovesWhatACommandMadeOfItsDirectory) {
  EXPECT_TRUE(run(id_of("a"), shell("mkdir -p \"$TIFFANY_OUTPUT/x/y\"; touch "
                                    "\"$TIFFANY_OUTPUT/x/y/z\"; ln -s / \"$TIFFANY_OUTPUT/root\""))
                  .ok());
  EXPECT_TRUE(run(id_of("b"), shell("touch \"${TIFFANY_OUTPUT%/*}/of somebody\"")).ok());
  EXPECT_EQ(sweep(), 2u);
  EXPECT_EQ(left(), 0);
}

TEST_F(Trouble, ASweepForgetsWhatNeverBegan) {
  CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  spec.secrets.push_back(exec::Secret::from_file("KEY", at("key")));
  EXPECT_EQ(code_of([&] { run(kId, spec); }), Errc::command_failed);
  EXPECT_EQ(sweep(), 1u);
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(text_of(at("ledger")), "");
}

TEST_F(Trouble, OnlyWhatEndedInAnEarlierRoundIsForgottenForTheNext) {
  CommandSpec spec = shell("echo once >> \"$1\"", {at("ledger")});
  const auto run_after = [&](std::uint64_t round) {
    program([&]() -> Task<void> {
      exec::Commands all = commands();
      co_await all.forget_older(kId, round);
    });
    spec.round = round;
    run(kId, spec);
    return text_of(at("ledger"));
  };
  EXPECT_EQ(run_after(0), "once\n");
  EXPECT_EQ(run_after(0), "once\n");
  EXPECT_EQ(run_after(7), "once\nonce\n");
  EXPECT_EQ(run_after(7), "once\nonce\n");
}

TEST_F(Trouble, ASweepGoesOnBehindWhatCannotBeRemovedAndReportsIt) {
  run(id_of("good"), kTrue);
  const Uuid bad = id_of("bad");
  run(bad, kTrue);
  const std::string lock = file_of(bad, "lock");
  std::filesystem::remove(lock);
  std::filesystem::create_directory(lock);  // which nobody can lock
  EXPECT_EQ(code_of([&] { sweep(); }), Errc::command_failed);
  EXPECT_NE(said.find("1 of 2"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(file_of(id_of("good"), "lock")));
  std::filesystem::remove(lock);
  EXPECT_EQ(sweep(), 1u);
}

// The supervisor has told the end and is about to be gone.
TEST_F(Trouble, ACommandThatHasEndedIsForgottenWhenItsSupervisorIsGone) {
  run(kId, kTrue);
  const int lock = open(file_of(kId, "lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  std::thread gone([&] {
    while (!somebody_waits_for(lock)) std::this_thread::yield();
    close(lock);
  });
  EXPECT_EQ(sweep(), 1u);
  gone.join();
  EXPECT_EQ(left(), 0);
}

TEST_F(Trouble, ASweepRemovesADirectoryWithDamagedFiles) {
  run(kId, kTrue);
  put(file_of(kId, "exit.json"), "half");
  put(file_of(kId, "spec.json"), "");
  EXPECT_EQ(sweep(), 1u);
  EXPECT_EQ(left(), 0);
}

}  // namespace trouble_test
}  // namespace tiffany
