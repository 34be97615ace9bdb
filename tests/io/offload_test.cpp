// Functions on threads: abandoned by a cancel, never in each other's way.
#include "tiffany/io/offload.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "support/owner.hpp"
#include "tiffany/io/file.hpp"

namespace tiffany {
namespace offload_test {

using namespace std::chrono_literals;
using test::Aggregate;
using test::alive_owners;
using test::Owner;

// Where a function on a thread is stuck until the test opens the gate. Opens by itself after a
// while, so that a test that is wrong ends, too, and then says so.
class Gate {
 public:
  bool wait() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    const bool opened = changed_.wait_for(lock, 5s, [this] { return open_; });
    gave_up_ = gave_up_ || !opened;
    --inside_;
    changed_.notify_all();
    return opened;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_until_inside(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 5s, [&] { return inside_ >= count; });
  }
  void wait_until_empty() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 10s, [&] { return inside_ == 0; });
  }
  bool gave_up() {
    const std::lock_guard lock(mutex_);
    return gave_up_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
  bool gave_up_ = false;
};
using GatePtr = std::shared_ptr<Gate>;

class OffloadTest : public OnEveryReactor {
 protected:
  GatePtr gate_ = std::make_shared<Gate>();
};
TIFFANY_ON_EVERY_REACTOR(OffloadTest);

bool waits_at(const GatePtr& gate) { return gate->wait(); }

Task<bool> is_stuck(GatePtr gate) { co_return co_await offload(waits_at, gate); }

Task<bool> gives_up_a_stuck_one(GatePtr gate) {
  const auto outcome = co_await within(1ms, is_stuck(gate));
  co_return outcome.timed_out();
}

TEST_P(OffloadTest, AFunctionThatIsStuckIsAbandonedByATimeout) {
  EXPECT_TRUE(run(gives_up_a_stuck_one, gate_).value());
  EXPECT_FALSE(gate_->gave_up());
  gate_->open();
  gate_->wait_until_empty();
}

int answers() { return 42; }

Task<int> asks_beside_stuck_ones(GatePtr gate, int stuck) {
  std::vector<Handle<bool>> all;
  for (int i = 0; i < stuck; ++i) all.push_back(spawn(is_stuck, gate));
  co_await yield();
  const int answer = co_await offload(answers);
  EXPECT_FALSE(gate->gave_up());
  for (auto& each : all) each.cancel();
  co_return answer;
}

TEST_P(OffloadTest, StuckFunctionsDoNotBlockTheOthers) {
  EXPECT_EQ(run(asks_beside_stuck_ones, gate_, 12).value(), 42);
  gate_->open();
  gate_->wait_until_empty();
}

TEST_P(OffloadTest, ASchedulerDoesNotWaitForWhatIsStuckWhenItEnds) {
  {
    Scheduler scheduler(options());
    scheduler.spawn(is_stuck, gate_);
    scheduler.step_until_idle();
    gate_->wait_until_inside(1);
  }
  EXPECT_FALSE(gate_->gave_up());
  gate_->open();
  gate_->wait_until_empty();
}

// Says on which thread it ended.
class Witness {
 public:
  struct Seen {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::thread::id> where;
  };
  explicit Witness(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  Witness(Witness&&) noexcept = default;
  ~Witness() {
    if (seen_ == nullptr) return;
    const std::lock_guard lock(seen_->mutex);
    seen_->where = std::this_thread::get_id();
    seen_->changed.notify_all();
  }

 private:
  std::shared_ptr<Seen> seen_;
};
using SeenPtr = std::shared_ptr<Witness::Seen>;

Witness gives_a_witness(const GatePtr& gate, SeenPtr seen) {
  gate->wait();
  return Witness(std::move(seen));
}

Task<Witness> waits_for_a_witness(GatePtr gate, SeenPtr seen) {
  co_return co_await offload(gives_a_witness, gate, seen);
}

TEST_P(OffloadTest, TheResultOfAnAbandonedFunctionEndsOnItsThread) {
  const auto seen = std::make_shared<Witness::Seen>();
  Scheduler scheduler(options());
  auto task = scheduler.spawn(waits_for_a_witness, gate_, seen);
  scheduler.step_until_idle();
  gate_->wait_until_inside(1);
  task.cancel();
  scheduler.run();
  EXPECT_TRUE(task.done());
  gate_->open();
  std::unique_lock lock(seen->mutex);
  ASSERT_TRUE(seen->changed.wait_for(lock, 10s, [&] { return seen->where.has_value(); }));
  EXPECT_NE(*seen->where, std::this_thread::get_id());
}

// ---- What it throws when nobody waits any more ----

int throws_behind(const GatePtr& gate) {
  gate->wait();
  throw std::runtime_error("the disk is full");
}

Task<int> waits_for_what_throws(GatePtr gate) { co_return co_await offload(throws_behind, gate); }

Task<void> hears_of(const std::vector<std::string>* log) {
  for (int i = 0; i < 5000 && log->empty(); ++i) co_await sleep(1ms);
}

TEST_P(OffloadTest, WhatAnAbandonedFunctionThrowsIsReportedToTheLog) {
  std::vector<std::string> log;
  bool has_error = false;
  Scheduler scheduler(options().log_to([&](const LogLine& line) {
    log.emplace_back(line.message);
    has_error = line.unseen_error != nullptr;
  }));
  auto task = scheduler.spawn(waits_for_what_throws, gate_).named("payer");
  scheduler.step_until_idle();
  gate_->wait_until_inside(1);
  task.cancel();
  scheduler.run();
  EXPECT_TRUE(outcome_of(task, false).cancelled());
  EXPECT_EQ(log.size(), 0u);
  gate_->open();
  scheduler.spawn(hears_of, &log);
  scheduler.run();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("the disk is full"), std::string::npos) << log[0];
  EXPECT_NE(log[0].find("payer"), std::string::npos) << log[0];
  EXPECT_TRUE(has_error);
  EXPECT_EQ(scheduler.counters().unseen_failures, 1u);
}

// Its end shows that the report of it has been written.
class WitnessedError : public std::runtime_error {
 public:
  explicit WitnessedError(SeenPtr seen)
      : runtime_error("the disk is full"), last_(std::move(seen)) {}

 private:
  Witness last_;
};

int throws_a_witness(const GatePtr& gate, SeenPtr seen) {
  gate->wait();
  throw WitnessedError(std::move(seen));
}

Task<int> waits_for_what_throws_a_witness(GatePtr gate, SeenPtr seen) {
  co_return co_await offload(throws_a_witness, gate, seen);
}

TEST_P(OffloadTest, WhatAnAbandonedFunctionThrowsAfterItsSchedulerGoesToStandardError) {
  const auto seen = std::make_shared<Witness::Seen>();
  testing::internal::CaptureStderr();
  {
    Scheduler scheduler(options());
    scheduler.spawn(waits_for_what_throws_a_witness, gate_, seen);
    scheduler.step_until_idle();
    gate_->wait_until_inside(1);
  }
  gate_->open();
  {
    std::unique_lock lock(seen->mutex);
    EXPECT_TRUE(seen->changed.wait_for(lock, 10s, [&] { return seen->where.has_value(); }));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the disk is full"), std::string::npos) << said;
}

// ---- What it owns ----

int number_in(Aggregate aggregate) { return aggregate.owner.number; }

Task<int> offloads_what_owns() {
  Aggregate one{1, Owner(1)};
  const auto job = [one] { return one.owner.number; };
  auto first = job;
  auto second = job;
  int sum = co_await offload(job);
  sum += co_await offload(moved(first));
  sum += co_await offload(number_in, one);
  sum += co_await offload_joined(job);
  sum += co_await offload_joined(moved(second));
  sum += co_await offload_joined(number_in, one);
  co_return sum + co_await offload(number_in, moved(one));
}

TEST_P(OffloadTest, FunctionsAndArgumentsThatOwnComeFromVariables) {
  alive_owners = 0;
  EXPECT_EQ(run(offloads_what_owns).value(), 7);
  EXPECT_EQ(alive_owners, 0) << "something was destroyed twice, or not at all";
}

Task<int> leaves_its_variable() {
  Aggregate one{1, Owner(1)};
  auto call = offload(number_in, moved(one));
  EXPECT_EQ(one.owner.number, -1) << "the thread must not use a variable of the task";
  co_return co_await std::move(call);
}

TEST_P(OffloadTest, AMovedVariableIsMovedFromBeforeTheThreadBegins) {
  EXPECT_EQ(run(leaves_its_variable).value(), 1);
}

Task<int> uses_its_frame(GatePtr gate) {
  int local = 1;
  const auto changes = [&local, gate] {
    gate->wait();
    ++local;
  };
  co_await offload_joined(changes);
  co_return local;
}

TEST_P(OffloadTest, AJoinedFunctionIsWaitedForByACancel) {
  Scheduler scheduler(options());
  auto task = scheduler.spawn(uses_its_frame, gate_);
  scheduler.step_until_idle();
  gate_->wait_until_inside(1);
  task.cancel();
  scheduler.poll(scheduler.now() + 1ms);
  EXPECT_FALSE(task.done());
  gate_->open();
  scheduler.run();
  EXPECT_EQ(outcome_of(task, false).value(), 2) << "the result wins";
}

Task<int> with_one_thread(GatePtr gate) {
  auto first = spawn(is_stuck, gate);
  co_await yield();
  auto second = spawn([]() -> Task<int> { co_return co_await offload(answers); });
  co_await yield();
  second.cancel();  // waits for the thread, and leaves at once
  auto third = spawn([]() -> Task<int> { co_return co_await offload(answers); });
  co_await yield();
  gate->open();
  co_return co_await third;
}

TEST_P(OffloadTest, TheNumberOfThreadsIsAnOption) {
  Scheduler scheduler(
      Options().clock(system_reactor(GetParam(), ReactorOptions().offload_threads(1))));
  auto task = scheduler.spawn(with_one_thread, gate_);
  scheduler.run();
  EXPECT_EQ(outcome_of(task, false).value(), 42);
  EXPECT_FALSE(gate_->gave_up());
}

TEST_P(OffloadTest, NoThreadsAndTooManyAreRefused) {
  EXPECT_EQ(test::code_of(test::thrown_by([] { ReactorOptions().offload_threads(0); })),
            Errc::bad_argument);
  EXPECT_EQ(test::code_of(test::thrown_by([] { ReactorOptions().name_threads(100'000); })),
            Errc::bad_argument);
}

Task<std::string> opens_a_fifo(std::string path) {
  const File file = co_await open_file(path);  // until somebody opens it for writing
  co_return "opened";
}

Task<bool> gives_up_a_fifo(std::string path, Duration limit) {
  const auto outcome = co_await within(limit, opens_a_fifo(path));
  co_return outcome.timed_out();
}

// Lets a thread that is stuck in opening the fifo for reading go, and waits until it has closed the
// fifo. There may be none: a cancel that comes before a thread has begun takes the call back. Then
// nobody is left but the `threads` that were there before.
void let_the_reader_go(const std::string& path, std::size_t threads) {
  int writer = -1;
  while (writer < 0) {
    const bool all_gone = running_threads() == threads;
    writer = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (writer < 0 && all_gone) return;
    std::this_thread::yield();
  }
  pollfd gone{.fd = writer, .events = 0, .revents = 0};
  EXPECT_EQ(poll(&gone, 1, -1), 1);
  EXPECT_EQ(gone.revents & POLLERR, POLLERR);
  close(writer);
}

TEST_P(OffloadTest, AnOpenThatIsStuckCanBeCancelled) {
  const TemporaryDirectory directory;
  const std::string path = directory / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  if (GetParam() == ReactorKind::uring) {  // opens a fifo without waiting for its other side
    EXPECT_FALSE(run(gives_up_a_fifo, path, 60s).value());
    return;
  }
  const std::size_t threads = running_threads();
  EXPECT_TRUE(run(gives_up_a_fifo, path, 1ms).value());
  let_the_reader_go(path, threads);
}

}  // namespace offload_test
}  // namespace tiffany
