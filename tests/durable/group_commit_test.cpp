// Which records share a sync, and what happens when a segment is full; on the clock of the machine
// and its disk.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log.hpp"

namespace tiffany {
namespace group_commit_test {

class GroupCommitTest : public testing::TestWithParam<const char*> {
 protected:
  GroupCommitTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-group-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~GroupCommitTest() override { std::filesystem::remove_all(directory_); }

  static Options options() {
    const bool virtual_time = std::string_view(GetParam()) == "virtual_time";
    return virtual_time ? Options().virtual_time() : Options();
  }
  wal::LogOptions log_options() const {
    wal::LogOptions options(directory_ + "/wal");
    options.segment_size = std::size_t{4} << 20;
    return options;
  }
  std::string directory_;
};
INSTANTIATE_TEST_SUITE_P(, GroupCommitTest, testing::Values("virtual_time", "real_time"),
                         [](const auto& clock) { return std::string(clock.param); });

Durable<int> counts(Flow& flow, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += co_await flow.step("add", [i] { return i; });
  co_return sum;
}

Durable<std::size_t> writes_much(Flow& flow, int steps) {
  std::size_t size = 0;
  for (int i = 0; i < steps; ++i) {
    const std::string text = co_await flow.step(
        "text", [i] { return std::string(30'000, static_cast<char>('a' + i % 26)); });
    size += text.size();
  }
  co_return size;
}

Registry types() {
  Registry all;
  all.add("counts", 1, counts);
  all.add("writes_much", 1, writes_much);
  return all;
}

Task<void> count(Host* host, int steps) {
  const Uuid id = co_await host->start("counts", steps);
  const int sum = co_await host->result<int>(id);
  EXPECT_EQ(sum, steps * (steps - 1) / 2);
}

Task<wal::LogCounters> together(wal::LogOptions options, std::size_t tasks, int steps) {
  const Registry known = types();
  Host host(known, std::move(options));
  co_await host.open();
  const wal::LogCounters before = host.store().counters();
  co_await scope([&](Scope& all) -> Task<void> {
    for (std::size_t i = 0; i < tasks; ++i) all.spawn(count, &host, steps);
    co_return;
  });
  wal::LogCounters used = host.store().counters();
  used.records -= before.records;
  used.syncs -= before.syncs;
  co_await host.close();
  co_return used;
}

TEST_P(GroupCommitTest, D1_StepsOfTasksThatAreReadyTogetherShareTheirSyncs) {
  Scheduler scheduler(options());
  const wal::LogCounters used = run_on(scheduler, together(log_options(), 64, 10));
  // Each with a beginning and an end; and the first line of the second segment.
  EXPECT_EQ(used.records, 64u * 12u + 1u);
  EXPECT_LE(used.syncs, 24u);
}

TEST_P(GroupCommitTest, D1_ARecordThatIsAloneIsSyncedAlone) {
  Scheduler scheduler(options());
  const wal::LogCounters used = run_on(scheduler, together(log_options(), 1, 10));
  EXPECT_EQ(used.records, 12u);
  EXPECT_EQ(used.syncs, 12u);
}

TEST_P(GroupCommitTest, D1_WhatComesApartAtTheEndOfASegmentIsSyncedTogetherAgain) {
  Scheduler scheduler(Options().virtual_time());  // how many there are is no matter of luck
  wal::LogOptions small = log_options();
  small.segment_size = std::size_t{64} << 10;
  const wal::LogCounters used = run_on(scheduler, together(small, 64, 50));
  const std::size_t segments = 64u * 52u * 200u / small.segment_size;
  EXPECT_GT(segments, 8u);
  EXPECT_LE(used.syncs, 52u + 3 * segments);
}

Task<void> writes_segments(wal::LogOptions options, Uuid* id) {
  const Registry known = types();
  Host host(known, std::move(options));
  co_await host.open();
  *id = co_await host.start("writes_much", 400);
  const auto size = co_await host.result<std::size_t>(*id);
  EXPECT_EQ(size, 400u * 30'000u);
  co_await host.close();
}
Task<void> finds_all(wal::LogOptions options, Uuid id) {
  const Registry known = types();
  Host host(known, std::move(options));
  const Recovery recovery = co_await host.open();
  EXPECT_EQ(recovery.finished, 1u);
  EXPECT_TRUE(recovery.notes.empty()) << recovery.text();
  const auto size = co_await host.result<std::size_t>(id);
  EXPECT_EQ(size, 400u * 30'000u);
  co_await host.close();
}

TEST_P(GroupCommitTest, D1_AFullSegmentIsFollowedByTheNextAndNothingIsLost) {
  Uuid id;
  {
    Scheduler scheduler(options());
    run_on(scheduler, writes_segments(log_options(), &id));
  }
  const auto disk = wal::system_disk();
  const wal::LogIndex index = wal::scan(*disk, log_options().directory, wal::Layout::journal);
  EXPECT_GE(index.segments.size(), 3u);
  EXPECT_TRUE(index.damage.empty());
  EXPECT_TRUE(index.shut_down);
  EXPECT_EQ(index.find(id)->last_seq, 402u);
  Scheduler scheduler(options());
  run_on(scheduler, finds_all(log_options(), id));
}

}  // namespace group_commit_test
}  // namespace tiffany
