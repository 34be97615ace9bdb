// Two processes and one directory, on the disk of the machine.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace process_test {

class WalProcessTest : public testing::TestWithParam<Layout> {
 protected:
  WalProcessTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-wal-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~WalProcessTest() override { std::filesystem::remove_all(directory_); }

  LogOptions options() const {
    LogOptions options(directory_ + "/a/log");
    options.layout = GetParam();
    options.segment_size = kSegment;
    return options;
  }

  // On a virtual clock, where the disk is called directly: there are no threads that a fork would
  // lose.
  static void run(Task<void> (*program)(WalProcessTest*), WalProcessTest* test) {
    Scheduler scheduler(Options().virtual_time());
    auto handle = scheduler.spawn(program, test);
    while (!handle.done()) scheduler.step();
    const auto outcome = outcome_of(handle, false);
    if (!outcome.ok()) std::rethrow_exception(outcome.error());
  }

  // The other process: writes a record, says so, and waits to be killed.
  static Task<void> owns_the_log(WalProcessTest* test) {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(test->options(), index);
    const std::string id = task_id(1).text();
    log->append(index.at(task_id(1)), Entry{RecordType::Spawn, id, "\"name\":\"first\""});
    co_await log->flush();
    const char done = '!';
    if (write(test->pipe_[1], &done, 1) != 1) _exit(1);
    while (true) pause();
  }

  std::string refusal() const {
    std::string text = "The log in ";
    text += options().directory;
    text += " is being written by process ";
    text += std::to_string(child_);
    text += ". Only one process can at a time; stop that one, or use another directory.";
    return text;
  }
  static Task<void> is_refused(WalProcessTest* test) {
    LogIndex index;
    std::string sentence;
    try {
      co_await Log::open(test->options(), index);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::log_busy);
      sentence = e.what();
    }
    EXPECT_EQ(sentence, test->refusal());
  }

  static Task<void> takes_over(WalProcessTest* test) {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(test->options(), index);
    EXPECT_EQ(index.epoch, test->lives_);
    EXPECT_EQ(log->epoch(), test->lives_ + 1);
    EXPECT_TRUE(index.damage.empty());
    EXPECT_FALSE(index.shut_down);
    const TaskLog* task = index.find(task_id(1));
    EXPECT_TRUE(task != nullptr);
    if (task != nullptr) {
      EXPECT_EQ(task->last_seq, (test->lives_ + 1) / 2);
    }
    co_await log->close();
  }

  // ---- The lock file is removed under a process that runs ----

  static void say(int to, char what) {
    if (write(to, &what, 1) != 1) _exit(1);
  }
  static char hear(int from) {
    char what = '?';
    return read(from, &what, 1) == 1 ? what : '?';
  }
  // What a write that is awaited ends with: A for acknowledged, F for fenced.
  static Task<char> write_one(Log* log, TaskLog* task, RecordType type) {
    try {
      const std::string id = task->id.text();
      log->append(*task, Entry{type, id, "\"name\":\"one\""});
      co_await log->flush();
    } catch (const Error& e) {
      co_return e.code() == Errc::log_fenced ? 'F' : '?';
    }
    co_return 'A';
  }
  // The owner under whom the lock is removed.
  static Task<void> is_fenced(WalProcessTest* test) {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(test->options(), index);
    TaskLog& task = index.at(task_id(1));
    say(test->pipe_[1], co_await write_one(log.get(), &task, RecordType::Spawn));
    hear(test->back_[0]);  // there is another owner now
    const char next = co_await write_one(log.get(), &task, RecordType::StepEnd);
    say(test->pipe_[1], next);
    say(test->pipe_[1], log->sealed() ? 'S' : '?');
    // A task that the new owner does not know is not written either, nor is anything later.
    say(test->pipe_[1], co_await write_one(log.get(), &index.at(task_id(3)), RecordType::Spawn));
    _exit(0);
  }
  static Task<void> owns_it_next(WalProcessTest* test) {
    LogIndex index;
    std::filesystem::remove(test->options().directory + "/lock");
    const std::shared_ptr<Log> log = co_await Log::open(test->options(), index);
    EXPECT_EQ(log->epoch(), 2u);
    const TaskLog* const first = index.find(task_id(1));
    EXPECT_TRUE(first != nullptr && first->last_seq == 1);
    TaskLog& own = index.at(task_id(2));
    EXPECT_EQ(co_await write_one(log.get(), &own, RecordType::Spawn), 'A');
    say(test->back_[1], '!');
    EXPECT_EQ(hear(test->pipe_[0]), 'F') << "at its next sync";
    EXPECT_EQ(hear(test->pipe_[0]), 'S');
    EXPECT_EQ(hear(test->pipe_[0]), 'F');
    // What the other one tried does not hurt the one that owns the log.
    EXPECT_EQ(co_await write_one(log.get(), &own, RecordType::StepEnd), 'A');
    co_await log->close();
  }
  static Task<void> finds_what_was_acknowledged(WalProcessTest* test) {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(test->options(), index);
    EXPECT_TRUE(index.damage.empty()) << index.damage[0].text();
    EXPECT_TRUE(index.shut_down);
    const TaskLog* const first = index.find(task_id(1));
    const TaskLog* const second = index.find(task_id(2));
    EXPECT_TRUE(first != nullptr && first->last_seq == 1) << "the second was not acknowledged";
    EXPECT_TRUE(second != nullptr && second->last_seq == 2);
    EXPECT_EQ(index.find(task_id(3)), nullptr);
    co_await log->close();
  }

  std::string directory_;
  int back_[2] = {-1, -1};
  int pipe_[2] = {-1, -1};
  pid_t child_ = -1;
  std::uint64_t lives_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, WalProcessTest, testing::Values(Layout::journal, Layout::files),
                         [](const testing::TestParamInfo<Layout>& layout) {
                           return layout.param == Layout::journal ? "journal" : "files";
                         });

TEST_P(WalProcessTest, D4_ASecondProcessIsRefusedAndTakesOverWhenTheFirstIsKilled) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(pipe(pipe_), 0);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      try {
        run(owns_the_log, this);
      } catch (...) {
      }
      _exit(1);
    }
    close(pipe_[1]);
    char done = 0;
    ASSERT_EQ(read(pipe_[0], &done, 1), 1);
    close(pipe_[0]);
    ++lives_;
    run(is_refused, this);
    ASSERT_EQ(kill(child_, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child_, &status, 0), child_);
    run(takes_over, this);
    ++lives_;
  }
}

TEST_P(WalProcessTest, AnOwnerWhoseLockFileWasRemovedSealsAtItsNextSyncAndNothingIsLost) {
  ASSERT_EQ(pipe(pipe_), 0);
  ASSERT_EQ(pipe(back_), 0);
  child_ = fork();
  ASSERT_GE(child_, 0);
  if (child_ == 0) {
    close(back_[1]);
    try {
      run(is_fenced, this);
    } catch (...) {
    }
    _exit(1);
  }
  close(pipe_[1]);
  close(back_[0]);
  ASSERT_EQ(hear(pipe_[0]), 'A');
  run(owns_it_next, this);
  close(back_[1]);
  close(pipe_[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  run(finds_what_was_acknowledged, this);
}

}  // namespace process_test
}  // namespace tiffany::wal::test
