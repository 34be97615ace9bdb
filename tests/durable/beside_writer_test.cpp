// Reading a log while another process compacts it: at each moment of the compaction, with each
// read.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log_view.hpp"
#include "wal/fault_disk.hpp"

namespace tiffany {
namespace beside_writer_test {

using namespace std::chrono_literals;
using Contents = std::map<std::string, std::string>;

// What a reader sees of a disk that another process changes: the first moment until so many reads
// were made, and then another moment with each read.
class MomentsDisk final : public wal::Disk {
 public:
  MomentsDisk(const std::vector<Contents>& moments, std::size_t first, std::size_t at_once)
      : moments_(moments), first_(first), at_once_(at_once) {}

  std::vector<std::string> list(const std::string& directory) override {
    std::vector<std::string> names;
    for (const auto& [path, bytes] : next()) {
      if (path.substr(0, path.rfind('/')) == directory) {
        names.push_back(path.substr(directory.size() + 1));
      }
    }
    return names;
  }
  std::unique_ptr<wal::DiskContent> read(const std::string& path) override {
    const Contents& now = next();
    const auto found = now.find(path);
    if (found == now.end()) throw IoError(ENOENT, "open", path);
    return std::make_unique<Content>(found->second);
  }
  bool exists(const std::string& path) override { return next().contains(path); }

  void make_directory(const std::string& path) override { refuse(path); }
  std::unique_ptr<wal::DiskFile> open(const std::string& path) override { refuse(path); }
  Task<void> rename(std::string from, std::string) override { refuse(from); }
  Task<void> remove(std::string path) override { refuse(path); }
  Task<void> sync_directory(std::string path) override { refuse(path); }
  std::unique_ptr<wal::DiskLock> lock(const std::string& path, const std::string&,
                                      std::string&) override {
    refuse(path);
  }

  std::size_t reads = 0;

 private:
  class Content final : public wal::DiskContent {
   public:
    explicit Content(std::string bytes) : bytes_(std::move(bytes)) {}
    std::string_view bytes() const noexcept override { return bytes_; }

   private:
    std::string bytes_;
  };
  const Contents& next() {
    const std::size_t behind = reads < first_ ? 0 : (reads - first_ + 1) * at_once_;
    ++reads;
    return moments_[std::min(behind, moments_.size() - 1)];
  }
  [[noreturn]] static void refuse(const std::string& path) { throw IoError(EROFS, "change", path); }

  const std::vector<Contents>& moments_;
  std::size_t first_;
  std::size_t at_once_;
};

Durable<int> quick(Flow& flow, int n) {
  co_return co_await flow.step("double", [&] { return 2 * n; });
}
Durable<int> slow(Flow& flow, int n) {
  const int first = co_await flow.step("double", [&] { return 2 * n; });
  co_return first + co_await flow.signal<int>("more");
}
Registry all_types() {
  Registry types;
  types.add("quick", 1, quick);
  types.add("slow", 1, slow);
  return types;
}

class BesideWriterTest : public testing::TestWithParam<wal::Layout> {
 protected:
  wal::LogOptions options(std::shared_ptr<wal::Disk> disk) const {
    wal::LogOptions options("wal");
    options.layout = GetParam();
    options.segment_size = 4096;
    options.epoch_time = 0;
    options.disk = std::move(disk);
    return options;
  }

  // Tasks that have ended and tasks that have not, and a compaction of their log, operation by
  // operation.
  void compact_step_by_step() {
    const auto disk = std::make_shared<wal::test::FaultDisk>();
    Scheduler scheduler(Options().virtual_time().turn(1));
    const Registry types = all_types();
    Host host(types, options(disk));
    bool ready = false;
    const auto program = [&]() -> Task<void> {
      co_await host.open();
      for (int i = 0; i < 12; ++i) {
        const Uuid id = co_await host.start(i % 3 == 0 ? "slow" : "quick", i);
        ids_.push_back(id);
        if (i % 3 != 0) co_await host.result<int>(id);
      }
      co_await sleep(1s);
      ready = true;
      co_await host.compact();
      co_await host.close();
    };
    auto handle = scheduler.spawn([&] { return program(); });
    std::size_t operations = 0;
    while (!handle.done()) {
      if (!scheduler.step()) scheduler.poll(kEndOfTime);
      if (!ready || disk->operations() == operations) continue;
      operations = disk->operations();
      moments_.push_back(disk->contents());
    }
    ASSERT_TRUE(outcome_of(handle, false).ok());
    ASSERT_GT(moments_.size(), 10u);
  }
  // Calls `look` with a disk, for each read from which on the log may change.
  template <class F>
  void at_each_read(F look) {
    compact_step_by_step();
    if (HasFatalFailure()) return;
    for (const std::size_t at_once : {std::size_t{1}, std::size_t{5}, moments_.size()}) {
      for (std::size_t first = 0;; ++first) {
        const auto disk = std::make_shared<MomentsDisk>(moments_, first, at_once);
        Scheduler scheduler(Options().virtual_time());
        auto handle = scheduler.spawn([&] { return look(disk); });
        scheduler.run();
        const auto outcome = outcome_of(handle, false);
        std::string error;
        try {
          if (!outcome.ok()) std::rethrow_exception(outcome.error());
        } catch (const std::exception& e) {
          error = e.what();
        }
        ASSERT_EQ(error, "") << "from read " << first << " on, " << at_once << " at once";
        ASSERT_FALSE(HasFailure()) << "from read " << first << " on, " << at_once << " at once";
        if (disk->reads <= first) break;  // nothing has changed while it was read
      }
    }
  }

  std::vector<Uuid> ids_;
  std::vector<Contents> moments_;
};
INSTANTIATE_TEST_SUITE_P(, BesideWriterTest,
                         testing::Values(wal::Layout::journal, wal::Layout::files),
                         [](const testing::TestParamInfo<wal::Layout>& layout) {
                           return layout.param == wal::Layout::journal ? "journal" : "files";
                         });

TEST_P(BesideWriterTest, AScanBesideACompactionFindsNoDamage) {
  at_each_read([&](std::shared_ptr<MomentsDisk> disk) -> Task<void> {
    const wal::LogIndex index = wal::scan_beside_writer(*disk, "wal", GetParam());
    EXPECT_TRUE(index.damage.empty()) << index.damage[0].text();
    for (std::size_t i = 0; i < ids_.size(); i += 3) {
      const wal::TaskLog* const task = index.find(ids_[i]);
      EXPECT_TRUE(task != nullptr && task->quarantine.empty());
    }
    co_return;
  });
}

TEST_P(BesideWriterTest, AViewBesideACompactionHasTheRecordsOfEachTask) {
  std::map<Uuid, std::vector<std::string>> expected;
  at_each_read([&](std::shared_ptr<MomentsDisk> disk) -> Task<void> {
    wal::LogView view(*disk, "wal", GetParam());
    for (const Uuid& id : ids_) {
      std::vector<std::string> lines = view.lines(id);
      EXPECT_GE(lines.size(), 2u);
      const auto [known, first] = expected.try_emplace(id, lines);
      EXPECT_EQ(known->second, lines);
    }
    co_return;
  });
}

TEST_P(BesideWriterTest, AnInspectionBesideACompactionSaysWhatItWouldSayWithoutOne) {
  at_each_read([&](std::shared_ptr<MomentsDisk> disk) -> Task<void> {
    const Registry types = all_types();
    const Inspection seen = co_await inspect(types, options(disk), ids_[3]);
    EXPECT_TRUE(seen.agrees) << seen.difference;
    EXPECT_EQ(seen.commands, 2u);
    EXPECT_EQ(seen.task.status, DurableStatus::paused);
  });
}

TEST_P(BesideWriterTest, AnUpgradeCheckBesideACompactionSaysWhatItWouldSayWithoutOne) {
  at_each_read([&](std::shared_ptr<MomentsDisk> disk) -> Task<void> {
    const Registry types = all_types();
    const UpgradeCheck check = co_await check_upgrade(types, options(disk));
    EXPECT_EQ(check.agree, 4u) << check.text();
    EXPECT_EQ(check.tasks.size(), 4u) << check.text();
    for (const DurableInfo& task : check.all) {
      EXPECT_NE(task.status, DurableStatus::quarantined) << task.detail;
    }
  });
}

// A log that cannot be read is not read for ever.
TEST_P(BesideWriterTest, WhatIsReallyDamagedIsSaidAfterASecondLook) {
  compact_step_by_step();
  Contents damaged = moments_.front();
  for (auto& [path, bytes] : damaged) {
    const std::size_t at = bytes.find(ids_[3].text());
    if (at != std::string::npos) bytes.replace(at - 12, 200, std::string(200, 'x'));
  }
  const std::vector<Contents> only{damaged};
  const auto disk = std::make_shared<MomentsDisk>(only, 0, 1);
  Scheduler scheduler(Options().virtual_time());
  UpgradeCheck check;
  auto handle = scheduler.spawn([&]() -> Task<void> {
    const Registry types = all_types();
    check = co_await check_upgrade(types, options(disk));
  });
  scheduler.run();
  ASSERT_TRUE(outcome_of(handle, false).ok());
  std::size_t quarantined = 0;
  for (const DurableInfo& task : check.all) {
    quarantined += task.status == DurableStatus::quarantined ? 1 : 0;
  }
  EXPECT_GT(quarantined, 0u);
}

}  // namespace beside_writer_test
}  // namespace tiffany
