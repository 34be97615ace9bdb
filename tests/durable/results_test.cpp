// Results of tasks that had ended when the log was opened: they are read when somebody asks for
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/durable_world.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {
namespace results_test {

using namespace std::chrono_literals;

// The disk of the system, which counts the values that are read beside the log.
class CountingDisk final : public wal::Disk {
 public:
  std::vector<std::string> list(const std::string& directory) override {
    return disk_->list(directory);
  }
  void make_directory(const std::string& path) override { disk_->make_directory(path); }
  std::unique_ptr<wal::DiskFile> open(const std::string& path) override {
    return disk_->open(path);
  }
  std::unique_ptr<wal::DiskContent> read(const std::string& path) override {
    if (path.find("/values/") != std::string::npos) ++values_read;
    return disk_->read(path);
  }
  bool exists(const std::string& path) override { return disk_->exists(path); }
  Task<void> rename(std::string from, std::string to) override {
    return disk_->rename(std::move(from), std::move(to));
  }
  Task<void> remove(std::string path) override { return disk_->remove(std::move(path)); }
  Task<void> sync_directory(std::string path) override {
    return disk_->sync_directory(std::move(path));
  }
  std::unique_ptr<wal::DiskLock> lock(const std::string& path, const std::string& about,
                                      std::string& holder) override {
    return disk_->lock(path, about, holder);
  }
  std::size_t values_read = 0;

 private:
  std::unique_ptr<wal::Disk> disk_ = wal::system_disk();
};

class ResultsTest : public DurableWorld {
 protected:
  ResultsTest() {
    types_ = [] {
      Registry types;
      types.add("repeats", 1, &ResultsTest::repeats);
      types.add("fails", 1, &ResultsTest::fails);
      types.add("waits", 1, &ResultsTest::waits);
      types.add("asks", 1, &ResultsTest::asks);
      return types;
    };
    disk_ = disk = std::make_shared<CountingDisk>();
  }
  static Durable<std::string> repeats(Flow&, int letters) {
    co_return std::string(static_cast<std::size_t>(letters), 'r');
  }
  static Durable<int> fails(Flow&) {
    throw std::runtime_error("it did not work");
    co_return 0;
  }
  static Durable<int> waits(Flow& flow) { co_return co_await flow.signal<int>("go"); }
  static Durable<std::string> asks(Flow& flow, int letters) {
    auto child = co_await flow.spawn<std::string>("repeats", letters);
    co_await flow.signal<int>("go");
    co_return co_await child;
  }
  template <class T>
  static Task<Errc> error_of(Task<T> task) {
    try {
      co_await std::move(task);
    } catch (const Error& e) {
      co_return e.code();
    }
    co_return Errc{};
  }
  static std::vector<DurableInfo> in_order(std::vector<DurableInfo> tasks) {
    std::sort(tasks.begin(), tasks.end(),
              [](const DurableInfo& a, const DurableInfo& b) { return a.id < b.id; });
    return tasks;
  }
  std::string values() const { return directory_ + "/wal/values"; }

  std::shared_ptr<CountingDisk> disk;
};
TIFFANY_ON_EVERY_LAYOUT(ResultsTest);

TEST_P(ResultsTest, OpeningReadsTheFirstRecordOfATaskThatEndedAndNotItsResult) {
  std::vector<Uuid> ids;
  live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 50; ++i) ids.push_back(co_await host.start("repeats", 1000));
    ids.push_back(co_await host.start("repeats", 70'000));  // beside the log
    for (const Uuid& id : ids) co_await host.result<std::string>(id);
    co_await host.close();
  });
  disk->values_read = 0;
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(recovery.finished, ids.size());
    EXPECT_EQ(host.store().counters().lines_read, ids.size());
    EXPECT_EQ(disk->values_read, 0u);
    EXPECT_EQ((co_await host.result<std::string>(ids[7])).size(), 1000u);
    EXPECT_EQ(host.store().counters().lines_read, ids.size() + 1);
    EXPECT_EQ(host.info(ids[50])->detail.size(), 70'002u);
    EXPECT_EQ(disk->values_read, 1u);
    co_await host.close();
  });
}

TEST_P(ResultsTest, WhatIsAskedForIsAnsweredAsBeforeTheRestart) {
  Uuid completed, failed, cancelled, waiting;
  std::vector<DurableInfo> before;
  live([&](Host& host) -> Task<void> {
    completed = co_await host.start("repeats", 5);
    failed = co_await host.start("fails");
    cancelled = co_await host.start("waits");
    waiting = co_await host.start("waits");
    co_await host.result<std::string>(completed);
    EXPECT_EQ(co_await error_of(host.result<int>(failed)), Errc::durable_failed);
    co_await host.kill(cancelled, "it is not needed");
    before = in_order(host.tasks());
  });
  live([&](Host& host) -> Task<void> {
    const std::vector<DurableInfo> now = in_order(host.tasks());
    EXPECT_EQ(now.size(), before.size());
    for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
      EXPECT_EQ(now[i].id, before[i].id);
      EXPECT_EQ(now[i].status, before[i].status);
      EXPECT_EQ(now[i].detail, before[i].detail);
    }
    EXPECT_EQ(host.info(completed)->detail, "\"rrrrr\"");
    EXPECT_EQ(host.info(failed)->detail, "it did not work");
    EXPECT_EQ(host.info(cancelled)->detail, "it is not needed");
    EXPECT_EQ(co_await error_of(host.result<int>(failed)), Errc::durable_failed);
    EXPECT_EQ(co_await error_of(host.result<int>(cancelled)), Errc::durable_cancelled);
    bool refused = false;
    try {
      host.query(completed, "state");
    } catch (const Error& error) {
      refused = error.code() == Errc::unknown_durable;
    }
    EXPECT_TRUE(refused);
    co_await host.close();
    EXPECT_EQ(host.info(completed)->detail, "\"rrrrr\"");  // the log is closed, and is still there
  });
}

TEST_P(ResultsTest, AParentHearsOfAChildThatHadEndedBeforeTheRestart) {
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("asks", 80'000);
    co_await sleep(1s);
  });
  live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "go", 1);
    EXPECT_EQ((co_await host.result<std::string>(id)).size(), 80'000u);
  });
}

TEST_P(ResultsTest, AResultThatIsDamagedIsSaidWhenItIsAskedForAndNothingElseSuffers) {
  Uuid lost, kept;
  live([&](Host& host) -> Task<void> {
    lost = co_await host.start("repeats", 70'000);
    kept = co_await host.start("repeats", 3);
    co_await host.result<std::string>(lost);
    co_await host.result<std::string>(kept);
    co_await host.close();
  });
  std::filesystem::remove_all(values());
  for (const bool archived : {false, true}) {
    live([&](Host& host) -> Task<void> {
      EXPECT_EQ(recovery.finished, archived ? 0u : 2u) << recovery.text();
      EXPECT_EQ(host.info(lost)->status, DurableStatus::quarantined);
      EXPECT_NE(host.info(lost)->detail.find("does not exist"), std::string::npos);
      EXPECT_EQ(co_await error_of(host.result_json(lost)), Errc::log_damaged);
      EXPECT_EQ(co_await host.result<std::string>(kept), "rrr");
      // The same start is still the same task.
      EXPECT_EQ(co_await host.start_as(lost, "repeats", 70'000), lost);
      co_await host.compact();
      co_await host.close();
    });
  }
}

TEST_P(ResultsTest, ATaskIsRetriedThoughItsEndWasNotRead) {
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("fails");
    EXPECT_EQ(co_await error_of(host.result<int>(id)), Errc::durable_failed);
  });
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.retry(id, "nothing#1")), Errc::unknown_durable);
    EXPECT_EQ(host.info(id)->detail, "it did not work");
  });
}

}  // namespace results_test
}  // namespace tiffany
