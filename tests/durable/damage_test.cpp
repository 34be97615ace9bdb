// Durable tasks over a log that is damaged: what was acknowledged is there, or somebody is told; no
// step that may happen once at most happens twice.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "durable/damage/campaign.hpp"
#include "durable/damage/world.hpp"

namespace tiffany::damage {
namespace damage_test {

class DurableDamageTest : public testing::TestWithParam<wal::Layout> {
 protected:
  // All orders are started and charged, and those that wait for nothing have ended.
  World after_one_life(bool close) const {
    World world(GetParam());
    const Life life = world.live(close);
    EXPECT_EQ(world.complaint(life), "");
    EXPECT_EQ(life.refusals.size(), 0u);
    EXPECT_EQ(world.told.results.size(), 4u);
    return world;
  }
  bool journal() const { return GetParam() == wal::Layout::journal; }
  // Segments, or files of tasks.
  static std::vector<std::string> files_of(const World& world) {
    std::vector<std::string> paths;
    for (const auto& [path, bytes] : world.disk->contents()) {
      const bool nil = path.find("00000000-0000-0000") != std::string::npos;
      if (path.ends_with(".journal") || (path.ends_with(".wal") && !nil)) paths.push_back(path);
    }
    return paths;
  }
  static void damage(World& world, const std::map<std::string, std::string>& contents) {
    world.disk = std::make_shared<FaultDisk>(contents);
  }
};
INSTANTIATE_TEST_SUITE_P(, DurableDamageTest,
                         testing::Values(wal::Layout::journal, wal::Layout::files),
                         [](const testing::TestParamInfo<wal::Layout>& layout) {
                           return layout.param == wal::Layout::journal ? "journal" : "files";
                         });

TEST_P(DurableDamageTest, D2_ADeletedFileMakesNoStepHappenTwice) {
  const World whole = after_one_life(true);
  for (const std::string& path : files_of(whole)) {
    World world = whole;
    auto contents = whole.disk->contents();
    contents.erase(path);
    damage(world, contents);
    for (int i = 0; i < 3; ++i) {
      const Life life = world.live(i == 1);
      EXPECT_EQ(world.complaint(life), "") << path;
      EXPECT_TRUE(life.said()) << path;
    }
  }
}

TEST_P(DurableDamageTest, D2_ACutOrZeroedFileMakesNoStepHappenTwice) {
  const World whole = after_one_life(true);
  for (const std::string& path : files_of(whole)) {
    const std::string bytes = whole.disk->contents().at(path);
    for (std::size_t at = 0; at < bytes.size(); at += 512) {
      for (const bool cut : {true, false}) {
        World world = whole;
        auto contents = whole.disk->contents();
        std::string& damaged = contents.at(path);
        if (cut) {
          damaged.resize(at);
        } else {
          const std::size_t size = std::min<std::size_t>(4096, damaged.size() - at);
          damaged.replace(at, size, std::string(size, '\0'));
        }
        const bool changed = damaged.find_last_not_of('\0') != bytes.find_last_not_of('\0');
        damage(world, contents);
        for (int i = 0; i < 2; ++i) {
          const Life life = world.live();
          ASSERT_EQ(world.complaint(life), "") << path << " at " << at << ", cut " << cut;
          if (changed) {
            ASSERT_TRUE(life.said()) << path << " at " << at << ", cut " << cut;
          }
        }
      }
    }
  }
}

TEST_P(DurableDamageTest, D2_SwappedFilesMakeNoStepHappenTwice) {
  const World whole = after_one_life(true);
  const std::vector<std::string> paths = files_of(whole);
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) {
    World world = whole;
    auto contents = whole.disk->contents();
    std::swap(contents.at(paths[i]), contents.at(paths[i + 1]));
    damage(world, contents);
    const Life life = world.live();
    EXPECT_EQ(world.complaint(life), "") << paths[i];
    EXPECT_TRUE(life.said()) << paths[i];
  }
}

Task<Errc> start_error(Host* host, int number, std::string* sentence) {
  try {
    co_await host->start_as(id_of(number), "order", number);
  } catch (const Error& e) {
    *sentence = e.what();
    co_return e.code();
  }
  co_return Errc{};
}

// In a journal nobody knows whose records were in a segment that is gone.
TEST(DurableLossTest, D2_AnUnknownIdIsRefusedUntilTheLossIsAcceptedInWriting) {
  World world(wal::Layout::journal);
  world.live(true);
  auto contents = world.disk->contents();
  ASSERT_EQ(contents.erase("wal/00000002.journal"), 1u);
  world.disk = std::make_shared<FaultDisk>(contents);
  const auto try_to_start = [&](Errc expected) {
    Errc found{};
    std::string sentence;
    const std::exception_ptr error = world.run([&]() -> Task<void> {
      ledger = &world.books;
      const Registry types = all_types();
      Host host(types, world.log_options());
      co_await host.open();
      found = co_await start_error(&host, 77, &sentence);
      // An id that nobody has chosen was never used.
      co_await host.start("order", 88);
      co_await host.close();
    });
    EXPECT_EQ(error, nullptr);
    EXPECT_EQ(found, expected) << sentence;
    if (expected != Errc{}) {
      EXPECT_NE(sentence.find("00000002.journal"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("wal repair"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("accept-loss"), std::string::npos) << sentence;
    }
  };
  try_to_start(Errc::log_uncertain);
  try_to_start(Errc::log_uncertain);  // the next owner has not covered it up
  const std::exception_ptr accepted = world.run([&]() -> Task<void> {
    const auto places =
        co_await wal::accept_loss(*world.disk, kDirectory, world.layout, "the backup is gone too");
    EXPECT_EQ(places.size(), 1u);
  });
  EXPECT_EQ(accepted, nullptr);
  try_to_start(Errc{});
  // It was for that damage, and no other.
  contents = world.disk->contents();
  ASSERT_EQ(contents.erase("wal/00000003.journal"), 1u);
  world.disk = std::make_shared<FaultDisk>(contents);
  std::string sentence;
  Errc found{};
  world.run([&]() -> Task<void> {
    const Registry types = all_types();
    Host host(types, world.log_options());
    co_await host.open();
    found = co_await start_error(&host, 99, &sentence);
  });
  EXPECT_EQ(found, Errc::log_uncertain) << sentence;
}

TEST_P(DurableDamageTest, D2_AQuarantinedTaskTakesNoRecordThatWouldMakeItLookWhole) {
  World world(GetParam());
  world.live(false, 400);  // not to the end
  auto contents = world.disk->contents();
  std::string last;
  for (const auto& [path, bytes] : contents) {
    const bool task = path.ends_with(id_of(1).text() + ".wal");
    if (path.ends_with(".journal") || task) last = path;
  }
  const std::size_t end = contents.at(last).find_last_not_of('\0');
  contents.at(last).replace(end - 200, 100, std::string(100, 'x'));
  damage(world, contents);
  const auto attack = [&]() -> Task<void> {
    ledger = &world.books;
    const Registry types = all_types();
    Host host(types, world.log_options());
    co_await host.open();
    for (const DurableInfo& task : host.tasks()) {
      if (task.status != DurableStatus::quarantined) continue;
      std::vector<Errc> codes;
      try {
        co_await host.cancel(task.id, "try");
      } catch (const Error& e) {
        codes.push_back(e.code());
      }
      try {
        co_await host.signal(task.id, "extra", 1);
      } catch (const Error& e) {
        codes.push_back(e.code());
      }
      EXPECT_EQ(codes, (std::vector<Errc>{Errc::durable_stopped, Errc::durable_stopped}));
    }
    co_await host.close();
  };
  std::size_t quarantined = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(world.run(attack), nullptr);
    const Life life = world.live();
    EXPECT_EQ(world.complaint(life), "");
    EXPECT_GT(life.recovery.quarantined, 0u);
    EXPECT_GE(life.recovery.quarantined, quarantined);
    quarantined = life.recovery.quarantined;
  }
}

TEST_P(DurableDamageTest, D2_ARepairedLogIsCleanAndItsReportSaysWhatWasGivenUp) {
  const World whole = after_one_life(true);
  for (const std::string& path : files_of(whole)) {
    World world = whole;
    auto contents = whole.disk->contents();
    std::string& bytes = contents.at(path);
    const std::size_t size = std::min<std::size_t>(700, bytes.size() / 2);
    bytes.replace(bytes.size() / 8, size, std::string(size, '\0'));
    damage(world, contents);
    const auto before = wal::scan(*world.disk, kDirectory, world.layout);
    ASSERT_FALSE(before.damage.empty()) << path;
    wal::RepairReport report;
    const std::exception_ptr error = world.run([&]() -> Task<void> {
      report = co_await wal::repair(*world.disk, kDirectory, world.layout);
    });
    ASSERT_EQ(error, nullptr);
    const auto after = wal::scan(*world.disk, kDirectory, world.layout);
    EXPECT_TRUE(after.damage.empty()) << after.damage[0].text();
    EXPECT_EQ(report.damage.size(), before.damage.size());
    ASSERT_TRUE(world.disk->exists(report.path)) << report.path;
    EXPECT_EQ(report.unnamed, journal());
    // What is in the report is in the log, and the other way round.
    for (const auto& [id, why] : report.quarantined) {
      ASSERT_NE(after.find(id), nullptr) << id.text();
      EXPECT_TRUE(!after.find(id)->quarantine.empty() || !after.find(id)->doubt.empty());
      EXPECT_NE(std::string(world.disk->read(report.path)->bytes()).find(id.text()),
                std::string::npos);
    }
    for (const auto& task : before.tasks) {
      if (task->quarantine.empty()) continue;
      ASSERT_NE(after.find(task->id), nullptr);
      EXPECT_TRUE(!after.find(task->id)->quarantine.empty() || after.find(task->id)->ended);
    }
    // What it did not give up is as it was, and nothing that is known happens twice.
    for (int i = 0; i < 2; ++i) {
      const Life life = world.live(i == 0, World::kToTheEnd, true);
      EXPECT_TRUE(life.opened);
      EXPECT_EQ(world.complaint(life), "") << path;
    }
    // Nothing more to repair.
    world.run([&]() -> Task<void> {
      report = co_await wal::repair(*world.disk, kDirectory, world.layout);
    });
    EXPECT_TRUE(report.damage.empty());
  }
}

// One bit can be mended: the checksum tells which. Then nothing is lost at all.
TEST_P(DurableDamageTest, D2_ARepairMendsSingleBits) {
  const World whole = after_one_life(true);
  for (const std::string& path : files_of(whole)) {
    World world = whole;
    auto contents = whole.disk->contents();
    std::string& bytes = contents.at(path);
    const std::size_t at = bytes.find("\"seq\":", bytes.find('\n'));
    if (at == std::string::npos) continue;
    bytes[at + 1] = static_cast<char>(bytes[at + 1] ^ 4);
    damage(world, contents);
    wal::RepairReport report;
    world.run([&]() -> Task<void> {
      report = co_await wal::repair(*world.disk, kDirectory, world.layout);
    });
    EXPECT_EQ(report.mended, 1u) << path;
    EXPECT_TRUE(report.quarantined.empty()) << report.text();
    EXPECT_FALSE(report.unnamed);
    const Life life = world.live();
    EXPECT_EQ(world.complaint(life), "") << path;
    // A repair is stamped by the clock of the system, which is ahead of the one in this world.
    for (const std::string& note : life.recovery.notes) {
      EXPECT_TRUE(note.starts_with("The clock of the system is")) << note;
    }
  }
}

// The records of one task become something that is no record, in place.
void erase_records(FaultDisk& disk, const Uuid& task) {
  for (const auto& [path, bytes] : disk.contents()) {
    std::string& now = disk.bytes_of(path);
    const std::string id = "\"task_id\":\"" + task.text();
    for (std::size_t at = now.find(id); at != std::string::npos; at = now.find(id, at)) {
      const std::size_t begin = now.rfind('\n', at) + 1;
      const std::size_t end = now.find('\n', at);
      now.replace(begin, end - begin, std::string(end - begin, 'x'));
    }
  }
}

int sent = 0;

Durable<int> sender(Flow& flow) {
  const int all = co_await flow.step("send", StepOptions().at_most_once(), [&]() -> Task<int> {
    co_await yield();
    co_return ++sent;
  });
  co_await flow.sleep(24h);
  co_return all;
}
Durable<int> waits_for_sender(Flow& flow) {
  auto child = co_await flow.spawn<int>("sender");
  co_await flow.signal<int>("go");
  co_return co_await child;
}

class LostChildTest : public testing::Test {
 protected:
  template <class F>
  void live(F program) {
    const std::exception_ptr error = world.run([&]() -> Task<void> {
      Registry types;
      types.add("sender", 1, sender);
      types.add("waits", 1, waits_for_sender);
      Host host(types, world.log_options());
      recovery = co_await host.open();
      co_await program(host);
      co_await host.close();
    });
    if (error != nullptr) std::rethrow_exception(error);
  }
  void expect_quarantined(Host& host) const {
    EXPECT_EQ(recovery.quarantined, 1u) << recovery.text();
    EXPECT_EQ(recovery.resumed, 1u) << recovery.text();
    EXPECT_NE(recovery.text().find("Task " + child.text() +
                                   " (sender) is quarantined: its parent has asked for it, nothing "
                                   "of it is in the log, and the log is damaged."),
              std::string::npos)
        << recovery.text();
    const std::optional<DurableInfo> info = host.info(child);
    EXPECT_TRUE(info && info->status == DurableStatus::quarantined);
    EXPECT_EQ(host.info(parent)->status, DurableStatus::running);
    EXPECT_EQ(sent, 1);
  }

  World world{wal::Layout::journal};
  Recovery recovery;
  Uuid parent, child;
};

// The parent asked for the child before, and has a record behind the damage, so that it goes on. Of
// the child nothing is left: it may have run.
TEST_F(LostChildTest, AChildOfWhichNothingIsLeftIsQuarantinedAndDoesNotRunAgain) {
  sent = 0;
  live([&](Host& host) -> Task<void> {
    parent = co_await host.start("waits");
    co_await sleep(1s);
    for (const DurableInfo& task : host.tasks()) {
      if (task.type == "sender") child = task.id;
    }
    co_await host.signal(parent, "go", 1);
  });
  EXPECT_EQ(sent, 1);
  erase_records(*world.disk, child);
  live([&](Host& host) -> Task<void> {
    expect_quarantined(host);
    std::string sentence;
    try {
      co_await host.result<int>(child);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::durable_stopped);
      sentence = error.what();
    }
    EXPECT_NE(sentence.find("its parent has asked for it"), std::string::npos) << sentence;
    // It is no other task that may be started.
    Errc refused{};
    try {
      co_await host.start_as(child, "sender");
    } catch (const Error& error) {
      refused = error.code();
    }
    EXPECT_EQ(refused, Errc::durable_stopped);
  });
  // The next owner has not covered it up, and somebody who knows can end it.
  live([&](Host& host) -> Task<void> {
    expect_quarantined(host);
    co_await host.kill(child, "it was sent, says the post office");
    Errc failed{};
    try {
      co_await host.result<int>(parent);
    } catch (const Error& error) {
      failed = error.code();
    }
    EXPECT_EQ(failed, Errc::durable_failed);
  });
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(child)->status, DurableStatus::cancelled);
    EXPECT_EQ(host.info(parent)->status, DurableStatus::failed);
    EXPECT_EQ(sent, 1);
    co_return;
  });
}

// Also when the records of a child are gone and those of its parent are not.
TEST(DurableLossTest, D2_NothingRunsTwiceWhicheverSegmentIsLostAndWhenever) {
  for (std::size_t slices = 100; slices <= 1500; slices += 100) {
    World world(wal::Layout::journal, 12);
    world.live(false, slices);
    // Segments are small: each is removed in turn, those of children among them.
    const auto whole = world.disk->contents();
    for (const auto& [path, bytes] : whole) {
      if (!path.ends_with(".journal")) continue;
      World other = world;
      auto contents = whole;
      contents.erase(path);
      other.disk = std::make_shared<FaultDisk>(contents);
      for (int i = 0; i < 2; ++i) {
        const Life life = other.live(i == 0);
        EXPECT_EQ(other.complaint(life), "") << path;
      }
      const std::exception_ptr error = other.run(
          [&]() -> Task<void> { co_await wal::repair(*other.disk, kDirectory, other.layout); });
      EXPECT_EQ(error, nullptr);
      const Life life = other.live(false, World::kToTheEnd, true);
      EXPECT_EQ(other.complaint(life), "") << path << " after the repair";
    }
  }
}

// A short campaign; `./dev soak damage` is the long one.
TEST(DurableDamageCampaign, D2_EveryKindOfDamageIsRightOrRefused) {
  Campaign campaign(1);
  for (int i = 0; i < 2 * Campaign::kKinds; ++i) {
    ASSERT_EQ(campaign.once(), "") << campaign.what();
  }
  EXPECT_GT(campaign.said, 5u);
}

}  // namespace damage_test
}  // namespace tiffany::damage
